"""Tasks of the topic `lab`: the recovery of a loop that hands out prompts, diagnosis, tuning, a plan, what follows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rlinfra.checks.compare import FaultyFields, Integer, ListOf, Number, Text
from rlinfra.given import BYTES_PER_GB, BYTES_PER_GIB
from rlinfra.given.lab import REQUIRED_METRICS, RUNS, DispatchLoop
from rlinfra.observe import Drill
from rlinfra_reference import lab as reference

from ..attempts import lab as attempts
from ..attempts import lab_drill as drills
from .lab_tune import TUNE
from .model import Case, Criterion, FunctionTask, SortingGroup, SortingTask, VariantField, VariantTask, case, refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlinfra.draws import Draws

Events = list[list[Any]]


# --- load_loop: the recovery drill -------------------------------------------------------------------------------


def _asks(count: int) -> Events:
    return [["ask"]] * count


def _history(draws: Draws, loop: DispatchLoop, count: int) -> Events:
    """Draw that many events that make sense for the loop, and run it through them."""
    events: Events = []
    for _ in range(count):
        options: Events = [["ask"], ["ask"], ["update"]]
        if loop.in_flight:
            ticket = draws.choice(list(loop.in_flight))
            options += [["result", ticket, draws.integer(300, 1_500)]] * 3 + [["lost", ticket]]
        events.append(draws.choice(options))
        loop.run(events[-1:])
    return events


def _drill_queue(draws: Draws) -> list[Case]:
    """Nothing is in flight at the failure; the queue lies between the two bounds, on the way down or up."""

    def results(*tokens: int) -> Events:
        return [["result", ticket, length] for ticket, length in enumerate(tokens)]

    def between(low: int, high: int) -> int:
        return draws.integer(low, high)

    paused = [*_asks(4), *results(*(between(1_010, 1_400) for _ in range(4))), ["update"]]
    full = [*_asks(6), *results(*(between(700, 990) for _ in range(6))), ["update"]]
    running = [*_asks(3), *results(between(500, 900), between(500, 900), between(500, 900)), ["update"]]
    control = [["ask"], ["update"], ["ask"], ["update"]]
    return [
        case(paused, control),
        case(full, [["ask"], ["update"], ["ask"], ["update"], ["ask"]]),
        case(running, [["ask"], ["ask"], ["result", 3, 800], ["update"], ["ask"]]),
        case([*running, ["ask"], ["result", 3, 1_200], ["update"]], control),
    ]


def _drill_in_flight(draws: Draws) -> list[Case]:
    many = draws.integer(11, 15)
    lost = draws.integer(2, 5)
    some = [*_asks(7), ["lost", lost], ["lost", 6]]
    late = [["result", 0, 700], ["lost", 1]]
    return [
        case(_asks(many), _asks(many + 2)),
        case(some, [*late, *_asks(8), ["result", 7, 500], ["result", 9, 700], ["update"]]),
        case([*some, ["ask"]], [*_asks(3), *late, *_asks(5), ["result", 9, 400], ["result", 8, 900], ["update"]]),
        case(_asks(3), [*_asks(3), ["result", 2, 900], ["result", 4, 600], ["result", 0, 500], ["update"]]),
    ]


def _drill_whole(draws: Draws) -> list[Case]:
    cases = [case([], [*_asks(2), ["result", 1, 900], ["result", 0, 900], ["update"], ["ask"]])]
    for _ in range(4):
        loop = DispatchLoop()
        before = _history(draws, loop, draws.integer(30, 50))
        late = [["result", ticket, 600] for ticket in list(loop.in_flight)[:2]]
        recovered = reference.load_loop(reference.save_loop(loop))
        recovered.run(late)
        cases.append(case(before, [*late, *_history(draws, recovered, 16)]))
    return cases


LOAD_LOOP = FunctionTask(
    name="load_loop",
    reference=reference.recovered_control_batch,
    accept=ListOf(Text()),
    examples=(
        case([*_asks(12), ["result", 0, 800], ["lost", 11]], [["result", 1, 700], *_asks(3)]),
        case(
            [*_asks(4), *(["result", ticket, 1_500] for ticket in range(4)), ["update"]],
            [["ask"], ["update"], ["ask"]],
        ),
        case([*_asks(4), ["result", 2, 900], ["lost", 0]], [*_asks(3), ["result", 5, 400], ["update"]]),
        case([], [["ask"]]),
    ),
    criteria=(
        Criterion("queue", "finished records, the version and the pause survive", 1, _drill_queue),
        Criterion("in_flight", "what was in flight is handed out again, late results are refused", 2, _drill_in_flight),
        Criterion("whole", "long histories, and a loop before its first event", 1, _drill_whole),
    ),
    misconceptions=(
        drills.counters_only,
        drills.still_in_flight,
        drills.in_flight_forgotten,
        drills.lost_prompts_forgotten,
        drills.in_flight_first,
        drills.tickets_in_order_of_text,
        drills.newest_ticket_first,
        drills.prompts_taken_from_the_oldest,
        drills.tickets_from_zero,
        drills.version_from_zero,
        drills.queue_dropped,
        drills.pause_worked_out_anew,
        drills.saving_clears_the_loop,
    ),
    correct=(drills.lost_by_events, drills.recovered_in_the_save, drills.one_line_of_text, drills.pickled),
    drill=Drill(("save_loop", "load_loop"), first="lab.run_and_save", second="lab.load_and_run"),
)


# --- diagnose_pipeline -------------------------------------------------------------------------------------------

IDLE = ("trainer_idle_fraction", "rollout_idle_fraction")
FRACTIONS = (*IDLE, "verifier_fraction", "weight_sync_fraction", "normalized_ess")
THRESHOLDS: Mapping[str, float] = dict(zip(FRACTIONS, (0.25, 0.25, 0.3, 0.2, 0.5), strict=True))
GROWTH = "queue_growth_per_minute"


def _healthy(draws: Draws) -> dict[str, Any]:
    """Draw metrics at which no rule fires, in any order."""
    metrics = {
        "trainer_idle_fraction": draws.uniform(0.01, 0.24),
        "rollout_idle_fraction": draws.uniform(0.01, 0.24),
        "verifier_fraction": draws.uniform(0.01, 0.29),
        "weight_sync_fraction": draws.uniform(0.01, 0.19),
        GROWTH: draws.choice((0, -draws.integer(1, 3_000_000))),
        "normalized_ess": draws.uniform(0.52, 0.99),
        "oom_events": 0,
    }
    return {name: metrics[name] for name in draws.shuffled(REQUIRED_METRICS)}


def _changed(draws: Draws, **metrics: object) -> Case:
    return case({**_healthy(draws), **metrics})


def _grows(draws: Draws) -> int:
    return draws.integer(10_000, 5_000_000)


def _idle(draws: Draws) -> float:
    return draws.uniform(0.26, 0.95)


def _diagnoses_stages(draws: Draws) -> list[Case]:
    symptoms = {
        "verifier_fraction": draws.uniform(0.31, 0.9),
        "weight_sync_fraction": draws.uniform(0.21, 0.9),
        "normalized_ess": draws.uniform(0.01, 0.49),
        "oom_events": draws.integer(2, 9),
    }
    return [_changed(draws, **{name: value, GROWTH: -_grows(draws)}) for name, value in symptoms.items()]


def _diagnoses_trainer(draws: Draws) -> list[Case]:
    growths = (-_grows(draws), -0.5, 0, 0.0, 0.5, _grows(draws))
    idle = [_changed(draws, trainer_idle_fraction=_idle(draws), **{GROWTH: growth}) for growth in growths]
    return [*idle, *(_changed(draws, **{GROWTH: growth}) for growth in (0.5, _grows(draws)))]


def _diagnoses_workers(draws: Draws) -> list[Case]:
    growths = (-_grows(draws), -0.5, 0, 0.0)
    return [_changed(draws, rollout_idle_fraction=_idle(draws), **{GROWTH: growth}) for growth in growths]


def _diagnoses_together(draws: Draws) -> list[Case]:
    cases = []
    for growth in (-_grows(draws), 0, 0.5, _grows(draws)):
        idle = {"trainer_idle_fraction": _idle(draws), "rollout_idle_fraction": _idle(draws), GROWTH: growth}
        stages = {"verifier_fraction": draws.uniform(0.31, 0.9), "normalized_ess": draws.uniform(0.01, 0.49)}
        further = {"weight_sync_fraction": draws.uniform(0.21, 0.9), "oom_events": draws.integer(2, 9)}
        one = draws.choice(IDLE)
        cases += [
            _changed(draws, **idle),
            _changed(draws, **{one: idle[one], GROWTH: growth}, **draws.choice((stages, further))),
            _changed(draws, **idle, **stages, **further),
        ]
    return cases


def _diagnoses_thresholds(draws: Draws) -> list[Case]:
    cases = [_changed(draws, **{name: bound}, **{GROWTH: 0}) for name, bound in THRESHOLDS.items()]
    for name, bound in THRESHOLDS.items():
        beyond = bound - 1e-6 if name == "normalized_ess" else bound + 1e-6
        cases.append(_changed(draws, **{name: beyond}))
    return [
        *cases,
        _changed(draws, **THRESHOLDS, **{GROWTH: 0}),
        _changed(draws, **dict.fromkeys(FRACTIONS, 1)),
        _changed(draws, **dict.fromkeys(FRACTIONS, 0.0), **{GROWTH: 1e-3}),
        _changed(draws, oom_events=1),
    ]


def _diagnoses_healthy(draws: Draws) -> list[Case]:
    further = {"tokens_per_second": math.nan, "host": "a", "idle_fraction": 9}
    return [*(case(_healthy(draws)) for _ in range(3)), _changed(draws, **further)]


def _diagnoses_senseless(draws: Draws) -> list[Case]:
    def senseless(name: str, value: object) -> Case:
        return refused(name, {**_healthy(draws), name: value})

    low, high = -draws.integer(1, 90) / 100, 1 + draws.integer(1, 90) / 100
    missing = [
        refused(gone, {name: value for name, value in _healthy(draws).items() if name != gone})
        for gone in REQUIRED_METRICS
    ]
    return [
        *missing,
        *(senseless(name, bad) for name in FRACTIONS for bad in (low, high, math.nan, math.inf, True)),
        *(senseless(GROWTH, bad) for bad in (math.nan, math.inf, -math.inf, True, None)),
        *(senseless("oom_events", bad) for bad in (-1, 1.5, math.nan, math.inf, True)),
        senseless("normalized_ess", -math.inf),
        senseless("verifier_fraction", draws.integer(31, 90)),
        senseless(draws.choice(FRACTIONS), "0.3"),
        senseless(draws.choice(FRACTIONS), None),
    ]


def _codes(hypotheses: list[str]) -> list[str]:
    """Return the codes alone: with their measurements, several would not fit on a card."""
    return [hypothesis.partition(":")[0] for hypothesis in hypotheses]


DIAGNOSE_PIPELINE = FunctionTask(
    name="diagnose_pipeline",
    reference=reference.diagnose_pipeline,
    answer=_codes,
    accept=FaultyFields(),
    # Runs of the story, each for other rules; what is senseless is shown once.
    examples=(
        *(case(dict(RUNS[day])) for day in ("Monday", "Friday", "Saturday", "Sunday", "second Monday")),
        refused("normalized_ess", {**RUNS["Monday"], "normalized_ess": math.nan}),
    ),
    criteria=(
        Criterion("stages", "verifier, publication, importance weights, memory: one symptom", 1.5, _diagnoses_stages),
        Criterion("trainer", "the trainer, and a queue that falls, holds or grows", 1, _diagnoses_trainer),
        Criterion("workers", "the workers, and a queue that falls or holds", 1, _diagnoses_workers),
        Criterion("together", "many symptoms at once: every hypothesis is named", 0.5, _diagnoses_together),
        Criterion("thresholds", "values at a threshold, and just beyond it", 0.5, _diagnoses_thresholds),
        Criterion("healthy", "no symptom: a trace and nothing else", 0.5, _diagnoses_healthy, "stages"),
        Criterion(
            "senseless",
            "missing and senseless metrics raise a ValueError that names them",
            1,
            _diagnoses_senseless,
            "stages",
        ),
    ),
    misconceptions=(
        attempts.first_hypothesis_only,
        attempts.met_thresholds_fire,
        attempts.idle_trainer_always_starves,
        attempts.rollout_idle_unread,
        attempts.growth_is_no_finding,
        attempts.flat_queue_takes_one_side,
        attempts.flat_queue_grows,
        attempts.idle_workers_mean_backpressure,
        attempts.thresholds_in_percent,
        attempts.high_ess_is_suspicious,
        attempts.single_oom_tolerated,
        attempts.trace_in_every_case,
        attempts.silence_when_healthy,
        attempts.nan_let_through,
        attempts.range_unchecked,
        attempts.bools_are_numbers,
    ),
    correct=(
        attempts.diagnosis_with_validators,
        attempts.diagnosis_with_reasons,
        attempts.diagnosis_numpy,
        attempts.diagnosis_as_a_tuple,
    ),
)


# --- the variant and the sorting question ------------------------------------------------------------------------


def _variant_answer(numbers: Mapping[str, Any]) -> dict[str, float]:
    weights = 2 * (numbers["base_parameters"] + numbers["adapter_parameters"])
    resident = weights + 14 * numbers["adapter_parameters"]
    cache = numbers["sequences"] * numbers["tokens_per_sequence"] * numbers["kv_bytes_per_token"]
    peak = resident + max(cache, numbers["activation_gib"] * BYTES_PER_GIB)
    rollout = numbers["batch_tokens"] / (numbers["workers"] * numbers["worker_tokens_per_second"])
    train = numbers["batch_tokens"] / numbers["trainer_tokens_per_second"]
    publication = numbers["setup_seconds"] + weights / (numbers["bandwidth_gb_per_s"] * BYTES_PER_GB)
    return {
        "peak_gib": peak / BYTES_PER_GIB,
        "seconds_per_update": max(rollout, train) + publication / numbers["sync_every"],
        "workers_needed": -(-numbers["trainer_tokens_per_second"] // numbers["worker_tokens_per_second"]),
    }


LAB_VARIANT = VariantTask(
    topic="lab",
    name="lab_variant",
    answer=_variant_answer,
    fields={
        "peak_gib": VariantField("GiB", Number(relative=1e-3), 1, 13, 90),
        "seconds_per_update": VariantField("seconds", Number(relative=1e-3), 1, 14, 520),
        "workers_needed": VariantField("workers", Integer(), 1, 4, 60),
    },
)

FOLLOWS, NOT = "follows", "does not follow"

LAB_SORT = SortingTask(
    name="lab_sort",
    classes=(FOLLOWS, NOT),
    groups=(
        SortingGroup(
            "sentences a to c",
            0.5,
            {"a_three_codes": NOT, "b_queue_after_ten_minutes": FOLLOWS, "c_paused_in_the_long_run": NOT},
        ),
        SortingGroup(
            "sentences d to g",
            0.5,
            {
                "d_high_ess": NOT,
                "e_difference_at_lag_zero": FOLLOWS,
                "f_started_again": NOT,
                "g_other_tickets": FOLLOWS,
            },
        ),
        SortingGroup(
            "sentences h to k",
            0.5,
            {
                "h_faster_in_this_row": FOLLOWS,
                "i_better_framework": NOT,
                "j_ahead_in_every_row": FOLLOWS,
                "k_highest_number_published": NOT,
            },
        ),
        SortingGroup(
            "sentences l to o",
            0.5,
            {
                "l_limit_in_records": NOT,
                "m_cache_of_the_old_weights": NOT,
                "n_young_and_restarts": NOT,
                "o_frozen_base": FOLLOWS,
            },
        ),
    ),
)

TASKS = (LOAD_LOOP, DIAGNOSE_PIPELINE, TUNE, LAB_VARIANT, LAB_SORT)
