"""What the lab's task `tune` hands out: choices and their ranges, three workloads, and the run of a choice.

A *workload* says what an operator finds: the fields of `PipelineConfig` that describe workers, trainer, link, lengths
and run, and two bounds on what comes out. A *choice* says what the operator sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..simulator import MODES, PipelineConfig, simulate_pipeline
from .arguments import require_count

if TYPE_CHECKING:
    from collections.abc import Mapping

# What may be set besides the mode, from the lowest to the highest value, both included.
CHOICE_RANGES: Mapping[str, tuple[int, int]] = {
    "batch_tokens": (1_000, 8_000),
    "max_queue_tokens": (1_000, 32_000),
    "max_policy_lag": (0, 8),
    "sync_every_updates": (1, 8),
}
# By turns, in small batches, always fresh: it holds every bound on lag, and leaves everybody waiting.
DEFAULT_CHOICE: Mapping[str, Any] = {
    "mode": "sequential",
    "batch_tokens": 2_000,
    "max_queue_tokens": 4_000,
    "max_policy_lag": 0,
    "sync_every_updates": 1,
}
BOUNDS = ("largest_lag", "smallest_ess")

_WORLD: Mapping[str, Any] = {
    "duration_seconds": 400.0,
    "worker_tokens_per_second": 100.0,
    "rollout_overhead_seconds": 0.3,
    "verifier_seconds": 0.2,
    "median_completion_tokens": 400.0,
    "completion_spread": 0.6,
    "max_completion_tokens": 4_096,
    "trainer_tokens_per_second": 1_600.0,
    "mismatch_sigma": 0.1,
}


def tuning_workload(**fields: float) -> dict[str, Any]:
    """Return a workload of the course's usual world (12 to 60 workers of 100 tokens/s, 400 s) with these fields."""
    return {**_WORLD, **fields}


# Three workloads to practise on, each short of something else.
WORKLOADS: Mapping[str, Mapping[str, Any]] = {
    "slow link": tuning_workload(
        seed=1,
        workers=14,
        train_overhead_seconds=0.5,
        publish_seconds=11.0,
        lag_sigma=0.15,
        largest_lag=7,
        smallest_ess=0.75,
    ),
    "fresh only": tuning_workload(
        seed=2,
        workers=7,
        worker_tokens_per_second=220.0,
        train_overhead_seconds=3.0,
        publish_seconds=7.0,
        lag_sigma=0.2,
        largest_lag=0,
        smallest_ess=0.5,
    ),
    "fast drift": tuning_workload(
        seed=3,
        workers=11,
        train_overhead_seconds=0.4,
        publish_seconds=1.0,
        lag_sigma=0.55,
        largest_lag=4,
        smallest_ess=0.7,
    ),
}


def require_choice(choice: object) -> dict[str, Any]:
    """Return a choice of five settings, checked; a sixth key, a wrong type and what is out of range are errors.

    Raises `ValueError` that names the setting and what is allowed, and repeats nothing of what was given.
    """
    names = ("mode", *CHOICE_RANGES)
    if not isinstance(choice, dict) or set(choice) != set(names):
        raise ValueError(f"a choice is a dictionary with the keys {', '.join(names)}, and no others")
    if choice["mode"] not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}")
    for name, (low, high) in CHOICE_RANGES.items():
        if not _is_count_between(choice[name], low, high):
            raise ValueError(f"{name} must be an integer from {low:,} to {high:,}")
    if choice["max_queue_tokens"] < choice["batch_tokens"]:
        raise ValueError("max_queue_tokens must be at least batch_tokens: the queue could never hold a batch")
    if choice["sync_every_updates"] > choice["max_policy_lag"] + 1:
        raise ValueError("sync_every_updates must be at most max_policy_lag + 1: all rollouts would be too old")
    return {name: choice[name] for name in names}


def _is_count_between(value: Any, low: int, high: int) -> bool:
    try:
        return low <= require_count("a setting", value) <= high
    except ValueError:
        return False


# What a run of a choice shows, in the units of `PipelineResult`.
ROW = (
    "trained_tokens_per_second",
    "max_lag",
    "mean_normalized_ess",
    "trainer_idle_fraction",
    "rollout_idle_fraction",
    "weight_sync_fraction",
)


def simulate_choice(workload: Mapping[str, Any], choice: Mapping[str, Any]) -> dict[str, float]:
    """Return what comes of a choice under a workload, by the names in `ROW`; the same each time, in milliseconds.

    The normalised ESS is the mean over all batches, and 0 where no update was finished. Raises `ValueError` that names
    a senseless field of the workload or setting of the choice.
    """
    world = {name: value for name, value in workload.items() if name not in BOUNDS}
    config = PipelineConfig.from_data({**world, **require_choice(choice), "timeline_samples": 1})
    result = simulate_pipeline(config)
    return {name: getattr(result, name) or 0.0 for name in ROW}


def broken_bounds(workload: Mapping[str, Any], row: Mapping[str, float]) -> list[str]:
    """Return the names of the workload's bounds that a run breaks: the largest lag of a rollout, the mean ESS."""
    broken = (row["max_lag"] > workload["largest_lag"], row["mean_normalized_ess"] < workload["smallest_ess"])
    return [name for name, is_broken in zip(BOUNDS, broken, strict=True) if is_broken]


def shown_bounds(workload: Mapping[str, Any], row: Mapping[str, float]) -> str:
    """Return both bounds of a workload beside what a run came to, for reading."""
    return (
        f"largest lag {row['max_lag']:g} (at most {workload['largest_lag']:g}), "
        f"mean normalized ESS {row['mean_normalized_ess']:.3f} (at least {workload['smallest_ess']:g})"
    )
