"""Pipelines, stragglers and queues: what overlap can gain, what a slow rollout costs, what an overloaded queue does.

All models are ideal: stages take the same time for every batch, cards are held until the group ends, tokens flow like
a fluid. Seconds, minutes and tokens may be fractional.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlinfra.given import require_count, require_nonnegative, require_positive

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "PipelineMakespan",
    "PipelineReport",
    "QueueReport",
    "StragglerReport",
    "pipeline_makespan",
    "pipeline_report",
    "queue_report",
    "straggler_report",
]


@dataclass(frozen=True)
class PipelineReport:
    """Two stages one after the other and overlapped: seconds of the run, seconds a batch, and the two speedups."""

    sequential_total: float
    pipeline_total: float
    period: float
    speedup: float
    asymptotic_speedup: float


@dataclass(frozen=True)
class PipelineMakespan:
    """How long an ideal linear pipeline runs, the stage that bounds it, and the busy share of each stage."""

    makespan_seconds: float
    bounding_stage: int
    busy_fractions: tuple[float, ...]


@dataclass(frozen=True)
class StragglerReport:
    """A synchronous group, one card a rollout: card-seconds used and held, and how many rollouts were cut."""

    work: float
    wall: float
    capacity: float
    utilization: float
    idle_fraction: float
    truncated: int


@dataclass(frozen=True)
class QueueReport:
    """A queue that starts empty and pauses its producers at a capacity; `full_after_minutes` is infinite for never."""

    growth_per_minute: float
    full_after_minutes: float
    backlog_tokens: float
    paused_fraction: float
    long_run_paused_fraction: float


def pipeline_report(*, rollout_seconds: float, train_seconds: float, batches: int) -> PipelineReport:
    """Return what overlapping rollout and training gains over running them one after the other.

    The first batch passes both stages; from then on one ends every period, the longer of the two stages. Raises
    `ValueError` where a duration is not a finite number above 0, or `batches` is below 1 or no integer.
    """
    require_positive("rollout_seconds", rollout_seconds)
    require_positive("train_seconds", train_seconds)
    require_count("batches", batches, minimum=1)
    one_batch = rollout_seconds + train_seconds
    period = max(rollout_seconds, train_seconds)
    sequential = batches * one_batch
    pipeline = one_batch + (batches - 1) * period
    return PipelineReport(sequential, pipeline, period, sequential / pipeline, one_batch / period)


def pipeline_makespan(stage_seconds: Sequence[float], batches: int) -> PipelineMakespan:
    """Return how long `batches` batches take through an ideal linear pipeline, and which stage bounds it.

    Each stage works on one batch at a time, for `stage_seconds` of its place, and passes the batches on in order: a
    flow shop with equal jobs. The first batch passes every stage, and each further one leaves the longest stage one
    period later. Of equally long stages the first is named. Raises `ValueError` where there is no stage, a duration
    is not a finite number above 0, or `batches` is below 1 or no integer.
    """
    if len(stage_seconds) == 0:
        raise ValueError("stage_seconds must hold at least one stage")
    for seconds in stage_seconds:
        require_positive("stage_seconds", seconds)
    require_count("batches", batches, minimum=1)
    period = max(stage_seconds)
    makespan = sum(stage_seconds) + (batches - 1) * period
    busy = tuple(batches * seconds / makespan for seconds in stage_seconds)
    return PipelineMakespan(makespan, list(stage_seconds).index(period), busy)


def straggler_report(durations: Sequence[float], truncate_at: float | None = None) -> StragglerReport:
    """Return how well a synchronous group uses its cards: one rollout a card, all held until the last one ends.

    With `truncate_at`, a rollout that would take longer is stopped after that many seconds; one that ends exactly
    then is not cut. Raises `ValueError` where `durations` is empty, or a number is not finite and above 0.
    """
    if len(durations) == 0:
        raise ValueError("durations must hold at least one rollout")
    for seconds in durations:
        require_positive("durations", seconds)
    if truncate_at is not None:
        require_positive("truncate_at", truncate_at)
    limit = math.inf if truncate_at is None else truncate_at
    held = [min(seconds, limit) for seconds in durations]
    work = sum(held)
    wall = max(held)
    capacity = len(held) * wall
    truncated = sum(seconds > limit for seconds in durations)
    return StragglerReport(work, wall, capacity, work / capacity, 1 - work / capacity, truncated)


def queue_report(
    arrival_per_minute: float, service_per_minute: float, *, minutes: float, capacity: float
) -> QueueReport:
    """Return what a token queue does in `minutes`, if producers write and the trainer reads at these rates.

    The fluid model: empty at the start; at `capacity` tokens backpressure pauses the producers for just the share of
    time that keeps the backlog there, 1 - service / arrival. Raises `ValueError` where a rate is negative or not
    finite, or `minutes` or `capacity` is not a finite number above 0.
    """
    require_nonnegative("arrival_per_minute", arrival_per_minute)
    require_nonnegative("service_per_minute", service_per_minute)
    require_positive("minutes", minutes)
    require_positive("capacity", capacity)
    growth = max(arrival_per_minute - service_per_minute, 0)
    full_after = capacity / growth if growth else math.inf
    backlog = min(growth * minutes, capacity)
    long_run = growth / arrival_per_minute if growth else 0.0
    paused = long_run * max(minutes - full_after, 0) / minutes
    return QueueReport(growth, full_after, backlog, paused, long_run)
