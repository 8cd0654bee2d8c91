"""Checking the form of an answer that is only judged after submission: a variant's numbers, a sorted list.

Right or wrong is not told here, since the right answer is not at hand. What is told at once is what would be a pity
to lose a grade for: a missing key, a word that is not among the classes, a number in the wrong unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..variants import normalised_id
from ..wire import decode, encode
from .card import CheckResult, Row, show_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .data import TaskData


HANDED_OUT = "your-id"  # what STUDENT says in a notebook as it is handed out


def check_form(task: TaskData, value: object, namespace: Mapping[str, Any]) -> CheckResult:
    """Return the card of an answer: well formed, or what is not."""
    answer = decode(encode(value))
    problem = "Fill in the answer: it is still empty." if unwritten(answer) else _id_problem(task, namespace)
    if problem:
        return CheckResult(task.name, "not written yet", 0.0, task.points, (Row(problem=problem),))
    form = task.accept.form_problem(answer)
    if form is not None:
        return CheckResult(task.name, "wrong form", 0.0, task.points, (Row(problem=f"{form}."),))
    rows = _range_problems(task, answer)
    if rows:
        return CheckResult(task.name, "out of range", 0.0, task.points, rows)
    return CheckResult(task.name, "well formed, judged after you submit", task.points, task.points)


def unwritten(answer: object) -> bool:
    """Return whether an answer is as it was handed out: nothing, or a dictionary of nothing but None."""
    return answer is None or (isinstance(answer, dict) and all(value is None for value in answer.values()))


def _id_problem(task: TaskData, namespace: Mapping[str, Any]) -> str:
    if task.kind != "variant":
        return ""
    try:
        stated = normalised_id(namespace.get("STUDENT"))
    except ValueError as error:
        return f"{error}. Set it in the first code cell."
    if stated == HANDED_OUT:
        return f'STUDENT is still "{HANDED_OUT}": these numbers belong to nobody. Set your id in the first code cell.'
    return ""


def _bound(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def _range_problems(task: TaskData, answer: object) -> tuple[Row, ...]:
    if not isinstance(answer, dict):
        return ()
    return tuple(
        Row(
            problem=f'"{name}" is {show_value(answer[name])}. No id leads outside {_bound(form.low)} to '
            f"{_bound(form.high)} {form.unit}: is it in {form.unit}?"
        )
        for name, form in task.fields
        if not form.low <= answer[name] <= form.high
    )
