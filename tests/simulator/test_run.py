"""Runs worked out by hand, the form of what comes out, and values that every platform must give."""

from __future__ import annotations

import hashlib
import json
import statistics

import pytest

from rlinfra.given.lab import REQUIRED_METRICS
from rlinfra.simulator import Event, PipelineConfig, pipeline_metrics, result_row, simulate_pipeline
from rlinfra.simulator.workload import completion_tokens, mean_completion_tokens, normal_quantiles, uptimes
from rlinfra_reference import diagnose_pipeline

ONE_WORKER = {
    "workers": 1,
    "completion_spread": 0,
    "median_completion_tokens": 100,
    "worker_tokens_per_second": 100,
    "rollout_overhead_seconds": 0,
    "batch_tokens": 200,
    "max_queue_tokens": 200,
    "train_overhead_seconds": 0.5,
    "trainer_tokens_per_second": 400,
    "publish_seconds": 0.25,
    "mismatch_sigma": 0,
    "timeline_samples": 4,
}


# --- by hand -----------------------------------------------------------------------------------------------------


def test_one_worker_overlapped():
    """Rollouts of 1 s end at 1, 2, …; an update takes 0.5 + 200/400 = 1 s; weights arrive 0.25 s after it."""
    run = simulate_pipeline(PipelineConfig(duration_seconds=5, **ONE_WORKER), trace=True)
    assert run.events == (
        Event(0, "restart", -1, 0, 0),
        Event(0, "start", 0, 100, 0),
        Event(1, "finish", 0, 100, 0),
        Event(1, "start", 0, 100, 0),
        Event(2, "finish", 0, 100, 0),
        Event(2, "train", -1, 200, 0),
        Event(2, "start", 0, 100, 0),
        Event(3, "update", -1, 200, 1),
        Event(3, "finish", 0, 100, 0),
        Event(3, "start", 0, 100, 0),
        Event(3.25, "publish", -1, 0, 1),
        Event(4, "finish", 0, 100, 0),
        Event(4, "train", -1, 200, 1),
        Event(4, "start", 0, 100, 1),
    )
    assert [batch.lag_counts for batch in run.batches] == [{0: 2}]
    assert (run.trained_tokens, run.training_tokens, run.queued_tokens, run.generated_tokens) == (200, 200, 0, 400)
    assert run.trainer_seconds == {"waiting": 3, "training": 2, "checkpoint": 0, "down": 0}
    assert (run.trainer_idle_fraction, run.rollout_idle_fraction, run.weight_sync_fraction) == (0.6, 0, 0.05)
    assert run.trained_tokens_per_second == 40


def test_the_lag_of_one_worker_overlapped_settles_at_one():
    """From the second on, each batch has two rollouts of the version before: both start before its publication."""
    run = simulate_pipeline(PipelineConfig(duration_seconds=11.5, **ONE_WORKER))
    assert [(batch.update, batch.lag_counts) for batch in run.batches] == [
        (1, {0: 2}),
        (2, {1: 2}),
        (3, {1: 2}),
        (4, {1: 2}),
        (5, {1: 2}),
    ]
    assert (run.batches[1].mean_lag, run.batches[1].max_lag, run.batches[1].rollouts) == (1, 1, 2)
    assert run.lag_counts == {0: 2, 1: 8}
    assert run.mean_lag == 0.8


def test_one_worker_by_turns():
    """A round: two rollouts (2 s), an update (1 s), the publication (0.25 s); the worker waits for the last two."""
    run = simulate_pipeline(PipelineConfig(mode="sequential", duration_seconds=6.5, **ONE_WORKER))
    assert [(batch.start_seconds, batch.end_seconds) for batch in run.batches] == [(2, 3), (5.25, 6.25)]
    assert run.lag_counts == {0: 4}
    assert run.workers_waiting_seconds == 2.5
    assert run.backpressure_seconds == 0
    assert run.trainer_idle_fraction == 4.5 / 6.5
    assert run.weight_sync_fraction == 0.5 / 6.5


def test_the_timeline_has_the_state_before_each_step():
    run = simulate_pipeline(PipelineConfig(duration_seconds=5, **ONE_WORKER))
    columns = {name: [row[name] for row in run.timeline] for name in run.timeline[0]}
    assert columns == {
        "time": [0, 1.25, 2.5, 3.75, 5],
        "queue_tokens": [0, 100, 0, 100, 0],
        "in_flight_tokens": [0, 100, 100, 100, 100],
        "trained_tokens": [0, 0, 0, 200, 200],
    }


def test_what_is_too_old_is_discarded():
    """With no lag allowed, the rollouts of version 0 that end at 3 and 4 are discarded, and that of 4 is the first."""
    run = simulate_pipeline(PipelineConfig(duration_seconds=7.5, max_policy_lag=0, **ONE_WORKER), trace=True)
    discards = [(event.time, event.tokens, event.version) for event in run.events if event.kind == "discard"]
    assert discards == [(3, 100, 0), (4, 100, 0), (7, 100, 1)]
    assert (run.discarded_rollouts, run.discarded_tokens) == (3, 300)
    assert [(batch.start_seconds, batch.lag_counts) for batch in run.batches] == [(2, {0: 2}), (6, {0: 2})]


def test_a_failure_undoes_what_came_after_the_checkpoint():
    """Updates end at 3, 5, 7. The checkpoint of 5 to 5.1 holds two; the loop fails at 8.55 in the fourth.

    Lost are the third update (200 tokens) and the batch in hand (200); the queue is empty, one rollout in flight. From
    10.05 on, two rollouts of version 2 take until 12.05.
    """
    failing = {"seed": 307, "mtbf_seconds": 10, "restart_seconds": 1.5}
    saving = {"checkpoint_interval_seconds": 3.5, "checkpoint_seconds": 0.1}
    run = simulate_pipeline(PipelineConfig(duration_seconds=12.5, **failing, **saving, **ONE_WORKER), trace=True)
    rare = [event for event in run.events if event.kind in ("checkpoint", "failure", "restart")]
    assert [event._replace(time=round(event.time, 2)) for event in rare] == [
        Event(0, "restart", -1, 0, 0),
        Event(5.1, "checkpoint", -1, 0, 2),
        Event(8.55, "failure", -1, 200, 3),
        Event(10.05, "restart", -1, 0, 2),
    ]
    assert (run.trained_tokens, run.lost_tokens, run.training_tokens, run.generated_tokens) == (400, 400, 200, 1000)
    assert (run.failures, run.checkpoints, run.lost_updates, run.interrupted_rollouts) == (1, 1, 1, 1)
    assert run.trainer_seconds["down"] == pytest.approx(1.5)
    assert run.trainer_seconds["checkpoint"] == pytest.approx(0.1)
    assert run.events[-2].kind == "train"
    assert run.events[-2].version == 2


# --- the form of what comes out ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def deep():
    return simulate_pipeline(PipelineConfig(max_policy_lag=6, sync_every_updates=3))


def test_a_row_has_the_figures_that_a_table_compares(deep):
    row = result_row(deep)
    assert row["updates"] == len(deep.batches) > 20
    assert row["mean_normalized_ess"] == statistics.fmean(batch.normalized_ess for batch in deep.batches)
    assert row["min_normalized_ess"] == min(batch.normalized_ess for batch in deep.batches)
    assert row["max_lag"] == max(batch.max_lag for batch in deep.batches)


def test_a_run_crosses_as_json(deep):
    data = json.loads(json.dumps(deep.to_data(), allow_nan=False))
    assert PipelineConfig.from_data(data["config"]) == deep.config
    assert data["batches"]["max_lag"] == [batch.max_lag for batch in deep.batches]
    assert {int(lag): count for lag, count in data["lag_counts"].items()} == deep.lag_counts
    assert len(data["timeline"]["time"]) == 481
    assert data["timeline"]["time"][-1] == 120


def test_a_run_without_an_update_has_no_effective_sample_size():
    run = simulate_pipeline(PipelineConfig(duration_seconds=1))
    assert (run.batches, run.mean_normalized_ess, run.min_normalized_ess, run.mean_lag, run.max_lag) == (
        (),
        None,
        None,
        0,
        0,
    )
    with pytest.raises(ValueError, match="the run has no update: duration_seconds must be longer"):
        pipeline_metrics(run)


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        ({"mode": "sequential"}, {"supply", "backpressure", "stragglers"}),
        ({"trainer_tokens_per_second": 900, "max_policy_lag": 6}, {"backpressure"}),
        ({"trainer_tokens_per_second": 700, "max_policy_lag": 40, "max_queue_tokens": 200_000}, {"overload"}),
        ({"publish_seconds": 3.0, "max_policy_lag": 6}, {"publication"}),
        ({"verifier_seconds": 3.0, "workers": 16, "max_policy_lag": 6}, {"verifier"}),
        ({"lag_sigma": 1.5, "max_policy_lag": 6, "sync_every_updates": 6}, {"off_policy"}),
    ],
)
def test_a_diagnosis_reads_the_metrics_of_a_run(fields, codes):
    metrics = pipeline_metrics(simulate_pipeline(PipelineConfig(duration_seconds=600, **fields)))
    assert tuple(metrics) == REQUIRED_METRICS
    found = {hypothesis.partition(":")[0] for hypothesis in diagnose_pipeline(metrics)}
    assert codes <= found, metrics


# --- what chance decides -----------------------------------------------------------------------------------------


def test_lengths_are_log_normal_and_cut():
    lengths = completion_tokens(PipelineConfig(median_completion_tokens=500, completion_spread=0.6))
    assert statistics.median(lengths) == 500
    assert (lengths[0], lengths[-1]) == (55, 4517)  # 500 · exp(∓0.6 · 3.6683)
    assert mean_completion_tokens(PipelineConfig()) == pytest.approx(500 * 2.718281828**0.18, rel=1e-3)
    cut = completion_tokens(PipelineConfig(max_completion_tokens=1000))
    assert max(cut) == 1000
    assert sum(length == 1000 for length in cut) / 4096 == pytest.approx(0.124, abs=1e-3)  # 1 − Φ(ln 2 / 0.6)


def test_the_normal_table_has_mean_zero_and_variance_one():
    table = normal_quantiles()
    assert len(table) == 4096
    assert statistics.fmean(table) == pytest.approx(0, abs=1e-9)
    assert statistics.pvariance(table) == pytest.approx(1, abs=2e-3)


def test_uptimes_are_exponential():
    gaps = uptimes(PipelineConfig(mtbf_seconds=100))
    drawn = [next(gaps) for _ in range(4000)]
    assert statistics.fmean(drawn) == pytest.approx(100, rel=0.05)
    assert sum(gap > 100 for gap in drawn) / 4000 == pytest.approx(0.3679, abs=0.02)
    assert list(uptimes(PipelineConfig())) == []


# --- the same on every platform ----------------------------------------------------------------------------------

GOLDEN = {
    "sequential": ({"mode": "sequential"}, "0b6b58ca198881a9"),
    "overlapped": ({}, "ac7fa43dc01ef7f5"),
    "deeper": ({"max_policy_lag": 6, "sync_every_updates": 3}, "196fd51067cfc82e"),
    "failing": (
        {"mtbf_seconds": 40, "checkpoint_interval_seconds": 15, "duration_seconds": 300, "seed": 1},
        "86d9208341f621b2",
    ),
}


@pytest.mark.parametrize(("fields", "digest"), GOLDEN.values(), ids=GOLDEN.keys())
def test_one_seed_gives_the_same_run_on_every_platform(fields, digest):
    """Not worked out elsewhere: what Linux on x86-64 gave, so that another platform can be held against it."""
    run = simulate_pipeline(PipelineConfig(**fields), trace=True)
    ess = [batch.normalized_ess for batch in run.batches]
    text = json.dumps([run.events, ess, run.backpressure_seconds])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest
