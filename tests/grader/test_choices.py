"""Choices, from what is asked to the verdict. Points are worked out by hand from rates that the test makes up."""

import json
import re
from dataclasses import replace

import pytest

from rlinfra.checks.choices import way_to_goal
from rlinfra.given.lab_tune import BOUNDS, DEFAULT_CHOICE, ROW, simulate_choice
from rlinfra.observe import Observation, Raised
from rlinfra.wire import Other
from rlinfra_autograder.audit import attempted
from rlinfra_autograder.best_known import hidden_marks
from rlinfra_autograder.choices import Marks, choices_hash, simulator, with_figures
from rlinfra_autograder.feedback import verdict_html, verdict_text, what_to_know
from rlinfra_autograder.hidden import hint_of
from rlinfra_autograder.judge import judge, request_of
from rlinfra_autograder.observations import inputs_hash, pack, unpack
from rlinfra_autograder.probes import MISSING, NOT_CALLABLE, NOT_REACHED, OBSERVED, Fault, Probed
from rlinfra_autograder.regrade import GradeBefore, Regraded
from rlinfra_autograder.tasks import all_tasks, sources
from rlinfra_autograder.tasks.sources import source_parts

from .seen import SEED, crossed

TUNE = all_tasks()["tune"]
CHOICE = {**DEFAULT_CHOICE, "mode": "bounded_async"}
MARKS = (Marks(100.0, 200.0),) * 5  # the goal is 190
SOUND = {**dict.fromkeys(ROW, 0.25), "max_lag": 0, "mean_normalized_ess": 1.0}


def figures(rate, **row):
    return Observation({"row": {**SOUND, TUNE.rate: rate, **row}, "default": 100.0, "best": 200.0})


def judged(choices, rows):
    outcomes = [Observation(dict(one)) if isinstance(one, dict) else one for one in choices]
    return judge(TUNE, Probed(OBSERVED, (*outcomes, *rows)), seed=SEED, student_id="ada")


def earned(verdict):
    return [criterion.earned for criterion in verdict.criteria]


def notes(verdict):
    return [criterion.note for criterion in verdict.criteria]


# --- the workloads -----------------------------------------------------------------------------------------------


def test_every_workload_is_asked_once_and_holds_its_seed_and_its_bounds():
    calls = request_of(TUNE, SEED).calls
    workloads = [call.args[0] for call in calls]
    assert len(calls) == len(TUNE.workloads) == 5
    assert workloads == list(TUNE.hidden_workloads(SEED))
    assert all({"seed", *BOUNDS} <= set(workload) for workload in workloads)
    assert len({workload["seed"] for workload in workloads}) == 5


def test_another_seed_draws_other_workloads():
    assert not set(map(repr, TUNE.hidden_workloads(SEED))) & set(map(repr, TUNE.hidden_workloads("another")))


@pytest.mark.parametrize("seed", [f"any seed {number}" for number in range(40)])
def test_the_default_holds_every_bound_under_any_seed(seed):
    for workload in TUNE.hidden_workloads(seed):
        row = simulate_choice(workload, DEFAULT_CHOICE)
        assert row["max_lag"] == 0
        assert row["mean_normalized_ess"] > workload["smallest_ess"]


# --- points ------------------------------------------------------------------------------------------------------


def test_the_points_are_linear_from_the_default_to_the_goal_and_no_more():
    verdict = judged([CHOICE] * 5, [figures(rate) for rate in (90.0, 100.0, 145.0, 174.7, 400.0)])
    assert earned(verdict) == [0, 0, 0.5, 0.83, 1]
    assert verdict.earned == pytest.approx(2.33)
    assert notes(verdict)[2:] == [
        "50 % of the way from the default to the goal",
        "83 % of the way from the default to the goal",
        "100 % of the way from the default to the goal",
    ]
    assert (verdict.task, verdict.points, verdict.remark) == ("tune", 5, "")


def test_a_broken_bound_costs_the_workload_and_says_which():
    rows = [figures(190.0, max_lag=100), figures(190.0, mean_normalized_ess=0.01), *[figures(190.0)] * 3]
    verdict = judged([CHOICE] * 5, rows)
    assert earned(verdict) == [0, 0, 1, 1, 1]
    assert notes(verdict)[:2] == ["breaks largest_lag", "breaks smallest_ess"]


@pytest.mark.parametrize(
    ("outcome", "note"),
    [
        (Observation({**CHOICE, "batch_tokens": 9_000}), "batch_tokens must be an integer from 1,000 to 8,000"),
        (Observation({**CHOICE, "workers": 10**6}), "no choice: a choice is a dictionary with the keys"),
        (Observation(Other("an object")), "no choice: a choice is"),
        (Observation(raised=Raised("KeyError", line=3)), "raises KeyError in line 3 of the cell"),
        (Observation(raised=Raised("ValueError", own=True)), "raises an exception of its own (a ValueError)"),
        (Fault("time"), "stopped at the time limit"),
        (Fault("died"), "ended the Python process"),
        (Fault("skipped"), "not run, after the faults before it"),
    ],
)
def test_what_is_no_choice_earns_nothing_whatever_stands_in_the_figures(outcome, note):
    verdict = judged([outcome, *[CHOICE] * 4], [figures(190.0)] * 5)
    assert earned(verdict) == [0, 1, 1, 1, 1]
    assert note in notes(verdict)[0]


ROW_FAULTS = [
    Fault("time"),
    Fault("not simulated"),
    Observation(raised=Raised("ValueError")),
    Observation(None),
    Observation([1, 2]),
    Observation({"row": SOUND, "default": 100.0}),
    Observation({"row": SOUND, "default": 100.0, "best": float("nan")}),
    Observation({"row": {**SOUND, TUNE.rate: float("inf")}, "default": 100.0, "best": 200.0}),
    Observation({"row": {**SOUND, TUNE.rate: -1.0}, "default": 100.0, "best": 200.0}),
    Observation({"row": {**SOUND, TUNE.rate: True}, "default": 100.0, "best": 200.0}),
    Observation({"row": {**SOUND, TUNE.rate: "190"}, "default": 100.0, "best": 200.0}),
    Observation({"row": {**SOUND, TUNE.rate: 10**13}, "default": 100.0, "best": 200.0}),
    Observation({"row": {**SOUND, "more": 1.0}, "default": 100.0, "best": 200.0}),
    Observation({"row": {TUNE.rate: 190.0}, "default": 100.0, "best": 200.0}),
]


@pytest.mark.parametrize("figure", ROW_FAULTS, ids=range(len(ROW_FAULTS)))
def test_a_row_that_is_not_exactly_one_costs_only_its_workload(figure):
    verdict = judged([CHOICE] * 5, [figures(190.0), figure, *[figures(190.0)] * 3])
    assert earned(verdict) == [1, 0, 1, 1, 1]
    assert notes(verdict)[1].startswith("the simulation of this choice failed")


@pytest.mark.parametrize("count", [0, 3, 5, 9, 11])
def test_another_number_of_outcomes_earns_nothing(count):
    outcomes = ([Observation(dict(CHOICE))] * 5 + [figures(190.0)] * 6)[:count]
    assert judge(TUNE, Probed(OBSERVED, tuple(outcomes)), seed=SEED, student_id="ada").earned == 0


@pytest.mark.parametrize("status", [MISSING, NOT_CALLABLE, NOT_REACHED])
def test_a_function_that_is_not_there_earns_nothing_and_every_workload_is_listed(status):
    verdict = judge(TUNE, Probed(status), seed=SEED, student_id="ada")
    assert [criterion.title for criterion in verdict.criteria] == [workload.title for workload in TUNE.workloads]
    assert (verdict.earned, verdict.points, "tune" in verdict.remark) == (0, 5, True)


def test_a_function_that_returns_nothing_is_said_not_to_be_written():
    nothing = [Observation(None), *[Observation(raised=Raised("NotImplementedError"))] * 4]
    assert judged(nothing, [Fault("not simulated")] * 5).remark == "tune returns nothing: is it written yet?"


# --- hints and the card ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", TUNE.misconceptions, ids=lambda wrong: wrong.__name__)
def test_a_mistake_brings_its_own_hint_and_not_all_points(wrong):
    verdict = judge(TUNE, attempted(TUNE, wrong, SEED), seed=SEED, student_id="ada")
    assert verdict.hint == hint_of(wrong)
    assert verdict.earned < TUNE.points


@pytest.mark.parametrize("right", [TUNE.reference, *TUNE.correct], ids=lambda right: right.__name__)
def test_right_answers_of_every_style_get_all_points_and_no_hint(right):
    verdict = judge(TUNE, attempted(TUNE, right, SEED), seed=SEED, student_id="ada")
    assert (verdict.earned, verdict.hint, verdict.remark) == (5, "", "")


def test_no_one_choice_gets_all_points_in_all_workloads():
    """Each workload's best choice known, offered for all of them."""
    for workload in TUNE.hidden_workloads(SEED):
        constant = TUNE.reference(workload)
        verdict = judge(TUNE, attempted(TUNE, lambda _, it=constant: it, SEED), seed=SEED, student_id="ada")
        assert max(earned(verdict)) > 0.9
        assert verdict.earned < 4


def test_the_default_as_a_constant_earns_nothing_at_all():
    verdict = judge(TUNE, attempted(TUNE, lambda _: dict(DEFAULT_CHOICE), SEED), seed=SEED, student_id="ada")
    assert earned(verdict) == [0] * 5
    assert notes(verdict) == ["0 % of the way from the default to the goal"] * 5


def test_a_card_says_how_far_each_choice_gets_and_tells_no_hidden_value():
    probed = attempted(TUNE, TUNE.misconceptions[0], SEED)
    verdict = judge(TUNE, probed, seed=SEED, student_id="ada")
    page = verdict_html(verdict) + verdict_text(verdict)
    hidden = {str(value) for workload in TUNE.hidden_workloads(SEED) for value in workload.values()}
    hidden |= {
        str(value) for figure in probed.outcomes[5:] for value in (figure.value["best"], figure.value["default"])
    }
    assert not [value for value in hidden if len(value) > 4 and value in page]
    assert "no lag allowed 0 of 1 breaks largest_lag" in verdict_text(verdict)


def test_points_in_part_are_called_so():
    verdict = judged([{**CHOICE, "max_policy_lag": 2}] * 5, [figures(145.0)] * 5)
    assert "◐ in part no lag allowed 0.5 of 1 50 % of the way from the default to the goal" in verdict_text(verdict)
    assert re.match(r"In part: a link .* \(50 % of the way", what_to_know(replace(verdict, hint="")))


# --- from a child to the record ----------------------------------------------------------------------------------


def test_only_choices_that_are_ones_are_simulated_and_each_keeps_its_place():
    asked = {}

    def simulate(pairs):
        asked.update(pairs)
        return {place: Observation({**SOUND, TUNE.rate: 100.0 + place}) for place in pairs}

    first = (
        Observation(dict(CHOICE)),
        Fault("time"),
        Observation(5),
        Observation(dict(DEFAULT_CHOICE)),
        Observation({}),
    )
    probed = with_figures(TUNE, Probed(OBSERVED, first), SEED, MARKS, simulate)
    workloads = TUNE.hidden_workloads(SEED)
    assert asked == {0: (workloads[0], CHOICE), 3: (workloads[3], DEFAULT_CHOICE)}
    assert probed.outcomes[:5] == first
    assert [getattr(one, "kind", "") for one in probed.outcomes[5:]] == [
        "",
        *["not simulated"] * 2,
        "",
        "not simulated",
    ]
    assert probed.outcomes[8].value == {"row": {**SOUND, TUNE.rate: 103.0}, "default": 100.0, "best": 200.0}


@pytest.mark.parametrize("probed", [Probed(MISSING), Probed(OBSERVED), Probed(OBSERVED, (Observation(1),))])
def test_where_there_are_no_choices_nothing_is_simulated(probed):
    def simulate(_):
        raise AssertionError

    assert with_figures(TUNE, probed, SEED, MARKS, simulate) == probed


def test_what_the_second_child_finds_is_what_the_simulator_says(runner):
    workloads = TUNE.hidden_workloads(SEED)
    rows = simulator(TUNE, runner)({place: (workloads[place], DEFAULT_CHOICE) for place in (1, 4)})
    assert {place: row.value for place, row in rows.items()} == {
        place: simulate_choice(workloads[place], DEFAULT_CHOICE) for place in (1, 4)
    }


def test_a_simulation_that_takes_too_long_costs_only_its_workload(runner):
    """The first never gets here, since choices and hidden workloads are bounded: it is one of a million seconds."""
    workloads = TUNE.hidden_workloads(SEED)
    asked = {place: (workloads[place], DEFAULT_CHOICE) for place in range(4)}
    endless = {**workloads[0], "duration_seconds": 1e6}
    rows = simulator(TUNE, runner)(asked | {0: (endless, DEFAULT_CHOICE), 2: (endless, DEFAULT_CHOICE)})
    assert rows[0] == rows[2] == Fault("time")
    assert rows[1].value == simulate_choice(workloads[1], DEFAULT_CHOICE)
    assert rows[3].value == simulate_choice(workloads[3], DEFAULT_CHOICE)


def test_a_recorded_choice_is_judged_again_as_it_was():
    probed = attempted(TUNE, TUNE.misconceptions[4], SEED)
    probed = Probed(probed.status, tuple(crossed(outcome) for outcome in probed.outcomes))
    recorded = unpack(pack({"tune": probed}, [TUNE], SEED))["tune"]
    assert recorded.inputs == inputs_hash(TUNE, SEED) == choices_hash(TUNE, SEED)
    assert recorded.probed == probed
    assert judge(TUNE, recorded.probed, seed=SEED, student_id="ada") == judge(TUNE, probed, seed=SEED, student_id="ada")


def test_a_regrade_tells_of_a_workload_that_counts_for_more_than_before():
    before, after = (judged([CHOICE] * 5, [figures(rate)] * 5) for rate in (145.0, 174.7))
    details = {"verdicts": [json.loads(json.dumps(before, default=vars))]}
    regraded = Regraded(GradeBefore("ada", 2.5, None, details, None), after, "", b"")
    assert (regraded.before, regraded.after, regraded.moves) == (2.5, 4.15, True)
    assert regraded.differences()[0] == "0.83 of 1, before 0.5 of 1: a link on which a publication takes long"


# --- what a grade depends on -------------------------------------------------------------------------------------


def test_the_hash_of_what_is_asked_is_another_under_another_seed():
    assert len({choices_hash(TUNE, seed) for seed in (SEED, "another", None)}) == 3


def test_the_simulator_the_bench_the_reference_and_the_search_are_part_of_the_task_and_of_no_other():
    parts = source_parts("lab")
    for line in ("heappop(heap)", "CHOICE_RANGES:", "def _candidates(", "def _climb(", "def way_to_goal("):
        assert line in parts["tune"]
    assert "heappop(heap)" not in parts["lab_sort"] + parts["load_loop"] + parts[sources.COMMON]


def test_the_marks_are_what_the_default_and_the_best_choice_come_to():
    for workload, marks in zip(TUNE.hidden_workloads(SEED), hidden_marks(TUNE, SEED, None), strict=True):
        assert marks.default == simulate_choice(workload, DEFAULT_CHOICE)[TUNE.rate]
        assert marks.best >= simulate_choice(workload, TUNE.reference(workload))[TUNE.rate]
        assert way_to_goal(marks.default, marks.default, marks.best) == 0
        assert marks.best > 1.25 * marks.default
