"""The tasks of the course, a module a topic: each module's `TASKS` are in the order of its notebook."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

from rlinfra.topics import TOPICS, find_topic

from ..lookup import unknown
from .model import ChoiceTask, FunctionTask, SortingTask, Task, VariantTask

_SOURCES = (__name__, "rlinfra_reference", "rlinfra_autograder.attempts", "rlinfra.given")

__all__ = [
    "ChoiceTask",
    "FunctionTask",
    "SortingTask",
    "Task",
    "VariantTask",
    "all_tasks",
    "find_task",
    "load_tasks",
    "source_paths",
    "topic_source",
]


@cache
def load_tasks(topic: str) -> tuple[Task, ...]:
    """Return the tasks of a topic; raise `LookupError` where there is no such topic."""
    tasks: tuple[Task, ...] = import_module(f"{__name__}.{find_topic(topic).module}").TASKS
    return tasks


def all_tasks() -> dict[str, Task]:
    """Return every task of the course by name."""
    return {task.name: task for topic in TOPICS for task in load_tasks(topic.name)}


def find_task(name: str) -> tuple[str, Task]:
    """Return the topic and the task of that name; raise `LookupError` that names those with a similar name."""
    for topic in TOPICS:
        for task in load_tasks(topic.name):
            if task.name == name:
                return topic.name, task
    raise LookupError(unknown("task", name, all_tasks()))


def source_paths(topic: str) -> list[Path]:
    """Return the modules that a topic's grades depend on: those of its tasks, reference, attempts and given.

    A topic whose tasks are split over several modules names them all after itself (`records`, `records_cases`).
    """
    module = find_topic(topic).module
    folders = [Path(import_module(name).__file__ or "").parent for name in _SOURCES]
    return [path for folder in folders for path in sorted(folder.glob(f"{module}*.py"))]


def topic_source(topic: str) -> str:
    """Return the source of all that a topic's grades depend on."""
    return "\n".join(path.read_text(encoding="utf-8") for path in source_paths(topic))
