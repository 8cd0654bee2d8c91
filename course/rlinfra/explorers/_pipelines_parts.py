"""What the pictures of the pipelines explorer share: the bars of a picture as they are collected, and words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._functions import Answer
from ._words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._functions import Redraw

    Report = Answer[dict[str, Any]]  # what a function returned: values by name
    Data = dict[str, list[dict[str, Any]]]
    Drawn = tuple[dict[str, Any], Data, str, str]  # spec, data, title, details

REFERENCE = "the reference"
GIVEN: Answer[Any] = Answer(None, None, given=True)


class Bars:
    """The level bars of one picture, their labels, and the marks of what the reference says."""

    def __init__(self, redraw: Redraw) -> None:
        self._compared = redraw.overlay
        self.bars: list[dict[str, Any]] = []
        self.labels: list[dict[str, Any]] = []
        self.marks: list[dict[str, Any]] = []

    def bar(self, row: str, part: str, ends: tuple[float, float], answer: Answer[Any], **look: Any) -> None:
        """Add a bar, with its `tip` and `shade`; `answer` says whose it is."""
        place = {"row": row, "part": part, "from": ends[0], "to": ends[1], "tip": look["tip"]}
        self.bars.append({**place, **whose(answer, look.get("shade", 1))})

    def label(self, row: str, at: float, text: str) -> None:
        """Add a text at the right of a place."""
        self.labels.append({"row": row, "at": at, "text": text})

    def compare(self, row: str, at: float | None, unit: str = "s") -> None:
        """Mark where the reference has the end of a bar, if the two are compared."""
        if self._compared and at is not None:
            self.marks.append({"row": row, "at": at, "tip": f"the reference: {at:,.1f} {unit}"})

    def data(self, limit: Sequence[dict[str, Any]] = (), room: float | None = None) -> Data:
        """Return the data sets of the chart; its axis reaches `room`, so that the label of the longest bar fits."""
        most = max((bar["to"] for bar in self.bars), default=0)
        reach = [{"at": 1.12 * most if room is None else room}]
        return {"bars": self.bars, "labels": self.labels, "marks": self.marks, "limit": [*limit], "room": reach}


def whose(answer: Answer[Any], shade: float = 1) -> dict[str, Any]:
    """Return whose a value is, as it is told and as it is drawn: what the reference stands in for is paler."""
    return {"whose": answer.whose, "opacity": shade * (0.45 if answer.whose == REFERENCE else 1)}


def mark(redraw: Redraw) -> str:
    """Return the meaning of the grey marks."""
    return REFERENCE if redraw.overlay else ""


def missing(redraw: Redraw, name: str, what: str) -> str:
    """Return the title of a picture whose function says nothing that can be drawn."""
    problem = redraw.problems.get(name)
    if problem is None or problem.unwritten:
        return f"Nothing is written yet for this picture: {what} is what {name} says"
    return f"{what[0].upper()}{what[1:]} is what {name} says, and that cannot be drawn"


def take(batches: int) -> str:
    """Return the beginning of a sentence on how long a run takes."""
    return f"{counted(batches, 'batch', 'es')} take{'s' if batches == 1 else ''}"


def in_seconds(seconds: float) -> str:
    """Return seconds for reading, with a digit after the point where there is one."""
    return f"{seconds:,.1f}".removesuffix(".0") + " s"
