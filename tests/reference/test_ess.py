"""Importance weights, against values worked out by hand and other programs' formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlinfra_reference
from rlinfra.given.ess import drifted_completions, toy_batch
from rlinfra_reference import (
    clip_log_ratios,
    decoded_logprobs,
    effective_sample_size,
    importance_weights,
    mask_log_ratios,
    normalized_ess,
    sequence_log_ratios,
    split_drift,
    zero_lag_report,
)

WEIGHTS = [1, 2, 2, 8]
LOGS = [math.log(weight) for weight in WEIGHTS]
LOGITS = [2.0, 1.0, 0.0, -1.0]

some_weights = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30)
some_logs = st.lists(st.floats(-30, 30), min_size=1, max_size=30)
logps = st.floats(-20, -0.01)


@st.composite
def batches(draw, scorers):
    """Draw that many scorers' log-probabilities of the same ragged batch, and a mask that counts one token or more."""
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    rows = [[[draw(logps) for _ in range(length)] for length in lengths] for _ in range(scorers)]
    mask = [[draw(st.integers(0, 1)) for _ in range(length)] for length in lengths]
    mask[0][0] = 1
    return rows, mask


@st.composite
def distributions(draw):
    """Draw two distributions over the same tokens, as log-probabilities."""
    size = draw(st.integers(2, 8))
    logits = [st.lists(st.floats(-4, 4), min_size=size, max_size=size) for _ in range(2)]
    return [decoded_logprobs(draw(one), temperature=1, top_p=1) for one in logits]


# --- the effective sample size -----------------------------------------------------------------------------------


def test_the_worked_weights_have_an_ess_of_169_over_73():
    assert effective_sample_size(WEIGHTS) == pytest.approx(169 / 73)
    assert effective_sample_size(WEIGHTS) == pytest.approx(2.3151, abs=5e-5)
    assert normalized_ess(LOGS) == pytest.approx(0.57877, abs=5e-6)


def test_four_equal_weights_count_as_four():
    assert effective_sample_size([1, 1, 1, 1]) == pytest.approx(4)
    assert normalized_ess([0.0] * 4) == pytest.approx(1)


def test_clipped_at_log_2_the_worked_weights_count_as_49_over_13():
    clipped = clip_log_ratios(LOGS, math.log(2))
    assert [math.exp(log) for log in clipped] == pytest.approx([1, 2, 2, 2])
    assert effective_sample_size([1, 2, 2, 2]) == pytest.approx(49 / 13)
    assert normalized_ess(clipped) == pytest.approx(0.94231, abs=5e-6)


def test_masked_outside_a_half_to_two_the_worked_weights_count_as_25_over_9_of_four():
    masked = mask_log_ratios(LOGS, -math.log(2), math.log(2))
    assert masked == [*LOGS[:3], -math.inf]
    assert effective_sample_size([1, 2, 2, 0]) == pytest.approx(25 / 9)
    assert normalized_ess(masked) == pytest.approx(25 / 36)


def test_a_single_weight_carries_everything():
    assert effective_sample_size([0, 0.3, 0]) == pytest.approx(1)
    assert normalized_ess([-math.inf, -5.0, -math.inf]) == pytest.approx(1 / 3)


@given(some_weights)
def test_the_normalised_ess_is_the_effective_sample_size_that_verl_reports(weights):
    array = np.array(weights)
    verl = 1 / np.mean((array / array.mean()) ** 2)
    assert normalized_ess([math.log(weight) for weight in weights]) == pytest.approx(verl)


@given(some_weights)
def test_the_ess_is_kishs_n_over_one_plus_the_squared_coefficient_of_variation(weights):
    array = np.array(weights)
    kish = len(weights) / (1 + array.var() / array.mean() ** 2)
    assert effective_sample_size(weights) == pytest.approx(kish)


@given(some_weights)
def test_the_ess_lies_between_one_and_the_number_of_weights(weights):
    assert 1 - 1e-9 <= effective_sample_size(weights) <= len(weights) + 1e-9


@given(some_weights, st.floats(1e-150, 1e150))
def test_the_ess_is_free_of_scale(weights, scale):
    assert effective_sample_size([scale * weight for weight in weights]) == pytest.approx(
        effective_sample_size(weights)
    )


@given(some_logs, st.sampled_from([1000.0, -1000.0, 1e6]))
def test_the_normalised_ess_does_not_move_with_the_logarithms(logs, shift):
    shifted = [log + shift for log in logs]
    assert normalized_ess(shifted) == pytest.approx(normalized_ess(logs), rel=1e-6)


@given(some_logs, st.floats(-30, 30), st.floats(0, 10))
def test_a_lower_cap_never_lowers_the_ess(logs, cap, step):
    assert normalized_ess(clip_log_ratios(logs, cap)) >= normalized_ess(clip_log_ratios(logs, cap + step)) - 1e-12


@pytest.mark.parametrize(("tokens", "drift"), [(100, 0.02), (1000, 0.01), (50, 0.03)])
def test_independent_token_drifts_cost_the_ess_of_a_lognormal_weight(tokens, drift):
    # E[w]² / E[w²] of a lognormal weight with variance σ²T of its logarithm is exp(−σ²T)
    assert normalized_ess(drifted_completions(tokens, drift, 4_000)) == pytest.approx(
        math.exp(-(drift**2) * tokens), rel=5e-3
    )


def test_the_lab_finds_the_effective_sample_size_at_the_top_level():
    assert rlinfra_reference.effective_sample_size is effective_sample_size


# --- ratios and weights ------------------------------------------------------------------------------------------


def test_a_log_ratio_of_0_012_over_100_tokens_is_a_ratio_of_3_3():
    trainer, behavior = [[-0.988] * 100], [[-1.0] * 100]
    ratio = sequence_log_ratios(trainer, behavior, [[1] * 100])[0]
    assert ratio == pytest.approx(1.2)
    weights = importance_weights([[0.012] * 100], [[1] * 100], level="sequence")
    assert weights[0] == pytest.approx([math.exp(ratio)] * 100)
    assert weights[0][0] == pytest.approx(3.3, abs=0.05)


def test_what_does_not_count_may_be_anything():
    trainer = [[-1.0, math.nan, -2.0, -math.inf]]
    behavior = [[-1.5, math.nan, -1.75, -math.inf]]
    mask = [[1, 0, True, False]]
    assert sequence_log_ratios(trainer, behavior, mask) == pytest.approx([0.25])
    assert importance_weights([[0.5, math.nan, -0.25, math.inf]], mask, level="token") == [
        pytest.approx([math.exp(0.5), 0, math.exp(-0.25), 0])
    ]


def test_a_completion_that_the_trainer_finds_impossible_has_the_weight_0():
    assert sequence_log_ratios([[-1.0, -math.inf]], [[-1.0, -1.0]], [[1, 1]]) == [-math.inf]
    assert importance_weights([[0.3, -math.inf]], [[1, 1]], level="sequence") == [[0, 0]]


def test_where_nothing_counts_the_log_ratio_is_0():
    assert sequence_log_ratios([[-1.0], []], [[-2.0], []], [[0], []]) == [0, 0]
    assert sequence_log_ratios([], [], []) == []


@given(batches(2))
def test_sequence_log_ratios_agree_with_numpys_masked_arrays(drawn):
    (trainer, behavior), mask = drawn
    expected = []
    for ours, theirs, counted in zip(trainer, behavior, mask, strict=True):
        hidden = ~np.array(counted, dtype=bool)
        delta = np.ma.masked_array(np.array(ours) - np.array(theirs), hidden)
        expected.append(delta.filled(0).sum())
    assert sequence_log_ratios(trainer, behavior, mask) == pytest.approx(expected, abs=1e-9)


@given(batches(2))
def test_a_sequence_weight_is_the_product_of_its_token_weights(drawn):
    (ratios, _), mask = drawn
    tokens = importance_weights(ratios, mask, level="token")
    wholes = importance_weights(ratios, mask, level="sequence")
    for own, shared, counted in zip(tokens, wholes, mask, strict=True):
        product = math.prod(weight for weight, counts in zip(own, counted, strict=True) if counts)
        assert shared == pytest.approx([product if counts else 0 for counts in counted])


@given(distributions())
def test_weights_average_one_under_the_behaviour_policy(drawn):
    behavior, target = drawn
    ratios = [new - old for new, old in zip(target, behavior, strict=True)]
    weights = importance_weights([ratios], [[1] * len(ratios)], level="token")[0]
    mean = sum(math.exp(old) * weight for old, weight in zip(behavior, weights, strict=True))
    assert mean == pytest.approx(1)


# --- truncating and masking --------------------------------------------------------------------------------------


@given(some_logs, st.floats(-5, 5))
def test_truncation_caps_the_ratio_and_leaves_small_ones(logs, cap):
    expected = np.minimum(np.exp(logs), math.exp(cap))
    assert np.exp(clip_log_ratios(logs, cap)) == pytest.approx(expected)


@given(some_logs, st.floats(-5, 0), st.floats(0, 5))
def test_masking_keeps_the_ratio_in_the_band_and_zeroes_it_outside(logs, low, high):
    array = np.array(logs)
    expected = np.exp(array) * ((array >= low) & (array <= high))
    assert np.exp(mask_log_ratios(logs, low, high)) == pytest.approx(expected)


def test_clipping_changes_the_weighted_mean_reward_of_the_worked_problem():
    def mean_reward(logs):
        weights = np.exp(logs)
        return weights @ [0, 1, 1, 0] / weights.sum()

    assert mean_reward(LOGS) == pytest.approx(4 / 13)
    assert mean_reward(clip_log_ratios(LOGS, math.log(2))) == pytest.approx(4 / 7)
    assert mean_reward(mask_log_ratios(LOGS, -math.log(2), math.log(2))) == pytest.approx(4 / 5)


# --- decoding ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("temperature", "top_p", "probabilities"),
    [
        (1, 1, [0.6439, 0.2369, 0.0871, 0.0321]),
        (0.8, 1, [0.7183, 0.2058, 0.0590, 0.0169]),
        (1, 0.9, [0.6652, 0.2447, 0.0900, 0]),
        (0.8, 0.9, [0.7773, 0.2227, 0, 0]),
    ],
)
def test_temperature_comes_before_top_p(temperature, top_p, probabilities):
    decoded = decoded_logprobs(LOGITS, temperature=temperature, top_p=top_p)
    assert np.exp(decoded) == pytest.approx(probabilities, abs=5e-5)


def test_of_equal_tokens_the_smaller_index_comes_first_and_the_crossing_one_is_in():
    decoded = decoded_logprobs([1.0, 1.0, 1.0, 0.0], temperature=1, top_p=0.5)
    assert np.exp(decoded) == pytest.approx([0.5, 0.5, 0, 0])


def test_a_masked_token_stays_impossible_and_a_long_tail_survives_top_p_1():
    decoded = decoded_logprobs([0.0, -math.inf, -60.0], temperature=1, top_p=1)
    assert decoded[1] == -math.inf
    assert decoded[2] == pytest.approx(-60)


@given(st.lists(st.floats(-8, 8), min_size=1, max_size=12), st.floats(0.2, 3), st.floats(0.05, 1))
def test_decoded_probabilities_add_up_to_one(logits, temperature, top_p):
    assert np.exp(decoded_logprobs(logits, temperature=temperature, top_p=top_p)).sum() == pytest.approx(1)


@given(st.permutations(range(9)), st.floats(0.3, 3), st.integers(1, 8))
def test_the_nucleus_is_the_one_that_transformers_keeps(order, temperature, size):
    # Hugging Face's TopPLogitsWarper removes, from the least probable up, what adds up to at most 1 - top_p.
    logits = [0.37 * place for place in order]
    probabilities = np.exp(np.array(logits) / temperature)
    probabilities /= probabilities.sum()
    downwards = np.cumsum(np.sort(probabilities)[::-1])
    top_p = (downwards[size - 1] + downwards[size]) / 2
    upwards = np.argsort(probabilities)
    removed = upwards[np.cumsum(probabilities[upwards]) <= 1 - top_p]
    decoded = decoded_logprobs(logits, temperature=temperature, top_p=float(top_p))
    assert [token for token, logp in enumerate(decoded) if logp == -math.inf] == sorted(removed)
    kept = np.delete(probabilities, removed)
    assert np.exp(np.delete(decoded, removed)) == pytest.approx(kept / kept.sum())


def test_a_hole_in_the_support_leaves_the_ess_at_one_and_the_mean_weight_below():
    behavior = decoded_logprobs(LOGITS, temperature=1, top_p=0.9)
    target = decoded_logprobs(LOGITS, temperature=1, top_p=1)
    sampled = [token for token, logp in enumerate(behavior) if logp > -math.inf]
    ratios = [target[token] - behavior[token] for token in sampled]
    assert sampled == [0, 1, 2]
    assert normalized_ess(ratios) == pytest.approx(1)
    assert math.exp(ratios[0]) == pytest.approx(0.968, abs=5e-4)
    assert math.exp(target[3]) == pytest.approx(0.032, abs=5e-4)


# --- mismatch and lag --------------------------------------------------------------------------------------------


def test_the_report_of_five_tokens_worked_by_hand():
    engine = [[-1.0, -0.5, -2.0, -1.2, -0.7]]
    trainer = [[-0.98, -0.51, -2.0, -1.5, -0.69]]
    report = zero_lag_report(engine, trainer, [[1] * 5])
    assert report.mean_abs_delta == pytest.approx(0.34 / 5)
    assert report.max_abs_delta == pytest.approx(0.3)
    # e^0.02 - 1.02 = 0.000201, e^-0.01 - 0.99 = 0.0000498, e^-0.3 - 0.7 = 0.040818, e^0.01 - 1.01 = 0.0000502
    assert report.k3 == pytest.approx(0.041119 / 5, abs=1e-6)


def test_means_run_over_tokens_and_not_over_sequences():
    report = zero_lag_report(
        [[-1.0, -1.0, -1.0], [-1.0, -9.0]], [[-1.1, -1.1, -1.1], [-1.5, -1.0]], [[1, 1, 1], [1, 0]]
    )
    assert report.mean_abs_delta == pytest.approx((0.3 + 0.5) / 4)


@given(distributions())
def test_k3_averages_to_the_divergence_from_engine_to_trainer(drawn):
    engine, trainer = drawn
    tokens = [zero_lag_report([[old]], [[new]], [[1]]).k3 for old, new in zip(engine, trainer, strict=True)]
    mean = sum(math.exp(old) * k3 for old, k3 in zip(engine, tokens, strict=True))
    divergence = sum(math.exp(old) * (old - new) for old, new in zip(engine, trainer, strict=True))
    assert mean == pytest.approx(divergence, abs=1e-12)


@given(batches(2))
def test_k3_is_never_negative_and_no_mean_exceeds_its_maximum(drawn):
    (engine, trainer), mask = drawn
    report = zero_lag_report(engine, trainer, mask)
    assert report.k3 >= -1e-15  # up to rounding
    assert 0 <= report.mean_abs_delta <= report.max_abs_delta * (1 + 1e-12)


@given(batches(3))
def test_mismatch_and_lag_add_up_in_log_ratios(drawn):
    (behavior, same, now), mask = drawn
    split = split_drift(behavior, same, now, mask)
    assert [mismatch + lag for mismatch, lag in zip(split.mismatch, split.lag, strict=True)] == pytest.approx(
        split.total, abs=1e-9
    )
    assert split.mismatch == sequence_log_ratios(same, behavior, mask)
    assert split.total == sequence_log_ratios(now, behavior, mask)


def test_of_a_total_of_1_2_a_mismatch_of_0_05_leaves_a_lag_of_1_15():
    split = split_drift([[-1.0, -2.0]], [[-0.98, -1.97]], [[-0.5, -1.3]], [[1, 1]])
    assert (split.mismatch[0], split.lag[0], split.total[0]) == pytest.approx((0.05, 1.15, 1.2))
    assert math.exp(split.mismatch[0]) + math.exp(split.lag[0]) != pytest.approx(math.exp(split.total[0]), rel=0.1)


def test_the_toy_loop_keeps_its_mismatch_at_every_lag_and_has_no_lag_at_lag_0():
    splits = [
        split_drift(batch.behavior, batch.trainer_same_version, batch.trainer_now, batch.mask)
        for batch in map(toy_batch, (0, 2, 8))
    ]
    assert splits[0].lag == [0] * len(splits[0].lag)
    assert splits[0].mismatch == splits[1].mismatch == splits[2].mismatch
    ess = [normalized_ess(split.total) for split in splits]
    assert 1 > ess[0] > ess[1] > ess[2]


# --- senseless arguments -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [[], [0, 0.0], [1, -1], [math.nan], [1, math.inf], [True, 1], ["1"]])
def test_the_ess_refuses_senseless_weights(weights):
    with pytest.raises(ValueError, match=r"\bweights\b"):
        effective_sample_size(weights)


@pytest.mark.parametrize("logs", [[], [-math.inf], [0.0, math.nan], [math.inf], [True]])
def test_the_normalised_ess_refuses_senseless_logarithms(logs):
    with pytest.raises(ValueError, match=r"\blog_weights\b"):
        normalized_ess(logs)


@pytest.mark.parametrize(
    ("trainer", "behavior", "mask", "named"),
    [
        ([[-1.0, -1.0]], [[-1.0]], [[1]], "trainer_logps"),
        ([[-1.0]], [[-1.0], [-1.0]], [[1]], "behavior_logps"),
        ([[-1.0]], [[-1.0]], [[2]], "mask"),
        ([[0.1]], [[-1.0]], [[1]], "trainer_logps"),
        ([[math.nan]], [[-1.0]], [[1]], "trainer_logps"),
        ([[-1.0]], [[-math.inf]], [[1]], "behavior_logps"),
        ([[-1.0]], [[False]], [[1]], "behavior_logps"),
    ],
)
def test_log_ratios_refuse_what_is_no_log_probability(trainer, behavior, mask, named):
    with pytest.raises(ValueError, match=rf"\b{named}\b"):
        sequence_log_ratios(trainer, behavior, mask)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: importance_weights([[0.1]], [[1]], level="batch"), "level"),
        (lambda: importance_weights([[math.inf]], [[1]], level="token"), "log_ratios"),
        (lambda: importance_weights([[0.1, 0.2]], [[1]], level="token"), "log_ratios"),
        (lambda: clip_log_ratios([math.nan], 0.0), "log_ratios"),
        (lambda: clip_log_ratios([0.0], math.inf), "log_cap"),
        (lambda: mask_log_ratios([0.0], math.nan, 1.0), "low"),
        (lambda: mask_log_ratios([0.0], 0.0, True), "high"),
        (lambda: mask_log_ratios([0.0], 1.0, 0.0), "low"),
        (lambda: decoded_logprobs([], temperature=1, top_p=1), "logits"),
        (lambda: decoded_logprobs([-math.inf], temperature=1, top_p=1), "logits"),
        (lambda: decoded_logprobs([0.0], temperature=0, top_p=1), "temperature"),
        (lambda: decoded_logprobs([0.0], temperature=1, top_p=0), "top_p"),
        (lambda: decoded_logprobs([0.0], temperature=1, top_p=1.01), "top_p"),
        (lambda: zero_lag_report([[-1.0]], [[-1.0]], [[0]]), "mask"),
        (lambda: zero_lag_report([[-1.0]], [[-math.inf]], [[1]]), "trainer_logps"),
        (lambda: zero_lag_report([[0.5]], [[-1.0]], [[1]]), "engine_logps"),
        (lambda: split_drift([[-1.0]], [[1.0]], [[-1.0]], [[1]]), "trainer_same_version"),
        (lambda: split_drift([[-1.0]], [[-1.0]], [[-1.0], []], [[1]]), "trainer_now"),
    ],
)
def test_every_function_names_the_argument_that_it_refuses(call, named):
    with pytest.raises(ValueError, match=rf"\b{named}\b"):
        call()
