"""Which released cell each cell of a submission is: by what it says, by its ids, by likeness, by where it stands.

What a cell says goes before the id it carries, since editors lose and swap ids; a cell that says nothing is known by
its id. Where several could be one solution, the one with the released id counts, else the last before its check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .cells import ALIKE, Cell, Role, Slot

if TYPE_CHECKING:
    from .outcome import Notes


@dataclass(frozen=True)
class Matching:
    """A submission's cells, where the cell of each slot stands among them, and where the student's own, in order."""

    cells: Sequence[Cell]
    placed: Mapping[str, int]
    own: Sequence[int]

    def of(self, slot: Slot) -> Cell | None:
        """Return the cell of a slot, None where it is missing."""
        return self.cells[self.placed[slot.name]] if slot.name in self.placed else None


@dataclass
class _Search:
    """How far the search has come: the places of slots that are found, and the cells that are not yet anybody's."""

    cells: list[Cell]
    slots: Sequence[Slot]
    placed: dict[str, int] = field(default_factory=dict)
    free: dict[int, Cell] = field(default_factory=dict)

    def place(self, slot: Slot, place: int) -> None:
        self.placed[slot.name] = place
        del self.free[place]


def _says(cell: Cell, slot: Slot) -> bool:
    """Return whether a cell's content is that of a slot: the released text, or a solution that is not blank."""
    if slot.role is Role.CODE:
        return bool(slot.names & cell.names) and cell.text != slot.text
    return slot.role is not Role.ANSWER and cell.text == slot.text


def _sets_up(cell: Cell, slot: Slot) -> bool:
    return slot.role is Role.FREE and bool(slot.names) and slot.names <= cell.names


_ROUNDS: tuple[Callable[[Cell, Slot], bool], ...] = (
    lambda cell, slot: _says(cell, slot) and cell.id == slot.name,
    lambda cell, slot: _says(cell, slot) and cell.grade_id == slot.name,
    _says,
    lambda cell, slot: cell.id == slot.name,
    lambda cell, slot: cell.grade_id == slot.name,
    _sets_up,
)


def match(cells: Sequence[Cell], slots: Sequence[Slot], notes: Notes) -> Matching:
    """Return which cell is which, with answers in words gathered and copies dropped."""
    search = _Search(list(cells), slots, free=dict(enumerate(cells)))
    for fits in _ROUNDS:
        _place(search, fits)
    _place_alike(search)
    _place(search, lambda cell, slot: cell.text == slot.text)
    for slot in slots:
        if slot.role is Role.ANSWER:
            _gather_answer(search, slot, notes)
    return Matching(search.cells, search.placed, _own(search, notes))


def _place(search: _Search, fits: Callable[[Cell, Slot], bool]) -> None:
    for slot in search.slots:
        if slot.name in search.placed:
            continue
        candidates = [place for place, cell in search.free.items() if fits(cell, slot)]
        if candidates:
            search.place(slot, _chosen(search, slot, candidates))


def _chosen(search: _Search, slot: Slot, candidates: Sequence[int]) -> int:
    """Return the candidate that counts: of a solution the fullest, then the last before its check; else the first."""
    if slot.role is not Role.CODE:
        return candidates[0]
    cells = search.cells
    check = next((other.text for other in search.slots[slot.index :] if other.graded), "")
    end = next((place for place, cell in enumerate(cells) if cell.text == check), len(cells))
    return max(candidates, key=lambda place: (len(slot.names & cells[place].names), place < end, place))


def _place_alike(search: _Search) -> None:
    """Place what is left by its words, the likest first; blank solutions come later."""
    pairs = sorted(
        (-likeness, slot.index, place)
        for slot in search.slots
        if slot.name not in search.placed and slot.role is not Role.ANSWER
        for place, cell in search.free.items()
        if cell.text != slot.text and (likeness := slot.likeness(cell)) >= ALIKE
    )
    for _, index, place in pairs:
        if place in search.free and search.slots[index].name not in search.placed:
            search.place(search.slots[index], place)


def _gather_answer(search: _Search, slot: Slot, notes: Notes) -> None:
    """Put an answer in words together: the parts that carry its name, else the text that stands below its prompt."""
    cells = search.cells
    at = search.placed.get(slot.name)
    text = "" if at is None else cells[at].text
    parts = [
        place
        for place, cell in search.free.items()
        if cell.claims(slot.name) and cell.text not in ("", slot.text, text)
    ]
    if parts:
        notes.note("split", slot.name)
    elif text in ("", slot.text):
        parts = _below_prompt(search, slot)
        if parts and at is not None:
            notes.note("beside", slot.name)
    if not parts:
        return
    for place in parts:
        del search.free[place]
    if at is not None and text not in ("", slot.text):
        parts = sorted([at, *parts])
    at = parts[0] if at is None else at
    search.placed[slot.name] = at
    cells[at] = replace(
        cells[at],
        source="\n\n".join(dict.fromkeys(cells[place].text for place in parts)),
        attachments={name: data for place in parts for name, data in cells[place].attachments.items()},
        cut=cells[parts[0]].cut,
    )


def _below_prompt(search: _Search, slot: Slot) -> list[int]:
    """Return where the student's own text stands right below a prompt, or below the empty cell for its answer."""
    prompt = search.placed.get(search.slots[slot.index - 1].name) if slot.index else None
    places: list[int] = []
    for place in range(len(search.cells) if prompt is None else prompt + 1, len(search.cells)):
        if place in search.free and search.cells[place].kind != "code":
            places += [place] if search.cells[place].text else []
        elif place != search.placed.get(slot.name):
            break
    return places


def _own(search: _Search, notes: Notes) -> list[int]:
    """Return the places of the student's own cells, without empty ones and copies of what has been placed."""
    known = {slot.text: slot.name for slot in reversed(search.slots)}
    known |= {search.cells[place].text: name for name, place in search.placed.items()}
    own = []
    for place, cell in search.free.items():
        claimed = next((slot for slot in search.slots if cell.claims(slot.name)), None)
        if not cell.text:
            continue
        if cell.text in known:
            notes.note("duplicate", known[cell.text])
        elif claimed and claimed.role is Role.FIXED and cell.text in claimed.text:
            notes.note("split", claimed.name)
        else:
            own.append(place)
    return own
