"""Where each student stands in each topic: nbgrader's scores, joined with our ledger and with what lies in submitted/.

Exports and the report read this and nothing else, so that nobody is a 0 in one and ungraded in the other.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbgrader.api import Gradebook
from sqlalchemy.exc import SQLAlchemyError

from rlinfra.topics import TOPICS

from . import ledger
from .database import GradebookError, reason
from .entries import GRADED, UNGRADED
from .gradebook import existing_gradebook
from .submissions import find_submissions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .entries import Entry

NEEDS_MANUAL_GRADE, MISSING = "needs_manual_grade", "missing"


class StandingsError(RuntimeError):
    """The gradebook cannot be read, and what to do."""


@dataclass(frozen=True)
class Student:
    """A student as nbgrader knows one; of those whom only a submission names, there is the id alone."""

    id: str
    last_name: str = ""
    first_name: str = ""
    email: str = ""
    lms_user_id: str = ""

    @property
    def name(self) -> str:
        """The name as `last, first`, or the id where there is none."""
        return ", ".join(part for part in (self.last_name, self.first_name) if part) or self.id


@dataclass(frozen=True)
class Marks:
    """Points as nbgrader counts them: with manual scores and extra credit, before and after the late penalty."""

    raw_score: float
    penalty: float
    timestamp: str = ""
    waiting: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """The points that count: nbgrader exports the same."""
        return max(0.0, self.raw_score - self.penalty)


@dataclass(frozen=True)
class Standing:
    """One student in one topic. There are marks exactly where `status` is `graded` or `needs_manual_grade`."""

    student: Student
    topic: str
    status: str
    reason: str
    max_score: float
    duedate: str = ""
    marks: Marks | None = None
    entry: Entry | None = None


def read_standings(root: Path, topics: Sequence[str] | None = None, db_url: str | None = None) -> list[Standing]:
    """Return a standing for every student and topic: topics as asked for, students by name, then by id.

    Without topics, those that were released into the gradebook, in the course's order. Raises `StandingsError` where
    there is no gradebook, or where it knows no student or not the topic.
    """
    try:
        with existing_gradebook(root, db_url) as gradebook:
            try:
                return _read(gradebook.nbgrader, root, topics)
            except SQLAlchemyError as error:
                raise StandingsError(f"the gradebook {gradebook.where} cannot be read: {reason(error)}") from error
    except GradebookError as error:
        raise StandingsError(str(error)) from error


def _read(gradebook: Gradebook, root: Path, topics: Sequence[str] | None) -> list[Standing]:
    entries = ledger.entries(gradebook.db())
    released = {assignment.name: assignment for assignment in gradebook.assignments}
    chosen = topics if topics is not None else [topic.name for topic in TOPICS if topic.name in released]
    for topic in chosen:
        if topic not in released:
            raise StandingsError(f"the gradebook does not know the topic {topic}: rlinfra-grade release {topic}")
    if not chosen:
        raise StandingsError("the gradebook knows no topic: rlinfra-grade release")
    handed_in = _handed_in(root, chosen)
    known = _students(gradebook)
    for name, _ in [*entries, *handed_in]:
        known.setdefault(name, Student(name))
    if not known:
        raise StandingsError(
            "there is no student in the gradebook and nothing in submitted/: nbgrader db student import CLASS.csv"
        )
    students = sorted(known.values(), key=lambda one: (one.last_name, one.first_name, one.id))
    standings = []
    for topic in chosen:
        assignment = released[topic]
        submitted = {submission.student.id: submission for submission in assignment.submissions}
        blank = Standing(Student(""), topic, MISSING, "nothing was handed in", float(assignment.max_score))
        blank = replace(blank, duedate=_text(assignment.duedate))
        for student in students:
            key = student.id, topic
            standing = replace(blank, student=student, entry=entries.get(key))
            standings.append(_standing(standing, submitted.get(student.id), there=key in handed_in))
    return standings


def _handed_in(root: Path, topics: Sequence[str]) -> set[tuple[str, str]]:
    folder = root / "submitted"
    found = find_submissions(folder, topics) if folder.is_dir() else []
    return {(submission.student, submission.topic) for submission in found}


def _students(gradebook: Gradebook) -> dict[str, Student]:
    return {
        one.id: Student(one.id, _text(one.last_name), _text(one.first_name), _text(one.email), _text(one.lms_user_id))
        for one in gradebook.students
    }


def _standing(blank: Standing, submission: Any, *, there: bool) -> Standing:
    """Return what a submission came to. The ledger's word on the latest one counts more than a grade from before."""
    entry = blank.entry
    marks = _marks(submission, graded=entry is not None and entry.status == GRADED)
    if entry is not None and entry.status != GRADED:
        before = f" (what was handed in before has {marks.score:g} points)" if marks else ""
        return replace(blank, status=entry.status, reason=entry.reason + before)
    if marks is not None:
        waits = f"to be marked by hand: {', '.join(marks.waiting)}" if marks.waiting else ""
        return replace(blank, status=NEEDS_MANUAL_GRADE if marks.waiting else GRADED, reason=waits, marks=marks)
    if entry is not None:
        reason = f"its grade is no longer in the gradebook: rlinfra-grade batch {blank.topic} --force"
        return replace(blank, status=UNGRADED, reason=reason)
    if submission is not None:
        return replace(blank, status=UNGRADED, reason=f"grading did not end: rlinfra-grade batch {blank.topic}")
    if there:
        return replace(blank, status=UNGRADED, reason=f"not graded yet: rlinfra-grade batch {blank.topic}")
    return blank


def _marks(submission: Any, *, graded: bool) -> Marks | None:
    """Return the points of a submission; None where there is none, or where nothing in it was ever judged."""
    if submission is None:
        return None
    grades: list[Any] = []
    if not graded or submission.needs_manual_grade:
        grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
    if not graded and all(grade.auto_score is None and grade.manual_score is None for grade in grades):
        return None
    waiting = tuple(sorted(grade.name for grade in grades if grade.needs_manual_grade))
    penalty = float(submission.late_submission_penalty)
    return Marks(float(submission.score), penalty, _text(submission.timestamp), waiting)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def by_topic(standings: Sequence[Standing]) -> Mapping[str, list[Standing]]:
    """Return the standings by topic, in order."""
    found: dict[str, list[Standing]] = defaultdict(list)
    for standing in standings:
        found[standing.topic].append(standing)
    return found
