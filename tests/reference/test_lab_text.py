"""The lab that the course grew out of: its calls, values and asserts run against the reference, section by section.

Sections 2 to 9 are here, in their order. Its `module_12_reference` and `module_12_pipeline_sim` are the
top level of `rlinfra_reference`; tables that it showed with pandas are lists of dictionaries here.
"""

from __future__ import annotations

import numpy as np
import pytest

import rlinfra_reference as reference
from rlinfra_reference import BYTES_PER_GIB, human_bytes

SEED = 12016


@pytest.fixture
def kv_16_gib():
    """The cache of the teaching configuration, which section 2 computes and section 3 uses."""
    return reference.kv_cache_bytes(
        num_sequences=64, tokens_per_sequence=4096, num_layers=32, num_kv_heads=4, head_dim=128, element_bytes=2
    )


def test_section_2_the_memory_ledger(kv_16_gib):
    profiles = {
        "7B, 12 bytes": reference.model_state_bytes(
            7_000_000_000, parameter_bytes=2, gradient_bytes=2, optimizer_state_bytes=8, master_parameter_bytes=0
        ),
        "7B, 16 bytes": reference.model_state_bytes(
            7_000_000_000, parameter_bytes=2, gradient_bytes=2, optimizer_state_bytes=8, master_parameter_bytes=4
        ),
        "7B and adapters": reference.model_state_bytes(
            7_070_000_000,
            trainable_parameters=70_000_000,
            parameter_bytes=2,
            gradient_bytes=2,
            optimizer_state_bytes=8,
            master_parameter_bytes=4,
        ),
    }
    rows = [
        {
            "profile": name,
            "logical bytes": profile.total_bytes,
            "GiB": profile.total_bytes / BYTES_PER_GIB,
            "human": human_bytes(profile.total_bytes),
        }
        for name, profile in profiles.items()
    ]
    assert [row["logical bytes"] for row in rows] == [84_000_000_000, 112_000_000_000, 15_120_000_000]
    assert [row["human"] for row in rows] == ["78.23 GiB", "104.31 GiB", "14.08 GiB"]
    assert rows[2]["GiB"] == pytest.approx(14.0816, abs=1e-4)
    assert human_bytes(kv_16_gib) == "16.00 GiB"
    assert kv_16_gib == 16 * BYTES_PER_GIB


def test_section_3_phase_peaks_overlap_and_stragglers(kv_16_gib):
    phase_report = reference.peak_memory(
        {
            "rollout": [14 * BYTES_PER_GIB, kv_16_gib, 2 * BYTES_PER_GIB],
            "training": [14 * BYTES_PER_GIB, 8 * BYTES_PER_GIB, 28 * BYTES_PER_GIB],
            "weight publication": [14 * BYTES_PER_GIB, 14 * BYTES_PER_GIB, 2 * BYTES_PER_GIB],
        }
    )
    assert phase_report.phase == "training"
    assert human_bytes(phase_report.peak_bytes) == "50.00 GiB"
    rows = [{"phase": name, "GiB": value / BYTES_PER_GIB} for name, value in phase_report.phase_totals.items()]
    assert rows == [
        {"phase": "rollout", "GiB": 32.0},
        {"phase": "training", "GiB": 50.0},
        {"phase": "weight publication", "GiB": 30.0},
    ]
    pipe = reference.pipeline_report(rollout_seconds=60.0, train_seconds=20.0, batches=10)
    stragglers = reference.straggler_report([3, 3, 4, 4, 5, 5, 6, 18])
    assert np.isclose(pipe.sequential_total, 800.0)
    assert np.isclose(pipe.pipeline_total, 620.0)
    assert np.isclose(stragglers.utilization, 1 / 3)


@pytest.fixture(scope="module")
def results():
    """The three runs of section 4, which sections 5 and 6 look into."""
    profile_configs = {
        "sequential": reference.PipelineConfig(mode="sequential", duration_seconds=120.0, seed=SEED),
        "bounded async / sync every update": reference.PipelineConfig(
            mode="bounded_async",
            duration_seconds=120.0,
            max_queue_tokens=7000,
            max_policy_lag=2,
            sync_every_updates=1,
            seed=SEED,
        ),
        "deeper async / sync every 3 updates": reference.PipelineConfig(
            mode="bounded_async",
            duration_seconds=120.0,
            max_queue_tokens=7000,
            max_policy_lag=6,
            sync_every_updates=3,
            seed=SEED,
        ),
    }
    return {name: reference.simulate_pipeline(cfg) for name, cfg in profile_configs.items()}


def test_section_4_sequential_and_bounded_asynchronous_loops(results):
    summary = [{"profile": name, **reference.result_row(result)} for name, result in results.items()]
    assert [row["profile"] for row in summary] == list(results)
    assert all(np.isfinite(r.trained_tokens_per_second) and r.trained_tokens_per_second >= 0 for r in results.values())
    sequential, bounded, deeper = (result.trained_tokens_per_second for result in results.values())
    assert sequential < bounded < deeper


def test_section_5_queue_depth_and_backpressure(results):
    for name, result in results.items():
        if result.config.mode != "bounded_async":
            continue
        x = [row["time"] for row in result.timeline]
        y = [row["queue_tokens"] for row in result.timeline]
        assert x == sorted(x), name
        assert max(y) <= result.max_queue_tokens_observed
        assert result.max_queue_tokens_observed > 7000, "what was in flight arrives after admission has closed"
        assert result.backpressure_seconds > 0
        assert result.discarded_rollouts > 0


def test_section_6_staleness_and_weight_concentration(results):
    rows = {
        name: [(batch.update, batch.mean_lag, batch.max_lag, batch.normalized_ess) for batch in result.batches]
        for name, result in results.items()
    }
    sequential, bounded, deeper = (np.array(batches) for batches in rows.values())
    assert sequential[:, 2].max() == 0
    assert bounded[:, 2].max() == 2
    assert deeper[:, 2].max() == 6
    assert sequential[:, 3].mean() > bounded[:, 3].mean() > deeper[:, 3].mean()


def test_section_7_the_rollout_contract():
    good_record = {
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
    broken_record = dict(good_record)
    broken_record.pop("behavior_logprobs")
    broken_record["policy_version"] = -1
    assert reference.rollout_contract_errors(good_record) == []
    assert reference.rollout_contract_errors(broken_record)
    fields = sorted(error.partition(":")[0] for error in reference.rollout_contract_errors(broken_record))
    assert fields == ["behavior_logprobs", "policy_version"]


def test_section_8_weight_synchronization():
    full_bf16_payload = 7_000_000_000 * 2
    adapter_payload = 70_000_000 * 2
    rows = [
        {
            "GiB": payload / BYTES_PER_GIB,
            "seconds": reference.synchronization_transfer_time(payload, 25.0, setup_seconds=0.15, efficiency=0.80),
        }
        for payload in (full_bf16_payload, adapter_payload)
    ]
    assert [row["seconds"] for row in rows] == pytest.approx([0.85, 0.157])
    cadences = []
    for every in (1, 2, 4, 8):
        schedule = reference.synchronization_schedule(sync_every=every, updates=16)
        cadences.append(
            {
                "every": every,
                "synchronizations": schedule.synchronization_count,
                "mean lag": schedule.mean_lag,
                "max lag": schedule.max_lag,
            }
        )
    assert [row["synchronizations"] for row in cadences] == [16, 8, 4, 2]
    assert [row["mean lag"] for row in cadences] == [0, 0.5, 1.5, 3.5]
    assert [row["max lag"] for row in cadences] == [0, 1, 3, 7]


def test_section_9_the_checkpoint_interval():
    checkpoint_seconds = 180.0
    mtbf_seconds = 10 * 3600.0
    interval = reference.optimal_checkpoint_interval(checkpoint_seconds, mtbf_seconds)
    cadence = reference.checkpoint_cadence(interval, checkpoint_seconds=checkpoint_seconds, mtbf_seconds=mtbf_seconds)
    assert interval == pytest.approx(3600)
    assert cadence.total_fraction == pytest.approx(0.05 + 0.05)


def test_section_9_the_manifest_of_a_numpy_generator():
    rng = np.random.default_rng(SEED)
    _ = rng.integers(0, 10_000, size=8)
    manifest = reference.make_checkpoint(
        optimizer_step=3, current_version=3, published_version=3, dataset_cursor=8, rng=rng
    )
    row = reference.checkpoint_as_dict(manifest)
    assert row.pop("rng_state")
    counters = {name: row[name] for name in ("optimizer_step", "current_version", "published_version")}
    assert counters == {"optimizer_step": 3, "current_version": 3, "published_version": 3}
    assert row["dataset_cursor"] == 8


def test_section_9_the_failure_drill():
    drill = reference.recovery_drill(seed=SEED, before=8, after=8)
    assert drill.uninterrupted == drill.resumed
    assert drill.broken_resume != drill.uninterrupted
    assert drill.exact_match
    assert not drill.broken_match
