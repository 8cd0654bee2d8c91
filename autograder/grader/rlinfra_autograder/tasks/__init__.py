"""The tasks of the course, a module a topic: each module's `TASKS` are in the order of its notebook."""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module

from rlinfra.topics import TOPICS, find_topic

from .model import FunctionTask, SortingTask, Task, VariantTask

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
    """Return the source of a topic's tasks and reference: what a grade depends on besides its inputs."""
    module = find_topic(topic).module
    modules = (import_module(f"{__name__}.{module}"), import_module(f"rlinfra_reference.{module}"))
    return "\n".join(inspect.getsource(part) for part in modules)
