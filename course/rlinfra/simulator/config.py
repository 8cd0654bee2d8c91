"""Every quantity of the loop, with its unit; a senseless one is an error that names it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..given.arguments import require_count, require_nonnegative, require_positive
from .workload import mean_completion_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

MODES = ("sequential", "bounded_async")
LARGEST = 1e12
MOST_SAMPLES = 100_000
MOST_WORKERS = 100_000
MOST_ROLLOUTS = 10_000_000  # a run of this length takes a minute


@dataclass(frozen=True, kw_only=True)
class PipelineConfig:
    """One configuration of the loop. Times are in simulated seconds.

    The run: `mode` ("sequential" or "bounded_async"), `duration_seconds`, `seed`. Two configurations with the same
    seed meet the same rollouts: the n-th completion of a worker has the same length in both.

    Workers: `workers` completions are generated at a time. One takes `rollout_overhead_seconds` (prompt and
    scheduling), its tokens at `worker_tokens_per_second`, and `verifier_seconds` for its reward. Lengths are
    log-normal with the median `median_completion_tokens` and the standard deviation `completion_spread` of their
    logarithm (0: all alike), cut at `max_completion_tokens`.

    Queue: a batch has at least `batch_tokens`. In the asynchronous mode no rollout starts while `max_queue_tokens` or
    more wait. What lags more than `max_policy_lag` versions is discarded.

    Trainer: an update takes `train_overhead_seconds` and its tokens at `trainer_tokens_per_second`. Each
    `sync_every_updates` updates the weights are published; workers have them `publish_seconds` later.

    Importance weights: the log-weight of a rollout is normal with variance `mismatch_sigma`² + lag · `lag_sigma`²,
    and the mean weight is 1.

    Failures: with `mtbf_seconds` the whole loop fails at exponential times of that mean, and is back after
    `restart_seconds` with its last checkpoint; without one, at version 0. With `checkpoint_interval_seconds`, the
    trainer writes a checkpoint after the first update that ends so long after the last one, in `checkpoint_seconds`.

    `timeline_samples` is how many steps the recorded timeline has.

    Raises `ValueError` that names the field, its value and what is allowed: where a value has the wrong type or range,
    where the queue could never hold a batch (`max_queue_tokens` below `batch_tokens`), where the trainer would run out
    of fresh rollouts for good (`sync_every_updates` above `max_policy_lag` + 1), and where the run would be too long.
    """

    mode: str = "bounded_async"
    duration_seconds: float = 120.0
    seed: int = 12016

    workers: int = 8
    worker_tokens_per_second: float = 180.0
    rollout_overhead_seconds: float = 0.3
    verifier_seconds: float = 0.0
    median_completion_tokens: float = 500.0
    completion_spread: float = 0.6
    max_completion_tokens: int = 8192

    batch_tokens: int = 4000
    max_queue_tokens: int = 7000
    max_policy_lag: int = 2

    train_overhead_seconds: float = 0.4
    trainer_tokens_per_second: float = 1200.0
    sync_every_updates: int = 1
    publish_seconds: float = 0.6

    mismatch_sigma: float = 0.1
    lag_sigma: float = 0.25

    mtbf_seconds: float | None = None
    restart_seconds: float = 10.0
    checkpoint_interval_seconds: float | None = None
    checkpoint_seconds: float = 2.0

    timeline_samples: int = 480

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f'mode must be "sequential" or "bounded_async", not {self.mode!r}')
        self._require_count("seed")
        self._require_count("workers", minimum=1, maximum=MOST_WORKERS)
        for name in ("max_completion_tokens", "batch_tokens", "max_queue_tokens", "sync_every_updates"):
            self._require_count(name, minimum=1)
        self._require_count("max_policy_lag")
        self._require_count("timeline_samples", minimum=1, maximum=MOST_SAMPLES)
        for name in ("duration_seconds", "worker_tokens_per_second", "trainer_tokens_per_second"):
            self._require_number(name, positive=True)
        self._require_number("median_completion_tokens", positive=True)
        for name in ("rollout_overhead_seconds", "verifier_seconds", "train_overhead_seconds", "publish_seconds"):
            self._require_number(name)
        for name in ("completion_spread", "mismatch_sigma", "lag_sigma"):
            self._require_number(name, maximum=10)
        for name in ("mtbf_seconds", "checkpoint_interval_seconds"):
            if getattr(self, name) is not None:
                self._require_number(name, positive=True)
        self._require_number("restart_seconds")
        self._require_number("checkpoint_seconds")
        self._require_that_it_can_run()

    def _require_count(self, name: str, *, minimum: int = 0, maximum: int = int(LARGEST)) -> None:
        count = int(require_count(name, getattr(self, name), minimum=minimum))
        if count > maximum:
            raise ValueError(f"{name} must be at most {maximum}, not {count}")
        object.__setattr__(self, name, count)  # a plain integer, whatever kind came in

    def _require_number(self, name: str, *, positive: bool = False, maximum: float = LARGEST) -> None:
        number = (require_positive if positive else require_nonnegative)(name, getattr(self, name))
        if number > maximum:
            raise ValueError(f"{name} must be at most {maximum:g}, not {number!r}")
        object.__setattr__(self, name, float(number))

    def _require_that_it_can_run(self) -> None:
        if self.max_queue_tokens < self.batch_tokens:
            raise ValueError(
                f"max_queue_tokens must be at least batch_tokens ({self.batch_tokens}), not {self.max_queue_tokens}: "
                "the queue could never hold a batch"
            )
        if self.sync_every_updates > self.max_policy_lag + 1:
            raise ValueError(
                f"sync_every_updates must be at most max_policy_lag + 1 ({self.max_policy_lag + 1}), "
                f"not {self.sync_every_updates}: every rollout would be too old before the next publication"
            )
        started_in = min(self.rollout_seconds(mean_completion_tokens(self)), self.mtbf_seconds or LARGEST)
        if self.workers * self.duration_seconds > MOST_ROLLOUTS * started_in:
            raise ValueError(
                f"duration_seconds must be at most {MOST_ROLLOUTS * started_in / self.workers:.6g} with these workers, "
                f"not {self.duration_seconds:g}: a run may have {MOST_ROLLOUTS:,} rollouts"
            )

    def rollout_seconds(self, tokens: float) -> float:
        """Return how long a worker is busy with a completion of so many tokens, its reward included."""
        return self.rollout_overhead_seconds + tokens / self.worker_tokens_per_second + self.verifier_seconds

    def train_seconds(self, tokens: int) -> float:
        """Return how long an update on so many tokens takes."""
        return self.train_overhead_seconds + tokens / self.trainer_tokens_per_second

    def to_data(self) -> dict[str, Any]:
        """Return all fields as JSON can hold them."""
        return dataclasses.asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> PipelineConfig:
        """Return the configuration with these fields; raises `ValueError` where one does not exist or is senseless."""
        known = {field.name for field in dataclasses.fields(cls)}
        for name in data:
            if name not in known:
                raise ValueError(f"{name!r} is no field of PipelineConfig; it has {', '.join(sorted(known))}")
        return cls(**data)
