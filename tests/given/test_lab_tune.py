"""What the task `tune` hands out: what is a choice, and what comes of one; figures are worked out by hand."""

from __future__ import annotations

import math

import pytest

from rlinfra.given.lab_tune import (
    BOUNDS,
    DEFAULT_CHOICE,
    ROW,
    WORKLOADS,
    broken_bounds,
    require_choice,
    shown_bounds,
    simulate_choice,
    tuning_workload,
)
from rlinfra.simulator import PipelineConfig, simulate_pipeline

CHOICE = {
    "mode": "bounded_async",
    "batch_tokens": 8_000,
    "max_queue_tokens": 16_000,
    "max_policy_lag": 3,
    "sync_every_updates": 2,
}
# One worker, 1,000 tokens at 100 tokens/s, no overhead; an update takes 1,000 / 1,000 = 1 s, a publication 1 s.
CLOCKWORK = {
    "duration_seconds": 120.0,
    "seed": 1,
    "workers": 1,
    "worker_tokens_per_second": 100.0,
    "rollout_overhead_seconds": 0.0,
    "verifier_seconds": 0.0,
    "median_completion_tokens": 1_000.0,
    "completion_spread": 0.0,
    "train_overhead_seconds": 0.0,
    "trainer_tokens_per_second": 1_000.0,
    "publish_seconds": 1.0,
    "mismatch_sigma": 0.0,
    "lag_sigma": 0.5,
    "largest_lag": 0,
    "smallest_ess": 1.0,
}


def test_by_turns_a_cycle_takes_its_three_parts_one_after_the_other():
    """10 + 1 + 1 = 12 s: the updates end at 11, 23, … 119 s, which makes ten of 1,000 tokens in 120 s."""
    row = simulate_choice(CLOCKWORK, {**DEFAULT_CHOICE, "batch_tokens": 1_000})
    assert row == {
        "trained_tokens_per_second": pytest.approx(10_000 / 120),
        "max_lag": 0,
        "mean_normalized_ess": 1.0,
        "trainer_idle_fraction": pytest.approx(110 / 120),
        "rollout_idle_fraction": pytest.approx(20 / 120),
        "weight_sync_fraction": pytest.approx(10 / 120),
    }
    assert broken_bounds(CLOCKWORK, row) == []


def test_at_once_the_worker_never_waits_and_its_rollouts_are_a_version_old():
    """The updates end at 11, 21, … 111 s: eleven. A rollout starts at 20 s, before the weights of 21 s are out."""
    choice = {**CHOICE, "batch_tokens": 1_000, "max_policy_lag": 1, "sync_every_updates": 1}
    row = simulate_choice(CLOCKWORK, choice)
    assert row["trained_tokens_per_second"] == pytest.approx(11_000 / 120)
    assert (row["max_lag"], row["rollout_idle_fraction"]) == (1, 0)
    assert broken_bounds(CLOCKWORK, row) == ["largest_lag"]


def test_a_row_is_that_of_the_simulator_with_the_same_fields():
    workload = WORKLOADS["slow link"]
    world = {name: value for name, value in workload.items() if name not in BOUNDS}
    result = simulate_pipeline(PipelineConfig(**world, **CHOICE))
    assert simulate_choice(workload, CHOICE) == {name: getattr(result, name) for name in ROW}


def test_without_an_update_the_ess_is_0_and_the_bound_on_it_broken():
    row = simulate_choice({**CLOCKWORK, "duration_seconds": 5.0}, DEFAULT_CHOICE)
    assert (row["trained_tokens_per_second"], row["mean_normalized_ess"]) == (0, 0)
    assert broken_bounds(CLOCKWORK, row) == ["smallest_ess"]


@pytest.mark.parametrize(
    ("lag", "ess", "broken"),
    [
        (2, 0.5, []),
        (3, 0.5, ["largest_lag"]),
        (2, 0.499, ["smallest_ess"]),
        (3, 0.499, ["largest_lag", "smallest_ess"]),
    ],
)
def test_a_bound_that_is_just_met_holds(lag, ess, broken):
    row = {"max_lag": lag, "mean_normalized_ess": ess}
    assert broken_bounds({"largest_lag": 2, "smallest_ess": 0.5}, row) == broken


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_the_default_holds_the_bounds_of_every_public_workload(workload):
    assert broken_bounds(workload, simulate_choice(workload, DEFAULT_CHOICE)) == []


def test_both_bounds_are_shown_beside_what_came_of_them():
    row = {"max_lag": 3, "mean_normalized_ess": 0.81234}
    assert shown_bounds({"largest_lag": 2, "smallest_ess": 0.75}, row) == (
        "largest lag 3 (at most 2), mean normalized ESS 0.812 (at least 0.75)"
    )


def test_a_choice_is_its_five_settings():
    assert require_choice(CHOICE) == CHOICE
    assert require_choice(dict(DEFAULT_CHOICE)) == DEFAULT_CHOICE


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"mode": "async"}, "mode"),
        ({"mode": ["sequential"]}, "mode"),
        ({"batch_tokens": 999}, "batch_tokens"),
        ({"batch_tokens": 8_001, "max_queue_tokens": 32_000}, "batch_tokens"),
        ({"batch_tokens": 4_000.0}, "batch_tokens"),
        ({"batch_tokens": True}, "batch_tokens"),
        ({"batch_tokens": "4000"}, "batch_tokens"),
        ({"max_queue_tokens": 32_001}, "max_queue_tokens"),
        ({"max_queue_tokens": 7_999}, "max_queue_tokens must be at least batch_tokens"),
        ({"max_queue_tokens": 10**400}, "max_queue_tokens"),
        ({"max_queue_tokens": math.nan}, "max_queue_tokens"),
        ({"max_policy_lag": -1}, "max_policy_lag"),
        ({"max_policy_lag": 9}, "max_policy_lag"),
        ({"max_policy_lag": None}, "max_policy_lag"),
        ({"sync_every_updates": 0}, "sync_every_updates"),
        ({"sync_every_updates": 9, "max_policy_lag": 8}, "sync_every_updates"),
        ({"sync_every_updates": 5}, "sync_every_updates must be at most max_policy_lag"),
        ({"workers": 1_000_000}, "and no others"),
        ({"duration_seconds": 1e9}, "and no others"),
        ({1: 2}, "and no others"),
    ],
)
def test_a_senseless_choice_is_refused_by_name_and_nothing_of_it_repeated(change, named):
    with pytest.raises(ValueError, match=named) as error:
        require_choice({**CHOICE, **change})
    assert not any(text in str(error.value) for text in ("async'", "4000'", "nan", "000000000", "None"))


@pytest.mark.parametrize("choice", [None, [], "sequential", 4_000, {}, {"mode": "sequential"}, [("mode", 1)]])
def test_what_is_no_dictionary_of_the_five_is_refused(choice):
    with pytest.raises(ValueError, match="a choice is a dictionary with the keys mode, batch_tokens, "):
        require_choice(choice)


def test_a_senseless_workload_is_refused_by_the_name_of_the_field():
    with pytest.raises(ValueError, match="workers"):
        simulate_choice(tuning_workload(seed=1, workers=0, publish_seconds=1.0), DEFAULT_CHOICE)
    with pytest.raises(ValueError, match="'wokers' is no field"):
        simulate_choice(tuning_workload(seed=1, wokers=3), DEFAULT_CHOICE)
