"""What stands on top of a page: the tasks with their points as the gradebook has them now, and what to know first.

`nbgrader_config.py` names the preprocessor, so that `nbgrader generate_feedback` writes the same pages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbconvert.preprocessors import Preprocessor
from nbgrader.api import Gradebook
from traitlets import Bool

from rlinfra.topics import find_topic

from .. import ledger
from ..entries import GRADED, UNGRADED
from ..feedback import SUMMARY_ID, UNCONFINED, points_text, what_to_know
from ..grade import METADATA_KEY
from ..text import one_line
from ..verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..entries import Entry


@dataclass(frozen=True)
class Row:
    """One task: the anchor of its cell, its title, its points in words, and the one thing to know of it."""

    anchor: str
    title: str
    points: str
    note: str
    comments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Top:
    """The top of a page. `refusal` stands before everything where the last submission could not be graded."""

    title: str
    result: str = ""
    rows: tuple[Row, ...] = ()
    late: str = ""
    lists: tuple[tuple[str, tuple[str, ...]], ...] = ()
    warning: str = ""
    refusal: Refusal | None = None


@dataclass(frozen=True)
class Refusal:
    """What a page says of a submission that was not graded: what it came to and why, what that means, what to do."""

    headline: str
    lines: tuple[str, ...]


class WhatStands(Preprocessor):
    """Gathers the top of the page, after nbgrader's `GetGrades` has put scores and comments into the cells.

    The table that the grader put on top of the graded notebook goes: it tells the points from before any marking by
    hand.
    """

    enabled = Bool(True).tag(config=True)  # nbconvert's are not

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Return the notebook without the grader's own table, and the top of the page among the resources."""
        ours = resources["nbgrader"]
        student, topic = ours["student"], ours["assignment"]
        with Gradebook(ours["db_url"]) as gradebook:
            notebook = gradebook.find_submission_notebook(ours["notebook"], topic, student)
            to_mark = {grade.name for grade in notebook.grades if grade.needs_manual_grade}
            entry = ledger.entry_of(gradebook.db(), student, topic)
        made = nb.metadata.get(METADATA_KEY)
        if made and nb.cells and nb.cells[0].id.startswith(SUMMARY_ID):
            nb.cells = nb.cells[1:]
        for cell in nb.cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id") in to_mark:
                cell.metadata.nbgrader["to_mark"] = True
            for output in cell.get("outputs", ()):
                if "metadata" in output:
                    output.metadata.setdefault("alt", "a picture that this cell drew")
        resources["rlinfra"] = _top(nb, resources, made or {}, entry)
        return nb, resources


def _top(nb: Any, resources: Any, made: Mapping[str, Any], entry: Entry | None) -> Top:
    ours = resources["nbgrader"]
    rows = _rows(nb, {one["task"]: Verdict.from_data(one) for one in made.get("verdicts", ())})
    open_points = sum(
        cell.metadata.nbgrader.points for cell in nb.cells if cell.metadata.get("nbgrader", {}).get("to_mark")
    )
    result = f"{points_text(ours['score'])} of {points_text(ours['max_score'])} points"
    open_note = f" so far; {points_text(open_points)} are still to be marked by hand" if open_points else ""
    late = (
        f"{points_text(ours['late_penalty'])} points were taken off for handing in late."
        if ours["late_penalty"]
        else ""
    )
    lists = (
        ("These cells were stopped, and the others were run without them:", tuple(made.get("faults", ()))),
        ("The notebook was repaired before it was graded:", tuple(one["what"] for one in made.get("repairs", ()))),
    )
    confined = made.get("provenance", {}).get("confined", True)
    graded_at = str(made.get("provenance", {}).get("graded_at", ""))[:10]
    return Top(
        title_of(ours["assignment"]),
        f"{result}{open_note}",
        rows,
        late,
        tuple((title, lines) for title, lines in lists if lines),
        "" if confined else UNCONFINED,
        refusal_of(entry, graded_at) if entry and entry.status != GRADED else None,
    )


def title_of(topic: str) -> str:
    """Return the title of a topic, or the name of one that the course does not list."""
    try:
        return find_topic(topic).title
    except LookupError:
        return topic


def _rows(nb: Any, verdicts: Mapping[str, Verdict]) -> tuple[Row, ...]:
    """Return a row for each graded cell, in the order of the notebook."""
    cells = [(cell, cell.metadata["nbgrader"]) for cell in nb.cells if "nbgrader" in cell.metadata]
    sources = {ours["grade_id"]: cell.source for cell, ours in cells} | {cell.id: cell.source for cell in nb.cells}
    comments = [ours["grade_id"] for _, ours in cells if ours.get("comment")]
    rows = []
    for _, ours in cells:
        if not (ours.get("grade") or ours.get("task")):
            continue
        name = ours["grade_id"]
        its = tuple(one for one in comments if one in (name, f"{name}-code"))
        rows.append(Row(name, _title(name, sources), _points(ours), _note(ours, verdicts.get(name)), its))
    return tuple(rows)


def _title(name: str, sources: Mapping[str, str]) -> str:
    """Return the heading of a task's prompt, which stands in a cell of its own, or the task's name."""
    heading = re.search(r"^#{1,6} +(.+)$", sources.get(f"{name}-prompt", ""), re.MULTILINE)
    return one_line(heading[1].replace("`", ""), 100) if heading else name


def _points(ours: Mapping[str, Any]) -> str:
    if ours.get("to_mark"):
        return f"not marked yet, of {points_text(ours['points'])}"
    return f"{points_text(ours['score'])} of {points_text(ours['points'])}"


def _note(ours: Mapping[str, Any], verdict: Verdict | None) -> str:
    """Return what to know of a task: what the autograder says, unless a person has set other points since."""
    if verdict is None:
        return ""
    if not ours.get("to_mark") and abs(ours["score"] - verdict.earned) > 1e-9:
        return f"Set by hand; the autograder gave {points_text(verdict.earned)}."
    return what_to_know(verdict)


def refusal_of(entry: Entry, graded_before: str = "") -> Refusal:
    """Return what a page says of a submission that was not graded; `graded_before`: the day of a grade that stands."""
    stands = (
        f"Below is the grade of the submission before this one, graded on {graded_before}. "
        "It counts as long as there is no newer one."
    )
    told = (stands,) if graded_before else ()
    if entry.status == UNGRADED:
        meaning = (
            "The grader could not tell what your answers are, so it judged none of them. This is not a score of 0."
        )
        advice = "What to do: mend the file as it says above and hand in again. If you cannot, ask your assistants."
        return Refusal(f"Ungraded: {entry.reason}", (meaning, *told, advice))
    meaning = "This is not your fault and not a score of 0: your submission is kept as you handed it in."
    advice = "What to do: nothing. Your assistants see it too, and grade it again once the grader is mended."
    return Refusal("Not graded: the grader itself failed on this submission.", (meaning, *told, advice))
