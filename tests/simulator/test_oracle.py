"""The loop against a SimPy program of the same model (`oracle`): every event, batch and total is the same."""

from __future__ import annotations

import pytest

from rlinfra.simulator import PipelineConfig, simulate_pipeline

from .oracle import Oracle

SETTINGS = {
    "by turns": {"mode": "sequential"},
    "by turns, published every third update": {
        "mode": "sequential",
        "sync_every_updates": 3,
        "publish_seconds": 4.0,
        "duration_seconds": 300,
    },
    "overlapped": {},
    "overlapped, without any lag": {"max_policy_lag": 0, "trainer_tokens_per_second": 4000},
    "overlapped, deeper": {"max_policy_lag": 6, "sync_every_updates": 3},
    "a tight queue": {"max_queue_tokens": 4000, "trainer_tokens_per_second": 900},
    "publications that wait for each other": {"max_policy_lag": 8, "publish_seconds": 9.0},
    "many workers and a verifier": {
        "workers": 60,
        "trainer_tokens_per_second": 6000,
        "max_queue_tokens": 20_000,
        "verifier_seconds": 1.5,
        "completion_spread": 1.2,
        "seed": 7,
    },
    "failures": {"mtbf_seconds": 40, "checkpoint_interval_seconds": 15, "duration_seconds": 300},
    "failures by turns": {
        "mode": "sequential",
        "mtbf_seconds": 60,
        "checkpoint_interval_seconds": 15,
        "duration_seconds": 300,
    },
    "failures without a checkpoint": {"mtbf_seconds": 40, "restart_seconds": 0, "duration_seconds": 200},
}


@pytest.fixture(params=SETTINGS.values(), ids=SETTINGS.keys(), scope="module")
def runs(request):
    config = PipelineConfig(**request.param)
    return simulate_pipeline(config, trace=True), Oracle(config)


def test_every_event_is_the_same(runs):
    result, oracle = runs
    assert len(oracle.events) > 150
    assert sorted(map(tuple, result.events)) == sorted(oracle.events)


def test_every_batch_is_the_same(runs):
    result, oracle = runs
    ours = [(batch.tokens, batch.start_seconds, batch.end_seconds, batch.lag_counts) for batch in result.batches]
    assert ours == [batch[:4] for batch in oracle.batches]
    theirs = [ess for *_, ess in oracle.batches]
    assert [batch.normalized_ess for batch in result.batches] == pytest.approx(theirs, abs=1e-9)


def test_every_total_is_the_same(runs):
    result, oracle = runs
    ours = {
        "generated": result.generated_tokens,
        "finished": result.finished_rollouts,
        "discarded": result.discarded_tokens,
        "discards": result.discarded_rollouts,
        "queued": result.queued_tokens,
        "training": result.training_tokens,
        "lost": result.lost_tokens,
        "interrupted": result.interrupted_rollouts,
        "publications": result.publications,
        "deepest": result.max_queue_tokens_observed,
    }
    assert ours == {name: oracle.totals[name] for name in ours}
    assert result.workers_waiting_seconds == pytest.approx(oracle.totals["waited"])


def test_the_settings_meet_what_they_are_for():
    def run(name):
        return simulate_pipeline(PipelineConfig(**SETTINGS[name]))

    assert run("overlapped, without any lag").discarded_rollouts > 0
    assert run("a tight queue").backpressure_seconds > 100
    assert run("publications that wait for each other").weight_sync_fraction > 0.9
    assert run("by turns, published every third update").lag_counts.keys() == {0, 1, 2}
    failing = run("failures")
    assert failing.failures > 3
    assert failing.checkpoints > 3
    assert failing.lost_updates > 3
    assert run("failures without a checkpoint").checkpoints == 0
