"""What comes out of a run: totals, batches, a timeline, and the same as rows and plain data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .config import PipelineConfig


class Event(NamedTuple):
    """One thing that happened: when (seconds), what, by which worker (−1: none), how many tokens, which version.

    Kinds: a rollout's "start" and "finish"; "discard" (of what is too old, a version at a time); "train" (a batch is
    taken) and "update" (it is done; the version is the new one); "publish" (workers have the weights); "checkpoint" (it
    is written); "failure" and "restart".
    """

    time: float
    kind: str
    worker: int
    tokens: int
    version: int


@dataclass(frozen=True)
class Batch:
    """The batch of one update: its number from 1, when it was trained on, its tokens, its rollouts counted by lag.

    `normalized_ess` is Kish's effective sample size (Σw)² / Σw² of its rollouts over their number, from 1/n to 1 and
    rounded to nine decimals. Where the logarithms of many weights are normal with variance s², it comes close to
    exp(−s²).
    """

    update: int
    start_seconds: float
    end_seconds: float
    tokens: int
    lag_counts: Mapping[int, int]
    normalized_ess: float

    @property
    def rollouts(self) -> int:
        """How many rollouts it has."""
        return sum(self.lag_counts.values())

    @property
    def mean_lag(self) -> float:
        """The mean lag of its rollouts, in versions."""
        return _mean_lag(self.lag_counts)

    @property
    def max_lag(self) -> int:
        """The largest lag of its rollouts, in versions."""
        return max(self.lag_counts)


@dataclass(frozen=True)
class PipelineResult:
    """A run of `config`. Counts are exact, times in seconds; what was under way at the end is not finished.

    Tokens are conserved: `generated_tokens` (of finished rollouts) = `trained_tokens` + `discarded_tokens` +
    `queued_tokens` + `training_tokens` (in the trainer's hands at the end) + `lost_tokens` (to failures, with the
    updates that these undid). `interrupted_rollouts` were in flight at a failure.

    `batches` has the updates that last, without those undone. `timeline` has a row for the state just before each step
    of the run: `time`, `queue_tokens`, `in_flight_tokens` (of rollouts under way, at full length), `trained_tokens`.
    `trainer_seconds` says for how long the trainer was "waiting", "training", at a "checkpoint" or "down". `events` is
    empty unless the run was traced.
    """

    config: PipelineConfig
    batches: tuple[Batch, ...]
    timeline: tuple[Mapping[str, float], ...]
    events: tuple[Event, ...]
    generated_tokens: int
    discarded_tokens: int
    queued_tokens: int
    training_tokens: int
    lost_tokens: int
    finished_rollouts: int
    discarded_rollouts: int
    interrupted_rollouts: int
    publications: int
    checkpoints: int
    failures: int
    lost_updates: int
    max_queue_tokens_observed: int
    trainer_seconds: Mapping[str, float]
    workers_waiting_seconds: float
    publishing_seconds: float

    @property
    def trained_tokens(self) -> int:
        """The tokens of all updates that last."""
        return sum(batch.tokens for batch in self.batches)

    @property
    def trained_tokens_per_second(self) -> float:
        """Throughput: trained tokens over the whole duration."""
        return self.trained_tokens / self.config.duration_seconds

    @property
    def backpressure_seconds(self) -> float:
        """Worker-seconds of pauses at a full queue; 0 in the sequential mode, where workers wait at a barrier."""
        return self.workers_waiting_seconds if self.config.mode == "bounded_async" else 0.0

    @property
    def trainer_idle_fraction(self) -> float:
        """The share of the time in which the trainer waited for a batch."""
        return self.trainer_seconds["waiting"] / self.config.duration_seconds

    @property
    def rollout_idle_fraction(self) -> float:
        """The share of the workers' time in which they waited, at a full queue or at the barrier."""
        return self.workers_waiting_seconds / (self.config.workers * self.config.duration_seconds)

    @property
    def verifier_fraction(self) -> float:
        """The share of the workers' time that verifiers took for the finished rollouts."""
        verifying = self.finished_rollouts * self.config.verifier_seconds
        return verifying / (self.config.workers * self.config.duration_seconds)

    @property
    def weight_sync_fraction(self) -> float:
        """The share of the time in which weights were on their way to the workers."""
        return self.publishing_seconds / self.config.duration_seconds

    @property
    def lag_counts(self) -> Mapping[int, int]:
        """How many trained rollouts had each lag, in rising order."""
        counts: Counter[int] = Counter()
        for batch in self.batches:
            counts.update(batch.lag_counts)
        return dict(sorted(counts.items()))

    @property
    def mean_lag(self) -> float:
        """The mean lag of all trained rollouts, in versions; 0 where there are none."""
        return _mean_lag(self.lag_counts)

    @property
    def max_lag(self) -> int:
        """The largest lag of a trained rollout, in versions; 0 where there is none."""
        return max(self.lag_counts, default=0)

    @property
    def mean_normalized_ess(self) -> float | None:
        """The mean over all batches; `None` where there is no batch."""
        return fmean(batch.normalized_ess for batch in self.batches) if self.batches else None

    @property
    def min_normalized_ess(self) -> float | None:
        """The smallest of all batches; `None` where there is no batch."""
        return min((batch.normalized_ess for batch in self.batches), default=None)

    @property
    def queue_growth_per_minute(self) -> float:
        """How fast the queue grew once the run had begun, in tokens a minute: negative where it shrank.

        The mean level of the last quarter of the run less that of the second, which lie half the run apart. A
        difference of less than a batch is noise, since each batch takes that much at once, and counts as 0.
        """
        quarter = len(self.timeline) // 4
        levels = [row["queue_tokens"] for row in self.timeline]
        if not quarter:
            return 0.0
        growth = fmean(levels[-quarter:]) - fmean(levels[quarter : 2 * quarter])
        return 0.0 if abs(growth) < self.config.batch_tokens else growth / (self.config.duration_seconds / 120)

    def to_data(self) -> dict[str, Any]:
        """Return the run as JSON can hold it, batches and timeline by column; events are left out."""
        columns = ("time", "queue_tokens", "in_flight_tokens", "trained_tokens")
        shown = (
            "update",
            "start_seconds",
            "end_seconds",
            "tokens",
            "rollouts",
            "mean_lag",
            "max_lag",
            "normalized_ess",
        )
        return {
            "config": self.config.to_data(),
            **result_row(self),
            "lag_counts": {str(lag): count for lag, count in self.lag_counts.items()},
            "batches": {name: [getattr(batch, name) for batch in self.batches] for name in shown},
            "timeline": {name: [row[name] for row in self.timeline] for name in columns},
        }


ROW = (
    "trained_tokens_per_second",
    "trainer_idle_fraction",
    "rollout_idle_fraction",
    "weight_sync_fraction",
    "mean_lag",
    "max_lag",
    "mean_normalized_ess",
    "min_normalized_ess",
    "discarded_rollouts",
    "discarded_tokens",
    "lost_tokens",
    "max_queue_tokens_observed",
    "backpressure_seconds",
)


def result_row(result: PipelineResult) -> dict[str, Any]:
    """Return a run as one row of a table: its mode, its number of updates, and the figures to compare."""
    figures = {name: getattr(result, name) for name in ROW}
    return {"mode": result.config.mode, "updates": len(result.batches), **figures}


def pipeline_metrics(result: PipelineResult) -> dict[str, float]:
    """Return the seven metrics that a diagnosis reads; the loop has no memory to run out of, so `oom_events` is 0.

    Raises `ValueError` where nothing was trained: then there is no effective sample size.
    """
    if result.mean_normalized_ess is None:
        raise ValueError("the run has no update: duration_seconds must be longer, or batch_tokens smaller")
    return {
        "trainer_idle_fraction": result.trainer_idle_fraction,
        "rollout_idle_fraction": result.rollout_idle_fraction,
        "verifier_fraction": result.verifier_fraction,
        "weight_sync_fraction": result.weight_sync_fraction,
        "queue_growth_per_minute": result.queue_growth_per_minute,
        "normalized_ess": result.mean_normalized_ess,
        "oom_events": 0,
    }


def _mean_lag(lag_counts: Mapping[int, int]) -> float:
    rollouts = sum(lag_counts.values())
    return sum(lag * count for lag, count in lag_counts.items()) / rollouts if rollouts else 0.0
