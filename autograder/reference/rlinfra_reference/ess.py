"""Importance weights: ratios of tokens and sequences, how concentrated they are, and where they come from.

Behaviour log-probabilities are those of the distribution that sampled, after all decoding transforms. A batch is a
list of sequences; log-probabilities and `mask` have the same shape, and only tokens with mask 1 (or True) count.
"""

from __future__ import annotations

import math
import numbers
import operator
from dataclasses import dataclass
from itertools import chain, compress
from typing import TYPE_CHECKING

from rlinfra.given import require_nonnegative, require_positive

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Batch = Sequence[Sequence[float]]
    Mask = Sequence[Sequence[int]]

__all__ = [
    "DriftSplit",
    "ZeroLagReport",
    "clip_log_ratios",
    "decoded_logprobs",
    "effective_sample_size",
    "importance_weights",
    "mask_log_ratios",
    "normalized_ess",
    "sequence_log_ratios",
    "split_drift",
    "zero_lag_report",
]


@dataclass(frozen=True)
class ZeroLagReport:
    """How far engine and trainer are apart on the same tokens with the same weights, in nats a token."""

    mean_abs_delta: float
    max_abs_delta: float
    k3: float


@dataclass(frozen=True)
class DriftSplit:
    """The log-ratio of each sequence in two parts: `total` is `mismatch` plus `lag`, up to rounding."""

    mismatch: list[float]
    lag: list[float]
    total: list[float]


def sequence_log_ratios(trainer_logps: Batch, behavior_logps: Batch, mask: Mask) -> list[float]:
    """Return log(π/b) of each sequence: the sum of trainer minus behaviour log-probability over its counted tokens.

    A sequence without counted tokens has 0.0. What stands at other tokens does not matter, NaN included. A trainer
    log-probability of −inf makes the sum −inf. Raises `ValueError` where shapes differ, where a mask is not 0 or 1, and
    where a counted log-probability is above 0 or NaN, or a behaviour log-probability is not finite.
    """
    require_aligned(mask, trainer_logps=trainer_logps, behavior_logps=behavior_logps)
    require_logprobs("trainer_logps", trainer_logps, mask, may_be_impossible=True)
    require_logprobs("behavior_logps", behavior_logps, mask)
    return [sum(deltas) for deltas in map(_counted_differences, trainer_logps, behavior_logps, mask)]


def _counted_differences(minuend: Sequence[float], subtrahend: Sequence[float], counted: Sequence[int]) -> list[float]:
    """Return the differences of two rows at their counted tokens."""
    return list(compress(map(operator.sub, minuend, subtrahend), counted))


def importance_weights(log_ratios: Batch, mask: Mask, *, level: str) -> list[list[float]]:
    """Return the weight of every token, in the shape of the mask: 0.0 where a token does not count.

    At `level="token"` a token has its own ratio, at `level="sequence"` that of its whole sequence, the product over
    its counted tokens. `log_ratios` are those of the tokens. Raises `ValueError` where `level` is another text, shapes
    differ, a mask is not 0 or 1, or a counted log-ratio is NaN or +inf.
    """
    if level not in ("token", "sequence"):
        raise ValueError(f'level must be "token" or "sequence", not {level!r}')
    require_aligned(mask, log_ratios=log_ratios)
    for ratios, counted in zip(log_ratios, mask, strict=True):
        require_log_weights("log_ratios", compress(ratios, counted))
    return [_row_weights(ratios, mask[row], level) for row, ratios in enumerate(log_ratios)]


def _row_weights(ratios: Sequence[float], counted: Sequence[int], level: str) -> list[float]:
    """Return the weights of the tokens of one sequence."""
    sequence = sum(compress(ratios, counted))
    logs = [sequence] * len(ratios) if level == "sequence" else ratios
    return [math.exp(logs[token]) if counts else 0.0 for token, counts in enumerate(counted)]


def effective_sample_size(weights: Sequence[float]) -> float:
    """Return Kish's effective sample size, (Σw)² / Σw²: between 1 and the number of weights, and free of their scale.

    Kong 1992 applies it to importance weights. Raises `ValueError` where a weight is negative or not finite, and where
    none is above 0 (so also where there is none).
    """
    for weight in weights:
        require_nonnegative("weights", weight)
    if not any(weights):
        raise ValueError("weights must hold at least one number above 0")
    return (sum(weights) / math.hypot(*weights)) ** 2


def normalized_ess(log_weights: Sequence[float]) -> float:
    """Return the effective sample size over the number of weights, from their logarithms: between 1/n and 1.

    −inf stands for a weight of 0, which counts in n. Right wherever the logarithms lie, since the largest is taken out
    first. verl's effective sample size is this one: 1 / mean((w / mean w)²). Raises `ValueError` where a logarithm is
    NaN or +inf, and where none is finite.
    """
    require_log_weights("log_weights", log_weights)
    require_some_finite("log_weights", log_weights)
    largest = max(log_weights)
    weights = [math.exp(log_weight - largest) for log_weight in log_weights]
    return sum(weights) ** 2 / (len(weights) * sum(weight * weight for weight in weights))


def clip_log_ratios(log_ratios: Sequence[float], log_cap: float) -> list[float]:
    """Return the log-ratios with those above `log_cap` set to it: truncated importance sampling (Ionides 2008).

    Small ratios stay. Raises `ValueError` where a log-ratio is NaN or +inf, or the cap is not finite.
    """
    require_log_weights("log_ratios", log_ratios)
    require_finite("log_cap", log_cap)
    return [min(ratio, log_cap) for ratio in log_ratios]


def mask_log_ratios(log_ratios: Sequence[float], low: float, high: float) -> list[float]:
    """Return the log-ratios with those outside [low, high] set to −inf, so that their weight is 0 (IcePop, 2025).

    The bounds are logarithms and belong to the band. Raises `ValueError` where a log-ratio is NaN or +inf, a bound is
    not finite, or `low` is above `high`.
    """
    require_log_weights("log_ratios", log_ratios)
    require_finite("low", low)
    require_finite("high", high)
    if low > high:
        raise ValueError(f"low must be at most high ({high}), not {low}")
    return [ratio if low <= ratio <= high else -math.inf for ratio in log_ratios]


def decoded_logprobs(logits: Sequence[float], *, temperature: float, top_p: float) -> list[float]:
    """Return the log-probabilities that tokens are sampled with: temperature, then top-p, then renormalised.

    The nucleus (Holtzman et al. 2020) is the shortest row of tokens, most probable first and of equal ones the smaller
    index first, whose probabilities reach `top_p`; the token that crosses the threshold belongs to it. Tokens outside
    have −inf, and so has a logit of −inf (a masked token). `top_p` = 1 keeps all. Raises `ValueError` where a logit is
    NaN or +inf or none is finite, where `temperature` is not above 0, and where `top_p` is not in (0, 1].
    """
    require_log_weights("logits", logits)
    require_positive("temperature", temperature)
    require_positive("top_p", top_p)
    if top_p > 1:
        raise ValueError(f"top_p must be at most 1, not {top_p}")
    require_some_finite("logits", logits)
    scaled = [logit / temperature for logit in logits]
    largest = max(scaled)
    weights = [math.exp(logit - largest) for logit in scaled]
    nucleus = _nucleus(weights, top_p)
    log_total = largest + math.log(sum(weights[token] for token in nucleus))
    return [logit - log_total if token in nucleus else -math.inf for token, logit in enumerate(scaled)]


def _nucleus(weights: Sequence[float], top_p: float) -> set[int]:
    """Return the tokens of the nucleus, from weights that are proportional to probabilities."""
    most_probable_first = sorted(range(len(weights)), key=lambda token: -weights[token])
    if top_p == 1:
        return set(most_probable_first)
    wanted = top_p * sum(weights)
    nucleus: set[int] = set()
    reached = 0.0
    for token in most_probable_first:
        if reached >= wanted:
            break
        nucleus.add(token)
        reached += weights[token]
    return nucleus


def zero_lag_report(engine_logps: Batch, trainer_logps: Batch, mask: Mask) -> ZeroLagReport:
    """Return how far the trainer is from the engine that sampled the tokens, both with the same weights.

    Δ is trainer minus engine log-probability of a counted token; the means run over all counted tokens of the batch.
    With r = e^Δ, k3 is the mean of r − 1 − log r, which estimates KL(engine‖trainer) from tokens that the engine
    sampled and is never negative (Schulman 2020). Raises `ValueError` where shapes differ, a mask is not 0 or 1, a
    counted log-probability is above 0 or not finite, or no token counts.
    """
    require_aligned(mask, engine_logps=engine_logps, trainer_logps=trainer_logps)
    require_logprobs("engine_logps", engine_logps, mask)
    require_logprobs("trainer_logps", trainer_logps, mask)
    deltas = list(chain.from_iterable(map(_counted_differences, trainer_logps, engine_logps, mask)))
    if not deltas:
        raise ValueError("mask must count at least one token")
    return ZeroLagReport(
        mean_abs_delta=sum(abs(delta) for delta in deltas) / len(deltas),
        max_abs_delta=max(abs(delta) for delta in deltas),
        k3=sum(math.expm1(delta) - delta for delta in deltas) / len(deltas),
    )


def split_drift(behavior: Batch, trainer_same_version: Batch, trainer_now: Batch, mask: Mask) -> DriftSplit:
    """Return each sequence's log-ratio in two parts: training–inference mismatch, and policy lag.

    Mismatch is trainer minus engine with the weights that sampled; lag is the trainer's present weights minus those.
    Raises `ValueError` as `sequence_log_ratios` does, except that no log-probability may be −inf.
    """
    require_aligned(mask, behavior=behavior, trainer_same_version=trainer_same_version, trainer_now=trainer_now)
    require_logprobs("behavior", behavior, mask)
    require_logprobs("trainer_same_version", trainer_same_version, mask)
    require_logprobs("trainer_now", trainer_now, mask)
    return DriftSplit(
        mismatch=[sum(deltas) for deltas in map(_counted_differences, trainer_same_version, behavior, mask)],
        lag=[sum(deltas) for deltas in map(_counted_differences, trainer_now, trainer_same_version, mask)],
        total=[sum(deltas) for deltas in map(_counted_differences, trainer_now, behavior, mask)],
    )


# --- validation --------------------------------------------------------------------------------------------------


def require_aligned(mask: Mask, **batches: Batch) -> None:
    """Raise where a batch has another shape than the mask, or the mask holds something else than 0 and 1."""
    shape = [len(row) for row in mask]
    for name, rows in batches.items():
        if [len(row) for row in rows] != shape:
            raise ValueError(f"{name} must have the shape of mask, {shape}")
    if any(counts not in (0, 1) for row in mask for counts in row):
        raise ValueError("mask must hold nothing but 0 and 1")


def require_logprobs(name: str, rows: Batch, mask: Mask, *, may_be_impossible: bool = False) -> None:
    """Raise where a counted number is no log-probability; −inf is one only where `may_be_impossible`."""
    for row, counted in zip(rows, mask, strict=True):
        for logp, counts in zip(row, counted, strict=True):
            if counts and (
                isinstance(logp, bool)
                or not isinstance(logp, numbers.Real)
                or not logp <= 0
                or (logp == -math.inf and not may_be_impossible)
            ):
                raise ValueError(f"{name} must hold log-probabilities, finite and at most 0, not {logp!r}")


def require_log_weights(name: str, logs: Iterable[float]) -> None:
    """Raise where a number is no logarithm of a finite weight: NaN or +inf."""
    for log in logs:
        if isinstance(log, bool) or not isinstance(log, numbers.Real) or not log < math.inf:
            raise ValueError(f"{name} must hold numbers below infinity, not {log!r}")


def require_some_finite(name: str, logs: Iterable[float]) -> None:
    """Raise where there is no logarithm of a weight above 0: every one is −inf, or there is none."""
    if not any(log > -math.inf for log in logs):
        raise ValueError(f"{name} must hold at least one finite number")


def require_finite(name: str, value: float) -> None:
    """Raise where a value is no finite number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, not {value!r}")
