"""What a configuration refuses: the message names the field, the value, and what is allowed."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlinfra.simulator import PipelineConfig, simulate_pipeline

COUNTS = ["workers", "max_completion_tokens", "batch_tokens", "max_queue_tokens", "sync_every_updates"]
POSITIVE = [
    "duration_seconds",
    "worker_tokens_per_second",
    "trainer_tokens_per_second",
    "median_completion_tokens",
    "mtbf_seconds",
    "checkpoint_interval_seconds",
]
NONNEGATIVE = [
    "rollout_overhead_seconds",
    "verifier_seconds",
    "train_overhead_seconds",
    "publish_seconds",
    "restart_seconds",
    "checkpoint_seconds",
    "completion_spread",
    "mismatch_sigma",
    "lag_sigma",
]


def refusal(**fields):
    with pytest.raises(ValueError, match=r"\w") as error:
        PipelineConfig(**fields)
    return str(error.value)


def test_every_field_is_checked():
    fields = {field.name for field in dataclasses.fields(PipelineConfig)}
    assert fields == {"mode", "seed", "max_policy_lag", "timeline_samples", *COUNTS, *POSITIVE, *NONNEGATIVE}


@pytest.mark.parametrize("mode", ["async", "", None, 1, ["sequential"]])
def test_a_mode_is_one_of_two(mode):
    assert refusal(mode=mode) == f'mode must be "sequential" or "bounded_async", not {mode!r}'


@pytest.mark.parametrize("name", [*COUNTS, "timeline_samples"])
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (0, "at least 1, not 0"),
        (-3, "at least 1, not -3"),
        (2.0, "an integer, not 2.0"),
        (True, "an integer, not True"),
        (None, "an integer, not None"),
        ("8", "an integer, not '8'"),
    ],
)
def test_a_count_is_a_positive_integer(name, value, reason):
    assert refusal(**{name: value}) == f"{name} must be {reason}"


@pytest.mark.parametrize("name", ["seed", "max_policy_lag"])
def test_a_seed_and_a_lag_may_be_zero_and_no_less(name):
    assert getattr(PipelineConfig(**{name: 0}), name) == 0
    assert refusal(**{name: -1}) == f"{name} must be at least 0, not -1"


@pytest.mark.parametrize("name", [*POSITIVE, *NONNEGATIVE])
@pytest.mark.parametrize("value", [-0.5, math.nan, math.inf, True, "1"])
def test_a_quantity_is_a_finite_number_that_is_not_negative(name, value):
    allowed = "above 0" if name in POSITIVE else ", 0 or more"
    message = refusal(**{name: value})
    assert message.startswith(f"{name} must be a finite number")
    assert allowed in message
    assert message.endswith(f"not {value!r}")


@pytest.mark.parametrize("name", POSITIVE)
def test_what_divides_or_repeats_is_not_zero(name):
    assert refusal(**{name: 0}) == f"{name} must be a finite number above 0, not 0"


@pytest.mark.parametrize(
    ("name", "value", "most"),
    [
        ("batch_tokens", 10**400, "1000000000000"),
        ("workers", 100_001, "100000"),
        ("timeline_samples", 10**6, "100000"),
        ("publish_seconds", 10**400, "1e+12"),
        ("lag_sigma", 10.5, "10"),
    ],
)
def test_what_is_too_large_is_refused_before_it_is_used(name, value, most):
    assert refusal(**{name: value}) == f"{name} must be at most {most}, not {value}"


def test_a_queue_that_could_never_hold_a_batch_is_refused():
    assert PipelineConfig(batch_tokens=7000).max_queue_tokens == 7000
    assert refusal(batch_tokens=7001) == (
        "max_queue_tokens must be at least batch_tokens (7001), not 7000: the queue could never hold a batch"
    )


def test_a_cadence_that_lets_every_rollout_grow_too_old_is_refused():
    assert PipelineConfig(max_policy_lag=2, sync_every_updates=3).sync_every_updates == 3
    assert refusal(max_policy_lag=2, sync_every_updates=4) == (
        "sync_every_updates must be at most max_policy_lag + 1 (3), not 4: "
        "every rollout would be too old before the next publication"
    )


@pytest.mark.parametrize("fields", [{"workers": 100_000}, {"mtbf_seconds": 1e-3}])
def test_a_run_that_would_be_too_long_is_refused(fields):
    message = refusal(duration_seconds=10_000, **fields)
    longest = float(message.partition("at most ")[2].partition(" ")[0])
    assert message.startswith("duration_seconds must be at most")
    assert PipelineConfig(duration_seconds=longest * 0.999, **fields)


def test_numbers_of_other_libraries_become_plain():
    config = PipelineConfig(workers=np.int64(4), duration_seconds=np.float32(60), median_completion_tokens=300)
    assert [type(value) for value in (config.workers, config.duration_seconds)] == [int, float]
    assert json.loads(json.dumps(config.to_data()))["median_completion_tokens"] == 300.0


def test_a_configuration_comes_back_from_its_data():
    config = PipelineConfig(mode="sequential", mtbf_seconds=100.0)
    assert PipelineConfig.from_data(json.loads(json.dumps(config.to_data()))) == config


def test_a_field_that_does_not_exist_is_named():
    with pytest.raises(ValueError, match=r"'max_lag' is no field of PipelineConfig; it has batch_tokens, .*workers"):
        PipelineConfig.from_data({"max_lag": 2})


EXTREMES = st.sampled_from([5e-324, 1e-9, 0.3, 1.0, 50.0, 1e6, 1e12])


@settings(max_examples=40, deadline=None)
@given(
    fields=st.fixed_dictionaries(
        {"mode": st.sampled_from(["sequential", "bounded_async"]), "duration_seconds": st.just(20)},
        optional={
            **dict.fromkeys(POSITIVE[1:], EXTREMES),
            **dict.fromkeys(NONNEGATIVE[:6], st.just(0.0) | EXTREMES),
            **dict.fromkeys(NONNEGATIVE[6:], st.sampled_from([0.0, 5e-324, 1.0, 10.0])),
            **dict.fromkeys(["max_completion_tokens", "batch_tokens"], st.sampled_from([1, 2000])),
            "max_queue_tokens": st.sampled_from([2000, 10**12]),
            "max_policy_lag": st.sampled_from([0, 10**12]),
        },
    )
)
def test_whatever_is_accepted_runs(fields):
    try:
        config = PipelineConfig(**fields)
    except ValueError:
        return
    if config.workers * config.duration_seconds > 20_000 * config.rollout_seconds(1):
        return  # it runs as well, but not in a moment
    result = simulate_pipeline(config)
    assert math.isfinite(result.trained_tokens_per_second)
    json.dumps(result.to_data(), allow_nan=False)
