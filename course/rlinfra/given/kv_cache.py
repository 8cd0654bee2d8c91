"""The KV cache topic's variant problem: how many sequences fit on a card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..variants import Variant

if TYPE_CHECKING:
    from ..draws import Draws


def variant_story(draws: Draws) -> Variant:
    """Draw a model's shape, a memory budget and a sequence length, and tell their story."""
    layers = draws.integer(16, 96)
    kv_heads = draws.choice((2, 4, 8))
    head_dim = draws.choice((64, 96, 128))
    budget = draws.integer(8_000_000_000, 63_999_999_999)
    tokens = draws.integer(700, 5_000)
    block = draws.choice((16, 32))
    story = (
        f"A rollout engine has {budget:,} bytes left for the KV cache. Its model has {layers} layers, {kv_heads} KV "
        f"heads of dimension {head_dim}, and the cache holds bfloat16 (2 bytes an element) in blocks of {block} "
        f"tokens. Every sequence may grow to {tokens:,} tokens, prompt included."
    )
    return Variant(
        story,
        {
            "num_layers": layers,
            "num_kv_heads": kv_heads,
            "head_dim": head_dim,
            "budget_bytes": budget,
            "tokens_per_sequence": tokens,
            "block_tokens": block,
        },
    )
