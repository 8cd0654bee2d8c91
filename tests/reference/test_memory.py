"""The memory reference against published figures, numbers worked out by hand, and laws that bytes obey."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlinfra_reference
from rlinfra_reference.memory import (
    bytes_per_parameter,
    ideal_sharded_memory,
    logits_bytes,
    lora_state_bytes,
    model_state_bytes,
    peak_memory,
    sharded_state_bytes,
)

GIB = 2**30
MIXED = {"parameter_bytes": 2, "gradient_bytes": 2, "optimizer_state_bytes": 8, "master_parameter_bytes": 4}
law = settings(deadline=None, max_examples=80)
counts = st.integers(0, 10**12)
sizes = st.integers(0, 16)
profiles = st.fixed_dictionaries(dict.fromkeys(MIXED, sizes))


# --- figures that others published or worked out ------------------------------------------------------------------


def test_a_parameter_in_mixed_precision_takes_the_16_bytes_of_the_zero_paper():
    """Rajbhandari et al. 2020, section 3.1: 2 + 2 + 12."""
    assert bytes_per_parameter(**MIXED) == 2 + 2 + 12 == 16


def test_a_parameter_without_a_master_copy_takes_12_bytes():
    """The seed's "12-byte full-training profile"."""
    assert bytes_per_parameter(**{**MIXED, "master_parameter_bytes": 0}) == 12


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, "120.0"), (1, "31.4"), (2, "16.6"), (3, "1.9")])
def test_zero_stages_agree_with_figure_1_of_the_zero_paper(stage, gigabytes):
    """Rajbhandari et al. 2020, figure 1: 7.5B parameters, 64 ranks, K = 12, in decimal GB."""
    held = sharded_state_bytes(
        stage, 64, parameters=7_500_000_000, parameter_bytes=2, gradient_bytes=2, optimizer_bytes=12
    )
    assert f"{held / 1e9:.1f}" == gigabytes


def test_stage_2_agrees_with_deepspeeds_estimator_where_both_gradient_copies_are_counted():
    """DeepSpeed 0.19.8, ZeRO-2: 2P + 18P/G, which is 27.71 GiB for 7e9 parameters on 8 ranks.

    Its 18 bytes are a 16-bit and a 32-bit gradient (2 + 4) beside the master copy and the moments (4 + 8).
    """
    held = sharded_state_bytes(
        2, 8, parameters=7_000_000_000, parameter_bytes=2, gradient_bytes=2 + 4, optimizer_bytes=4 + 8
    )
    assert held == 14_000_000_000 + 15_750_000_000
    assert f"{held / GIB:.2f}" == "27.71"


@pytest.mark.parametrize(
    ("master_bytes", "total"), [(4, 112_000_000_000), (0, 84_000_000_000)], ids=["16-byte", "12-byte"]
)
def test_full_training_of_7_billion_parameters_takes_what_the_lecture_says(master_bytes, total):
    """The seed's lecture: 112 GB, and 84 GB without a master copy."""
    state = model_state_bytes(7_000_000_000, **{**MIXED, "master_parameter_bytes": master_bytes})
    assert state.total_bytes == total


def test_the_labs_adapter_profile_takes_14_082_gib():
    """The seed's lab, section 2: 7.07e9 × 2 for all weights, 70e6 × (2 + 8 + 4) for the trainable ones."""
    state = model_state_bytes(7_070_000_000, trainable_parameters=70_000_000, **MIXED)
    assert state.parameter_bytes == 14_140_000_000
    assert state.gradient_bytes == 140_000_000
    assert state.optimizer_state_bytes == 560_000_000
    assert state.master_parameter_bytes == 280_000_000
    assert state.total_bytes == 15_120_000_000
    assert f"{state.total_bytes / GIB:.3f}" == "14.082"


def test_the_lectures_lora_run_takes_14_32_gb():
    """The seed's lecture: 14 GB of base weights and 20M × 16 = 0.32 GB of adapter."""
    held = lora_state_bytes(7_000_000_000, 20_000_000, base_parameter_bytes=2, bytes_per_trainable_parameter=16)
    assert held == 14_320_000_000


def test_four_ranks_hold_a_quarter_each():
    """The seed's lecture: 16 GiB over four participants are 4 GiB each."""
    assert ideal_sharded_memory(16 * GIB, 4) == 4 * GIB


def test_the_labs_phases_peak_at_50_gib_in_training():
    """The seed's lab, section 3, with its figures of 32, 50 and 30 GiB."""
    report = peak_memory(
        {
            "rollout": [14 * GIB, 16 * GIB, 2 * GIB],
            "training": [14 * GIB, 8 * GIB, 28 * GIB],
            "weight publication": [14 * GIB, 14 * GIB, 2 * GIB],
        }
    )
    assert (report.phase, report.peak_bytes) == ("training", 50 * GIB)
    assert report.phase_totals == {"rollout": 32 * GIB, "training": 50 * GIB, "weight publication": 30 * GIB}


def test_the_labs_sections_2_and_3_run_against_the_top_level_names():
    """The seed's lab imports its functions from one module, calls them so, and asserts the 16 GiB."""
    kv_16_gib = rlinfra_reference.kv_cache_bytes(
        num_sequences=64, tokens_per_sequence=4096, num_layers=32, num_kv_heads=4, head_dim=128, element_bytes=2
    )
    assert kv_16_gib == 16 * rlinfra_reference.BYTES_PER_GIB
    assert rlinfra_reference.human_bytes(kv_16_gib) == "16.00 GiB"
    report = rlinfra_reference.peak_memory({"rollout": [14 * GIB, kv_16_gib, 2 * GIB], "training": [1]})
    assert rlinfra_reference.human_bytes(report.peak_bytes) == "32.00 GiB"


def test_logits_take_what_numpy_allocates_for_them():
    """NumPy's `nbytes` of an array of that shape, once a copy."""
    assert logits_bytes(3, 50, 1_000, element_bytes=4, copies=2) == 2 * np.zeros((3, 50, 1_000), np.float32).nbytes


def test_scoring_with_a_0_6b_model_can_take_19_9_gb_of_logits():
    """By hand: 8 × 2,048 positions × 151,936 entries = 2,489,319,424 numbers, in 4 bytes, twice."""
    assert logits_bytes(8, 2_048, 151_936, element_bytes=4, copies=2) == 2_489_319_424 * 8 == 19_914_555_392


# --- cases at the edge --------------------------------------------------------------------------------------------


def test_none_trains_all_parameters_and_0_trains_none():
    assert model_state_bytes(1_000, **MIXED).total_bytes == 16_000
    assert model_state_bytes(1_000, trainable_parameters=0, **MIXED).total_bytes == 2_000


def test_of_equal_phases_the_first_is_the_peak():
    assert peak_memory({"rollout": [30, 1], "training": [1, 30], "idle": []}).phase == "rollout"


def test_a_phase_without_components_takes_nothing():
    assert peak_memory({"idle": []}).peak_bytes == 0


def test_quantised_states_may_take_a_fraction_of_a_byte():
    assert bytes_per_parameter(**{**MIXED, "parameter_bytes": 0.5}) == 14.5


# --- laws ---------------------------------------------------------------------------------------------------------


@law
@given(counts, counts, profiles)
def test_the_bytes_of_two_models_add_up(one, other, profile):
    apart = model_state_bytes(one, **profile).total_bytes + model_state_bytes(other, **profile).total_bytes
    assert model_state_bytes(one + other, **profile).total_bytes == apart


@law
@given(counts, counts, profiles)
def test_a_state_grows_with_what_is_trained_and_stays_below_full_training(frozen, trained, profile):
    def total(trainable):
        return model_state_bytes(frozen + trained, trainable_parameters=trainable, **profile).total_bytes

    assert total(0) <= total(trained) <= total(frozen + trained) == (frozen + trained) * bytes_per_parameter(**profile)


@law
@given(counts, counts, profiles)
def test_an_adapter_beside_a_base_is_a_model_of_which_a_part_is_trained(base, adapter, profile):
    beside = lora_state_bytes(
        base,
        adapter,
        base_parameter_bytes=profile["parameter_bytes"],
        bytes_per_trainable_parameter=bytes_per_parameter(**profile),
    )
    assert beside == model_state_bytes(base + adapter, trainable_parameters=adapter, **profile).total_bytes


_parts = st.fixed_dictionaries(
    {
        "parameters": st.integers(0, 10**11),
        "parameter_bytes": sizes,
        "gradient_bytes": sizes,
        "optimizer_bytes": sizes,
    }
)


@law
@given(st.integers(0, 3), _parts)
def test_a_single_rank_holds_everything_at_every_stage(stage, parts):
    whole = parts["parameters"] * (parts["parameter_bytes"] + parts["gradient_bytes"] + parts["optimizer_bytes"])
    assert sharded_state_bytes(stage, 1, **parts) == whole


@law
@given(st.integers(1, 4_096), _parts)
def test_each_stage_holds_no_more_than_the_one_before_and_stage_3_is_the_ideal(ranks, parts):
    held = [sharded_state_bytes(stage, ranks, **parts) for stage in range(4)]
    assert held == sorted(held, reverse=True)
    assert math.isclose(held[3], ideal_sharded_memory(held[0], ranks), rel_tol=1e-12)


@law
@given(st.integers(1, 3), st.integers(1, 1_000), st.integers(1, 1_000), _parts)
def test_more_ranks_never_hold_more(stage, ranks, more, parts):
    assert sharded_state_bytes(stage, ranks + more, **parts) <= sharded_state_bytes(stage, ranks, **parts)


@law
@given(counts, st.integers(1, 4_096))
def test_the_shares_of_all_ranks_add_up_to_the_whole(total, ranks):
    assert math.isclose(ideal_sharded_memory(total, ranks) * ranks, total, rel_tol=1e-12)


@law
@given(st.dictionaries(st.text(), st.lists(counts), min_size=1))
def test_the_peak_is_the_total_of_its_phase_and_no_phase_needs_more(phases):
    report = peak_memory(phases)
    assert report.peak_bytes == sum(phases[report.phase])
    assert all(sum(components) <= report.peak_bytes for components in phases.values())


@law
@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 9_999), st.integers(1, 9_999), st.integers(0, 4))
def test_logits_add_up_over_sequences_and_tokens(batch, more, tokens, vocabulary, copies):
    def held(batch, tokens):
        return logits_bytes(batch, tokens, vocabulary, element_bytes=2, copies=copies)

    assert held(batch + more, tokens) == held(batch, tokens) + held(more, tokens)
    assert held(batch, tokens + more) == held(batch, tokens) + held(batch, more)


# --- senseless arguments ------------------------------------------------------------------------------------------

NO_COUNT = (-1, True, 1.5, math.nan, math.inf, "3", [1])
NO_SIZE = (-1, -0.5, True, math.nan, math.inf, -math.inf, "2", None)
SENSIBLE = (
    (bytes_per_parameter, dict(MIXED), (), tuple(MIXED)),
    (
        model_state_bytes,
        {"parameters": 100, "trainable_parameters": 10, **MIXED},
        ("parameters", "trainable_parameters"),
        tuple(MIXED),
    ),
    (
        lora_state_bytes,
        {
            "base_parameters": 100,
            "adapter_parameters": 10,
            "base_parameter_bytes": 2,
            "bytes_per_trainable_parameter": 16,
        },
        ("base_parameters", "adapter_parameters"),
        ("base_parameter_bytes", "bytes_per_trainable_parameter"),
    ),
    (ideal_sharded_memory, {"total_bytes": 100, "ranks": 4}, ("ranks",), ("total_bytes",)),
    (
        sharded_state_bytes,
        {
            "stage": 1,
            "ranks": 4,
            "parameters": 100,
            "parameter_bytes": 2,
            "gradient_bytes": 2,
            "optimizer_bytes": 12,
        },
        ("stage", "ranks", "parameters"),
        ("parameter_bytes", "gradient_bytes", "optimizer_bytes"),
    ),
    (
        logits_bytes,
        {"batch": 2, "tokens": 3, "vocabulary": 5, "element_bytes": 2, "copies": 2},
        ("batch", "tokens", "vocabulary", "copies"),
        ("element_bytes",),
    ),
)
SENSELESS = [
    pytest.param(function, {**arguments, name: bad}, name, id=f"{function.__name__}-{name}-{bad}")
    for function, arguments, count_names, size_names in SENSIBLE
    for names, all_bad in ((count_names, NO_COUNT), (size_names, NO_SIZE))
    for name in names
    for bad in all_bad
] + [
    pytest.param(ideal_sharded_memory, {"total_bytes": 1, "ranks": 0}, "ranks", id="no ranks"),
    pytest.param(sharded_state_bytes, {**SENSIBLE[4][1], "ranks": 0}, "ranks", id="no ranks at a stage"),
    pytest.param(sharded_state_bytes, {**SENSIBLE[4][1], "stage": 4}, "stage", id="no such stage"),
    pytest.param(
        model_state_bytes,
        {"parameters": 10, "trainable_parameters": 11, **MIXED},
        "trainable_parameters",
        id="more trainable than there are",
    ),
    pytest.param(peak_memory, {"phases": {}}, "phases", id="no phase"),
    *(
        pytest.param(peak_memory, {"phases": {"one": [1, bad]}}, "phases", id=f"peak_memory-phases-{bad}")
        for bad in NO_SIZE
    ),
]


@pytest.mark.parametrize(("function", "arguments", "name"), SENSELESS)
def test_a_senseless_argument_raises_an_error_that_names_it(function, arguments, name):
    with pytest.raises(ValueError, match=rf"^{re.escape(name)} must "):
        function(**arguments)


@pytest.mark.parametrize(("function", "arguments"), [pytest.param(f, a, id=f.__name__) for f, a, *_ in SENSIBLE])
def test_the_arguments_beside_the_senseless_ones_are_sensible(function, arguments):
    assert function(**arguments)
