"""Lag and weight publication: how old the rollouts of an update are, and what it costs to keep them young.

A version counts the trainer's updates. The lag of a token is the trainer's version just before the update that uses
it, less the version whose weights sampled it.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rlinfra.given import BYTES_PER_GB, require_count, require_fraction, require_nonnegative, require_positive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "Admission",
    "BestCadence",
    "SynchronizationSchedule",
    "admit",
    "best_cadence",
    "cadence_cost",
    "synchronization_schedule",
    "synchronization_transfer_time",
    "token_versions",
]


@dataclass(frozen=True)
class SynchronizationSchedule:
    """The lag of every update of a run, how often weights were published, and the mean and maximum of the lags."""

    lags: tuple[int, ...]
    synchronization_count: int
    mean_lag: float
    max_lag: int


@dataclass(frozen=True)
class BestCadence:
    """The cheapest of some cadences, in updates from one publication to the next, and its cost in seconds an update."""

    sync_every: int
    cost_seconds: float


@dataclass(frozen=True)
class Admission:
    """Which records may enter a batch, why the others may not, and what that does to the mean length in tokens."""

    kept: tuple[str, ...]
    discarded: tuple[tuple[str, str], ...]
    mean_tokens_offered: float
    mean_tokens_kept: float


def synchronization_schedule(*, sync_every: int, updates: int) -> SynchronizationSchedule:
    """Return the lags of a run that publishes its weights right after every `sync_every`-th update.

    Each update uses rollouts of the weights published last; the weights that the engine starts with are the trainer's
    own and count as no publication. Over whole cycles the mean lag is (sync_every - 1) / 2. Without updates, mean and
    maximum are 0. Raises `ValueError` where `sync_every` is no integer or below 1, or `updates` no integer or below 0.
    """
    require_count("sync_every", sync_every, minimum=1)
    require_count("updates", updates)
    lags = tuple(update % sync_every for update in range(updates))
    return SynchronizationSchedule(
        lags=lags,
        synchronization_count=updates // sync_every,
        mean_lag=sum(lags) / updates if updates else 0.0,
        max_lag=max(lags, default=0),
    )


def synchronization_transfer_time(
    payload_bytes: float, bandwidth_gb_per_s: float, *, setup_seconds: float, efficiency: float
) -> float:
    """Return the seconds that one publication takes: a fixed set-up, then the payload at the rate that is reached.

    The bandwidth is in decimal gigabytes a second (10**9 bytes), `efficiency` is the share of it that is reached,
    above 0 and at most 1. Raises `ValueError` where the bandwidth or the efficiency is out of range, or another
    argument is negative or not finite.
    """
    require_nonnegative("payload_bytes", payload_bytes)
    require_positive("bandwidth_gb_per_s", bandwidth_gb_per_s)
    require_nonnegative("setup_seconds", setup_seconds)
    require_positive("efficiency", efficiency)
    require_fraction("efficiency", efficiency)
    return setup_seconds + payload_bytes / (bandwidth_gb_per_s * BYTES_PER_GB * efficiency)


def cadence_cost(sync_every: int, *, sync_seconds: float, lag_cost: float) -> float:
    """Return what publishing after every `sync_every`-th update costs, in seconds an update.

    The model: a publication stalls the loop for `sync_seconds`, shared by the updates of a cycle; each version of
    mean lag costs `lag_cost` seconds of progress an update. J(K) = S / K + λ (K - 1) / 2, least at K = √(2 S / λ).
    Raises `ValueError` where `sync_every` is no integer or below 1, or another argument is negative or not finite.
    """
    require_count("sync_every", sync_every, minimum=1)
    require_nonnegative("sync_seconds", sync_seconds)
    require_nonnegative("lag_cost", lag_cost)
    return sync_seconds / sync_every + lag_cost * (sync_every - 1) / 2


def best_cadence(candidates: Sequence[int], *, sync_seconds: float, lag_cost: float) -> BestCadence:
    """Return the candidate of the least `cadence_cost`; of equally cheap ones the smallest, whose data are fresher.

    Raises `ValueError` where there is no candidate, and as `cadence_cost` does.
    """
    if len(candidates) == 0:
        raise ValueError("candidates must hold at least one cadence")
    for candidate in candidates:
        require_count("candidates", candidate, minimum=1)
    cost, sync_every = min(
        (cadence_cost(candidate, sync_seconds=sync_seconds, lag_cost=lag_cost), candidate) for candidate in candidates
    )
    return BestCadence(sync_every, cost)


def admit(records: Sequence[Mapping[str, Any]], trainer_version: int, max_lag: int) -> Admission:
    """Return which records may enter the trainer's next batch: those whose lag is from 0 to `max_lag`.

    A record holds an `id`, the `version` that sampled it (None where it is not known) and its length in `tokens`. The
    reasons to discard one are `unknown`, `ahead` (of a version that the trainer has not reached) and `stale`. Records
    keep their order; the mean of no lengths is 0. Raises `ValueError` where a version, a length or a bound is no
    integer or negative.
    """
    require_count("trainer_version", trainer_version)
    require_count("max_lag", max_lag)
    for record in records:
        require_count("records", record["tokens"])
        if record["version"] is not None:
            require_count("records", record["version"])
    kept = []
    discarded = []
    for record in records:
        reason = _reason_to_discard(record["version"], trainer_version, max_lag)
        if reason is None:
            kept.append(record)
        else:
            discarded.append((record["id"], reason))
    return Admission(
        kept=tuple(record["id"] for record in kept),
        discarded=tuple(discarded),
        mean_tokens_offered=_mean_tokens(records),
        mean_tokens_kept=_mean_tokens(kept),
    )


def _reason_to_discard(version: int | None, trainer_version: int, max_lag: int) -> str | None:
    """Return why a record of that version may not enter the batch, or None where it may."""
    if version is None:
        return "unknown"
    if version > trainer_version:
        return "ahead"
    return "stale" if trainer_version - version > max_lag else None


def _mean_tokens(records: Sequence[Mapping[str, Any]]) -> float:
    return sum(record["tokens"] for record in records) / len(records) if records else 0.0


def token_versions(token_times: Sequence[float], publications: Sequence[tuple[float, int]]) -> tuple[int, ...]:
    """Return the version whose weights sampled each token: that of the last publication strictly before it.

    `token_times` are the seconds at which tokens were sampled, `publications` pairs of the seconds at which the
    engine switched and the version that it switched to. A token at the very moment of a switch was computed before
    it, so the old version keeps it. Raises `ValueError` where there is no publication, their times do not rise, a
    version is no count, or a token is not later than the first publication.
    """
    if len(publications) == 0:
        raise ValueError("publications must hold at least one, which the engine starts with")
    for _, version in publications:
        require_count("publications", version)
    for (earlier, _), (later, _) in pairwise(publications):
        if not earlier < later:
            raise ValueError(f"publications must rise in time, and {later} s does not come after {earlier} s")
    for moment in token_times:
        if not moment > publications[0][0]:
            raise ValueError(f"token_times must be later than the first publication, and {moment} s is not")
    switches = [moment for moment, _ in publications]
    return tuple(publications[bisect_left(switches, moment) - 1][1] for moment in token_times)
