"""The judge: points, a line a criterion, a hint where a misconception explains the answers, and nothing secret."""

import json
import sys
import types
from dataclasses import replace

import pytest

from rlinfra.checks.compare import Number
from rlinfra.observe import Call, Drill, Observation, Raised
from rlinfra.wire import encode
from rlinfra_autograder import tasks
from rlinfra_autograder.feedback import verdict_html, verdict_text
from rlinfra_autograder.hidden import HiddenSet, hidden_set, hint_of
from rlinfra_autograder.judge import judge, judge_function, request_of, second_request
from rlinfra_autograder.probes import (
    MISSING,
    NOT_CALLABLE,
    NOT_REACHED,
    OBSERVED,
    Fault,
    Probed,
    parse_observation,
)
from rlinfra_autograder.tasks.model import Criterion, FunctionTask, case

from . import tiny
from .seen import (
    FUNCTIONS,
    SEED,
    SORTINGS,
    VARIANTS,
    answer_of,
    by_name,
    crossed,
    outcomes_of,
    verdict_on,
    verdict_on_answer,
    verdict_on_function,
)

TINY = HiddenSet(tiny.TASK, SEED)
FIRST = TINY.expected[0]  # 3 × each + 5, with the `each` that is drawn
REFUSED = Observation(raised=Raised("ValueError", message="parcels must be at least 0, not -1"))


def verdict_on_parcels(some=FIRST, other=145, none=5, senseless=REFUSED):
    """Return the verdict on the tiny task; what is no outcome yet is a value."""
    outcomes = [
        outcome if isinstance(outcome, (Observation, Fault)) else Observation(outcome)
        for outcome in (some, other, none, senseless)
    ]
    return judge_function(TINY, outcomes)


def earned(verdict):
    return [criterion.earned for criterion in verdict.criteria]


def notes(verdict):
    return [criterion.note for criterion in verdict.criteria]


# --- criteria, on a task that is judged by hand -------------------------------------------------------------------


def test_right_outcomes_earn_full_marks_and_nothing_more_is_said():
    verdict = verdict_on_parcels()
    assert (verdict.earned, verdict.points) == (4, 4)
    assert [(criterion.right, criterion.total) for criterion in verdict.criteria] == [(2, 2), (1, 1), (1, 1)]
    assert notes(verdict) == ["", "", ""]
    assert (verdict.hint, verdict.remark) == ("", "")


def test_a_criterion_with_one_wrong_case_earns_nothing_and_says_how_many_were_right():
    verdict = verdict_on_parcels(some=FIRST + 1)
    first = verdict.criteria[0]
    assert (first.earned, first.right, first.total, first.note) == (0, 1, 2, "a wrong value")
    assert not first.met


def test_a_criterion_counts_only_together_with_the_one_that_it_needs():
    verdict = verdict_on_parcels(some=FIRST + 1)
    assert earned(verdict) == [0, 0, 0]
    assert notes(verdict)[1:] == ['counts only together with "a few parcels"'] * 2
    assert [criterion.right for criterion in verdict.criteria[1:]] == [1, 1]


def test_a_criterion_is_not_lost_with_one_that_needs_it():
    assert earned(verdict_on_parcels(none=0)) == [2, 0, 1]
    assert earned(verdict_on_parcels(senseless=1)) == [2, 1, 0]


def test_a_value_where_a_value_error_is_due_is_told_as_such():
    assert notes(verdict_on_parcels(senseless=-65)) == ["", "", "returns a value where a ValueError is due"]


def test_an_error_that_names_no_argument_is_not_the_one_that_is_due():
    silent = Observation(raised=Raised("ValueError", message="bad", line=2))
    assert notes(verdict_on_parcels(senseless=silent))[2] == "raises ValueError in line 2 of the cell"


@pytest.mark.parametrize(
    ("outcome", "note"),
    [
        (146, "a wrong value"),
        (float("nan"), "wrong form: a finite number is wanted"),
        ("145", "wrong form: a number is wanted"),
        (None, "wrong form: a number is wanted"),
        (Observation(raised=Raised("KeyError", line=3)), "raises KeyError in line 3 of the cell"),
        (Observation(raised=Raised("KeyError")), "raises KeyError"),
        (
            Observation(raised=Raised("ValueError", own=True, line=7)),
            "raises an exception of its own (a ValueError) in line 7 of the cell",
        ),
        (Fault("time"), "stopped at the time limit"),
        (Fault("died"), "ended the Python process"),
        (Fault("skipped"), "not run, after the faults before it"),
    ],
)
def test_a_note_says_what_kind_of_fault_it_was(outcome, note):
    verdict = verdict_on_parcels(other=outcome)
    assert notes(verdict)[0] == note
    assert earned(verdict) == [0, 0, 0]


def test_different_faults_are_all_noted_and_equal_ones_once():
    assert notes(verdict_on_parcels(some=Fault("time"), other="x"))[0] == (
        "stopped at the time limit; wrong form: a number is wanted"
    )
    assert notes(verdict_on_parcels(some=1, other=2))[0] == "a wrong value"


def test_of_many_different_faults_the_first_three_are_noted():
    four = Criterion("some", "four", 1, lambda _: [case(count, each=70) for count in range(1, 5)])
    hidden = HiddenSet(replace(tiny.TASK, criteria=(four,)), SEED)
    faults = [Fault("time"), Observation(1), Observation("x"), Fault("died")]
    assert notes(judge_function(hidden, faults)) == [
        "stopped at the time limit; a wrong value; wrong form: a number is wanted"
    ]


@pytest.mark.parametrize(
    "nothing",
    [Observation(None), Observation(raised=Raised("NotImplementedError"))],
    ids=["None", "NotImplementedError"],
)
def test_a_function_that_returns_nothing_in_every_case_is_asked_whether_it_is_written(nothing):
    verdict = judge_function(TINY, [nothing] * 4)
    assert verdict.remark == "parcel_cost returns nothing: is it written yet?"
    assert verdict.earned == 0
    assert judge_function(TINY, [*[nothing] * 3, REFUSED]).remark == ""


def test_outcomes_that_are_not_one_for_each_case_are_as_good_as_none():
    verdict = judge_function(TINY, [Observation(5)] * 3)
    assert (verdict.earned, [criterion.total for criterion in verdict.criteria]) == (0, [0, 0, 0])
    assert "did not run" in verdict.remark


# --- hints --------------------------------------------------------------------------------------------------------


def test_the_hint_is_that_of_the_misconception_that_gives_every_wrong_value():
    assert verdict_on_parcels(FIRST - 5, 140, 0).hint == hint_of(tiny.fee_forgotten)


def test_a_misconception_is_told_although_the_function_refuses_senseless_arguments():
    careless, careful = verdict_on_parcels(FIRST - 5, 140, 0, -70), verdict_on_parcels(FIRST - 5, 140, 0, REFUSED)
    assert careless.hint == careful.hint == hint_of(tiny.fee_forgotten)


def test_a_value_of_another_kind_among_the_wrong_ones_brings_no_hint():
    assert verdict_on_parcels(FIRST - 5, 141, 0).hint == ""
    assert verdict_on_parcels(FIRST - 5, Fault("time"), 0).hint == ""


def test_right_values_and_wrong_refusals_bring_no_hint():
    assert verdict_on_parcels(senseless=-65).hint == ""


def test_a_mistake_in_refusals_alone_is_told_where_the_very_same_ones_are_missing():
    def unchecked(parcels, *, each):
        """Your function sends a negative number of parcels. What does it cost to send -1?"""
        return parcels * each + 5

    hidden = HiddenSet(replace(tiny.TASK, misconceptions=(tiny.fee_forgotten, unchecked)), SEED)
    right = [Observation(value) for value in hidden.expected[:3]]
    assert judge_function(hidden, [*right, Observation(-65)]).hint == hint_of(unchecked)
    assert judge_function(hidden, [*right, Observation(-66)]).hint == ""
    assert judge_function(hidden, [*right, REFUSED]).hint == ""
    assert judge_function(hidden, [right[0], right[1], Observation(6), Observation(-65)]).hint == ""


MISCONCEPTIONS = [
    pytest.param(task, wrong, id=f"{task.name}-{wrong.__name__}") for task in FUNCTIONS for wrong in task.misconceptions
]


@pytest.mark.parametrize(("task", "wrong"), MISCONCEPTIONS)
def test_every_misconception_brings_its_own_hint(task, wrong):
    assert verdict_on_function(task, wrong).hint == " ".join(wrong.__doc__.split())


@pytest.mark.parametrize(("task", "wrong"), MISCONCEPTIONS)
def test_every_misconception_loses_the_criteria_whose_cases_it_gets_wrong_and_no_others(task, wrong):
    hidden = hidden_set(task.name, SEED)
    lost = set()
    for (criterion, drawn), expected in zip(hidden.cases, hidden.expected, strict=True):
        seen = task.attempt(wrong, drawn.call)
        if drawn.names is None and (seen.raised or task.accept.differs(seen.value, expected)):
            lost.add(criterion.name)
        if drawn.names is not None and not (seen.raised and drawn.names in seen.raised.message):
            lost.add(criterion.name)
    lost |= {criterion.name for criterion in task.criteria if criterion.needs in lost}
    kept = [0 if criterion.name in lost else criterion.points for criterion in task.criteria]
    verdict = verdict_on_function(task, wrong)
    assert earned(verdict) == kept
    assert verdict.earned < task.points


# --- every function of the course ---------------------------------------------------------------------------------


@pytest.mark.parametrize("task", FUNCTIONS, ids=by_name)
def test_every_right_way_to_write_a_function_earns_full_marks(task):
    assert task.correct
    for right in task.correct:
        verdict = verdict_on_function(task, right)
        assert (verdict.earned, verdict.hint, verdict.remark) == (task.points, "", "")
        assert set(notes(verdict)) == {""}


@pytest.mark.parametrize("task", FUNCTIONS, ids=by_name)
def test_a_constant_earns_nothing(task):
    hidden = hidden_set(task.name, SEED)
    constants = {json.dumps(encode(value)): value for value in (*hidden.expected, None, 0, 1, -1, True, "", [], {})}
    for value in constants.values():
        assert verdict_on(task, [crossed(Observation(value))] * len(hidden.cases)).earned == 0, value


@pytest.mark.parametrize("kind", ["ValueError", "TypeError", "NotImplementedError", "KeyError"])
@pytest.mark.parametrize("task", FUNCTIONS, ids=by_name)
def test_a_function_that_always_raises_earns_nothing(task, kind):
    hidden = hidden_set(task.name, SEED)
    every_argument = " ".join({drawn.names for _, drawn in hidden.cases if drawn.names})
    raised = crossed(Observation(raised=Raised(kind, message=every_argument)))
    assert verdict_on(task, [raised] * len(hidden.cases)).earned == 0


# --- nothing secret -----------------------------------------------------------------------------------------------

SENTINEL = "zq7-seen-7qz"
NUMBER = 70_000_000_001
RAISED = {"exception": "ValueError", "own": False, "message": SENTINEL, "line": 3}
TELLTALES = {
    "text": {"value": SENTINEL},
    "number": {"value": NUMBER},
    "list": {"value": [SENTINEL, NUMBER]},
    "dictionary": {"value": {SENTINEL: NUMBER}},
    "odd keys": {"value": {"$dict": [[{"$other": SENTINEL}, SENTINEL], [NUMBER, NUMBER]]}},
    "class": {"value": {"$other": f"a value of type {SENTINEL}"}},
    "message": {"raised": RAISED},
    "exception": {"raised": {**RAISED, "exception": SENTINEL, "own": True}},
    "line": {"raised": {**RAISED, "line": NUMBER}},
}


def all_that_is_said(verdict):
    return "\n".join((repr(verdict), verdict_html(verdict), verdict_text(verdict)))


def in_the_form_of(accept, leaf):
    """Return a value in the form that a task wants, with something of the student's own in every place."""
    match accept.to_data():
        case {"kind": "fields"}:
            return {name: in_the_form_of(part, leaf) for name, part in accept.fields.items()}
        case {"kind": "items"}:
            return [in_the_form_of(part, leaf) for part in accept.items]
        case {"kind": "list"}:
            return [in_the_form_of(accept.item, leaf)] * 2
    return leaf


@pytest.mark.parametrize("telltale", TELLTALES)
@pytest.mark.parametrize("task", FUNCTIONS, ids=by_name)
def test_no_verdict_repeats_what_a_function_put_in_its_answer(task, telltale):
    outcome = parse_observation(TELLTALES[telltale])
    verdict = verdict_on(task, [outcome] * len(hidden_set(task.name, SEED).cases))
    assert verdict.earned == 0
    assert SENTINEL not in all_that_is_said(verdict)
    assert str(NUMBER) not in all_that_is_said(verdict)


@pytest.mark.parametrize("leaf", [SENTINEL, NUMBER, {SENTINEL: NUMBER}], ids=["text", "number", "dictionary"])
@pytest.mark.parametrize("task", FUNCTIONS, ids=by_name)
def test_no_verdict_repeats_what_a_function_put_inside_a_well_formed_answer(task, leaf):
    outcome = crossed(Observation(in_the_form_of(task.accept, leaf)))
    verdict = verdict_on(task, [outcome] * len(hidden_set(task.name, SEED).cases))
    assert SENTINEL not in all_that_is_said(verdict)
    assert str(NUMBER) not in all_that_is_said(verdict)


@pytest.mark.parametrize("task", [*VARIANTS, *SORTINGS], ids=by_name)
def test_no_verdict_repeats_what_stands_in_a_wrong_answer(task):
    for answer in (SENTINEL, [SENTINEL], {SENTINEL: NUMBER}, in_the_form_of(task.accept, SENTINEL)):
        verdict = verdict_on_answer(task, answer, typed=SENTINEL)
        assert verdict.earned == 0
        assert SENTINEL not in all_that_is_said(verdict)
        assert str(NUMBER) not in all_that_is_said(verdict)


@pytest.mark.parametrize("task", FUNCTIONS, ids=by_name)
def test_no_note_holds_a_number_of_a_hidden_case(task):
    hidden = hidden_set(task.name, SEED)
    numbers = set()

    def collect(value):
        if isinstance(value, (list, tuple)):
            for item in value:
                collect(item)
        elif isinstance(value, dict):
            collect(list(value.values()))
        elif isinstance(value, (int, float)) and abs(value) > 999:
            numbers.add(str(value))

    collect([drawn.call.to_data() for _, drawn in hidden.cases])
    collect(list(hidden.expected))
    for wrong in task.misconceptions:
        said = "\n".join((*notes(verdict_on_function(task, wrong)), verdict_on_function(task, wrong).remark))
        assert not [number for number in numbers if number in said]


# --- nothing to judge ---------------------------------------------------------------------------------------------

ONE_OF_EACH = [FUNCTIONS[0], VARIANTS[0], SORTINGS[0]]


@pytest.mark.parametrize(
    ("status", "remark"),
    [
        (MISSING, "The notebook has no {} where it is checked."),
        (NOT_CALLABLE, "{} is not a function where it is checked."),
        (NOT_REACHED, "The check of {} did not run"),
    ],
)
@pytest.mark.parametrize("task", ONE_OF_EACH, ids=by_name)
def test_without_an_observation_no_criterion_is_met_and_the_reason_is_given(task, status, remark):
    verdict = judge(task, Probed(status), seed=SEED, student_id="ada")
    assert (verdict.task, verdict.points, verdict.earned) == (task.name, task.points, 0)
    assert sum(criterion.points for criterion in verdict.criteria) == task.points
    assert verdict.remark.startswith(remark.format(task.name))
    assert verdict.hint == ""


@pytest.mark.parametrize("fault", ["time", "died", "skipped"])
@pytest.mark.parametrize("task", [*VARIANTS, *SORTINGS], ids=by_name)
def test_an_answer_that_could_not_be_read_earns_nothing(task, fault):
    verdict = verdict_on(task, (Fault(fault), Fault("skipped")))
    assert (verdict.earned, verdict.points) == (0, task.points)


@pytest.mark.parametrize("task", [*VARIANTS, *SORTINGS], ids=by_name)
def test_an_answer_as_it_was_handed_out_is_not_filled_in(task):
    for blank in (None, in_the_form_of(task.accept, None)):
        verdict = verdict_on_answer(task, blank)
        assert (verdict.earned, verdict.remark) == (0, f"{task.name} is not filled in.")


# --- variants -----------------------------------------------------------------------------------------------------


def stranger_to(task, student):
    """Return a student whose answer agrees in no field with that of another."""
    mine = answer_of(task, student)
    for number in range(100):
        theirs = answer_of(task, f"student-{number}")
        if not any(part.accept.differs(theirs[name], encode(mine[name])) is None for name, part in task.fields.items()):
            return f"student-{number}"
    raise AssertionError("everybody has the same answer")


@pytest.mark.parametrize("task", VARIANTS, ids=by_name)
def test_the_answer_of_the_registered_id_earns_full_marks_whatever_the_notebook_states(task):
    for typed in ("ada", "someone-else", None, 12, "", ["ada"]):
        verdict = verdict_on_answer(task, answer_of(task, "ada"), typed=typed)
        assert (verdict.earned, verdict.hint, verdict.remark) == (task.points, "", "")


@pytest.mark.parametrize("registered", ["Ada-L", " ada-l ", "ADA-L", "ada -\tl"])
@pytest.mark.parametrize("task", VARIANTS, ids=by_name)
def test_ids_are_compared_without_case_and_blanks(task, registered):
    verdict = verdict_on_answer(task, answer_of(task, " ADA-l"), typed="ada-L", student_id=registered)
    assert (verdict.earned, verdict.hint) == (task.points, "")


@pytest.mark.parametrize("task", VARIANTS, ids=by_name)
def test_an_answer_that_is_right_only_for_the_stated_id_earns_nothing_and_is_told_so(task):
    other = stranger_to(task, "ada")
    verdict = verdict_on_answer(task, answer_of(task, other), typed=f" {other.upper()} ")
    assert verdict.earned == 0
    assert f'right for the id "{other}"' in verdict.hint
    assert 'not for "ada"' in verdict.hint


def half_a_stranger_to(task, student, field):
    """Return a student whose answer agrees with that of another in one field alone."""
    mine = answer_of(task, student)
    for number in range(20_000):
        theirs = answer_of(task, f"student-{number}")
        if [name for name in task.fields if theirs[name] == mine[name]] == [field]:
            return f"student-{number}"
    raise AssertionError(f"nobody has the same {field}")


def test_a_number_that_happens_to_be_right_for_both_ids_earns_nothing_in_anothers_answer():
    task = next(task for task in VARIANTS if task.name == "kv_cache_variant")
    other = half_a_stranger_to(task, "ada", "bytes_per_token")
    verdict = verdict_on_answer(task, answer_of(task, other), typed=other)
    assert verdict.earned == 0
    assert f'right for the id "{other}"' in verdict.hint
    honest = verdict_on_answer(task, answer_of(task, other), typed="ada")
    assert (honest.earned, honest.hint) == (task.fields["bytes_per_token"].points, "")


@pytest.mark.parametrize("task", VARIANTS, ids=by_name)
def test_one_number_that_is_right_for_the_stated_id_makes_no_answer_to_its_problem(task):
    other = stranger_to(task, "ada")
    first = next(iter(task.fields))
    answer = {**dict.fromkeys(task.fields, -1), first: answer_of(task, other)[first]}
    verdict = verdict_on_answer(task, answer, typed=other)
    assert (verdict.earned, verdict.hint) == (0, "")


@pytest.mark.parametrize("task", VARIANTS, ids=by_name)
def test_of_a_long_stated_id_only_the_beginning_is_repeated(task):
    verdict = verdict_on_answer(task, answer_of(task, "x" * 1_000), typed="x" * 1_000)
    assert "x" * 10 in verdict.hint
    assert "x" * 41 not in verdict.hint


@pytest.mark.parametrize("typed", ["ada", " ADA ", "somebody", "", None, 12, True, ["x"]], ids=repr)
@pytest.mark.parametrize("task", VARIANTS, ids=by_name)
def test_an_answer_that_is_right_for_neither_id_is_only_wrong(task, typed):
    verdict = verdict_on_answer(task, answer_of(task, stranger_to(task, "ada")), typed=typed)
    assert (verdict.earned, verdict.hint) == (0, "")


@pytest.mark.parametrize("task", VARIANTS, ids=by_name)
def test_each_field_of_a_variant_earns_its_points_alone(task):
    theirs = answer_of(task, stranger_to(task, "ada"))
    for name, part in task.fields.items():
        verdict = verdict_on_answer(task, {**theirs, name: answer_of(task, "ada")[name]})
        assert verdict.earned == part.points
        assert [criterion.right for criterion in verdict.criteria] == [int(name == other) for other in task.fields]
        assert [criterion.title for criterion in verdict.criteria if criterion.met] == [f"{name} ({part.unit})"]


@pytest.mark.parametrize("task", VARIANTS, ids=by_name)
def test_a_field_that_is_missing_or_in_a_wrong_form_costs_only_itself(task):
    first = next(iter(task.fields))
    right = answer_of(task, "ada")
    missing = {name: value for name, value in right.items() if name != first}
    for answer in (missing, {**right, first: "12"}, {**right, first: None}, {**right, first: [right[first]]}):
        assert verdict_on_answer(task, answer).earned == task.points - task.fields[first].points


@pytest.mark.parametrize("form", [[], "text", 12, [1, 2, 3], {}, {"other": 1}], ids=repr)
@pytest.mark.parametrize("task", [*VARIANTS, *SORTINGS], ids=by_name)
def test_an_answer_in_another_form_earns_nothing(task, form):
    assert verdict_on_answer(task, form).earned == 0


# --- sorting ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", SORTINGS, ids=by_name)
def test_the_right_class_for_every_statement_earns_full_marks(task):
    verdict = verdict_on_answer(task, task.key)
    assert (verdict.earned, verdict.remark, verdict.hint) == (task.points, "", "")


@pytest.mark.parametrize("task", SORTINGS, ids=by_name)
def test_one_statement_in_the_wrong_class_costs_its_group_and_no_other(task):
    for place, group in enumerate(task.groups):
        for statement, right in group.classes.items():
            for wrong in (next(name for name in task.classes if name != right), "", None, 1, [right]):
                verdict = verdict_on_answer(task, {**task.key, statement: wrong})
                kept = [other.points for other in task.groups]
                kept[place] = 0
                assert earned(verdict) == kept
                assert verdict.criteria[place].right == len(group.classes) - 1


@pytest.mark.parametrize("task", SORTINGS, ids=by_name)
def test_a_statement_that_is_left_out_costs_its_group(task):
    statement = next(iter(task.groups[0].classes))
    verdict = verdict_on_answer(task, {key: name for key, name in task.key.items() if key != statement})
    assert earned(verdict) == [0, *(group.points for group in task.groups[1:])]


@pytest.mark.parametrize("task", SORTINGS, ids=by_name)
def test_one_class_for_every_statement_earns_nothing(task):
    for name in task.classes:
        assert verdict_on_answer(task, dict.fromkeys(task.key, name)).earned == 0


# --- what is asked for --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", FUNCTIONS, ids=by_name)
def test_a_request_holds_one_call_a_hidden_case_and_nothing_but_inputs(task):
    request = request_of(task, SEED)
    assert len(request) == len(hidden_set(task.name, SEED).cases)
    assert request.read == ()
    asked = request.message(range(len(request)))["asked"]
    assert len(asked) == len(request)
    for one in asked:
        assert list(one) == ["call"]
        assert set(one["call"]) <= {"args", "kwargs", "driver"}


@pytest.mark.parametrize("task", [*VARIANTS, *SORTINGS], ids=by_name)
def test_of_an_answer_its_variable_and_the_stated_id_are_read(task):
    request = request_of(task, SEED)
    assert (request.calls, request.read) == ((), (task.name, "STUDENT"))


@pytest.mark.parametrize("task", [tiny.TASK, *VARIANTS, *SORTINGS], ids=by_name)
def test_only_a_drill_asks_a_second_process(task):
    assert second_request(task, Probed(OBSERVED, (Observation(1), Observation(2))), SEED) is None


@pytest.fixture
def drill(monkeypatch):
    """A task of two functions: the first says what to hand over, the second goes on from it."""
    drivers = types.SimpleNamespace(
        before=lambda notebook, start: notebook["keep"](start),
        after=lambda notebook, kept, more: notebook["go_on"](kept, more),
    )
    monkeypatch.setitem(sys.modules, "rlinfra.given.tiny_drill", drivers)
    task = FunctionTask(
        name="tiny_drill",
        reference=lambda start, more: start + more,
        accept=Number(),
        examples=(),
        criteria=(Criterion("sum", "two sums", 1, lambda draws: [case(1, 2), case(30, draws.integer(4, 9))]),),
        misconceptions=(lambda: (lambda start: 0, lambda kept, more: kept + more),),
        correct=(lambda: (lambda start: {"kept": start}, lambda kept, more: kept["kept"] + more),),
        drill=Drill(("keep", "go_on"), "tiny_drill.before", "tiny_drill.after"),
    )
    everything = {**tasks.all_tasks(), task.name: task}
    monkeypatch.setattr(tasks, "all_tasks", lambda: everything)
    yield task
    hidden_set.cache_clear()


def test_the_first_process_of_a_drill_gets_the_first_argument_alone(drill):
    assert request_of(drill, SEED).calls == (
        Call((1,), driver="tiny_drill.before"),
        Call((30,), driver="tiny_drill.before"),
    )


def test_the_second_process_of_a_drill_gets_what_the_first_handed_over_and_the_second_argument(drill):
    more = hidden_set(drill.name, SEED).cases[1][1].call.args[1]
    second = second_request(drill, Probed(OBSERVED, (Observation({"kept": 1}), Fault("time"))), SEED)
    assert second.name == drill.name
    assert second.calls == (
        Call(({"kept": 1}, 2), driver="tiny_drill.after"),
        Call((None, more), driver="tiny_drill.after"),
    )


def test_a_drill_whose_check_saw_nothing_has_no_second_process(drill):
    assert second_request(drill, Probed(MISSING), SEED) is None


def test_a_drill_is_judged_by_what_its_second_function_returns(drill):
    assert verdict_on_function(drill, drill.correct[0]).earned == 1
    assert verdict_on_function(drill, drill.misconceptions[0]).earned == 0


# --- the tiny task is a task like any other -----------------------------------------------------------------------


def test_the_tiny_task_as_submitted_earns_what_was_worked_out_above():
    assert judge_function(TINY, outcomes_of(TINY, tiny.parcel_cost)).earned == 4
    assert earned(judge_function(TINY, outcomes_of(TINY, tiny.fee_forgotten))) == [0, 0, 0]
    assert judge_function(TINY, outcomes_of(TINY, tiny.fee_for_each)).hint == hint_of(tiny.fee_for_each)


def test_a_criterion_that_needs_no_other_stands_alone():
    alone = replace(tiny.TASK, criteria=tuple(replace(criterion, needs=None) for criterion in tiny.TASK.criteria))
    assert earned(judge_function(HiddenSet(alone, SEED), [Observation(5)] * 4)) == [0, 1, 0]


def test_a_stated_id_of_half_a_character_is_only_wrong():
    task = VARIANTS[0]
    verdict = verdict_on_answer(task, dict.fromkeys(task.fields, 1), typed="\ud800")
    assert (verdict.earned, verdict.hint) == (0, "")
