"""A simple roofline: no faster than memory can be read, and no faster than matrices can be multiplied.

Both rates are measured on the spot (Williams, Waterman & Patterson 2009: attainable = min over the two). A forward pass
reads every multiplied weight once and, for decoding, the cached keys and values of every sequence; a multiply-add
counts as two operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from .devices import Clock
from .report import Roofline, Setup

COPIES = 5
SIZES = {"cuda": (2 * 2**30, 8192), "cpu": (256 * 2**20, 512)}  # bytes copied, side of the matrices


@dataclass(frozen=True)
class Work:
    """What one forward pass must do at least: bytes to move and operations to compute."""

    moved_bytes: int
    operations: int


def measured(device: Any, dtype: Any) -> Roofline:
    """Return the two rates of the device: of a copy too large for its caches, and of a large square matrix product.

    The best of five each, after one that does not count: a limit is what the device can do, not what it did by turns.
    """
    import torch

    copied, side = SIZES[device.type]
    source = torch.empty(copied, dtype=torch.uint8, device=device).fill_(1)
    target = torch.empty_like(source)
    copy_seconds = _best(device, partial(target.copy_, source))
    del source, target
    left = torch.randn((side, side), device=device).to(dtype)
    product = torch.empty_like(left)
    product_seconds = _best(device, partial(torch.mm, left, left, out=product))
    return Roofline(
        bytes_per_second=2 * copied / copy_seconds,
        flops_per_second=2 * side**3 / product_seconds,
        copied_bytes=copied,
        matrix_side=side,
    )


def _best(device: Any, action: Any) -> float:
    clock = Clock(device)
    action()
    marks = [clock.mark()]
    for _ in range(COPIES):
        action()
        marks.append(clock.mark())
    return min(clock.seconds(marks))


def decode_work(setup: Setup, *, batch: int, context_tokens: float) -> Work:
    """Return the work of one decode step: one token for each sequence, each reading its own context from the cache."""
    multiplied = setup.parameters - setup.embedding_parameters
    cached_numbers = 2 * setup.layers * setup.kv_heads * setup.head_dim * batch * context_tokens
    attention = 4 * setup.layers * setup.heads * setup.head_dim * batch * context_tokens
    return Work(
        moved_bytes=round(setup.element_bytes * (multiplied + cached_numbers)),
        operations=round(2 * multiplied * batch + attention),
    )


def forward_work(setup: Setup, *, batch: int, tokens: int, scored_tokens: int) -> Work:
    """Return the work of one forward pass over `tokens` a sequence, with logits for `scored_tokens` of them.

    A token attends to those before it, so attention costs half of all pairs.
    """
    multiplied = setup.parameters - setup.embedding_parameters
    body = multiplied - setup.head_parameters
    attention = 4 * setup.layers * setup.heads * setup.head_dim * batch * tokens * tokens // 2
    return Work(
        moved_bytes=setup.element_bytes * multiplied,
        operations=2 * batch * (body * tokens + setup.head_parameters * scored_tokens) + attention,
    )


def floor_seconds(work: Work, roof: Roofline) -> float:
    """Return the least time for the work: the longer of moving its bytes and computing its operations."""
    return max(work.moved_bytes / roof.bytes_per_second, work.operations / roof.flops_per_second)
