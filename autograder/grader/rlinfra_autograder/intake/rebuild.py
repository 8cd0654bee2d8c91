"""The notebook that is graded: the released cells in released order with the student's sources, and their own cells.

An own cell keeps its place between those of its neighbours that were not moved; next to a solution that was moved up,
it moves along, since it may define what the solution needs.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import nbformat
from nbformat import NotebookNode

from ..feedback import SUMMARY_ID
from .cells import Role
from .document import has_merge_marks
from .outcome import HAND_IN, RefusalError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .cells import Cell, Slot
    from .match import Matching
    from .outcome import Notes

_MARKS = ("grade_id", "grade", "solution", "locked", "task")
_VALID_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ODD_BLANKS = "\u00a0\u2002\u2003\u2007\u2009\u200b\u202f\u3000\ufeff"
_INDENT = re.compile(rf"^[ \t]*[{_ODD_BLANKS}][ \t{_ODD_BLANKS}]*", re.MULTILINE)
_STATES_ID = re.compile(r"^STUDENT = .*$", re.MULTILINE)


def rebuild(
    released: NotebookNode, slots: Sequence[Slot], matching: Matching, student_id: str, notes: Notes
) -> NotebookNode:
    """Return the notebook to grade, and note what was repaired.

    Raises `RefusalError` where an unsettled merge stands in code or an answer. A set-up cell that was lost is put back
    with the id by which the student handed in.
    """
    # what is put into a cell is put in its place, and its metadata are nowhere written to: they are not copied
    notebook = NotebookNode({**released, "cells": [NotebookNode(cell) for cell in released.cells]})
    notebook.nbformat, notebook.nbformat_minor = nbformat.v4.nbformat, nbformat.v4.nbformat_minor
    for slot, cell in zip(slots, notebook.cells, strict=True):
        if (found := matching.of(slot)) is not None:
            _note_cell(slot, found, notes)
            if slot.role is not Role.FIXED:
                _write(cell, found, slot.name, notes)
        else:
            notes.note("unanswered" if slot.role in (Role.CODE, Role.ANSWER) else "restored", slot.name)
            if slot.role is Role.FREE and slot.kind == "code":
                cell.source = _STATES_ID.sub(lambda _: f"STUDENT = {student_id!r}", cell.source)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    stable = _stable(slots, matching, notes)
    _insert_own(notebook, slots, matching, stable, notes)
    return notebook


def _note_cell(slot: Slot, cell: Cell, notes: Notes) -> None:
    """Note what has to be put right in a cell that was found."""
    if cell.cut:
        notes.note("merged", slot.name)
        return
    if cell.kind != slot.kind:
        notes.note("retyped", slot.name)
    if slot.role is Role.FIXED and cell.text != slot.text:
        notes.note("locked", slot.name)
    if slot.marks:
        _note_marks(slot, cell.marks, notes)


def _note_marks(slot: Slot, marks: Mapping[str, Any], notes: Notes) -> None:
    if not marks:
        notes.note("metadata", slot.name)
        return
    if any(marks.get(key) != slot.marks.get(key) for key in _MARKS):
        notes.note("marks", slot.name)
    if marks.get("points") != slot.marks.get("points"):
        notes.note("points", slot.name)


def _write(cell: NotebookNode, found: Cell, name: str, notes: Notes) -> None:
    """Put a student's source into a cell."""
    if has_merge_marks(found.source):
        raise RefusalError(f"In {name} stand merge marks (<<<<<<<): settle the merge there, and {HAND_IN} again.")
    cell.source = found.source
    if cell.cell_type != "code":
        if found.attachments:
            cell.attachments = nbformat.from_dict(dict(found.attachments))
        return
    cell.source = _INDENT.sub(lambda blanks: re.sub(rf"[{_ODD_BLANKS}]", " ", blanks[0]), found.source)
    if cell.source != found.source:
        notes.note("characters", name)


def _stable(slots: Sequence[Slot], matching: Matching, notes: Notes) -> dict[int, int]:
    """Return the slot's index by place for the most cells that already stand in released order; note the others.

    The longest increasing subsequence, by patience sorting.
    """
    order = sorted((matching.placed[slot.name], slot.index) for slot in slots if slot.name in matching.placed)
    tails: list[int] = []
    ends: list[int] = []
    above: list[int] = []
    for number, (_, index) in enumerate(order):
        length = bisect_left(tails, index)
        tails[length : length + 1] = [index]
        ends[length : length + 1] = [number]
        above.append(ends[length - 1] if length else -1)
    stable: dict[int, int] = {}
    number = ends[-1] if ends else -1
    while number >= 0:
        stable[order[number][0]] = order[number][1]
        number = above[number]
    for place, index in order:
        if place not in stable and not matching.cells[place].cut:
            notes.note("order", slots[index].name)
    return stable


def _insert_own(
    notebook: NotebookNode, slots: Sequence[Slot], matching: Matching, stable: Mapping[int, int], notes: Notes
) -> None:
    index_at = {matching.placed[slot.name]: slot.index for slot in slots if slot.name in matching.placed}
    own: dict[int, list[NotebookNode]] = {}
    taken = {SUMMARY_ID, *(cell.id for cell in notebook.cells)}
    for place in matching.own:
        cell = _own_cell(matching.cells[place], slots, matching, taken, notes)
        own.setdefault(_position(place, index_at, stable, slots), []).append(cell)
    released = notebook.cells
    notebook.cells = [
        cell for index in range(len(released) + 1) for cell in (*own.get(index, ()), *released[index : index + 1])
    ]


def _position(place: int, index_at: Mapping[int, int], stable: Mapping[int, int], slots: Sequence[Slot]) -> int:
    """Return before which slot an own cell goes."""
    above = max((at for at in stable if at < place), default=None)
    below = min((at for at in stable if at > place), default=None)
    position = stable[above] + 1 if above is not None else stable[below] if below is not None else len(slots)
    for neighbour, after in (
        (max((at for at in index_at if at < place), default=None), 1),
        (min((at for at in index_at if at > place), default=None), 0),
    ):
        if neighbour is not None and neighbour not in stable and slots[index_at[neighbour]].role is Role.CODE:
            position = min(position, index_at[neighbour] + after)
    return position


def _own_cell(cell: Cell, slots: Sequence[Slot], matching: Matching, taken: set[str], notes: Notes) -> NotebookNode:
    """Return a cell of the student's own; a rival version of a solution is kept to be read and is not run."""
    kind = cell.kind
    for slot in slots:
        counts = matching.of(slot)
        rival = counts is not None and slot.role is Role.CODE and bool(slot.names & cell.names & counts.names)
        if cell.claims(slot.name) and not rival:
            notes.note("split" if slot.role is Role.CODE else "duplicate", slot.name)
        elif rival and cell.claims(slot.name):
            notes.note("versions", slot.name)
            kind = "raw"
        elif rival and counts is not None and not counts.claims(slot.name):
            notes.note("versions", slot.name)
    make = {
        "code": nbformat.v4.new_code_cell,
        "markdown": nbformat.v4.new_markdown_cell,
        "raw": nbformat.v4.new_raw_cell,
    }
    own = make[kind](id=_free_id(cell.id, taken))
    _write(own, cell, "a cell of your own", notes)
    return own


def _free_id(wished: str, taken: set[str]) -> str:
    """Return an id that no other cell has: the cell's own where it is valid, else a counted one."""
    number = 1
    one = wished
    while one in taken or not _VALID_ID.fullmatch(one):
        one = f"own-{number}"
        number += 1
    taken.add(one)
    return one
