"""The check data: what instant checks know of each task, generated from the tasks by `rlinfra-grade release`.

One JSON file a topic. It holds the public examples and, for each, the wrong values that known misconceptions give,
with their hints. It holds no hidden case and no answer to a variant or a sorting question.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ..observe import Call, Drill
from ..topics import TOPICS
from ..wire import decode
from .compare import Accept, from_data


@dataclass(frozen=True)
class WrongValue:
    """The value that a misconception gives for an example, and its hint."""

    value: object
    hint: str


@dataclass(frozen=True)
class Example:
    """One public example: a call, and either the expected value or the argument that a `ValueError` must name."""

    call: Call
    expected: object
    names: str | None
    wrong: tuple[WrongValue, ...]


@dataclass(frozen=True)
class FieldForm:
    """The form of one field of a variant's answer: its unit and one range that covers every id."""

    unit: str
    low: float
    high: float


@dataclass(frozen=True)
class PublicWorkload:
    """A workload to choose for, with the rates of the default choice and of the best one known."""

    name: str
    fields: Mapping[str, Any]
    default: float
    best: float


@dataclass(frozen=True)
class TaskData:
    """What a check knows of one task; `bench` simulates choices, and `rate` is the figure that they are judged by."""

    topic: str
    name: str
    kind: str
    points: float
    accept: Accept
    examples: tuple[Example, ...] = ()
    fields: tuple[tuple[str, FieldForm], ...] = ()
    drill: Drill | None = None
    workloads: tuple[PublicWorkload, ...] = ()
    bench: str = ""
    rate: str = ""


def load_topic(topic: str) -> tuple[TaskData, ...]:
    """Return the tasks of a topic in the order of its notebook."""
    text = (files(__package__) / "data" / f"{topic}.json").read_text(encoding="utf-8")
    return tuple(_task(topic, item) for item in json.loads(text)["tasks"])


@cache
def all_tasks() -> dict[str, TaskData]:
    """Return every task of the course by name."""
    return {task.name: task for topic in TOPICS for task in load_topic(topic.name)}


def _task(topic: str, data: dict[str, Any]) -> TaskData:
    return TaskData(
        topic=topic,
        name=data["name"],
        kind=data["kind"],
        points=data["points"],
        accept=from_data(data["accept"]),
        examples=tuple(_example(item) for item in data.get("examples", ())),
        drill=Drill(tuple(data["drill"]["functions"]), data["drill"]["first"], data["drill"]["second"])
        if "drill" in data
        else None,
        fields=tuple((name, FieldForm(**form)) for name, form in data.get("fields", {}).items()),
        workloads=tuple(PublicWorkload(**item) for item in data.get("workloads", ())),
        bench=data.get("bench", ""),
        rate=data.get("rate", ""),
    )


def _example(data: dict[str, Any]) -> Example:
    return Example(
        call=Call.from_data(data["call"]),
        expected=decode(data.get("expected")),
        names=data.get("names"),
        wrong=tuple(WrongValue(decode(item["value"]), item["hint"]) for item in data["wrong"]),
    )
