"""Which of a topic's sources the grades of one task depend on, so that a change of one task is not a change of all.

A task's part holds the top-level definitions that are reached from it by name, in whatever module of the topic. What
no task reaches is common to all of them, and so is what notebooks can import. Each statement is in one part at least,
so no change goes unnoticed; one that several tasks share changes them all. Comments and layout are in none. The part of
a task on choices holds besides, to the letter, the modules that simulate them.
"""

from __future__ import annotations

import ast
import threading
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from rlinfra.topics import find_topic

from . import __name__ as here
from . import load_tasks, source_paths
from .model import ChoiceTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

COMMON = ""
_SCORING = ("rlinfra.checks.choices", "rlinfra_autograder.best_known")
_ALL = "TASKS"
_ONE_AT_A_TIME = threading.Lock()  # a Dask worker has several threads, and ast of Python 3.11 is not for two


def source_parts(topic: str) -> Mapping[str, str]:
    """Return the source that each task of a topic depends on, by its name, and under `COMMON` what all do.

    Read once a process, as the code is that grades by it.
    """
    with _ONE_AT_A_TIME:
        return _source_parts(topic)


@cache
def _source_parts(topic: str) -> Mapping[str, str]:
    module = import_module(f"{here}.{find_topic(topic).module}")
    bound = {id(value): name for name, value in vars(module).items()}
    roots = {task.name: bound.get(id(task), _ALL) for task in load_tasks(topic)}
    paths = source_paths(topic)
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    given = [path for path in paths if path.parent.name == "given"]
    parts = split((text for path, text in texts.items() if path not in given), roots)
    for task in load_tasks(topic):
        if isinstance(task, ChoiceTask):
            parts[task.name] += engine_source(task)
    return {**parts, COMMON: "\n".join([parts[COMMON], *(texts[path] for path in given)])}


def engine_source(task: ChoiceTask) -> str:
    """Return the source of what a choice comes to: its simulation, the best one known, and what is between the two."""
    return _engine_source(tuple(dict.fromkeys((*task.engine, task.bench_module, task.reference.__module__, *_SCORING))))


@cache
def _engine_source(modules: tuple[str, ...]) -> str:
    files = [Path(import_module(name).__file__ or "") for name in modules]
    paths = [
        path for file in files for path in (sorted(file.parent.glob("*.py")) if file.stem == "__init__" else [file])
    ]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def split(sources: Iterable[str], roots: Mapping[str, str]) -> dict[str, str]:
    """Return the statements that each root's definition reaches, and under `COMMON` those that none does."""
    statements = [statement for source in sources for node in ast.parse(source).body for statement in _statements(node)]
    reached = {task: _reached(root, statements) for task, root in roots.items()}
    by_all = set(range(len(statements))) - set().union(*reached.values())
    parts = {**reached, COMMON: by_all}
    return {name: "\n".join(statements[place].text for place in sorted(places)) for name, places in parts.items()}


@dataclass(frozen=True)
class _Statement:
    """A top-level statement: its text, the names that it defines, and those that it uses."""

    text: str
    defines: frozenset[str]
    uses: frozenset[str]


def _statements(node: ast.stmt) -> Iterator[_Statement]:
    if isinstance(node, ast.Import | ast.ImportFrom):  # name by name: one more import is no change of the others
        for name in node.names:
            alone = ast.Import([name]) if isinstance(node, ast.Import) else _only(node, name)
            yield _Statement(ast.unparse(alone), frozenset({name.asname or name.name}), frozenset({name.name}))
        return
    defines: list[str] = []
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        defines = [node.name]
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        defines = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    names |= {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    yield _Statement(ast.unparse(node), frozenset(defines), frozenset(names))


def _only(node: ast.ImportFrom, name: ast.alias) -> ast.ImportFrom:
    return ast.ImportFrom(node.module, [name], node.level)


def _reached(root: str, statements: list[_Statement]) -> set[int]:
    found: set[int] = set()
    names, todo = {root}, [root]
    while todo:
        name = todo.pop()
        for place, statement in enumerate(statements):
            if name in statement.defines and place not in found:
                found.add(place)
                todo += statement.uses - names
                names |= statement.uses
    return found
