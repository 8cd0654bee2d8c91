"""What a page is made of, as a hash that stands at its end: a page with today's hash needs no writing."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbgrader.api import Assignment, BaseCell, Comment, Grade, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import select

from .. import feedback
from ..course import notebook_path

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from ..entries import Entry

_STAMP = re.compile(rb"<!-- made of ([0-9a-f]{64}) -->\s*\Z")
_STAMP_BYTES = 100


def stamped(page: str, made_of: str) -> str:
    """Return a page with what it is made of at its end, which no student's text comes after."""
    return f"{page.rstrip()}\n<!-- made of {made_of} -->\n"


def stamp_of(path: Path) -> str:
    """Return what a page says it is made of; "" where there is none, or one that another program wrote."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _STAMP_BYTES))
            found = _STAMP.search(file.read())
    except OSError:
        return ""
    return found[1].decode() if found else ""


class Sources:
    """What the pages of one topic are made of: notebooks, marks, entries of ours, templates, code."""

    def __init__(self, root: Path, topic: str, session: Session) -> None:
        self._root, self._topic = root, topic
        self._code = code_hash(root)
        self._marks = _marks(session, topic)

    @property
    def students(self) -> list[str]:
        """The students who have marks in the gradebook."""
        return sorted(self._marks)

    def has_grade(self, student: str) -> bool:
        """Return whether there is a grade to show: marks in the gradebook, and the notebook they were given for."""
        return student in self._marks and notebook_path(self._root / "autograded" / student, self._topic).is_file()

    def made_of(self, student: str, entry: Entry | None) -> str:
        """Return the hash of all that a student's page is made of."""
        said = entry and (entry.status, entry.reason, entry.fingerprint)
        digest = hashlib.sha256(json.dumps([self._code, student, said, self._marks.get(student)]).encode())
        if self.has_grade(student):
            digest.update(notebook_path(self._root / "autograded" / student, self._topic).read_bytes())
        return digest.hexdigest()


def code_hash(root: Path) -> str:
    """Return the hash of templates, code and settings that make pages."""
    here = Path(__file__).parent
    paths = [
        *sorted(path for path in here.rglob("*") if path.suffix in (".py", ".j2", ".json")),
        Path(feedback.__file__),
    ]
    digest = hashlib.sha256()
    for path in [*paths, root / "nbgrader_config.py"]:
        digest.update(path.read_bytes())
    versions = [version(name) for name in ("nbgrader", "nbconvert", "Pygments", "mistune", "math-core")]
    return digest.hexdigest() + json.dumps(versions)


def _marks(session: Session, topic: str) -> dict[str, list[Any]]:
    """Return what the gradebook holds of a topic, by student: the late penalty, every score and comment."""
    of_notebook = SubmittedAssignment.id == SubmittedNotebook.assignment_id
    penalties = select(SubmittedAssignment.student_id, SubmittedNotebook.late_submission_penalty)
    scores = select(SubmittedAssignment.student_id, BaseCell.name, Grade.score, Grade.needs_manual_grade)
    comments = select(SubmittedAssignment.student_id, BaseCell.name, Comment.comment)
    queries = (
        penalties.select_from(SubmittedNotebook).join(SubmittedAssignment, of_notebook),
        scores.select_from(Grade)
        .join(BaseCell, BaseCell.id == Grade.cell_id)
        .join(SubmittedNotebook, SubmittedNotebook.id == Grade.notebook_id)
        .join(SubmittedAssignment, of_notebook),
        comments.select_from(Comment)
        .join(BaseCell, BaseCell.id == Comment.cell_id)
        .join(SubmittedNotebook, SubmittedNotebook.id == Comment.notebook_id)
        .join(SubmittedAssignment, of_notebook),
    )
    marks: dict[str, list[Any]] = defaultdict(list)
    for query in queries:
        of_topic = query.join(Assignment, Assignment.id == SubmittedAssignment.assignment_id).where(
            Assignment.name == topic
        )
        for student, *rest in sorted(session.execute(of_topic), key=repr):
            marks[student].append(rest)
    return dict(marks)
