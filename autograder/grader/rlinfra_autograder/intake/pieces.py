"""Cells that were split are put together again, and merged ones are taken apart where released text shows how."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .cells import ALIKE, Cell, Role, definitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .cells import Slot
    from .outcome import Notes


def join_split(cells: Sequence[Cell], notes: Notes) -> list[Cell]:
    """Return the cells with code that goes on inside a block put back to the cell above it, where the block began."""
    groups: list[list[Cell]] = []
    for cell in cells:
        if groups and _goes_on(groups[-1][-1], cell):
            groups[-1].append(cell)
        else:
            groups.append([cell])
    for first, *rest in groups:
        if rest:
            notes.note("split", min(first.names, default="a code cell"))
    return [_joined(group) if len(group) > 1 else group[0] for group in groups]


def _joined(group: Sequence[Cell]) -> Cell:
    return replace(
        group[0],
        source="\n".join(cell.source.rstrip() for cell in group),
        id=next((cell.id for cell in group if cell.id), ""),
        marks=next((cell.marks for cell in group if cell.marks), {}),
    )


def _goes_on(above: Cell, cell: Cell) -> bool:
    if not (above.kind == cell.kind == "code" and above.text and cell.text.startswith((" ", "\t"))):
        return False
    if cell.grade_id and above.grade_id and cell.grade_id != above.grade_id:
        return False
    last = above.text.rpartition("\n")[2]
    return last.startswith((" ", "\t")) or last.endswith((":", "(", "[", "{", ",", "\\"))


def take_apart(cells: Sequence[Cell], slots: Sequence[Slot]) -> list[Cell]:
    """Return the cells with merged ones taken apart: released text first, then the definitions of solutions.

    Only what has no cell of its own is cut out of another, so that a check which a student repeats in a solution, or a
    helper that defines an earlier function again, stays where it is.
    """
    apart = list(cells)
    for slot in slots:
        if slot.role in (Role.FIXED, Role.FREE) and slot.text and all(cell.text != slot.text for cell in apart):
            apart = _cut_text(apart, slot, slots)
    return _cut_solutions(apart, slots)


def _cut_text(cells: list[Cell], slot: Slot, slots: Sequence[Slot]) -> list[Cell]:
    """Cut the released text of a slot out of the first cell that holds it as whole lines."""
    wanted = f"\n{slot.text}\n"
    hosts = [place for place, cell in enumerate(cells) if wanted in f"\n{cell.text}\n"]
    if not hosts:
        return cells
    host = min(hosts, key=lambda place: not cells[place].claims(slot.name))
    cell = cells[host]
    before, _, after = f"\n{cell.text}\n".partition(wanted)
    if slot.role is Role.FREE and cell.claims(slot.name) and not _is_another(before + after, slot, slots):
        return cells  # what a student adds to such a cell is no merge
    block = replace(cell, kind=slot.kind, source=slot.source, id=slot.name, marks={}, attachments={}, cut=True)
    unclaimed = replace(cell, id="", marks={}, attachments={}, cut=True)
    kept = unclaimed if cell.claims(slot.name) else cell
    first, second = replace(kept, source=before.strip("\n")), replace(kept, source=after.strip("\n"))
    if first.text and second.names and not first.names:  # one of them only may keep the name
        first = replace(unclaimed, source=first.source)
    elif first.text:
        second = replace(unclaimed, source=second.source)
    parts = [part for part in (first, block, second) if part.text]
    return [*cells[:host], *parts, *cells[host + 1 :]]


def _is_another(text: str, slot: Slot, slots: Sequence[Slot]) -> bool:
    rest = Cell("", text)
    return any(other is not slot and other.likeness(rest) >= ALIKE for other in slots)


def _cut_solutions(cells: list[Cell], slots: Sequence[Slot]) -> list[Cell]:
    """Cut solutions that have no cell of their own out of those that define them along with another."""
    solutions = [slot for slot in slots if slot.role is Role.CODE]
    names = {slot.name for slot in slots}
    released = {slot.text for slot in slots}  # what a prompt shows in a box is no solution
    hosted = [
        [
            slot
            for slot in solutions
            if slot.names & cell.names and not (cell.text in released and cell.text != slot.text)
        ]
        for cell in cells
    ]
    at_home = {
        slot.name
        for cell, hosts in zip(cells, hosted, strict=True)
        for slot in hosts
        if cell.claims(slot.name) or (len(hosts) == 1 and not {cell.id, cell.grade_id} & names)
    }
    apart: list[Cell] = []
    for cell, hosts in zip(cells, hosted, strict=True):
        mine = next((slot for slot in hosts if cell.claims(slot.name)), None)
        wanted = [slot for slot in hosts if slot is mine or slot.name not in at_home]
        elsewhere = mine is None and bool({cell.id, cell.grade_id} & names)
        if len(wanted) > 1 or (wanted and elsewhere):
            apart += _segments(cell, wanted, keep_head=elsewhere)
        else:
            apart.append(cell)
    return apart


def _segments(cell: Cell, solutions: Sequence[Slot], *, keep_head: bool) -> list[Cell]:
    """Return a cell cut before each solution; what stands above the first belongs to it, or stays the cell's own."""
    lines = cell.source.split("\n")
    starts = sorted((_first_line(cell.source, lines, slot), slot.index, slot) for slot in solutions)
    ends = [start for start, _, _ in starts[1:]] + [len(lines)]
    parts = [
        replace(
            cell,
            kind=slot.kind,
            source="\n".join(lines[start:end]).strip("\n"),
            id=slot.name,
            marks=cell.marks if cell.claims(slot.name) else {},
            attachments={},
            cut=True,
        )
        for (start, _, slot), end in zip(starts, ends, strict=True)
    ]
    head = "\n".join(lines[: starts[0][0]]).strip("\n")
    if head and keep_head:
        return [replace(cell, source=head), *parts]
    if len(parts) == 1:
        return [cell]  # a whole cell under another's name
    return [replace(parts[0], source=f"{head}\n{parts[0].source}".lstrip("\n")), *parts[1:]]


def _first_line(source: str, lines: Sequence[str], slot: Slot) -> int:
    """Return the line where a solution begins: its definition, with the decorators and comments right above it."""
    line = source.count("\n", 0, next(start for name, start in definitions(source) if name in slot.names))
    while line > 0 and lines[line - 1].startswith(("@", "#")):
        line -= 1
    return line
