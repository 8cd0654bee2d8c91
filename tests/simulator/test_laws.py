"""What holds in every run, whatever its configuration."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlinfra.simulator import PipelineConfig, simulate_pipeline


@st.composite
def configs(draw, **fixed):
    batch = draw(st.integers(1, 6000))
    max_lag = draw(st.integers(0, 6))
    fields = {
        "mode": draw(st.sampled_from(["sequential", "bounded_async"])),
        "duration_seconds": draw(st.floats(1, 90)),
        "seed": draw(st.integers(0, 10**6)),
        "workers": draw(st.integers(1, 12)),
        "completion_spread": draw(st.sampled_from([0.0, 0.5, 1.5])),
        "batch_tokens": batch,
        "max_queue_tokens": batch + draw(st.integers(0, 6000)),
        "max_policy_lag": max_lag,
        "sync_every_updates": draw(st.integers(1, max_lag + 1)),
        "trainer_tokens_per_second": draw(st.floats(100, 5000)),
        "publish_seconds": draw(st.floats(0, 20)),
        "mtbf_seconds": draw(st.none() | st.floats(5, 100)),
        "checkpoint_interval_seconds": draw(st.none() | st.floats(1, 30)),
    }
    return PipelineConfig(**{**fields, **fixed})


def law(test):
    return settings(max_examples=25, deadline=None)(given(config=configs())(test))


@law
def test_tokens_are_conserved(config):
    run = simulate_pipeline(config)
    elsewhere = run.discarded_tokens + run.queued_tokens + run.training_tokens + run.lost_tokens
    assert run.generated_tokens == run.trained_tokens + elsewhere


@law
def test_time_is_conserved(config):
    run = simulate_pipeline(config)
    assert sum(run.trainer_seconds.values()) == pytest.approx(config.duration_seconds)
    assert 0 <= run.rollout_idle_fraction <= 1 + 1e-9
    assert 0 <= run.weight_sync_fraction <= 1 + 1e-9


@law
def test_the_queue_holds_at_most_the_threshold_and_what_is_in_flight(config):
    """Queue and flight are counted again here, from the events alone."""
    queue = in_flight = most_in_flight = deepest = 0
    for event in simulate_pipeline(config, trace=True).events:
        if event.kind == "start":
            assert queue < (config.max_queue_tokens if config.mode == "bounded_async" else config.batch_tokens)
            in_flight += event.tokens
            most_in_flight = max(most_in_flight, in_flight)
        elif event.kind == "finish":
            in_flight -= event.tokens
            queue += event.tokens
            deepest = max(deepest, queue)
        elif event.kind in ("train", "discard"):
            queue -= event.tokens
        elif event.kind == "failure":
            queue = in_flight = 0
        assert queue >= 0
    assert deepest <= config.max_queue_tokens + most_in_flight


@law
def test_no_rollout_is_trained_on_that_lags_too_much(config):
    run = simulate_pipeline(config)
    assert run.max_lag <= config.max_policy_lag
    assert all(batch.tokens >= config.batch_tokens for batch in run.batches)
    assert [batch.update for batch in run.batches] == list(range(1, len(run.batches) + 1))
    assert all(before.end_seconds <= after.start_seconds for before, after in pairwise(run.batches))


@law
def test_the_normalised_ess_lies_between_one_rollout_and_all(config):
    for batch in simulate_pipeline(config).batches:
        assert 1 / batch.rollouts - 1e-9 <= batch.normalized_ess <= 1


@settings(max_examples=25, deadline=None)
@given(config=configs(max_policy_lag=0, sync_every_updates=1, mismatch_sigma=0, trainer_tokens_per_second=5000))
def test_without_lag_and_without_mismatch_the_normalised_ess_is_exactly_one(config):
    run = simulate_pipeline(config)
    assert {batch.normalized_ess for batch in run.batches} <= {1.0}


def test_zero_lag_does_not_remove_a_mismatch():
    run = simulate_pipeline(PipelineConfig(mode="sequential", mismatch_sigma=0.3))
    assert run.max_lag == 0
    assert all(batch.normalized_ess < 0.99 for batch in run.batches)


def test_the_normalised_ess_of_many_log_normal_weights_is_that_of_their_variance():
    """E[w]² / E[w²] of log-normal weights is exp(−s²); two updates share one version, so that the second lags."""
    config = PipelineConfig(
        mode="sequential",
        workers=5_000,
        completion_spread=0,
        batch_tokens=2_500_000,
        max_queue_tokens=2_500_000,
        duration_seconds=8,
        trainer_tokens_per_second=1e8,
        sync_every_updates=2,
        mismatch_sigma=0.2,
        lag_sigma=0.5,
    )
    fresh, lagging = simulate_pipeline(config).batches[:2]
    assert (fresh.lag_counts, lagging.lag_counts) == ({0: 5_000}, {1: 5_000})
    assert fresh.normalized_ess == pytest.approx(math.exp(-0.04), abs=0.015)
    assert lagging.normalized_ess == pytest.approx(math.exp(-0.04 - 0.25), abs=0.015)


@settings(max_examples=40, deadline=None)
@given(
    workers=st.integers(1, 9),
    tokens=st.integers(1, 400),
    batch_tokens=st.integers(1, 6000),
    every=st.integers(1, 3),
    verifier_seconds=st.integers(0, 3),
)
def test_by_turns_and_with_constant_lengths_the_times_are_a_closed_form(
    workers, tokens, batch_tokens, every, verifier_seconds
):
    """A round is ⌈batch / (workers · tokens)⌉ rollouts, one update, and every so often one publication."""
    config = PipelineConfig(
        mode="sequential",
        duration_seconds=200,
        workers=workers,
        median_completion_tokens=tokens,
        completion_spread=0,
        worker_tokens_per_second=50,
        rollout_overhead_seconds=0.5,
        verifier_seconds=verifier_seconds,
        batch_tokens=batch_tokens,
        max_queue_tokens=batch_tokens,
        max_policy_lag=every - 1,
        sync_every_updates=every,
        train_overhead_seconds=2,
        trainer_tokens_per_second=1000,
        publish_seconds=0.75,
    )
    rollouts = math.ceil(batch_tokens / (workers * tokens))
    taken = rollouts * workers * tokens
    seconds = rollouts * (0.5 + tokens / 50 + verifier_seconds) + 2 + taken / 1000
    ends = [update * seconds + (update - 1) // every * 0.75 for update in range(1, 80)]
    result = simulate_pipeline(config)
    ended = [batch.end_seconds for batch in result.batches]
    assert ended == pytest.approx(ends[: len(ended)])
    assert ends[len(ended)] >= 200 - 1e-6
    assert {batch.tokens for batch in result.batches} <= {taken}


@law
def test_one_seed_gives_one_result(config):
    assert simulate_pipeline(config, trace=True) == simulate_pipeline(config, trace=True)


def test_two_configurations_meet_the_same_rollouts():
    def lengths(**fields):
        met = defaultdict(list)
        for event in simulate_pipeline(PipelineConfig(**fields), trace=True).events:
            if event.kind == "start":
                met[event.worker].append(event.tokens)
        return met

    one, other = lengths(mode="sequential", workers=3), lengths(workers=8, max_policy_lag=5, publish_seconds=0)
    for worker, tokens in one.items():
        common = min(len(tokens), len(other[worker]))
        assert common > 5
        assert tokens[:common] == other[worker][:common]
    assert lengths(seed=1)[0][:5] != lengths(seed=2)[0][:5]
