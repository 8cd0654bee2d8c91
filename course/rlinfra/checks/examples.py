"""Running the public examples of a task on the student's function."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from ..observe import Call, Observation, observe
from .card import CheckResult, Row, show_call, show_value
from .compare import Fields, describe, names_argument, same
from .time_limit import TimeLimit, still_running

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .data import Example, TaskData

MAX_SECONDS = 2.0


def run_examples(task: TaskData, namespace: Mapping[str, Any]) -> CheckResult:
    """Return the card of a task's functions: the examples that fail, one hint, and what was printed."""
    rows: list[Row] = []
    hints: Counter[str] = Counter()
    passed = 0
    printed = ""
    unwritten = 0
    for example in task.examples:
        observation = within_time(partial(_observe, task, namespace, example.call))
        printed = printed or observation.printed
        row = _judge(task, example, observation)
        if row is None:
            passed += 1
            continue
        unwritten += says_unwritten(observation)
        rows.append(row)
        hints.update(_hints(task, example, observation))
        if still_running(observation):
            break
    total = len(task.examples)
    state = "passes" if passed == total else f"{passed} of {total} examples"
    if unwritten == total:
        state = "not written yet"
        rows = [Row(problem="It returns nothing. Write its body in the cell above, return the result, and run both.")]
    elif passed == 0 and all(row.raised for row in rows):
        state = "raises"
    points = task.points * passed / total
    hint = hints.most_common(1)[0][0] if hints else ""
    return CheckResult(task.name, state, points, task.points, tuple(rows), hint, printed, passed)


def _observe(task: TaskData, namespace: Mapping[str, Any], call: Call) -> Observation:
    """Make the call with new argument objects, so that a function that changes its arguments harms no example."""
    fresh = Call.from_data(call.to_data())
    return task.drill.observe(namespace, fresh) if task.drill else observe(fresh.function(task.name, namespace), fresh)


def _judge(task: TaskData, example: Example, observation: Observation) -> Row | None:
    """Return the row of a failing example, or None where it passes."""
    call = show_call(task.name, example.call)
    raised = observation.raised
    if example.names is not None:
        expected = f"ValueError that names {example.names}"
        if raised is None:
            return Row(call, expected, show_value(observation.value))
        if raised.exception == "ValueError" and names_argument(raised.message, example.names):
            return None
        return Row(call, expected, raised_text(observation), raised=True)
    if raised is not None:
        return Row(call, show_value(example.expected), raised_text(observation), raised=True)
    difference = task.accept.differs(observation.value, example.expected)
    if difference is None:
        return None
    form = task.accept.form_problem(observation.value)
    if form is not None:
        shown = show_value(observation.value)
        got = f"{shown} ({form})" if observation.value is not None else f"{describe(None)}: is there a return?"
        return Row(call, show_value(example.expected), got)
    if isinstance(task.accept, Fields):
        return Row(call, *_fields_apart(task.accept, example.expected, observation.value))
    return Row(call, show_value(example.expected), show_value(observation.value), differs_at=difference.where)


def _fields_apart(accept: Fields, expected: Any, got: Any) -> tuple[str, str]:
    """Return the fields that differ, as expected and as they came: the others would only hide them."""
    wrong = [name for name, part in accept.fields.items() if part.differs(got[name], expected[name]) is not None]
    rest = "" if len(wrong) == len(accept.fields) else "\n(the other keys are right)"
    texts = ["\n".join(f'"{name}": {show_value(values[name])}' for name in wrong) for values in (expected, got)]
    return texts[0], texts[1] + rest


def within_time(call: Callable[[], Observation]) -> Observation:
    """Return what a call did, or that it was stopped after the seconds that an example may take (`still_running`)."""
    with TimeLimit(MAX_SECONDS) as limit:
        return limit.run(call)


def raised_text(observation: Observation) -> str:
    """Return the exception that left a function as a card shows it: its kind, message, line and that line's text."""
    raised = observation.raised
    assert raised is not None
    if still_running(observation):
        return f"still running after {MAX_SECONDS:g} s: stopped"
    kind = f"an exception of its own (a {raised.exception})" if raised.own else raised.exception
    message = f": {raised.message}" if raised.message else ""
    place = f" in line {raised.line}: {observation.source_line}" if raised.line else ""
    return f"{kind}{message}{place}"


def says_unwritten(observation: Observation) -> bool:
    """Return whether a function is as it was handed out: it raises NotImplementedError, or returns nothing."""
    if observation.raised is not None:
        return observation.raised.exception == "NotImplementedError"
    return observation.value is None


def _hints(task: TaskData, example: Example, observation: Observation) -> list[str]:
    """Return the hints of the misconceptions that give this very value."""
    if observation.raised is not None:
        return []
    return [wrong.hint for wrong in example.wrong if same(task.accept, observation.value, wrong.value)]
