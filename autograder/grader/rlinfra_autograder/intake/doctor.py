"""The decision over a submission: the one notebook in it is admitted, however it is called and wherever it lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlinfra.topics import TOPICS

from ..tasks import load_tasks
from .cells import Role, slots_of
from .document import read_cells
from .folder import Tier, find_notebooks, read_bytes
from .match import match
from .outcome import HAND_IN, Admitted, Notes, RefusalError, Refused, printable
from .pieces import join_split, take_apart
from .rebuild import rebuild

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nbformat import NotebookNode

    from .cells import Cell, Slot
    from .folder import Found


def take_in(folder: Path, topic: str, released: NotebookNode) -> Admitted | Refused:
    """Return the notebook to grade with what was repaired in it, or the reason why there is none.

    `folder` is `submitted/<student>/<topic>/` with whatever is in it; nothing is written there, and nothing outside is
    read. Raises for nothing that a folder may hold, and says the same of the same folder.
    """
    try:
        found = find_notebooks(folder, topic)
        outcomes = [_examined(one, folder, topic, released) for one in found]
        return _decided(outcomes, found, released)
    except RefusalError as refusal:
        return Refused(str(refusal))


def _examined(found: Found, folder: Path, topic: str, released: NotebookNode) -> Admitted | Refused:
    notes = Notes()
    _note_file(found, folder, topic, notes)
    try:
        cells = read_cells(read_bytes(found), printable(found.path.name), notes)
        slots = slots_of(released)
        _refuse_other_topic(cells, slots, topic, printable(found.path.name))
        matching = match(take_apart(join_split(cells, notes), slots), slots, notes)
        notebook = rebuild(released, slots, matching, folder.parent.name, notes)
    except RefusalError as refusal:
        return Refused(str(refusal))
    return Admitted(notebook, notes.repairs(), found.path)


def _note_file(found: Found, folder: Path, topic: str, notes: Notes) -> None:
    name = printable(found.path.name)
    for kind, applies in (
        ("linked", found.linked),
        ("checkpoint", found.tier is Tier.CHECKPOINT),
        ("nested", found.tier is not Tier.CHECKPOINT and found.path.parent != folder),
        ("renamed", found.tier is not Tier.CHECKPOINT and found.path.name != f"{topic}.ipynb"),
    ):
        if applies:
            notes.note(kind, name)


def _refuse_other_topic(cells: Sequence[Cell], slots: Sequence[Slot], topic: str, name: str) -> None:
    """Raise `RefusalError` where nothing in the file is of this topic's tasks; say of which topic's it is, if any."""
    ours = [slot for slot in slots if slot.role is not Role.FREE]
    if any(
        cell.claims(slot.name) or (slot.role is not Role.ANSWER and slot.text in cell.text) or slot.names & cell.names
        for slot in ours
        for cell in cells
    ):
        return
    claimed = {one for cell in cells for one in (cell.id, cell.grade_id)}
    for other in TOPICS:
        if claimed & {task.name for task in load_tasks(other.name)}:
            raise RefusalError(
                f"{name} is the notebook of the topic {other.name} and not of {topic}: "
                f"hand in the .ipynb file of {topic}, and that of {other.name} in its own place."
            )
    raise RefusalError(
        f"{name} has no cell of the notebook of {topic}: write your code into the released notebook, and {HAND_IN}."
    )


def _decided(outcomes: Sequence[Admitted | Refused], found: Sequence[Found], released: NotebookNode) -> Admitted:
    """Return the one that counts: the others are copies of it, have no answers, or cannot be graded."""
    admitted = [outcome for outcome in outcomes if isinstance(outcome, Admitted)]
    if not admitted:
        raise RefusalError(next(outcome.reason for outcome in outcomes if isinstance(outcome, Refused)))
    written = admitted
    if len(admitted) > 1:
        blank = _answers(released, released)
        written = [one for one in admitted if _answers(one.notebook, released) != blank] or admitted[:1]
    chosen = written[0]
    if any(_content(one.notebook) != _content(chosen.notebook) for one in written):
        names = " and ".join(printable(str(one.path.name)) for one in written[:3])
        raise RefusalError(f"There are several notebooks with different answers, {names}: hand in the one that counts.")
    notes = Notes()
    for outcome, other in zip(outcomes, found, strict=True):
        if outcome is not chosen:
            kind = "left-aside" if isinstance(outcome, Refused) else "copies" if outcome in written else "blank-copy"
            notes.note(kind, printable(other.path.name))
    return Admitted(chosen.notebook, (*notes.repairs(), *chosen.repairs), chosen.path)


def _content(notebook: NotebookNode) -> list[tuple[str, str]]:
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def _answers(notebook: NotebookNode, released: NotebookNode) -> list[tuple[str, str]]:
    """Return what a notebook has in the solution cells and in cells of its own."""
    fixed = {slot.name for slot in slots_of(released) if slot.role in (Role.FIXED, Role.FREE)}
    return [(cell.cell_type, cell.source) for cell in notebook.cells if cell.id not in fixed]
