"""What an attack is: wrong answers plus one edit of the notebook, a goal, and the defence that keeps it from the goal.

Sources may name what lies in the attacked world: «seed», «victim», «port» … are filled in by `World.fill`. «say» is a
statement that prints the world's mark, by which an attack says in its outputs that it got what it was after.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import nbformat

from .notebooks import FUNCTIONS, TASKS

Edit = Callable[[Any], None]


class Goal(Enum):
    """What an attack is after; the words say what happened if it got it."""

    POINTS = "gained points"
    READ = "read a secret"
    WRITE = "changed a file outside"
    CONNECT = "reached a listener"
    VICTIM = "reached another process"
    PROCESS = "started a process"
    LEFTOVER = "left something for the next"
    INPUTS = "showed hidden inputs"
    GRADER = "stopped the grader"
    BOUNDS = "held more than it may"
    BROWSER = "acted in the browser"
    TEXT = "put control into a line of text"


@dataclass(frozen=True)
class Attack:
    """One attack: `does` is what it does in a sentence, `defence` the name of what stops it (see `defences.py`)."""

    name: str
    kind: str
    does: str
    edit: Edit
    goal: Goal
    defence: str

    def notebook(self, wrong: Any) -> Any:
        """Return the notebook to hand in: the wrong one, edited."""
        notebook = copy.deepcopy(wrong)
        self.edit(notebook)
        return notebook


def cell(source: str) -> Edit:
    """Add a code cell of one's own after the setup cell, so that it runs before everything else."""
    return _insert(lambda name: nbformat.v4.new_code_cell(source.strip("\n"), id=name))


def markdown(source: str, **fields: Any) -> Edit:
    """Add a Markdown cell after the setup cell."""
    return _insert(lambda name: nbformat.v4.new_markdown_cell(source, id=name, **fields))


def answer(name: str, source: str) -> Edit:
    """Write this in the solution cell of a task."""

    def edit(notebook: Any) -> None:
        _by_id(notebook, f"{name}-code").source = source.strip("\n")

    return edit


def last(source: str) -> Edit:
    """Add a code cell at the end."""
    return lambda notebook: notebook.cells.append(nbformat.v4.new_code_cell(source.strip("\n"), id="own-last"))


def replace(name: str, old: str, new: str) -> Edit:
    """Replace a part of a cell's source."""

    def edit(notebook: Any) -> None:
        one = _by_id(notebook, name)
        assert old in one.source
        one.source = one.source.replace(old, new)

    return edit


def both(*edits: Edit) -> Edit:
    """Make several edits."""

    def edit(notebook: Any) -> None:
        for one in edits:
            one(notebook)

    return edit


def _insert(new: Callable[[str], Any]) -> Edit:
    def edit(notebook: Any) -> None:
        place = [one.id for one in notebook.cells].index("setup")
        notebook.cells.insert(place + 1, new(f"own-{len(notebook.cells)}"))

    return edit


def _by_id(notebook: Any, name: str) -> Any:
    return next(one for one in notebook.cells if one.id == name)


def all_functions(source: str, before: str = "") -> Edit:
    """Write every function like this, with NAME for its name; `before` is a cell in front of all."""
    edits = [answer(name, source.replace("NAME", name)) for name in FUNCTIONS]
    return both(cell(before), *edits) if before else both(*edits)


def all_answers(source: str, before: str = "") -> Edit:
    """Write every answer like this, also those that are no functions, with NAME for its name."""
    edits = [answer(name, source.replace("NAME", name)) for name in TASKS]
    return both(cell(before), *edits) if before else both(*edits)
