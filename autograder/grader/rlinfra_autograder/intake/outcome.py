"""What becomes of a submission, and the sentences that say so."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from nbformat import NotebookNode

NAMED = 5  # a sentence with all forty cells in it would not be read
LONGEST_NAME = 60
LONGEST_NOTE = 80
HAND_IN = "hand in the .ipynb file itself"

SENTENCES = {
    # the file
    "linked": "The notebook was found by a link inside the submission: {}.",
    "nested": "The notebook lay in a folder inside the submission: {}.",
    "renamed": "The notebook has another name than the released one: {}.",
    "checkpoint": "There is no notebook but a copy that Jupyter saved by itself, and that copy is graded: {}.",
    "copies": "The notebook is there more than once with the same content, and counts once: {}.",
    "blank-copy": "A second notebook without any answers was left aside: {}.",
    "left-aside": "A second file that cannot be graded was left aside: {}.",
    "encoding": "The file is not plain UTF-8 text and was converted from it: {}.",
    "trailing": "What stands after the end of the notebook was left out: {}.",
    "format": "The file has an older or unknown notebook format and was converted: {}.",
    "damaged": "Entries that are no cells were left out: {}.",
    "line-ends": "Line ends were set right: {}.",
    "characters": "Blanks that Python does not take for blanks were replaced: {}.",
    # its cells
    "merged": "Cells that had been merged with others were taken apart again: {}.",
    "split": "Cells that had been split were put together again, or their parts kept in order: {}.",
    "duplicate": "Cells that stand more than once count once: {}.",
    "versions": "Of two versions the one in the released cell counts, else the last one before its check: {}.",
    "retyped": "Code that had become text, or text that had become code, is again what was released: {}.",
    "locked": "Text that is not to be changed reads again as released: {}.",
    "points": "The points are again as released: {}.",
    "marks": "The marks by which a grader knows a cell were changed, and are again as released: {}.",
    "metadata": "The marks by which a grader knows a cell were lost; the cells were found again without them: {}.",
    "order": "Cells that had been moved stand again in the released order: {}.",
    "beside": "The answer stood below the cell for it and was put into it: {}.",
    "restored": "Cells that were missing were put back as released: {}.",
    "unanswered": "The cell for an answer was missing and no answer was found elsewhere, so it is empty: {}.",
}


@dataclass(frozen=True)
class Repair:
    """One kind of repair: its slug in `SENTENCES`, and a sentence for student and assistant that names the cells."""

    kind: str
    what: str


@dataclass(frozen=True)
class Admitted:
    """A submission that can be graded: the repaired notebook, what was repaired, and the file that it was read from."""

    notebook: NotebookNode
    repairs: tuple[Repair, ...]
    path: Path


@dataclass(frozen=True)
class Refused:
    """A submission that cannot be told: one sentence that says what is wrong and what to do."""

    reason: str


class RefusalError(Exception):
    """A file cannot be graded; its text is the reason for the student."""


@dataclass
class Notes:
    """What was repaired on the way, gathered by kind."""

    _names: dict[str, list[str]] = field(default_factory=dict)

    def note(self, kind: str, name: str) -> None:
        """Note a repair of a kind to the cell or file of that name, once."""
        names = self._names.setdefault(kind, [])
        if (name := name[:LONGEST_NOTE]) not in names:
            names.append(name)

    def repairs(self) -> tuple[Repair, ...]:
        """Return the repairs in the order of `SENTENCES`."""
        return tuple(
            Repair(kind, sentence.format(_listed(self._names[kind])))
            for kind, sentence in SENTENCES.items()
            if kind in self._names
        )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def printable(name: str) -> str:
    """Return a name of a student's making as it can stand in a sentence: no odd characters, cut, in quotes."""
    text = re.sub(r"[\s\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+", " ", name).strip()
    return f"“{text}”" if len(text) <= LONGEST_NAME else f"“{text[: LONGEST_NAME - 1]}…”"
