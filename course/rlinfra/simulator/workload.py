"""What chance decides: lengths, noise of the importance weights, failures; all of it hashed from the seed.

A distribution is a table of 4,096 equally likely values, and a draw picks one. So the same seed gives the same run on
every platform: what a platform's logarithm and exponential may disagree on, the last bits, is rounded off.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from ..draws import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .config import PipelineConfig

SIZE = 4096


@cache
def normal_quantiles() -> tuple[float, ...]:
    """Return the table of the standard normal distribution, in rising order, from −3.67 to 3.67."""
    quantile = NormalDist().inv_cdf
    return tuple(round(quantile((place + 0.5) / SIZE), 9) for place in range(SIZE))


@lru_cache(maxsize=16)
def _completion_tokens(median: float, spread: float, longest: int) -> tuple[int, ...]:
    log_longest = math.log(longest)
    logs = (math.log(median) + spread * quantile for quantile in normal_quantiles())
    return tuple(max(1, round(math.exp(log))) if log < log_longest else longest for log in logs)


def completion_tokens(config: PipelineConfig) -> tuple[int, ...]:
    """Return the table of completion lengths in tokens, in rising order, each from 1 to `max_completion_tokens`."""
    return _completion_tokens(config.median_completion_tokens, config.completion_spread, config.max_completion_tokens)


def mean_completion_tokens(config: PipelineConfig) -> float:
    """Return the mean length of a completion in tokens."""
    return sum(completion_tokens(config)) / SIZE


def rollout_draws(config: PipelineConfig, worker: int) -> Iterator[int]:
    """Yield the draws of a worker's rollouts, 32 bits each: a hash of seed, worker and number of the rollout.

    The first 12 bits choose its length, and the next 12 the noise of its importance weight.
    """
    return words("rollouts", str(config.seed), str(worker))


def length_place(draw: int) -> int:
    """Return the place of a rollout's length in the table of lengths."""
    return draw >> 20


def noise_place(draw: int) -> int:
    """Return the place of a rollout's noise in the table of the normal distribution."""
    return draw >> 8 & SIZE - 1


def uptimes(config: PipelineConfig) -> Iterator[float]:
    """Yield the seconds from each start of the loop to its next failure; none where `mtbf_seconds` is not set.

    They are exponential: the inverse of 1 − exp(−t / mtbf).
    """
    if config.mtbf_seconds is None:
        return
    for draw in words("failures", str(config.seed)):
        yield config.mtbf_seconds * round(-math.log((draw + 0.5) / 2**32), 9)
