"""Tasks of the topic `pipelines`: overlap, stages in a row, a synchronous group, a queue with backpressure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rlinfra.checks.compare import Fields, Integer, ListOf, Number
from rlinfra_reference import pipelines as reference

from ..attempts import pipelines as attempts
from .model import Case, Criterion, FunctionTask, SortingGroup, SortingTask, VariantField, VariantTask, case, refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlinfra.draws import Draws

MILLION = 1_000_000


# --- pipeline_report ---------------------------------------------------------------------------------------------


def _two_stages(rollout: float, train: float, batches: int) -> Case:
    return case(rollout_seconds=rollout, train_seconds=train, batches=batches)


def _report_fields(report: reference.PipelineReport) -> dict[str, float]:
    return {
        "sequential_total": report.sequential_total,
        "pipeline_total": report.pipeline_total,
        "period": report.period,
        "speedup": report.speedup,
        "asymptotic_speedup": report.asymptotic_speedup,
    }


def _overlaps_rollout(draws: Draws) -> list[Case]:
    drawn = [_two_stages(draws.integer(61, 400), draws.integer(3, 60), draws.integer(3, 50)) for _ in range(4)]
    return [*drawn, _two_stages(draws.uniform(5, 9), draws.uniform(0.1, 4.9), draws.integer(3, 9))]


def _overlaps_training(draws: Draws) -> list[Case]:
    drawn = [_two_stages(draws.integer(3, 60), draws.integer(61, 400), draws.integer(3, 50)) for _ in range(4)]
    return [*drawn, _two_stages(draws.uniform(0.1, 4.9), draws.uniform(5, 9), draws.integer(3, 9))]


def _overlaps_edge(draws: Draws) -> list[Case]:
    long, short, batches = draws.integer(61, 400), draws.integer(3, 60), draws.integer(3, 50)
    return [
        _two_stages(long, short, 1),
        _two_stages(short, long, 1),
        _two_stages(long, short, 2),
        _two_stages(long, long, batches),
        _two_stages(0.25, 0.125, 3),
    ]


PIPELINE_REPORT = FunctionTask(
    name="pipeline_report",
    reference=reference.pipeline_report,
    answer=_report_fields,
    accept=Fields(
        dict.fromkeys(("sequential_total", "pipeline_total", "period", "speedup", "asymptotic_speedup"), Number())
    ),
    examples=(
        _two_stages(90, 10, 20),
        _two_stages(60, 20, 10),
        _two_stages(30, 50, 4),
        _two_stages(90, 10, 1),
    ),
    criteria=(
        Criterion("rollout", "the rollout is the longer stage", 1.5, _overlaps_rollout),
        Criterion("training", "training is the longer stage", 1.5, _overlaps_training),
        Criterion("edge", "one batch, two batches, equal stages", 1, _overlaps_edge),
    ),
    misconceptions=(
        attempts.fill_forgotten,
        attempts.one_period_too_many,
        attempts.rollout_always_bounds,
        attempts.perfectly_balanced,
        attempts.speedup_upside_down,
        attempts.two_stages_twice_as_fast,
        attempts.run_for_the_limit,
    ),
    correct=(attempts.report_by_saving, attempts.report_loop, attempts.report_numpy),
)


# --- pipeline_makespan -------------------------------------------------------------------------------------------


def _makespan_fields(result: reference.PipelineMakespan) -> dict[str, Any]:
    return {
        "makespan_seconds": result.makespan_seconds,
        "bounding_stage": result.bounding_stage,
        "busy_fractions": result.busy_fractions,
    }


def _stages(draws: Draws, count: int, longest: int) -> list[float]:
    """Draw so many stages, of which the one at `longest` takes more than any other."""
    stages: list[float] = [draws.integer(5, 60) for _ in range(count)]
    stages[longest] = draws.integer(61, 200)
    return stages


def _rows_typical(draws: Draws) -> list[Case]:
    places = [(3, 0), (3, 1), (4, 3), (5, 2), (draws.integer(6, 9), 4)]
    drawn = [case(_stages(draws, count, longest), draws.integer(3, 60)) for count, longest in places]
    return [*drawn, case([draws.uniform(0.1, 0.9), draws.uniform(1, 2), draws.uniform(0.1, 0.9)], draws.integer(3, 9))]


def _rows_edge(draws: Draws) -> list[Case]:
    long, short, batches = draws.integer(61, 200), draws.integer(5, 60), draws.integer(3, 60)
    return [
        case([short, long, short, long], batches),
        case([long, short, long], batches),
        case([long] * draws.integer(2, 5), batches),
        case([long], batches),
        case([long], 1),
        case([short, long, short + 1], 1),
        case([short, long, short + 1], 2),
    ]


PIPELINE_MAKESPAN = FunctionTask(
    name="pipeline_makespan",
    reference=reference.pipeline_makespan,
    answer=_makespan_fields,
    accept=Fields({"makespan_seconds": Number(), "bounding_stage": Integer(), "busy_fractions": ListOf(Number())}),
    examples=(
        case([60, 25, 20], 10),
        case([5, 20, 30, 10], 4),
        case([20, 40, 30, 40], 3),
        case([90, 10], 1),
    ),
    criteria=(
        Criterion("typical", "stages of which one is the longest", 2, _rows_typical),
        Criterion("edge", "equally long stages, a single stage, one batch", 1, _rows_edge),
    ),
    misconceptions=(
        attempts.makespan_of_periods,
        attempts.stages_in_turn,
        attempts.batch_too_many,
        attempts.first_stage_bounds,
        attempts.counted_from_one,
        attempts.last_of_equal_stages,
        attempts.busy_in_the_long_run,
    ),
    correct=(attempts.makespan_recurrence, attempts.makespan_numpy, attempts.makespan_around_the_longest),
)


# --- straggler_report --------------------------------------------------------------------------------------------


def _group_fields(report: reference.StragglerReport) -> dict[str, float]:
    return {
        "work": report.work,
        "wall": report.wall,
        "capacity": report.capacity,
        "utilization": report.utilization,
        "idle_fraction": report.idle_fraction,
        "truncated": report.truncated,
    }


def _group(draws: Draws) -> list[float]:
    """Draw a group of rollouts with one straggler, in a drawn order."""
    return draws.shuffled([draws.integer(2, 40) for _ in range(draws.integer(4, 15))] + [draws.integer(80, 200)])


def _groups_whole(draws: Draws) -> list[Case]:
    drawn = [case(_group(draws)) for _ in range(4)]
    return [
        *drawn,
        case([draws.uniform(0.5, 3) for _ in range(5)]),
        case([draws.integer(2, 40)] * draws.integer(2, 8)),
        case([draws.integer(2, 40)]),
        case([draws.integer(2, 40), draws.integer(41, 90)], None),
    ]


def _groups_cut(draws: Draws) -> list[Case]:
    drawn = [case(_group(draws), truncate_at=draws.integer(41, 79)) for _ in range(3)]
    some = sorted(draws.shuffled(range(10, 60))[:6])
    return [
        *drawn,
        case(draws.shuffled(some), truncate_at=some[3]),
        case(draws.shuffled(some), truncate_at=some[2] + 0.5),
        case(draws.shuffled(some), truncate_at=some[-1]),
        case(draws.shuffled(some), truncate_at=some[-1] + draws.integer(1, 50)),
        case(draws.shuffled(some), truncate_at=some[0] - 1),
        case([draws.integer(20, 90)], truncate_at=draws.uniform(0.5, 9)),
    ]


def _groups_senseless(draws: Draws) -> list[Case]:
    good = draws.integer(2, 40)
    bad_numbers = (0, -draws.integer(1, 9), math.nan, math.inf)
    return [
        refused("durations", []),
        refused("durations", [], truncate_at=good),
        *(refused("durations", [good, bad, good]) for bad in bad_numbers),
        refused("durations", [True, good]),
        refused("durations", [good, -good], truncate_at=good),
        *(refused("truncate_at", [good, good + 1], truncate_at=bad) for bad in bad_numbers),
    ]


STRAGGLER_REPORT = FunctionTask(
    name="straggler_report",
    reference=reference.straggler_report,
    answer=_group_fields,
    accept=Fields(
        {
            **dict.fromkeys(("work", "wall", "capacity", "utilization", "idle_fraction"), Number()),
            "truncated": Integer(),
        }
    ),
    examples=(
        case([3, 3, 4, 4, 5, 5, 6, 18]),
        case([2, 3, 4, 5, 6, 7, 8, 20], truncate_at=8),
        case([2, 3, 4], truncate_at=10),
        refused("durations", []),
        refused("truncate_at", [2, 3, 4], truncate_at=0),
    ),
    criteria=(
        Criterion("whole", "a group whose rollouts all run to their end", 1.5, _groups_whole),
        Criterion("cut", "a group that is truncated", 1.5, _groups_cut),
        Criterion("senseless", "senseless arguments raise a ValueError that names them", 1, _groups_senseless, "whole"),
    ),
    misconceptions=(
        attempts.group_ends_with_the_mean,
        attempts.one_card_for_all,
        attempts.idle_for_used,
        attempts.dropped_instead_of_cut,
        attempts.work_not_cut,
        attempts.wall_not_cut,
        attempts.always_until_the_cut,
        attempts.cut_at_the_very_end,
    ),
    correct=(attempts.group_with_validators, attempts.group_by_hand, attempts.group_numpy),
)


# --- queue_report ------------------------------------------------------------------------------------------------


def _queue_fields(report: reference.QueueReport) -> dict[str, float]:
    return {
        "growth_per_minute": report.growth_per_minute,
        "full_after_minutes": report.full_after_minutes,
        "backlog_tokens": report.backlog_tokens,
        "paused_fraction": report.paused_fraction,
        "long_run_paused_fraction": report.long_run_paused_fraction,
    }


def _rates(draws: Draws) -> tuple[int, int]:
    """Draw tokens a minute in and out, with more in than out."""
    service = draws.integer(2 * MILLION, 20 * MILLION)
    return service + draws.integer(MILLION, 10 * MILLION), service


def _queues_full(draws: Draws) -> list[Case]:
    drawn = []
    for _ in range(4):
        arrival, service = _rates(draws)
        capacity = draws.integer(5 * MILLION, 80 * MILLION)
        full_after = capacity / (arrival - service)
        drawn.append(
            case(arrival, service, minutes=math.ceil(full_after * 2) + draws.integer(1, 90), capacity=capacity)
        )
    long_watched = case(*_rates(draws), minutes=draws.integer(10_000, 90_000), capacity=draws.integer(1, 9) * MILLION)
    return [*drawn, long_watched, case(1.75, 1.25, minutes=draws.uniform(9, 20), capacity=draws.uniform(1, 4))]


def _queues_filling(draws: Draws) -> list[Case]:
    cases = []
    for _ in range(3):
        arrival, service = _rates(draws)
        minutes = draws.integer(2, 60)
        capacity = (arrival - service) * minutes + draws.integer(MILLION, 80 * MILLION)
        cases.append(case(arrival, service, minutes=minutes, capacity=capacity))
    arrival, service = _rates(draws)
    minutes = draws.integer(2, 60)
    return [*cases, case(arrival, service, minutes=minutes, capacity=(arrival - service) * minutes)]


def _queues_stable(draws: Draws) -> list[Case]:
    more, less = _rates(draws)
    watched = {"minutes": draws.integer(5, 500), "capacity": draws.integer(5, 80) * MILLION}
    return [
        case(less, more, **watched),
        case(more, more, **watched),
        case(more, more + 1, minutes=draws.integer(5, 500), capacity=1),
        case(0.75, 1.25, minutes=draws.uniform(1, 9), capacity=0.5),
    ]


def _queues_edge(draws: Draws) -> list[Case]:
    rate, minutes = draws.integer(2, 20) * MILLION, draws.integer(5, 60)
    return [
        case(rate, 0, minutes=3 * minutes, capacity=rate * minutes),
        case(rate, 0, minutes=minutes, capacity=2 * rate * minutes),
        case(0, rate, minutes=minutes, capacity=rate),
        case(0, 0, minutes=minutes, capacity=rate),
    ]


QUEUE_REPORT = FunctionTask(
    name="queue_report",
    reference=reference.queue_report,
    answer=_queue_fields,
    accept=Fields(
        dict.fromkeys(
            (
                "growth_per_minute",
                "full_after_minutes",
                "backlog_tokens",
                "paused_fraction",
                "long_run_paused_fraction",
            ),
            Number(),
        )
    ),
    examples=(
        case(14 * MILLION, 10 * MILLION, minutes=30, capacity=40 * MILLION),
        case(14 * MILLION, 10 * MILLION, minutes=5, capacity=40 * MILLION),
        case(8 * MILLION, 10 * MILLION, minutes=30, capacity=40 * MILLION),
        case(8 * MILLION, 0, minutes=20, capacity=40 * MILLION),
    ),
    criteria=(
        Criterion("full", "more comes in than goes out, and the queue fills up", 2, _queues_full),
        Criterion("filling", "the window ends before the queue is full, or just then", 1, _queues_filling),
        Criterion("stable", "no more comes in than goes out", 1, _queues_stable, "full"),
        Criterion("edge", "nothing comes in, or nothing goes out", 1, _queues_edge),
    ),
    misconceptions=(
        attempts.negative_backlog,
        attempts.capacity_ignored,
        attempts.long_run_for_the_window,
        attempts.paused_for_good,
        attempts.surplus_of_service,
        attempts.running_share,
        attempts.paused_minutes,
        attempts.filled_by_arrivals_alone,
    ),
    correct=(attempts.queue_by_cases, attempts.queue_by_tokens, attempts.queue_numpy, attempts.queue_as_a_walk),
)


# --- the variant and the sorting question ------------------------------------------------------------------------


def _variant_answer(numbers: Mapping[str, Any]) -> dict[str, float]:
    loop = reference.pipeline_report(
        rollout_seconds=numbers["rollout_seconds"],
        train_seconds=numbers["train_seconds"],
        batches=numbers["batches"],
    )
    queue = reference.queue_report(
        numbers["arrival_per_minute"],
        numbers["service_per_minute"],
        minutes=numbers["minutes"],
        capacity=numbers["capacity"],
    )
    return {
        "saved_seconds": loop.sequential_total - loop.pipeline_total,
        "full_after_minutes": queue.full_after_minutes,
        "paused_percent": 100 * queue.paused_fraction,
    }


PIPELINES_VARIANT = VariantTask(
    topic="pipelines",
    name="pipelines_variant",
    answer=_variant_answer,
    fields={
        "saved_seconds": VariantField("seconds", Number(), 0.5, 760, 79_600),
        "full_after_minutes": VariantField("minutes", Number(relative=5e-3), 0.5, 3.3, 30.2),
        "paused_percent": VariantField("percent", Number(relative=5e-3), 1, 3.5, 49),
    },
)

MORE, NO_MORE = "more", "no more"

PIPELINES_SORT = SortingTask(
    name="pipelines_sort",
    classes=(MORE, NO_MORE),
    groups=(
        SortingGroup(
            "statements a to d",
            1,
            {
                "a_trainer_twice_as_fast": NO_MORE,
                "b_second_rollout_engine": MORE,
                "c_room_for_ten_batches": NO_MORE,
                "d_faster_straggler": MORE,
            },
        ),
        SortingGroup(
            "statements e to h",
            1,
            {
                "e_threshold_ten_times_as_high": NO_MORE,
                "f_no_padding_in_the_trainer": MORE,
                "g_twice_as_many_rollout_workers": NO_MORE,
                "h_no_wait_for_publication": MORE,
            },
        ),
    ),
)

TASKS = (
    PIPELINE_REPORT,
    PIPELINE_MAKESPAN,
    STRAGGLER_REPORT,
    QUEUE_REPORT,
    PIPELINES_VARIANT,
    PIPELINES_SORT,
)
