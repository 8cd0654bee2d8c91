"""Tasks of the topic `lag`: lag cycles, what publishing costs, cadence, admission, versions inside a completion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rlinfra.checks.compare import Fields, Integer, Items, ListOf, Number, Text
from rlinfra_reference import lag as reference

from ..attempts import lag as attempts
from .model import Case, Criterion, FunctionTask, SortingGroup, SortingTask, VariantField, VariantTask, case, refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlinfra.draws import Draws


# --- synchronization_schedule ------------------------------------------------------------------------------------


def _schedule_fields(schedule: reference.SynchronizationSchedule) -> dict[str, Any]:
    return {
        "lags": schedule.lags,
        "synchronization_count": schedule.synchronization_count,
        "mean_lag": schedule.mean_lag,
        "max_lag": schedule.max_lag,
    }


def _schedules_whole(draws: Draws) -> list[Case]:
    cadences = draws.shuffled(range(2, 13))[:5]
    return [case(sync_every=every, updates=every * draws.integer(2, 6)) for every in cadences]


def _schedules_cut(draws: Draws) -> list[Case]:
    drawn = [
        case(sync_every=every, updates=every * draws.integer(1, 5) + draws.integer(1, every - 1))
        for every in draws.shuffled(range(3, 13))[:5]
    ]
    every = draws.integer(5, 12)
    return [*drawn, case(sync_every=every, updates=3 * every + 1), case(sync_every=every, updates=3 * every - 1)]


def _schedules_edge(draws: Draws) -> list[Case]:
    every = draws.integer(6, 20)
    return [
        case(sync_every=1, updates=draws.integer(2, 12)),
        case(sync_every=every, updates=draws.integer(2, every - 2)),
        case(sync_every=every, updates=every),
        case(sync_every=every, updates=1),
        case(sync_every=every, updates=0),
    ]


SYNCHRONIZATION_SCHEDULE = FunctionTask(
    name="synchronization_schedule",
    reference=reference.synchronization_schedule,
    answer=_schedule_fields,
    accept=Fields(
        {
            "lags": ListOf(Integer()),
            "synchronization_count": Integer(),
            "mean_lag": Number(),
            "max_lag": Integer(),
        }
    ),
    examples=(
        case(sync_every=4, updates=8),
        case(sync_every=4, updates=10),
        case(sync_every=8, updates=3),
        case(sync_every=1, updates=16),
        case(sync_every=4, updates=0),
    ),
    criteria=(
        Criterion("whole", "runs of whole cycles", 1.5, _schedules_whole),
        Criterion("cut", "runs that end in the middle of a cycle", 1.5, _schedules_cut),
        Criterion("edge", "publication after every update, runs without a publication, no updates", 1, _schedules_edge),
    ),
    misconceptions=(
        attempts.lag_counted_after_the_update,
        attempts.mean_of_an_endless_run,
        attempts.maximum_of_an_endless_run,
        attempts.first_load_counted,
        attempts.lag_never_reset,
        attempts.cycle_too_long,
    ),
    correct=(attempts.schedule_simulated, attempts.schedule_in_closed_form, attempts.schedule_numpy),
)


# --- synchronization_transfer_time -------------------------------------------------------------------------------

FULL_BYTES, ADAPTER_BYTES = 14_000_000_000, 140_000_000
LAB_LINK = {"setup_seconds": 0.15, "efficiency": 0.8}


def _link(draws: Draws) -> dict[str, float]:
    return {"setup_seconds": draws.integer(20, 900) / 1000, "efficiency": draws.integer(40, 95) / 100}


def _bandwidth(draws: Draws) -> float:
    return draws.choice((10, 12.5, 25, 50, 100))


def _transfers_typical(draws: Draws) -> list[Case]:
    return [case(draws.integer(10**8, 14 * 10**10), _bandwidth(draws), **_link(draws)) for _ in range(6)]


def _transfers_edge(draws: Draws) -> list[Case]:
    payload, link = draws.integer(10**9, 10**11), _link(draws)
    return [
        case(payload, _bandwidth(draws), **{**link, "setup_seconds": 0}),
        case(payload, _bandwidth(draws), **{**link, "efficiency": 1}),
        case(0, _bandwidth(draws), **link),
        case(payload, draws.integer(1, 9) / 10, **link),
    ]


def _transfers_senseless(draws: Draws) -> list[Case]:
    payload, link = draws.integer(10**9, 10**11), _link(draws)
    negative, above = -draws.integer(1, 9), 1 + draws.integer(1, 40) / 10
    return [
        *(refused("payload_bytes", bad, 25, **link) for bad in (-payload, math.nan, math.inf)),
        *(refused("bandwidth_gb_per_s", payload, bad, **link) for bad in (0, negative, math.nan, math.inf)),
        *(
            refused("setup_seconds", payload, 25, **{**link, "setup_seconds": bad})
            for bad in (negative, math.nan, math.inf)
        ),
        *(
            refused("efficiency", payload, 25, **{**link, "efficiency": bad})
            for bad in (0, negative / 10, above, 80, math.nan, math.inf)
        ),
    ]


SYNCHRONIZATION_TRANSFER_TIME = FunctionTask(
    name="synchronization_transfer_time",
    reference=reference.synchronization_transfer_time,
    accept=Number(),
    examples=(
        case(FULL_BYTES, 25, **LAB_LINK),
        case(ADAPTER_BYTES, 25, **LAB_LINK),
        case(0, 25, **LAB_LINK),
        refused("bandwidth_gb_per_s", FULL_BYTES, 0, **LAB_LINK),
        refused("efficiency", FULL_BYTES, 25, setup_seconds=0.15, efficiency=80),
    ),
    criteria=(
        Criterion("typical", "publications over a link", 1.5, _transfers_typical),
        Criterion("edge", "no set-up, the full rate, no payload, a slow link", 0.5, _transfers_edge),
        Criterion(
            "senseless", "senseless arguments raise a ValueError that names them", 1, _transfers_senseless, "typical"
        ),
    ),
    misconceptions=(
        attempts.binary_gigabytes,
        attempts.gigabits,
        attempts.efficiency_forgotten,
        attempts.faster_when_inefficient,
        attempts.setup_forgotten,
        attempts.setup_over_the_wire,
    ),
    correct=(attempts.transfer_with_validators, attempts.transfer_by_hand, attempts.transfer_numpy),
)


# --- best_cadence ------------------------------------------------------------------------------------------------

# Two candidates and an ideal between them that lies nearer to the smaller one, while the larger one is cheaper.
LOPSIDED = ((2, 8), (2, 16), (1, 5), (3, 12), (4, 20))
# Costs are equal exactly where S = λ × K1 × K2 / 2, and with these numbers both are exact in binary.
TIED = ((1, 2), (2, 4), (2, 8), (3, 4), (3, 5), (4, 6))


def _cadences_typical(draws: Draws) -> list[Case]:
    drawn = []
    for _ in range(4):
        candidates = draws.shuffled((1, 2, 3, 4, 6, 8, 12, 16, 24))[:6]
        ideal = sorted(candidates)[draws.integer(1, 4)]
        price = draws.integer(1, 4)
        drawn.append(case(candidates, sync_seconds=price * ideal**2 / 2 + 0.25, lag_cost=price))
    for small, large in draws.shuffled(LOPSIDED)[:2]:
        ideal_squared = (small * large + ((small + large) / 2) ** 2) / 2
        half_price = draws.integer(2, 8) / 4
        drawn.append(
            case(draws.shuffled((small, large)), sync_seconds=half_price * ideal_squared, lag_cost=2 * half_price)
        )
    return drawn


def _cadences_tied(draws: Draws) -> list[Case]:
    drawn = []
    for small, large in draws.shuffled(TIED)[:4]:
        price = draws.integer(1, 6) / 2
        costs = {"sync_seconds": price * small * large / 2, "lag_cost": price}
        others = [64, *([1] if small > 1 else [])]
        drawn += [case([large, *others, small], **costs), case([*others, small, large], **costs)]
    return [*drawn, case([9, 2, 5, 30], sync_seconds=0, lag_cost=0)]


def _cadences_edge(draws: Draws) -> list[Case]:
    several = draws.shuffled(range(2, 30))[:5]
    stall = draws.integer(2, 40)
    return [
        case([draws.integer(2, 30)], sync_seconds=stall, lag_cost=draws.integer(1, 3)),
        case(several, sync_seconds=stall, lag_cost=0),
        case(several, sync_seconds=0, lag_cost=draws.integer(1, 3)),
        case([1, 2, 3], sync_seconds=100 + stall, lag_cost=1),
        case([60, 50, 90], sync_seconds=stall, lag_cost=1),
        case([1, 1000], sync_seconds=stall + 0.5, lag_cost=0.001),
    ]


BEST_CADENCE = FunctionTask(
    name="best_cadence",
    reference=reference.best_cadence,
    answer=lambda best: (best.sync_every, best.cost_seconds),
    accept=Items((Integer(), Number())),
    examples=(
        case([1, 2, 4, 8], sync_seconds=8, lag_cost=1),
        case([8, 2], sync_seconds=8, lag_cost=1),
        case([1, 2, 8], sync_seconds=8, lag_cost=1),
        case([2, 8], sync_seconds=9.5, lag_cost=1),
        case([4, 1, 16], sync_seconds=6, lag_cost=0),
    ),
    criteria=(
        Criterion("typical", "a cheapest candidate among several", 1.5, _cadences_typical),
        Criterion("tied", "candidates of the same cost", 0.5, _cadences_tied),
        Criterion("edge", "one candidate, lag or publication for nothing, an ideal out of reach", 1, _cadences_edge),
    ),
    misconceptions=(
        attempts.publication_alone,
        attempts.greatest_lag_charged,
        attempts.lag_taken_as_half_the_cadence,
        attempts.publication_paid_by_every_update,
        attempts.nearest_to_the_ideal,
        attempts.first_of_equal_costs,
        attempts.larger_of_equal_costs,
    ),
    correct=(
        attempts.cadence_loop,
        attempts.cadence_over_a_cycle,
        attempts.cadence_numpy,
        attempts.cadence_fractions,
    ),
)


# --- admit -------------------------------------------------------------------------------------------------------


def _admission_fields(admission: reference.Admission) -> dict[str, Any]:
    return {
        "kept": admission.kept,
        "discarded": admission.discarded,
        "mean_tokens_offered": admission.mean_tokens_offered,
        "mean_tokens_kept": admission.mean_tokens_kept,
    }


def _record(name: str, version: int | None, tokens: int) -> dict[str, Any]:
    return {"id": name, "version": version, "tokens": tokens}


def _queue(draws: Draws, versions: list[int | None]) -> list[dict[str, Any]]:
    """Return records of these versions in a drawn order, with drawn ids and lengths."""
    numbers = draws.shuffled(range(10, 90))
    return [
        _record(f"r{number}", version, draws.integer(20, 4_000))
        for number, version in zip(numbers, draws.shuffled(versions), strict=False)
    ]


def _admissions_typical(draws: Draws) -> list[Case]:
    drawn = []
    for _ in range(4):
        trainer, bound = draws.integer(30, 400), draws.integer(2, 6)
        lags = [1, bound, bound, bound + 1, bound + 1, *(draws.integer(1, 2 * bound + 2) for _ in range(3))]
        drawn.append(case(_queue(draws, [trainer - lag for lag in lags]), trainer, bound))
    trainer = draws.integer(30, 400)
    # The newest record is itself behind, and a fresh one stands after a stale one.
    behind = [_record("a", trainer - 9, 3_000), _record("b", trainer - 2, 250), _record("c", trainer - 5, 900)]
    return [*drawn, case(behind, trainer, 4)]


def _admissions_odd(draws: Draws) -> list[Case]:
    drawn = []
    for _ in range(3):
        trainer, bound = draws.integer(30, 400), draws.integer(2, 5)
        versions = [None, None, trainer, trainer - 1, trainer + 1, trainer + bound, trainer + bound + 2]
        stale = _record("last", 0, draws.integer(20, 4_000))
        drawn.append(case([*_queue(draws, versions), stale], trainer, bound))
    return drawn


def _admissions_edge(draws: Draws) -> list[Case]:
    trainer = draws.integer(30, 400)
    return [
        case([], trainer, 2),
        case(_queue(draws, [trainer - 3, trainer - 7]), trainer, 2),
        case(_queue(draws, [trainer, trainer - 1, trainer - 2]), trainer, 2),
        case([*_queue(draws, [trainer, trainer, None]), _record("last", trainer - 1, 900)], trainer, 0),
        case(_queue(draws, [0, 0, None, 1]), 0, 3),
    ]


ADMIT = FunctionTask(
    name="admit",
    reference=reference.admit,
    answer=_admission_fields,
    accept=Fields(
        {
            "kept": ListOf(Text()),
            "discarded": ListOf(Items((Text(), Text(("unknown", "ahead", "stale"))))),
            "mean_tokens_offered": Number(),
            "mean_tokens_kept": Number(),
        }
    ),
    examples=(
        case(
            [
                _record("r1", 9, 200),
                _record("r2", 5, 4_000),
                _record("r3", 8, 1_200),
                _record("r4", 7, 2_600),
                _record("r5", 9, 400),
            ],
            10,
            2,
        ),
        case([_record("a", 11, 300), _record("b", None, 500), _record("c", 10, 100), _record("d", 15, 700)], 10, 3),
        case([_record("old", 3, 800)], 10, 2),
        case([], 10, 2),
    ),
    criteria=(
        Criterion("typical", "records within the bound and beyond it", 1.5, _admissions_typical),
        Criterion("odd", "records of an unknown version, or ahead of the trainer", 1, _admissions_odd),
        Criterion("edge", "no records, none or all of them kept, a bound of 0", 0.5, _admissions_edge),
    ),
    misconceptions=(
        attempts.bound_itself_discarded,
        attempts.ahead_kept,
        attempts.distance_bounded,
        attempts.unknown_kept,
        attempts.stops_at_the_first_stale,
        attempts.measured_from_the_newest_record,
        attempts.kept_tokens_over_all_records,
    ),
    correct=(attempts.admit_with_helpers, attempts.admit_by_range, attempts.admit_numpy),
)


# --- token_versions ----------------------------------------------------------------------------------------------


def _completion(draws: Draws, *, switches: int, tied: bool) -> Case:
    """Draw a completion whose weights change inside; times are whole milliseconds, tokens' odd and switches' even.

    With `tied`, every switch after the first falls on a token.
    """
    start, gap = 2 * draws.integer(500, 5_000) + 1, 2 * draws.integer(5, 30)
    tokens = [start + gap * place for place in range(draws.integer(10, 16))]
    version = draws.integer(5, 300)
    publications = [(start - 2 * draws.integer(1, 200) - 1, version)]
    for place in sorted(draws.shuffled(range(1, len(tokens) - 1))[:switches]):
        version += draws.integer(1, 3)
        publications.append((tokens[place] if tied else tokens[place] + 1, version))
    return case(
        [moment / 1000 for moment in tokens],
        [(moment / 1000, number) for moment, number in publications],
    )


def _versions_inside(draws: Draws) -> list[Case]:
    return [_completion(draws, switches=draws.integer(1, 4), tied=False) for _ in range(5)]


def _versions_tied(draws: Draws) -> list[Case]:
    return [_completion(draws, switches=switches, tied=True) for switches in (1, 2, 4)]


def _versions_edge(draws: Draws) -> list[Case]:
    first = draws.integer(5, 300)
    tokens = [5.25, 5.5, 5.75, 6.0, 6.25]
    return [
        case([], [(1.0, first)]),
        case([], [(1.0, first), (2.0, first + 1)]),
        case(tokens, [(1.0, first)]),
        case(tokens, [(1.0, first), (3.0, first + 4), (9.0, first + 5)]),
        case(tokens, [(1.0, first), (5.6, first + 1), (5.7, first + 2)]),
        case(tokens, [(1.0, first), (5.3, first + 3), (5.8, first + 1), (6.1, first + 2)]),
        case([tokens[0]], [(1.0, first), (tokens[0] + 0.5, first + 1)]),
    ]


TOKEN_VERSIONS = FunctionTask(
    name="token_versions",
    reference=reference.token_versions,
    accept=ListOf(Integer()),
    examples=(
        case([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [(0.0, 120), (3.0, 121)]),
        case([1.0, 2.0, 3.0, 4.0, 5.0], [(0.5, 7), (1.5, 9), (4.5, 8)]),
        case([1.0, 1.1, 1.2], [(0.0, 3), (0.8, 5), (4.0, 6)]),
        case([], [(0.0, 120)]),
    ),
    criteria=(
        Criterion("inside", "weights that change between two tokens", 1.5, _versions_inside),
        Criterion("tied", "publications at the moment of a token", 0.75, _versions_tied),
        Criterion("edge", "no tokens, no change, versions skipped or set back", 0.75, _versions_edge),
    ),
    misconceptions=(
        attempts.publication_wins_ties,
        attempts.version_at_the_start,
        attempts.version_at_the_end,
        attempts.publications_counted,
        attempts.highest_version_so_far,
        attempts.newest_publication_for_all,
    ),
    correct=(
        attempts.versions_by_pointer,
        attempts.versions_by_bisection,
        attempts.versions_numpy,
        attempts.versions_looking_back,
    ),
)


# --- the variant and the sorting question ------------------------------------------------------------------------


def _variant_answer(numbers: Mapping[str, Any]) -> dict[str, float]:
    bandwidth = numbers["bandwidth_gb_per_s"]
    link = {"setup_seconds": numbers["setup_seconds"], "efficiency": numbers["efficiency"]}
    full = reference.synchronization_transfer_time(2 * numbers["parameters"], bandwidth, **link)
    adapter = reference.synchronization_transfer_time(2 * numbers["adapter_parameters"], bandwidth, **link)
    schedule = reference.synchronization_schedule(sync_every=numbers["sync_every"], updates=numbers["updates"])
    every_update = reference.synchronization_schedule(sync_every=1, updates=numbers["updates"])
    return {
        "publish_seconds": full,
        "mean_lag": schedule.mean_lag,
        "adapter_run_seconds": every_update.synchronization_count * adapter,
    }


LAG_VARIANT = VariantTask(
    topic="lag",
    name="lag_variant",
    answer=_variant_answer,
    fields={
        "publish_seconds": VariantField("seconds", Number(relative=1e-3), 0.5, 0.17, 28.5),
        "mean_lag": VariantField("versions", Number(relative=1e-3), 0.5, 0.85, 5.5),
        "adapter_run_seconds": VariantField("seconds", Number(relative=1e-3), 1, 0.35, 51.5),
    },
)

SAFE, UNSAFE = "safe", "unsafe"

LAG_SORT = SortingTask(
    name="lag_sort",
    classes=(SAFE, UNSAFE),
    groups=(
        SortingGroup(
            "statements a to d",
            1,
            {
                "a_new_requests_switch": SAFE,
                "b_last_version_for_all": UNSAFE,
                "c_rescored_by_the_trainer": UNSAFE,
                "d_every_token_labelled": SAFE,
            },
        ),
        SortingGroup(
            "statements e to h",
            1,
            {
                "e_layer_by_layer": UNSAFE,
                "f_barrier": SAFE,
                "g_turn_by_turn": SAFE,
                "h_before_temperature": UNSAFE,
            },
        ),
    ),
)

TASKS = (
    SYNCHRONIZATION_SCHEDULE,
    SYNCHRONIZATION_TRANSFER_TIME,
    BEST_CADENCE,
    ADMIT,
    TOKEN_VERSIONS,
    LAG_VARIANT,
    LAG_SORT,
)
