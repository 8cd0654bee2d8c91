"""The judge: observations and a task in, a verdict out. Pure: it runs no student code and trusts nothing it is given.

Of a hidden case it tells the criterion, the name of a built-in exception and the line: never a value.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rlinfra.checks.form import unwritten
from rlinfra.observe import Observation
from rlinfra.variants import normalised_id, variant
from rlinfra.wire import decode, encode

from .choices import choice_request, judge_choices
from .hidden import HiddenSet, hidden_set, same_outcome
from .probes import (
    MISSING,
    NOT_CALLABLE,
    NOT_REACHED,
    OBSERVED,
    Outcome,
    Probed,
    Request,
    failure_text,
    says_unwritten,
)
from .tasks.model import ChoiceTask, FunctionTask, SortingTask, Task, VariantTask
from .verdicts import CriterionVerdict, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlinfra.checks.compare import Difference

STUDENT = "STUDENT"


def request_of(task: Task, seed: str) -> Request:
    """Return what the probe of a task asks for: inputs only, or the names of variables."""
    if isinstance(task, FunctionTask):
        return hidden_set(task.name, seed).request
    if isinstance(task, ChoiceTask):
        return choice_request(task, seed)
    return Request(task.name, read=(task.name, STUDENT))


def second_request(task: Task, probed: Probed, seed: str) -> Request | None:
    """Return what to ask a second process, given what the first one handed over; None where there is no second."""
    if not isinstance(task, FunctionTask) or task.drill is None or probed.status != OBSERVED:
        return None
    calls = [drawn.call for _, drawn in hidden_set(task.name, seed).cases]
    pairs = zip(calls, probed.outcomes, strict=True)
    return Request(task.name, calls=tuple(task.drill.second_call(call, _value(outcome)) for call, outcome in pairs))


def judge(task: Task, probed: Probed, *, seed: str, student_id: str) -> Verdict:
    """Return the verdict on one task of the student whom nbgrader knows as `student_id`."""
    if probed.status != OBSERVED:
        return _nothing(task, _STATUS[probed.status].format(name=task.name))
    match task:
        case FunctionTask():
            return judge_function(hidden_set(task.name, seed), probed.outcomes)
        case VariantTask():
            return _judge_variant(task, probed.outcomes, student_id)
        case SortingTask():
            return _judge_sorting(task, probed.outcomes)
        case ChoiceTask():
            return judge_choices(task, probed.outcomes, seed)


_STATUS = {
    MISSING: "The notebook has no {name} where it is checked.",
    NOT_CALLABLE: "{name} is not a function where it is checked.",
    NOT_REACHED: "The check of {name} did not run: its cell stopped, or the name check was given another meaning.",
}


def _nothing(task: Task, remark: str) -> Verdict:
    """Return the verdict of a task of which nothing was observed: every criterion unmet."""
    match task:
        case FunctionTask():
            lines = [(criterion.title, criterion.points) for criterion in task.criteria]
        case VariantTask():
            lines = [(name, part.points) for name, part in task.fields.items()]
        case SortingTask():
            lines = [(group.title, group.points) for group in task.groups]
        case ChoiceTask():
            lines = [(workload.title, workload.points) for workload in task.workloads]
    criteria = tuple(CriterionVerdict(title, points, 0.0, 0, 0) for title, points in lines)
    return Verdict(task.name, task.points, criteria, remark=remark)


# --- functions ---------------------------------------------------------------------------------------------------


def judge_function(hidden: HiddenSet, outcomes: Sequence[Outcome]) -> Verdict:
    """Return the verdict on a function, from one outcome for each hidden case."""
    task = hidden.task
    if len(outcomes) != len(hidden.cases):
        return _nothing(task, _STATUS[NOT_REACHED].format(name=task.name))
    rightness = hidden.rightness(outcomes)
    met: dict[str, bool] = {}
    criteria = []
    for criterion in task.criteria:
        places = [place for place, (owner, _) in enumerate(hidden.cases) if owner is criterion]
        wrong = [place for place in places if not rightness[place]]
        met[criterion.name] = not wrong
        needed = criterion.needs is None or met[criterion.needs]
        note = "; ".join(dict.fromkeys(_note(hidden, place, outcomes[place]) for place in wrong[:3]))
        if not wrong and not needed:
            needed_title = next(other.title for other in task.criteria if other.name == criterion.needs)
            note = f'counts only together with "{needed_title}"'
        earned = criterion.points if not wrong and needed else 0.0
        criteria.append(
            CriterionVerdict(criterion.title, criterion.points, earned, len(places) - len(wrong), len(places), note)
        )
    nothing = all(map(says_unwritten, outcomes))
    names = " or ".join(task.drill.functions) if task.drill else task.name
    remark = f"{names} returns nothing: is it written yet?" if nothing else ""
    return Verdict(task.name, task.points, tuple(criteria), _hint(hidden, outcomes, rightness), remark)


def _note(hidden: HiddenSet, place: int, outcome: Outcome) -> str:
    """Say of a case that failed what may be said: the kind of fault, an exception's name and line, a wrong form."""
    if failure := failure_text(outcome):
        return failure
    assert isinstance(outcome, Observation)
    drawn = hidden.cases[place][1]
    if drawn.names is not None:
        return "returns a value where a ValueError is due"
    problem: Difference | None = hidden.task.accept.form_problem(outcome.value)
    return f"wrong form: {problem.problem}" if problem else "a wrong value"


def _hint(hidden: HiddenSet, outcomes: Sequence[Outcome], rightness: Sequence[bool]) -> str:
    """Return the hint of the misconception that explains every wrong outcome, or "" where none does.

    Where a value is wrong, senseless arguments are left out: a function that does not refuse them can have any
    misconception. Where they alone are wrong, the misconception must let through the very same ones.
    """
    wrong = [place for place, right in enumerate(rightness) if not right]
    values = [place for place in wrong if hidden.cases[place][1].names is None]
    explaining = [
        (hint, [place for place, right in enumerate(their_rightness) if not right])
        for hint, theirs, their_rightness in hidden.misconceptions
        if wrong and all(_did_the_same(hidden, outcomes[place], theirs[place]) for place in values or wrong)
    ]
    for hint, their_wrong in explaining:  # best: wrong in these very cases and in no others
        if [place for place in their_wrong if not values or hidden.cases[place][1].names is None] == (values or wrong):
            return hint
    return explaining[0][0] if explaining and values else ""


def _did_the_same(hidden: HiddenSet, mine: Outcome, yours: Observation) -> bool:
    return isinstance(mine, Observation) and same_outcome(hidden.task, mine, yours)


# --- answers -----------------------------------------------------------------------------------------------------


def _value(outcome: Outcome) -> object:
    return outcome.value if isinstance(outcome, Observation) else None


def _judge_variant(task: VariantTask, outcomes: Sequence[Outcome], student_id: str) -> Verdict:
    answer, typed = (_value(outcome) for outcome in outcomes)
    if unwritten(answer):
        return _nothing(task, f"{task.name} is not filled in.")
    registered = normalised_id(student_id)
    right = _right_fields(task, answer, registered)
    stated = _stated_id(typed)
    hint = ""
    if stated not in ("", registered):
        theirs = _right_fields(task, answer, stated)
        if theirs > right and 2 * len(theirs) > len(task.fields):
            right = set()  # a number that happens to be right for both ids is no answer to this student's problem
            hint = (
                f'The answer is right for the id "{_readable(stated)}" in the notebook, and not for "{student_id}",'
                " under which it was handed in. Numbers belong to the registered id: set STUDENT to it and redo them."
            )
    criteria = tuple(
        CriterionVerdict(f"{name} ({part.unit})", part.points, part.points * (name in right), int(name in right), 1)
        for name, part in task.fields.items()
    )
    return Verdict(task.name, task.points, criteria, hint)


def _stated_id(typed: object) -> str:
    """Return the id that the notebook states, as ids are compared; "" where it states none."""
    try:
        return normalised_id(typed)
    except ValueError:
        return ""


def _readable(typed_id: str) -> str:
    """Return as much of an id that a student typed as may stand in a page."""
    return "".join(letter if letter.isalnum() or letter in "-_.@+" else "?" for letter in typed_id[:40])


def _right_fields(task: VariantTask, answer: object, student: str) -> set[str]:
    if not isinstance(answer, dict):
        return set()
    expected = decode(encode(task.answer(variant(task.topic, student).numbers)))
    assert isinstance(expected, dict)
    return {
        name
        for name, part in task.fields.items()
        if name in answer and part.accept.differs(answer[name], expected[name]) is None
    }


def _judge_sorting(task: SortingTask, outcomes: Sequence[Outcome]) -> Verdict:
    answer = _value(outcomes[0])
    if unwritten(answer):
        return _nothing(task, f"{task.name} is not filled in.")
    given = answer if isinstance(answer, dict) else {}
    criteria = []
    for group in task.groups:
        right = Counter(given.get(statement) == name for statement, name in group.classes.items())[True]
        earned = group.points if right == len(group.classes) else 0.0
        criteria.append(CriterionVerdict(group.title, group.points, earned, right, len(group.classes)))
    return Verdict(task.name, task.points, tuple(criteria))
