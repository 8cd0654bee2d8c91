"""The lab's task `tune`: five hidden workloads, each short of something else, so that no one choice suits them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlinfra.given.lab_tune import DEFAULT_CHOICE, WORKLOADS, broken_bounds, tuning_workload
from rlinfra.simulator import MODES
from rlinfra_reference import lab_tune as tuned

from ..attempts import lab_tune as tuning_attempts
from .model import ChoiceMistake, ChoiceTask, ChoiceWorkload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlinfra.draws import Draws

    Choice = Mapping[str, Any]
    Row = Mapping[str, float]


def _world_seed(draws: Draws) -> int:
    return draws.integer(1, 10**6)


def _slow_link(draws: Draws) -> dict[str, Any]:
    """Several updates pass while one publication is on its way."""
    return tuning_workload(
        seed=_world_seed(draws),
        workers=draws.integer(12, 18),
        train_overhead_seconds=0.5,
        publish_seconds=draws.uniform(9, 13),
        lag_sigma=0.15,
        largest_lag=draws.integer(6, 8),
        smallest_ess=0.75,
    )


def _fast_drift(draws: Draws) -> dict[str, Any]:
    """Each version of lag costs much of the ESS."""
    return tuning_workload(
        seed=_world_seed(draws),
        workers=draws.integer(8, 14),
        train_overhead_seconds=0.4,
        publish_seconds=1.0,
        lag_sigma=draws.uniform(0.56, 0.64),
        largest_lag=4,
        smallest_ess=0.7,
    )


def _fresh_only(draws: Draws) -> dict[str, Any]:
    """No lag is allowed, and each update and publication takes long."""
    return tuning_workload(
        seed=_world_seed(draws),
        workers=draws.integer(6, 8),
        worker_tokens_per_second=draws.uniform(180, 260),
        train_overhead_seconds=draws.uniform(2, 4),
        publish_seconds=draws.uniform(6, 8),
        lag_sigma=0.2,
        largest_lag=0,
        smallest_ess=0.5,
    )


def _dear_updates(draws: Draws) -> dict[str, Any]:
    """Seconds pass in an update before its first token, and lengths differ much."""
    return tuning_workload(
        seed=_world_seed(draws),
        workers=draws.integer(12, 20),
        completion_spread=1.0,
        max_completion_tokens=8_192,
        train_overhead_seconds=draws.uniform(5, 7),
        publish_seconds=0.6,
        lag_sigma=0.2,
        largest_lag=3,
        smallest_ess=0.8,
    )


def _many_workers(draws: Draws) -> dict[str, Any]:
    """Several batches are in flight at any time, on many slow workers."""
    return tuning_workload(
        duration_seconds=200.0,
        seed=_world_seed(draws),
        workers=draws.integer(40, 60),
        worker_tokens_per_second=40.0,
        train_overhead_seconds=0.4,
        trainer_tokens_per_second=draws.uniform(2_500, 3_000),
        publish_seconds=0.6,
        lag_sigma=0.15,
        largest_lag=draws.integer(6, 8),
        smallest_ess=0.7,
    )


def _goes_by_turns(workload: Choice, choice: Choice, _: Row) -> bool:
    return bool(choice["mode"] == "sequential" and workload["largest_lag"] > 0)


def _too_old(workload: Choice, _: Choice, row: Row) -> bool:
    return "largest_lag" in broken_bounds(workload, row)


def _too_far_off(workload: Choice, _: Choice, row: Row) -> bool:
    return broken_bounds(workload, row) == ["smallest_ess"]


def _link_is_busy(_: Choice, choice: Choice, row: Row) -> bool:
    return bool(choice["sync_every_updates"] == 1 and row["weight_sync_fraction"] > 0.6)


def _small_updates(_: Choice, choice: Choice, __: Row) -> bool:
    return bool(choice["batch_tokens"] < 3_000)


def _discards_all_lag(_: Choice, choice: Choice, __: Row) -> bool:
    return bool(choice["mode"] == "bounded_async" and choice["max_policy_lag"] == 0)


TUNE = ChoiceTask(
    name="tune",
    bench="lab_tune",
    engine=("rlinfra.simulator", "rlinfra.draws", "rlinfra.given.arguments"),
    rate="trained_tokens_per_second",
    reference=tuned.tune,
    default=DEFAULT_CHOICE,
    space={
        "mode": MODES,
        "batch_tokens": (1_000, 1_500, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000),
        "max_queue_tokens": (1_000, 2_000, 4_000, 8_000, 12_000, 16_000, 24_000, 32_000),
        "max_policy_lag": tuple(range(9)),
        "sync_every_updates": tuple(range(1, 9)),
    },
    examples=WORKLOADS,
    workloads=(
        ChoiceWorkload("slow_link", "a link on which a publication takes long", 1, _slow_link),
        ChoiceWorkload("fast_drift", "weights that drift fast from version to version", 1, _fast_drift),
        ChoiceWorkload("fresh_only", "no lag allowed", 1, _fresh_only),
        ChoiceWorkload("dear_updates", "updates that cost much whatever their size", 1, _dear_updates),
        ChoiceWorkload("many_workers", "many slow workers", 1, _many_workers),
    ),
    mistakes=(
        ChoiceMistake(tuning_attempts.lag_bound_unread, _too_old),
        ChoiceMistake(tuning_attempts.oldest_rollouts_whatever_the_ess, _too_far_off),
        ChoiceMistake(tuning_attempts.always_by_turns, _goes_by_turns),
        ChoiceMistake(tuning_attempts.only_fresh_rollouts, _discards_all_lag),
        ChoiceMistake(tuning_attempts.publishes_after_each_update, _link_is_busy),
        ChoiceMistake(tuning_attempts.smallest_batches, _small_updates),
    ),
    correct=(tuning_attempts.by_rule_of_thumb, tuning_attempts.by_grid, tuning_attempts.by_climbing),
)
