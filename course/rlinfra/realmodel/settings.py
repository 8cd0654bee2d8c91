"""What to measure and on what: every choice with its unit, and what the cell would do, told without a model."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..given.arguments import require_count, require_positive
from ..given.units import human_bytes
from .problem import ModelProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

DEVICES = ("auto", "cpu", "cuda")
DTYPES = ("auto", "float32", "bfloat16", "float16")
HUB_ID = "Qwen/Qwen3-0.6B"
MOST_NEW_TOKENS = 4096
PATH_VARIABLE = "RL_LLM_MODEL_PATH"
REVISION_VARIABLE = "RL_LLM_MODEL_REVISION"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One measurement.

    The model: `random_weights` builds the shape of Qwen3-0.6B without any download, and with `tiny` a small one. Else
    `model` is a folder (by default `$RL_LLM_MODEL_PATH`), or else `hub_id` at the commit `revision` (40 hexadecimal
    digits, by default `$RL_LLM_MODEL_REVISION`) is taken from the cache, and downloaded only if it is not there.

    The run: `device` ("auto", "cpu", "cuda"), `dtype` ("auto": bfloat16 on a GPU that has it, float32 on a CPU),
    `new_tokens` a completion, sampled at `temperature`, `seed`, `repeats` of each timing, `batches` (sequences at a
    time; by default 1, 2, 4 on a CPU and powers of two up to 512 on a GPU), and `weight_change`: the size of the
    change that makes a newer policy, relative to each weight matrix.

    Raises `ValueError` that names the field, its value and what is allowed.
    """

    random_weights: bool = False
    tiny: bool = False
    model: Path | str | None = None
    hub_id: str = HUB_ID
    revision: str | None = None

    device: str = "auto"
    dtype: str = "auto"
    new_tokens: int = 64
    temperature: float = 0.8
    seed: int = 12016
    repeats: int = 3
    batches: tuple[int, ...] | None = None
    weight_change: float = 0.01

    def __post_init__(self) -> None:
        if self.tiny and not self.random_weights:
            raise ValueError("tiny needs random_weights: only a model with random weights can be made small")
        if self.random_weights and (self.model is not None or self.revision is not None):
            raise ValueError("random_weights excludes model and revision: either weights are drawn or they are loaded")
        if self.device not in DEVICES:
            raise ValueError(f"device must be one of {', '.join(DEVICES)}, not {self.device!r}")
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, not {self.dtype!r}")
        require_count("new_tokens", self.new_tokens, minimum=2)
        if self.new_tokens > MOST_NEW_TOKENS:
            raise ValueError(f"new_tokens must be at most {MOST_NEW_TOKENS}, not {self.new_tokens}")
        require_positive("temperature", self.temperature)
        require_count("seed", self.seed)
        require_count("repeats", self.repeats, minimum=1)
        for batch in self.batches or ():
            require_count("batches", batch, minimum=1)
        if self.batches is not None and (not self.batches or list(self.batches) != sorted(set(self.batches))):
            raise ValueError(f"batches must rise and hold at least one number, not {self.batches!r}")
        require_positive("weight_change", self.weight_change)


@dataclass(frozen=True)
class Source:
    """Where weights come from: drawn at random, a folder, or a repository of the hub at a commit."""

    kind: str
    folder: Path | None = None
    hub_id: str | None = None
    revision: str | None = None


def source_of(settings: Settings, environ: Mapping[str, str] = os.environ) -> Source:
    """Return where the weights come from; raises `ModelProblem` where nothing is named or a revision is no commit."""
    if settings.random_weights:
        return Source("random")
    if settings.revision is None and (path := settings.model or environ.get(PATH_VARIABLE)):
        return Source("folder", folder=Path(path).expanduser())
    if settings.model is not None:
        raise ModelProblem("A folder and a revision are both given: give --model, or --revision, but not both.")
    revision = settings.revision or environ.get(REVISION_VARIABLE)
    if not revision:
        raise ModelProblem(
            f"No model is named. Give a folder (--model DIR or ${PATH_VARIABLE}), a commit of {settings.hub_id} "
            f"(--revision or ${REVISION_VARIABLE}), or --random-weights, which needs no download."
        )
    if not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise ModelProblem(
            f"The revision {revision!r} is no commit: give its 40 hexadecimal digits, "
            "since a branch or a tag may name other weights tomorrow."
        )
    return Source("hub", hub_id=settings.hub_id, revision=revision)


QWEN3_CACHE = {"layers": 28, "kv_heads": 8, "head_dim": 128}  # the shape of Qwen3-0.6B


def describe_plan(settings: Settings | None = None) -> str:
    """Return what `measure` would do with these settings, and what it needs; loads nothing."""
    chosen = settings or Settings()
    if chosen.random_weights:
        shape = "a small Qwen3" if chosen.tiny else "the shape of Qwen3-0.6B (596,049,920 parameters)"
        model = f"{shape} with random weights, without a download"
    else:
        model = f"the folder in ${PATH_VARIABLE}, or else {chosen.hub_id} at the commit in ${REVISION_VARIABLE}"
    batches = "1, 2, 4 on a CPU, 1 to 512 on a GPU" if chosen.batches is None else ", ".join(map(str, chosen.batches))
    token_bytes = 2 * 2 * math.prod(QWEN3_CACHE.values())
    steps = (
        f"Load {model}. 596,049,920 parameters take 1.11 GiB in bfloat16 and 2.22 GiB in float32.",
        f"Sample {chosen.new_tokens} tokens for each of three prompts at temperature {chosen.temperature:g}, and keep "
        "the log-probability of each token: the behaviour policy.",
        "Score the same tokens by teacher forcing with the same weights: the zero-lag control. Then with one mistake "
        "at a time: temperature forgotten, no attention mask, padding scored, positions wrong.",
        f"Change every weight matrix by {chosen.weight_change:g} of its size and score again: lag, apart from "
        "mismatch.",
        f"Time prefill, decode and scoring at the batches {batches}, {chosen.repeats} times each, and compare with a "
        "roofline that is measured on the spot.",
        f"Count the bytes of the KV cache and compare with the formula: {token_bytes:,} bytes a token in bfloat16 "
        f"({human_bytes(token_bytes)}).",
    )
    needs = "It needs the extra `model` (pip install 'rlinfra[model]'), and without a GPU some minutes."
    return "\n".join([*(f"{number}. {step}" for number, step in enumerate(steps, start=1)), needs])


def with_batches(settings: Settings, device: str) -> tuple[int, ...]:
    """Return the batches to sweep on a device of this type."""
    if settings.batches is not None:
        return settings.batches
    return (1, 2, 4) if device == "cpu" else tuple(2**power for power in range(10))
