"""The check data that students get, generated from the tasks: public examples and hints, forms, never an answer."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rlinfra.wire import encode

from .best_known import public_marks
from .hidden import expected_value, hint_of
from .tasks import load_tasks
from .tasks.model import Case, ChoiceTask, FunctionTask, Task, VariantTask

if TYPE_CHECKING:
    from collections.abc import Iterator


def check_data(topic: str) -> str:
    """Return the text of a topic's check data file."""
    data = {
        "note": "Generated from the tasks by `rlinfra-grade release`. Do not edit.",
        "tasks": [task_data(task) for task in load_tasks(topic)],
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def task_data(task: Task) -> dict[str, Any]:
    """Return the check data of one task."""
    data: dict[str, Any] = {
        "name": task.name,
        "kind": task.kind,
        "points": task.points,
        "accept": task.accept.to_data(),
    }
    if isinstance(task, FunctionTask):
        if task.drill is not None:
            data["drill"] = asdict(task.drill)
        data["examples"] = [_example(task, drawn) for drawn in task.examples]
    if isinstance(task, ChoiceTask):
        data.update(bench=task.bench, rate=task.rate)
        data["workloads"] = [
            {"name": name, "fields": dict(fields), **asdict(marks)}
            for (name, fields), marks in zip(task.examples.items(), public_marks(task), strict=True)
        ]
    if isinstance(task, VariantTask):
        data["fields"] = {
            name: {"unit": part.unit, "low": part.low, "high": part.high} for name, part in task.fields.items()
        }
    return data


def _example(task: FunctionTask, example: Case) -> dict[str, Any]:
    data: dict[str, Any] = {"call": example.call.to_data()}
    if example.names is None:
        data["expected"] = encode(expected_value(task, example.call))
    else:
        data["names"] = example.names
    data["wrong"] = list(_wrong_values(task, example))
    return data


def _wrong_values(task: FunctionTask, example: Case) -> Iterator[dict[str, Any]]:
    """Yield the value that each misconception gives for an example, where it is a wrong one."""
    if example.names is not None:
        return
    expected = expected_value(task, example.call)
    for misconception in task.misconceptions:
        outcome = task.attempt(misconception, example.call)
        if outcome.raised is None and task.accept.differs(outcome.value, expected) is not None:
            yield {"value": encode(outcome.value), "hint": hint_of(misconception)}
