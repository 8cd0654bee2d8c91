"""The importance-weights topic: its variant problem, and a toy loop whose engine and trainer disagree a little."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from ..draws import Draws
from ..variants import Variant

if TYPE_CHECKING:
    from collections.abc import Sequence

COMPLETIONS = 12
MAX_TOKENS = 64
_NORMAL = NormalDist()


@dataclass(frozen=True)
class ToyBatch:
    """A batch of padded completions, scored three times; `mask` is 1 where a token counts.

    `behavior` holds what the engine recorded when it sampled, `trainer_same_version` what the trainer gives the same
    tokens with the weights that the engine had, `trainer_now` what it gives them with its present weights.
    """

    behavior: Sequence[Sequence[float]]
    trainer_same_version: Sequence[Sequence[float]]
    trainer_now: Sequence[Sequence[float]]
    mask: Sequence[Sequence[int]]


def toy_batch(lag: int) -> ToyBatch:
    """Return the batch of a toy loop whose trainer is `lag` versions (0 to 8) ahead of the weights that sampled it.

    The tokens are the same at every lag. A token's log-probability differs by about 0.02 between engine and trainer,
    and moves by about 0.03 with each version.
    """
    draws = Draws("toy batch")
    behavior, same, now, mask = [], [], [], []
    for _ in range(COMPLETIONS):
        counted = draws.integer(20, MAX_TOKENS - 4)
        sampled = [-draws.uniform(1.2, 3.0) for _ in range(MAX_TOKENS)]
        scored = [logp + _noise(draws, 0.02) for logp in sampled]
        moved = [logp + lag * _noise(draws, 0.03) for logp in scored]
        behavior.append(sampled)
        same.append(scored)
        now.append(moved)
        mask.append([1] * counted + [0] * (MAX_TOKENS - counted))
    return ToyBatch(behavior, same, now, mask)


def drifted_completions(tokens: int, token_drift: float, completions: int = 256) -> list[float]:
    """Return log-ratios of completions of that many tokens, spread as independent token drifts would spread them.

    Each token's log-ratio has the standard deviation `token_drift`. The list holds evenly spaced quantiles of the
    normal distribution of their sum, whose mean is such that the weights average 1.
    """
    spread = token_drift * tokens**0.5
    ranks = [(place + 0.5) / completions for place in range(completions)]
    return [spread * _NORMAL.inv_cdf(rank) - spread * spread / 2 for rank in ranks]


def _noise(draws: Draws, spread: float) -> float:
    """Return a number that is about normal around 0, never beyond four standard deviations."""
    return spread * _NORMAL.inv_cdf(draws.uniform(0.0001, 0.9999))


def variant_story(draws: Draws) -> Variant:
    """Draw four completions, each by its length and its mean token log-ratio, and a cap; tell their story."""
    lengths = [draws.integer(150, 300), *(draws.integer(100, 300) for _ in range(3))]
    means = [draws.integer(50, 120) / 10_000, *(draws.integer(-80, 80) / 10_000 for _ in range(3))]
    cap = draws.integer(12, 20) / 10
    numbers: dict[str, int | float] = {}
    for place, (length, mean) in enumerate(zip(lengths, means, strict=True), start=1):
        numbers[f"tokens_{place}"] = length
        numbers[f"mean_log_ratio_{place}"] = mean
    numbers["ratio_cap"] = cap
    completions = "; ".join(
        f"completion {place} has {length} counted tokens, with a mean token log-ratio of {mean:+.4f}"
        for place, (length, mean) in enumerate(zip(lengths, means, strict=True), start=1)
    )
    story = (
        f"The trainer is some versions ahead of the engine that sampled four completions. Log-ratios are trainer minus "
        f"behaviour. In this batch, {completions}. One weight is used for a whole completion. Then the weights are "
        f"truncated: no ratio may exceed {cap}."
    )
    return Variant(story, numbers)
