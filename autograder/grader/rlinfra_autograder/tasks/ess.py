"""Tasks of the topic `ess`: importance ratios, effective sample size, truncation, decoding, mismatch against lag."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rlinfra.checks.compare import Fields, ListOf, Number
from rlinfra_reference import ess as reference

from ..attempts import ess as attempts
from .model import Case, Criterion, FunctionTask, VariantField, VariantTask, case, refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlinfra.draws import Draws

# Sums of log-probabilities: what is left after cancellation is right to about this much.
LOG = Number(absolute=1e-9)
LOG_2 = 0.693147
# The logarithms of the weights (1, 2, 2, 8) of the worked problem.
WORKED = [0.0, LOG_2, LOG_2, 2.079442]


# --- sequence_log_ratios -----------------------------------------------------------------------------------------


def _logp(draws: Draws) -> float:
    return -draws.uniform(1.0, 4.0)


def _near(draws: Draws, logps: Sequence[float]) -> list[float]:
    """Return other log-probabilities of the same tokens, none equal and all below 0."""
    return [round(logp + draws.choice((-1, 1)) * draws.uniform(0.02, 0.4), 6) for logp in logps]


def _mask(draws: Draws, tokens: int) -> list[int]:
    """Draw a mask with a hole in the middle (a tool's answer) and padding at the end."""
    padding, hole = draws.integer(1, 2), draws.integer(2, tokens - 4)
    return [0 if place == hole else 1 for place in range(tokens - padding)] + [0] * padding


def _batch(draws: Draws, scorers: int) -> tuple[list[list[list[float]]], list[list[int]]]:
    """Draw a ragged batch: as many scorers' log-probabilities of the same tokens, and the mask."""
    lengths = [place + draws.integer(6, 9) for place in range(draws.integer(2, 4))]
    mask = [_mask(draws, tokens) for tokens in lengths]
    batches = [[[_logp(draws) for _ in row] for row in mask]]
    for _ in range(scorers - 1):
        batches.append([_near(draws, row) for row in batches[-1]])
    return batches, mask


def _log_ratios_typical(draws: Draws) -> list[Case]:
    cases = []
    for _ in range(5):
        (behavior, trainer), mask = _batch(draws, 2)
        cases.append(case(trainer, behavior, mask))
    return cases


def _log_ratios_edge(draws: Draws) -> list[Case]:
    first, second = _logp(draws), _logp(draws)
    return [
        case([[first, math.nan]], [[second, math.nan]], [[1, 0]]),
        case([[first, -math.inf]], [[second, -math.inf]], [[True, False]]),
        case([[first, second, -math.inf]], [[second, second, first]], [[1, 1, 1]]),
        case([[first, second], [first]], [[second, first], [second]], [[0, 0], [1]]),
        case([[], [first]], [[], [second]], [[], [1]]),
        case([], [], []),
    ]


SEQUENCE_LOG_RATIOS = FunctionTask(
    name="sequence_log_ratios",
    reference=reference.sequence_log_ratios,
    accept=ListOf(LOG),
    examples=(
        case([[-1.2, -0.5, -2.0]], [[-1.1, -0.75, -2.5]], [[1, 1, 1]]),
        case(
            [[-1.2, -0.5, -2.0, -0.3], [-0.7, -0.4]], [[-1.1, -0.75, -2.5, -0.9], [-0.9, -0.4]], [[1, 0, 1, 0], [1, 1]]
        ),
        case([[-1.5, math.nan]], [[-1.25, math.nan]], [[1, 0]]),
        case([[-1.5, -0.2]], [[-1.25, -0.1]], [[0, 0]]),
    ),
    criteria=(
        Criterion("typical", "a batch with padding and with tokens of others in between", 1.5, _log_ratios_typical),
        Criterion("edge", "NaN in padding, an impossible token, nothing that counts", 0.5, _log_ratios_edge),
    ),
    misconceptions=(
        attempts.mean_for_sum,
        attempts.mask_multiplied,
        attempts.padding_counted,
        attempts.behavior_over_trainer,
        attempts.mask_as_length,
        attempts.ratio_for_log_ratio,
    ),
    correct=(attempts.log_ratios_loop, attempts.log_ratios_of_sums, attempts.log_ratios_numpy),
)


# --- importance_weights ------------------------------------------------------------------------------------------


def _ratios(draws: Draws, mask: Sequence[Sequence[int]]) -> list[list[float]]:
    """Draw token log-ratios whose sum over a sequence is not small."""
    return [[draws.choice((-0.5, 0.5)) * draws.uniform(0.1, 1.0) + 0.2 for _ in row] for row in mask]


def _weights_at(level: str, draws: Draws) -> list[Case]:
    cases = []
    for _ in range(4):
        mask = [_mask(draws, draws.integer(6, 9)) for _ in range(draws.integer(2, 4))]
        ratios = [[round(ratio, 6) for ratio in row] for row in _ratios(draws, mask)]
        cases.append(case(ratios, mask, level=level))
    return [*cases, case([[0.012] * 100], [[1] * 100], level=level)]


def _weights_edge(draws: Draws) -> list[Case]:
    ratio = draws.uniform(0.2, 0.9)
    return [
        case(rows, mask, level=level)
        for level in ("token", "sequence")
        for rows, mask in (
            ([[ratio, math.nan, -ratio / 2]], [[1, 0, 1]]),
            ([[ratio, -math.inf], [ratio, -math.inf]], [[True, False], [True, True]]),
            ([[ratio, ratio], []], [[0, 0], []]),
        )
    ]


IMPORTANCE_WEIGHTS = FunctionTask(
    name="importance_weights",
    reference=reference.importance_weights,
    accept=ListOf(ListOf(Number())),
    examples=(
        case([[0.25, -0.5, 0.5, 0.75]], [[1, 0, 1, 0]], level="token"),
        case([[0.25, -0.5, 0.5, 0.75]], [[1, 0, 1, 0]], level="sequence"),
        case([[0.12] * 10], [[1] * 10], level="sequence"),  # 1.2 in all, as 0.012 over 100 tokens: 3.3
    ),
    criteria=(
        Criterion("token", "a weight for each token", 0.5, lambda draws: _weights_at("token", draws)),
        Criterion("sequence", "a weight for a whole completion", 0.5, lambda draws: _weights_at("sequence", draws)),
        Criterion("edge", "NaN in padding, an impossible token, nothing that counts", 0.5, _weights_edge),
    ),
    misconceptions=(
        attempts.always_token_level,
        attempts.always_sequence_level,
        attempts.geometric_mean,
        attempts.ratios_added,
        attempts.padding_in_the_product,
        attempts.padding_with_weight_one,
    ),
    correct=(attempts.weights_by_product, attempts.weights_loop, attempts.weights_numpy),
)


# --- effective_sample_size ---------------------------------------------------------------------------------------


def _weights(draws: Draws, most: int = 12) -> list[float]:
    return [draws.uniform(0.1, 5.0) for _ in range(draws.integer(3, most))]


def _sizes_typical(draws: Draws) -> list[Case]:
    drawn = [_weights(draws) for _ in range(5)]
    whole = [draws.integer(1, 9) for _ in range(6)]
    return [*(case(weights) for weights in drawn), case(whole), case([*whole, 40]), case([1, 2, 2, 8])]


def _sizes_edge(draws: Draws) -> list[Case]:
    weight = draws.uniform(0.1, 5.0)
    tiny = [weight * 1e-6, weight * 3e-6, 0.5e-6]
    return [
        case([weight]),
        case([weight] * draws.integer(2, 9)),
        case([0, weight, 0, 2 * weight]),
        case([0.0, weight, 0.0]),
        case([entry * 1e9 for entry in tiny]),
        case(tiny),
    ]


def _sizes_senseless(draws: Draws) -> list[Case]:
    weights = _weights(draws)
    bad = (-draws.uniform(0.1, 1.0), math.nan, math.inf, -math.inf, True)
    return [
        *(refused("weights", [*weights, entry]) for entry in bad),
        *(refused("weights", [entry, *weights]) for entry in bad),
        refused("weights", [0, 0.0, 0]),
        refused("weights", [0]),
        refused("weights", []),
    ]


EFFECTIVE_SAMPLE_SIZE = FunctionTask(
    name="effective_sample_size",
    reference=reference.effective_sample_size,
    accept=Number(),
    examples=(
        case([1, 2, 2, 8]),
        case([1, 1, 1, 1]),
        case([1, 2, 2, 2]),
        case([0, 3, 0, 1]),
        refused("weights", [1, -1, 2]),
        refused("weights", [0, 0]),
    ),
    criteria=(
        Criterion("typical", "weights of different sizes", 1, _sizes_typical),
        Criterion("edge", "one weight, equal weights, weights of 0, weights on another scale", 0.5, _sizes_edge),
        Criterion(
            "senseless", "senseless arguments raise a ValueError that names them", 1, _sizes_senseless, "typical"
        ),
    ),
    misconceptions=(
        attempts.divided_by_count,
        attempts.sum_not_squared,
        attempts.sample_variance,
        attempts.weights_above_zero,
        attempts.over_the_largest,
        attempts.exponential_of_entropy,
    ),
    correct=(attempts.ess_with_validators, attempts.ess_by_shares, attempts.ess_numpy),
)


# --- normalized_ess ----------------------------------------------------------------------------------------------


def _logs(draws: Draws) -> list[float]:
    return [draws.uniform(-2.0, 2.0) for _ in range(draws.integer(3, 12))]


def _shares_near(draws: Draws) -> list[Case]:
    return [case(WORKED), *(case(_logs(draws)) for _ in range(5)), case([draws.uniform(-3, 3)] * 5)]


def _shares_far(draws: Draws) -> list[Case]:
    return [
        *(case([round(shift + log, 6) for log in _logs(draws)]) for shift in (1000, -1000, 750, -800)),
        case([1000.0, -1000.0, 999.0]),
        case([-1000.0 - draws.uniform(0.5, 2.0), -1000.0]),
    ]


def _shares_zero(draws: Draws) -> list[Case]:
    return [
        case([-math.inf, *_logs(draws)]),
        case([*_logs(draws), -math.inf, -math.inf]),
        case([-math.inf, draws.uniform(-2.0, 2.0), -math.inf]),
        case([draws.uniform(-2.0, 2.0)]),
        case([-math.inf, 1000.0, 999.5]),
    ]


NORMALIZED_ESS = FunctionTask(
    name="normalized_ess",
    reference=reference.normalized_ess,
    accept=Number(),
    examples=(
        case(WORKED),
        case([0.0, LOG_2, LOG_2, LOG_2]),
        case([1000.0, 1000.693147, 1000.693147, 1002.079442]),
        case([-1000.0, -1000.693147, -1001.0]),
        case([0.0, -math.inf, 0.0, LOG_2]),
    ),
    criteria=(
        Criterion("near", "logarithms of ordinary weights", 1, _shares_near),
        Criterion("far", "logarithms around +1000 and −1000", 1, _shares_far),
        Criterion("zero", "weights of 0, a single weight", 0.5, _shares_zero),
    ),
    misconceptions=(
        attempts.exponentials_at_once,
        attempts.exponentials_at_once_in_numpy,
        attempts.not_normalised,
        attempts.zero_weights_left_out,
        attempts.logarithms_cut_off,
        attempts.root_of_the_share,
    ),
    correct=(attempts.share_by_logsumexp, attempts.share_loop, attempts.share_numpy),
)


# --- clip_log_ratios and mask_log_ratios -------------------------------------------------------------------------


def _mixed(draws: Draws) -> list[float]:
    """Draw log-ratios far below −1, inside (−1, 1) and far above 1, in a drawn order."""
    inside = [draws.uniform(-0.5, 0.5) for _ in range(3)]
    return draws.shuffled([-draws.uniform(1.5, 3.0), draws.uniform(1.5, 3.0), draws.uniform(3.5, 5.0), *inside])


def _clips(draws: Draws) -> list[Case]:
    cap = draws.uniform(0.6, 1.4)
    return [
        *(case(_mixed(draws), draws.uniform(0.6, 1.4)) for _ in range(4)),
        case(WORKED, LOG_2),
        case([cap, 2 * cap, -math.inf, 0.0, -2 * cap], cap),
        case([-1.0, 0.5, -draws.uniform(2.0, 3.0)], 0.0),
        case([], cap),
    ]


CLIP_LOG_RATIOS = FunctionTask(
    name="clip_log_ratios",
    reference=reference.clip_log_ratios,
    accept=ListOf(Number()),
    examples=(case(WORKED, LOG_2), case([-3.0, -0.2, 0.4, 5.0], 1.0), case([-0.5, 0.3], 0.0)),
    criteria=(Criterion("typical", "ratios below, at and above the cap", 1, _clips),),
    misconceptions=(
        attempts.cut_on_both_sides,
        attempts.ratios_returned,
        attempts.cap_taken_as_ratio,
        attempts.above_the_cap_removed,
        attempts.above_the_cap_masked,
    ),
    correct=(attempts.clip_min, attempts.clip_loop, attempts.clip_numpy),
)


def _bands(draws: Draws) -> list[Case]:
    low, high = -draws.uniform(0.6, 1.4), draws.uniform(0.6, 1.4)
    return [
        *(case(_mixed(draws), -draws.uniform(0.6, 1.4), draws.uniform(0.6, 1.4)) for _ in range(4)),
        case(WORKED, -LOG_2, LOG_2),
        case([low, high, 2 * low, 2 * high, -math.inf, 0.0], low, high),
        case([draws.uniform(0.1, 0.4), draws.uniform(0.6, 0.9), 0.5], 0.5, 0.5),
        case([], low, high),
    ]


MASK_LOG_RATIOS = FunctionTask(
    name="mask_log_ratios",
    reference=reference.mask_log_ratios,
    accept=ListOf(Number()),
    examples=(case(WORKED, -LOG_2, LOG_2), case([-3.0, -0.2, 0.4, 5.0], -1.0, 1.0), case([-0.5, 0.75], -0.5, 0.5)),
    criteria=(Criterion("typical", "ratios inside, outside and at the bounds of the band", 1, _bands),),
    misconceptions=(
        attempts.moved_to_the_bounds,
        attempts.zero_outside,
        attempts.bounds_left_out,
        attempts.masked_above_only,
        attempts.outside_removed,
    ),
    correct=(attempts.band_loop, attempts.band_by_middle, attempts.band_numpy),
)


# --- decoded_logprobs --------------------------------------------------------------------------------------------


def _decoding(draws: Draws, temperature: float, logits: list[float]) -> Case:
    """Return a case whose top-p lies well inside what some token's probability adds, and keeps two tokens or more."""
    most_probable_first = sorted((math.exp(logit / temperature) for logit in logits), reverse=True)
    size = draws.integer(2, len(logits) - 1)
    before, after = (sum(most_probable_first[:count]) / sum(most_probable_first) for count in (size - 1, size))
    return case(logits, temperature=temperature, top_p=round(before + draws.uniform(0.3, 0.7) * (after - before), 6))


def _logits(draws: Draws, least: int = 4) -> list[float]:
    """Draw different logits in a drawn order, neighbours at least 0.2 apart."""
    logits = [draws.uniform(-0.5, 0.5)]
    for _ in range(draws.integer(least, 7) - 1):
        logits.append(round(logits[-1] - draws.uniform(0.2, 0.7), 6))
    return draws.shuffled(logits)


def _decoded_temperature(draws: Draws) -> list[Case]:
    temperatures = (0.5, 0.7, 1.0, 1.3, 2.0)
    return [case(_logits(draws), temperature=temperature, top_p=1.0) for temperature in temperatures]


def _decoded_top_p(draws: Draws) -> list[Case]:
    plain = [_decoding(draws, 1.0, _logits(draws)) for _ in range(4)]
    return [*plain, case([2.0, 1.0, 0.0, -1.0], temperature=1.0, top_p=0.9), case([0.3, 0.1], temperature=1, top_p=0.2)]


def _decoded_both(draws: Draws) -> list[Case]:
    drawn = [_decoding(draws, temperature, _logits(draws, 6)) for temperature in (0.4, 0.6, 1.6, 2.5)]
    # Here the nucleus of temperature 1 is another one: three tokens against two, and two against three.
    return [
        *drawn,
        case([2.0, 1.0, 0.0, -1.0], temperature=0.8, top_p=0.9),
        case([0.0, -1.0, 2.0, 1.0], temperature=2, top_p=0.8),
    ]


def _decoded_edge(draws: Draws) -> list[Case]:
    level, lead = draws.uniform(-1.0, 1.0), draws.uniform(0.3, 0.6)
    return [
        # Equal logits: the smaller index comes first.
        case([level] * 5, temperature=0.8, top_p=0.5),
        case([level, level + lead, level, level + lead, level - lead], temperature=1.2, top_p=0.6),
        # Forbidden tokens, and top-p = 1 with a tail below the rounding of the running total.
        case([-math.inf, level, level - lead, -math.inf], temperature=0.7, top_p=1.0),
        case([level, -math.inf, level + lead, level - lead], temperature=1.5, top_p=0.5),
        case([-45.0, level, level + lead, -50.0], temperature=1.0, top_p=1.0),
        # Large logits.
        case([1000.0, 1000.0 + level, 1000.0 - lead], temperature=1.0, top_p=0.95),
        case([-1000.0, -1000.0 - lead], temperature=0.5, top_p=1.0),
        case([level], temperature=0.3, top_p=0.4),
    ]


DECODED_LOGPROBS = FunctionTask(
    name="decoded_logprobs",
    reference=reference.decoded_logprobs,
    accept=ListOf(LOG),
    examples=(
        case([2.0, 1.0, 0.0, -1.0], temperature=1.0, top_p=1.0),
        case([2.0, 1.0, 0.0, -1.0], temperature=0.8, top_p=0.9),
        case([0.0, -1.0, 2.0, 1.0], temperature=2.0, top_p=0.8),
        case([1.0, 1.0, 1.0, 0.0], temperature=1.0, top_p=0.5),
        case([0.5, -math.inf, 1.5], temperature=0.5, top_p=1.0),
    ),
    criteria=(
        Criterion("temperature", "temperature alone", 1, _decoded_temperature),
        Criterion("top-p", "top-p alone", 1, _decoded_top_p),
        Criterion("both", "temperature, then top-p", 1, _decoded_both),
        Criterion("edge", "equal logits, forbidden tokens, large logits, a long tail, one token", 1, _decoded_edge),
    ),
    misconceptions=(
        attempts.temperature_forgotten,
        attempts.temperature_multiplied,
        attempts.top_p_ignored,
        attempts.nucleus_before_temperature,
        attempts.crossing_token_left_out,
        attempts.not_renormalised,
        attempts.ties_all_kept,
        attempts.probabilities_returned,
    ),
    correct=(attempts.decoded_loop, attempts.decoded_by_rank, attempts.decoded_numpy),
    equivalent_mutants={
        "_nucleus: reached >= wanted → reached > wanted": "no case's running total comes within rounding of top_p",
    },
)


# --- zero_lag_report ---------------------------------------------------------------------------------------------


def _reports_typical(draws: Draws) -> list[Case]:
    cases = []
    for _ in range(5):
        (engine, trainer), mask = _batch(draws, 2)
        # The largest gap is a negative one, at a token that counts.
        trainer[0][0] = round(engine[0][0] - draws.uniform(0.6, 1.5), 6)
        cases.append(case(engine, trainer, mask))
    return cases


def _reports_edge(draws: Draws) -> list[Case]:
    first, second = _logp(draws), _logp(draws)
    return [
        case([[first, math.nan]], [[second, math.nan]], [[1, 0]]),
        case([[first, second], [first]], [[first, second], [first]], [[1, 1], [1]]),
        case([[], [first, second], [second]], [[], [second, first], [first]], [[], [0, 1], [False]]),
        case([[first, first]], [[round(first - 0.3, 6), round(first + 0.2, 6)]], [[True, True]]),
    ]


ZERO_LAG_REPORT = FunctionTask(
    name="zero_lag_report",
    reference=reference.zero_lag_report,
    accept=Fields({"mean_abs_delta": LOG, "max_abs_delta": LOG, "k3": LOG}),
    examples=(
        case([[-1.0, -0.5, -2.0, -1.2, -0.7]], [[-0.98, -0.51, -2.0, -1.5, -0.69]], [[1, 1, 1, 1, 1]]),
        case([[-1.0, -0.5, -2.0], [-1.0, -3.0]], [[-0.75, -0.5, -2.25], [-1.5, -1.0]], [[1, 1, 1], [1, 0]]),
        case([[-0.4, -1.1]], [[-0.4, -1.1]], [[1, 1]]),
    ),
    criteria=(
        Criterion("typical", "a batch with padding and with tokens of others in between", 1.5, _reports_typical),
        Criterion("edge", "NaN in padding, equal numbers, a sequence with nothing that counts", 0.5, _reports_edge),
    ),
    misconceptions=(
        attempts.signed_mean,
        attempts.largest_positive_gap,
        attempts.k3_the_other_way,
        attempts.k1_for_k3,
        attempts.mean_of_sequence_means,
        attempts.divided_by_all_positions,
    ),
    correct=(attempts.zero_lag_loop, attempts.zero_lag_numpy, attempts.zero_lag_dataclass),
)


# --- split_drift -------------------------------------------------------------------------------------------------


def _splits(draws: Draws) -> list[Case]:
    cases = []
    for _ in range(5):
        (behavior, same, now), mask = _batch(draws, 3)
        cases.append(case(behavior, same, now, mask))
    return cases


def _splits_edge(draws: Draws) -> list[Case]:
    one, two, three = (_logp(draws) for _ in range(3))
    return [
        case([[one, math.nan]], [[two, math.nan]], [[three, math.nan]], [[1, 0]]),
        case([[one], []], [[one], []], [[three], []], [[1], []]),
        case([[one]], [[two]], [[two]], [[True]]),
        case([[one, two]], [[two, three]], [[three, one]], [[0, 0]]),
    ]


SPLIT_DRIFT = FunctionTask(
    name="split_drift",
    reference=reference.split_drift,
    accept=Fields({"mismatch": ListOf(LOG), "lag": ListOf(LOG), "total": ListOf(LOG)}),
    examples=(
        case([[-1.0, -2.0]], [[-0.98, -1.97]], [[-0.5, -1.3]], [[1, 1]]),
        case(
            [[-1.0, -2.0, -0.5], [-1.5, -1.0]],
            [[-0.9, -2.25, -0.75], [-1.25, -0.5]],
            [[-1.1, -2.0, -1.0], [-1.5, -2.0]],
            [[1, 1, 1], [1, 0]],
        ),
    ),
    criteria=(
        Criterion("typical", "both parts at work", 1, _splits),
        Criterion("edge", "NaN in padding, one part alone, nothing that counts", 0.5, _splits_edge),
    ),
    misconceptions=(
        attempts.parts_exchanged,
        attempts.lag_includes_mismatch,
        attempts.parts_as_ratios,
        attempts.parts_as_distances,
        attempts.parts_a_token,
        attempts.parts_with_padding,
    ),
    correct=(attempts.split_by_addition, attempts.split_of_sums, attempts.split_numpy),
)


# --- the variant -------------------------------------------------------------------------------------------------


def _variant_answer(numbers: Mapping[str, Any]) -> dict[str, float]:
    logs = [numbers[f"tokens_{place}"] * numbers[f"mean_log_ratio_{place}"] for place in range(1, 5)]
    truncated = reference.clip_log_ratios(logs, math.log(numbers["ratio_cap"]))
    return {
        "largest_ratio": math.exp(max(logs)),
        "normalized_ess": reference.normalized_ess(logs),
        "truncated_normalized_ess": reference.normalized_ess(truncated),
    }


# The first completion's log-ratio lies between 150 × 0.005 and 300 × 0.012, the others' below that; n is 4.
ESS_VARIANT = VariantTask(
    topic="ess",
    name="ess_variant",
    answer=_variant_answer,
    fields={
        "largest_ratio": VariantField("plain numbers", Number(relative=1e-3), 0.5, 2, 37),
        "normalized_ess": VariantField("plain numbers", Number(relative=1e-3), 0.75, 0.25, 1),
        "truncated_normalized_ess": VariantField("plain numbers", Number(relative=1e-3), 0.75, 0.25, 1),
    },
)

TASKS = (
    SEQUENCE_LOG_RATIOS,
    IMPORTANCE_WEIGHTS,
    EFFECTIVE_SAMPLE_SIZE,
    NORMALIZED_ESS,
    CLIP_LOG_RATIOS,
    MASK_LOG_RATIOS,
    DECODED_LOGPROBS,
    ZERO_LAG_REPORT,
    SPLIT_DRIFT,
    ESS_VARIANT,
)
