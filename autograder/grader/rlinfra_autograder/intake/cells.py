"""The two sides that are compared: a cell as a student handed it in, and a slot, which is a cell as it was released."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nbformat import NotebookNode

_DEFINITION = re.compile(r"^(?:(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]*)?=(?!=))", re.MULTILINE)

ALIKE = 0.6  # the least likeness by which a cell is known


def plain(source: str) -> str:
    """Return a source without what nobody sees: blanks at the ends of lines, empty lines at both ends."""
    return "\n".join(line.rstrip() for line in source.split("\n")).strip("\n")


def definitions(source: str) -> Iterator[tuple[str, int]]:
    """Yield what a source defines or assigns at the left margin, and where.

    By pattern, since a student's source can bring Python's own parser down, and need not be Python.
    """
    for found in _DEFINITION.finditer(source):
        yield found[1] or found[2], found.start()


def defined_names(source: str) -> frozenset[str]:
    """Return what a source defines or assigns at the left margin."""
    return frozenset(name for name, _ in definitions(source))


@dataclass(frozen=True)
class Cell:
    """A cell of the file: its type and source, and whatever it says of itself.

    `marks` is nbgrader's metadata, `cut` is set where the cell was cut out of a merged one.
    """

    kind: str
    source: str
    id: str = ""
    marks: Mapping[str, Any] = field(default_factory=dict)
    attachments: Mapping[str, Any] = field(default_factory=dict)
    cut: bool = False

    @cached_property
    def grade_id(self) -> str:
        """The name that nbgrader gave the cell, or ""."""
        name = self.marks.get("grade_id")
        return name if isinstance(name, str) else ""

    @cached_property
    def text(self) -> str:
        """The source without invisible blanks."""
        return plain(self.source)

    @cached_property
    def names(self) -> frozenset[str]:
        """What the source defines."""
        return defined_names(self.source)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the source."""
        return frozenset(re.findall(r"\w+", self.source))

    def claims(self, name: str) -> bool:
        """Return whether the cell says by its id or its grade id that it is that released cell."""
        return name in (self.id, self.grade_id)


class Role(Enum):
    """What a student may do with a released cell."""

    FIXED = "checks and prompts: as released"
    CODE = "a solution: the student's code"
    ANSWER = "a question in words: the student's text"
    FREE = "worked examples and explorers: the student may change them"


@dataclass(frozen=True)
class Slot:
    """A released cell: where it stands, its name (cell id and grade id in one), and what it asks for."""

    index: int
    name: str
    kind: str
    role: Role
    marks: Mapping[str, Any]
    graded: bool
    source: str

    @cached_property
    def text(self) -> str:
        """The released source without invisible blanks."""
        return plain(self.source)

    @cached_property
    def names(self) -> frozenset[str]:
        """What the released code defines, and a solution is known by."""
        return defined_names(self.source) if self.kind == "code" else frozenset()

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the released source."""
        return frozenset(re.findall(r"\w+", self.source))

    def likeness(self, cell: Cell) -> float:
        """Return the share of words that slot and cell have in common, from 0 to 1 (Dice's coefficient)."""
        return 2 * len(self.words & cell.words) / max(len(self.words) + len(cell.words), 1)


_LAST: list[tuple[NotebookNode, tuple[Slot, ...]]] = []


def slots_of(released: NotebookNode) -> tuple[Slot, ...]:
    """Return the slots of a released notebook, in order.

    Those of the last one are kept, with all that was found in them: a class has it in common, and intake leaves it as
    it is.
    """
    if not _LAST or _LAST[0][0] is not released:
        _LAST[:] = [(released, tuple(_slot(index, cell) for index, cell in enumerate(released.cells)))]
    return _LAST[0][1]


def _slot(index: int, cell: NotebookNode) -> Slot:
    marks = cell.metadata.get("nbgrader", {})
    if marks.get("solution"):
        role = Role.CODE if cell.cell_type == "code" else Role.ANSWER
    elif marks.get("grade") or marks.get("locked") or marks.get("task") or cell.metadata.get("editable") is False:
        role = Role.FIXED
    else:
        role = Role.FREE
    name = marks.get("grade_id") or cell.id
    return Slot(index, name, cell.cell_type, role, marks, bool(marks.get("grade")), cell.source)
