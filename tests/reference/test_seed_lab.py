"""The lab that the course grew out of, as a contract: what its sections 2 to 9 call, read and assert.

Its two modules are `rlinfra_reference` and `rlinfra.simulator` here. Each test makes a section's calls with the
section's own arguments, reads the attributes that it reads, and asserts what it asserts. Figures beyond that come from
a calculation by hand, which stands beside them. Section 10 needs a model: `rlinfra.realmodel`.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import rlinfra_reference as lab
from rlinfra import simulator

SEED = 12016
GIB = 2**30

CALLED = {
    "the reference": [
        "BYTES_PER_GIB",
        "checkpoint_cadence",
        "completion_token_mask",
        "effective_sample_size",
        "human_bytes",
        "ideal_sharded_memory",
        "kv_cache_bytes",
        "model_state_bytes",
        "optimal_checkpoint_interval",
        "peak_memory",
        "pipeline_report",
        "rollout_contract_errors",
        "straggler_report",
        "synchronization_schedule",
        "synchronization_transfer_time",
    ],
    "the simulator": [
        "PipelineConfig",
        "checkpoint_as_dict",
        "make_checkpoint",
        "recovery_drill",
        "result_row",
        "simulate_pipeline",
    ],
}


@pytest.mark.parametrize("module", CALLED)
def test_every_name_that_the_lab_imports_is_at_the_top_of_the_reference(module):
    assert [name for name in CALLED[module] if not hasattr(lab, name)] == []
    assert set(CALLED[module]) <= set(lab.__all__)


@pytest.mark.parametrize("name", ["PipelineConfig", "simulate_pipeline", "result_row"])
def test_the_reference_hands_on_the_students_own_simulator(name):
    assert getattr(lab, name) is getattr(simulator, name)


# --- section 2: the memory ledger --------------------------------------------------------------------------------

SIXTEEN_BYTES = {"parameter_bytes": 2, "gradient_bytes": 2, "optimizer_state_bytes": 8, "master_parameter_bytes": 4}


def cache_of_64_sequences():
    return lab.kv_cache_bytes(
        num_sequences=64, tokens_per_sequence=4096, num_layers=32, num_kv_heads=4, head_dim=128, element_bytes=2
    )


def test_2_three_profiles_of_model_state():
    without_master = lab.model_state_bytes(7_000_000_000, **{**SIXTEEN_BYTES, "master_parameter_bytes": 0})
    complete = lab.model_state_bytes(7_000_000_000, **SIXTEEN_BYTES)
    adapters = lab.model_state_bytes(7_070_000_000, trainable_parameters=70_000_000, **SIXTEEN_BYTES)
    assert without_master.total_bytes == 12 * 7_000_000_000
    assert complete.total_bytes == 16 * 7_000_000_000
    assert adapters.total_bytes == 2 * 7_070_000_000 + 14 * 70_000_000
    # 15.12e9 / 2**30 = 14.0816
    assert adapters.total_bytes / lab.BYTES_PER_GIB == pytest.approx(14.0816, abs=5e-5)
    assert [lab.human_bytes(one.total_bytes) for one in (without_master, complete, adapters)] == [
        "78.23 GiB",
        "104.31 GiB",
        "14.08 GiB",
    ]


def test_2_the_cache_takes_sixteen_gib_to_the_byte():
    assert lab.BYTES_PER_GIB == GIB
    assert cache_of_64_sequences() == 16 * lab.BYTES_PER_GIB
    assert lab.human_bytes(cache_of_64_sequences()) == "16.00 GiB"


# --- section 3: peaks, overlap, stragglers -----------------------------------------------------------------------


def test_3_the_peak_is_that_of_the_largest_phase():
    held = {
        "rollout": [14 * GIB, cache_of_64_sequences(), 2 * GIB],
        "training": [14 * GIB, 8 * GIB, 28 * GIB],
        "weight publication": [14 * GIB, 14 * GIB, 2 * GIB],
    }
    peak = lab.peak_memory(held)
    assert (peak.phase, peak.peak_bytes) == ("training", 50 * GIB)
    assert list(peak.phase_totals.items()) == [
        ("rollout", 32 * GIB),
        ("training", 50 * GIB),
        ("weight publication", 30 * GIB),
    ]


def test_3_two_stages_by_turns_and_overlapped():
    pipe = lab.pipeline_report(rollout_seconds=60.0, train_seconds=20.0, batches=10)
    assert np.isclose(pipe.sequential_total, 10 * 80.0)
    assert np.isclose(pipe.pipeline_total, 80.0 + 9 * 60.0)
    assert (pipe.period, pipe.speedup, pipe.asymptotic_speedup) == pytest.approx((60, 800 / 620, 80 / 60))


def test_3_one_slow_rollout_of_eight():
    group = lab.straggler_report([3, 3, 4, 4, 5, 5, 6, 18])
    assert np.isclose(group.utilization, 1 / 3)
    assert (group.work, group.wall, group.capacity) == (48, 18, 144)


# --- sections 4 to 6: three loops --------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[120.0, 240.0], ids=["smoke", "full"])
def loops(request):
    """The three loops of both profiles, which last 120 and 240 simulated seconds."""
    common = {"duration_seconds": request.param, "seed": SEED}
    queued = {"mode": "bounded_async", "max_queue_tokens": 7000, **common}
    return {
        "sequential": simulator.simulate_pipeline(simulator.PipelineConfig(mode="sequential", **common)),
        "bounded": simulator.simulate_pipeline(
            simulator.PipelineConfig(max_policy_lag=2, sync_every_updates=1, **queued)
        ),
        "deeper": simulator.simulate_pipeline(
            simulator.PipelineConfig(max_policy_lag=6, sync_every_updates=3, **queued)
        ),
    }


def test_4_each_loop_is_a_row_and_its_throughput_a_finite_number(loops):
    rows = [{"profile": name, **simulator.result_row(loop)} for name, loop in loops.items()]
    assert len({tuple(row) for row in rows}) == 1, "the rows make one table"
    for loop in loops.values():
        assert np.isfinite(loop.trained_tokens_per_second)
        assert loop.trained_tokens_per_second >= 0
        counted = sum(batch.tokens for batch in loop.batches)
        assert loop.trained_tokens_per_second == pytest.approx(counted / loop.config.duration_seconds)


def test_5_a_queue_goes_over_its_threshold_by_what_was_in_flight_and_no_more(loops):
    assert [name for name, loop in loops.items() if loop.config.mode == "bounded_async"] == ["bounded", "deeper"]
    for name in ("bounded", "deeper"):
        timeline = loops[name].timeline
        times = [row["time"] for row in timeline]
        depths = [row["queue_tokens"] for row in timeline]
        assert times == sorted(times)
        assert 7000 < max(depths) <= loops[name].max_queue_tokens_observed
        assert loops[name].max_queue_tokens_observed < 7000 + max(row["in_flight_tokens"] for row in timeline)
        assert loops[name].backpressure_seconds > 0
        assert loops[name].discarded_rollouts > 0
    assert (loops["sequential"].backpressure_seconds, loops["sequential"].discarded_rollouts) == (0, 0)


def test_6_batches_of_deeper_loops_are_older_and_less_even(loops):
    figures = {
        name: [(batch.update, batch.mean_lag, batch.max_lag, batch.normalized_ess) for batch in loop.batches]
        for name, loop in loops.items()
    }
    for batches in figures.values():
        assert [update for update, *_ in batches] == list(range(1, len(batches) + 1))
        assert all(0 <= mean <= most and 0 < ess <= 1 for _, mean, most, ess in batches)
    assert [max(most for _, _, most, _ in figures[name]) for name in figures] == [0, 2, 6]
    sequential, bounded, deeper = (np.mean([ess for *_, ess in batches]) for batches in figures.values())
    assert sequential > bounded > deeper


# --- section 7: the record ---------------------------------------------------------------------------------------


def sound_record():
    return {
        "sample_id": "run12-p003-r01",
        "prompt_id": "p003",
        "policy_version": 17,
        "prompt_tokens": [101, 42, 17],
        "response_tokens": [314, 159, 2],
        "behavior_logprobs": [-0.31, -1.07, -0.22],
        "decoding": {"temperature": 0.8, "top_p": 1.0},
        "reward": {"correctness": 1.0, "format": 0.0},
        "stop_reason": "eos",
        "verifier_version": "arith-v4",
    }


def test_7_a_sound_record_has_no_error_and_a_broken_one_names_both_fields():
    assert lab.rollout_contract_errors(sound_record()) == []
    broken = {name: value for name, value in sound_record().items() if name != "behavior_logprobs"}
    broken["policy_version"] = -1
    errors = lab.rollout_contract_errors(broken)
    assert sorted(error.partition(":")[0] for error in errors) == ["behavior_logprobs", "policy_version"]


# --- section 8: publication --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "seconds"),
    [(7_000_000_000 * 2, 0.15 + 14 / (25 * 0.8)), (70_000_000 * 2, 0.15 + 0.14 / (25 * 0.8))],
    ids=["all weights", "adapter"],
)
def test_8_a_payload_over_the_link(payload, seconds):
    taken = lab.synchronization_transfer_time(payload, 25.0, setup_seconds=0.15, efficiency=0.80)
    assert taken == pytest.approx(seconds)


@pytest.mark.parametrize(("every", "count"), [(1, 16), (2, 8), (4, 4), (8, 2)])
def test_8_a_cadence_over_sixteen_updates(every, count):
    schedule = lab.synchronization_schedule(sync_every=every, updates=16)
    assert (schedule.synchronization_count, schedule.max_lag) == (count, every - 1)
    assert schedule.mean_lag == (every - 1) / 2
    assert list(schedule.lags) == [update % every for update in range(16)]


# --- section 9: checkpoints and the drill ------------------------------------------------------------------------


def test_9_the_interval_and_what_it_costs():
    checkpoint_seconds, mtbf_seconds = 180.0, 10 * 3600.0
    interval = lab.optimal_checkpoint_interval(checkpoint_seconds, mtbf_seconds)
    assert interval == pytest.approx(math.sqrt(2 * 180 * 36_000)) == pytest.approx(3600)
    cost = lab.checkpoint_cadence(interval, checkpoint_seconds=checkpoint_seconds, mtbf_seconds=mtbf_seconds)
    assert (cost.writing_fraction, cost.rework_fraction) == pytest.approx((180 / 3600, 3600 / 72_000))


def of_numpy():
    generator = np.random.default_rng(SEED)
    generator.integers(0, 10_000, size=8)
    return generator


def of_the_standard_library():
    generator = random.Random(SEED)
    generator.random()
    return generator


@pytest.mark.parametrize("make", [of_numpy, of_the_standard_library])
def test_9_a_manifest_as_a_row_of_a_table(make):
    manifest = lab.make_checkpoint(
        optimizer_step=3, current_version=3, published_version=3, dataset_cursor=8, rng=make()
    )
    row = lab.checkpoint_as_dict(manifest)
    assert row.pop("rng_state"), "the state is there, and is the one column that a table leaves out"
    counters = ("optimizer_step", "current_version", "published_version", "dataset_cursor")
    assert [row[name] for name in counters] == [3, 3, 3, 8]


def test_9_the_drill_matches_when_resumed_and_does_not_from_weights_alone():
    drill = lab.recovery_drill(seed=SEED, before=8, after=8)
    assert drill.exact_match
    assert not drill.broken_match
    assert drill.resumed == drill.uninterrupted != drill.broken_resume
