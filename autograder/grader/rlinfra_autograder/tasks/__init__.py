"""The tasks of the course, a module a topic: each module's `TASKS` are in the order of its notebook."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

from rlinfra.topics import TOPICS, find_topic

from .model import FunctionTask, SortingTask, Task, VariantTask

_SOURCES = (__name__, "rlinfra_reference", "rlinfra_autograder.attempts", "rlinfra.given")

__all__ = ["FunctionTask", "SortingTask", "Task", "VariantTask", "all_tasks", "load_tasks", "topic_source"]


@cache
def load_tasks(topic: str) -> tuple[Task, ...]:
    """Return the tasks of a topic; raise `LookupError` where there is no such topic."""
    tasks: tuple[Task, ...] = import_module(f"{__name__}.{find_topic(topic).module}").TASKS
    return tasks


def all_tasks() -> dict[str, Task]:
    """Return every task of the course by name."""
    return {task.name: task for topic in TOPICS for task in load_tasks(topic.name)}


def topic_source(topic: str) -> str:
    """Return the source of all that a topic's grades depend on: its modules of tasks, reference, attempts and given.

    A topic whose tasks are split over several modules names them all after itself (`records`, `records_cases`).
    """
    module = find_topic(topic).module
    folders = [Path(import_module(name).__file__ or "").parent for name in _SOURCES]
    paths = [path for folder in folders for path in sorted(folder.glob(f"{module}*.py"))]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)
