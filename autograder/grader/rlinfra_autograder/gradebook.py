"""The one writer to nbgrader's database: a graded submission's rows, and ours beside them, in one transaction.

The rows are made by nbgrader's own code, by the preprocessors that the course's configuration lists after ours, so
that they are those of `nbgrader autograde`. They are only given one session to share, and one commit at the end.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from nbgrader.api import Grade, Gradebook, MissingEntry, SubmittedAssignment, SubmittedNotebook
from nbgrader.preprocessors import saveautogrades
from nbgrader.utils import determine_grade
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from traitlets import TraitError
from traitlets.config.loader import ConfigFileNotFound
from traitlets.utils.importstring import import_item

from . import ledger
from .course import course_config, notebook_path, with_staff_programs
from .database import GradebookError, OnlyWriter, database_url, is_there, reason, shown
from .shortcuts import Shortcuts, instead

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sqlalchemy.orm import Session

    from .entries import Entry

OURS = "rlinfra_autograder.plugin.GradeNotebook"
_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


class GradebookWriter:
    """Writes what submissions came to. Used as a context; one at a time has a database.

    With `writes=False` it is only read from, also while another process grades.
    """

    def __init__(self, root: Path, db_url: str | None = None, *, writes: bool = True) -> None:
        self._root = root
        config = course_config(root)
        self.db_url = database_url(root, config, db_url)
        self.where = shown(self.db_url)
        with ExitStack() as opened:
            if writes:
                opened.callback(OnlyWriter(self.db_url).close)
            try:
                with_staff_programs()
                self._gradebook = Gradebook(self.db_url, str(config.CourseDirectory.course_id))
                opened.callback(self._gradebook.close)
                with self._gradebook.engine.begin() as connection:
                    ledger.create_tables(connection)
            except (SQLAlchemyError, ImportError) as error:
                raise GradebookError(f"the gradebook {self.where} cannot be opened: {reason(error)}") from error
            self._shortcuts = Shortcuts(self._gradebook)
            names = [name for name in config.Autograde.autograde_preprocessors if name != OURS]
            try:
                with instead(sys, "path", [str(root), *sys.path]):  # as nbgrader's commands do: a plugin may lie there
                    self._preprocessors = [import_item(name)(config=config) for name in names]
            except (ImportError, TraitError) as error:
                raise GradebookError(f"{root / 'nbgrader_config.py'}: {' '.join(str(error).split())}") from error
            self._opened = opened.pop_all()

    def __enter__(self) -> GradebookWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def entries(self) -> dict[tuple[str, str], Entry]:
        """Return what submissions came to so far, by student and topic."""
        return ledger.entries(self._gradebook.db())

    @property
    def nbgrader(self) -> Gradebook:
        """Nbgrader's own view of the database, to read from."""
        return self._gradebook

    def session(self) -> Session:
        """Return the database's session, to read from."""
        session: Session = self._gradebook.db()
        return session

    def require(self, topic: str) -> None:
        """Raise `GradebookError` where the topic has not been released into this database."""
        try:
            self._gradebook.find_assignment(topic)
        except MissingEntry as error:
            raise GradebookError(
                f"the gradebook does not know the topic {topic}: rlinfra-grade release {topic}{self._option}"
            ) from error

    @property
    def _option(self) -> str:
        """Return the option by which a command finds this database, where the course does not say so itself."""
        own = database_url(self._root, course_config(self._root))
        return "" if self.db_url == own else f" --db-url '{self.where}'"

    def write(
        self, entry: Entry, notebook: Any = None, submitted: datetime | None = None, observations: bytes = b""
    ) -> None:
        """Write what a submission came to; with its graded notebook, also nbgrader's rows and `autograded/`.

        The notebook is in its place before the rows say that it is graded. Killed in between, the next batch finds no
        entry and grades again. Raises `GradebookError` where the database takes no more.
        """
        with self._one_transaction():
            if notebook is not None:
                self._write_graded(entry, notebook, submitted)
            ledger.enter(self._gradebook.db(), entry, observations)

    def observations(self, student: str, topic: str) -> bytes:
        """Return the packed observations behind a grade; nothing where none are kept."""
        return ledger.observations(self._gradebook.db(), student, topic)

    def scores(self, topic: str, task: str) -> dict[str, tuple[float | None, float | None]]:
        """Return the automatic score of a task and the one given by hand, by student; None where there is none.

        Raises `GradebookError` where this database holds the task with other points, or not at all.
        """
        query = (
            select(SubmittedAssignment.student_id, Grade.auto_score, Grade.manual_score)
            .join(SubmittedNotebook, SubmittedNotebook.id == Grade.notebook_id)
            .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
            .where(Grade.cell_id == self._graded_cell(topic, task).id)
        )
        return {student: (auto, manual) for student, auto, manual in self._gradebook.db().execute(query)}

    def students(self) -> list[str]:
        """Return the ids of all students that the gradebook knows."""
        return [student.id for student in self._gradebook.students]

    def counted(self, student: str, topic: str) -> dict[str, Any] | None:
        """Return what the gradebook counts for a submission as JSON data; None where it has none."""
        try:
            notebook = self._gradebook.find_submission_notebook(topic, topic, student)
        except MissingEntry:
            return None
        penalty = notebook.late_submission_penalty or 0.0
        cells = [
            {
                "task": grade.name,
                "auto": grade.auto_score,
                "by_hand": grade.manual_score,
                "extra": grade.extra_credit,
                "score": grade.score,
                "of": grade.max_score,
                "needs_review": grade.needs_manual_grade,
            }
            for grade in notebook.grades
        ]
        return {
            "cells": cells,
            "sum": notebook.score,
            "late_penalty": penalty,
            "score": max(0.0, notebook.score - penalty),
            "of": notebook.max_score,
        }

    def require_points(self, topic: str, task: str, points: float) -> None:
        """Raise `GradebookError` where the gradebook counts another number of points for a task."""
        counted = self._graded_cell(topic, task).max_score
        if counted != points:
            raise GradebookError(
                f"{task} is worth {points:g} points, and {counted:g} in the gradebook: rlinfra-grade release {topic}"
            )

    def _graded_cell(self, topic: str, task: str) -> Any:
        self.require(topic)
        try:
            return self._gradebook.find_grade_cell(task, topic, topic)
        except MissingEntry as error:
            raise GradebookError(
                f"the gradebook does not know the task {task}: rlinfra-grade release {topic}"
            ) from error

    def graded_notebook(self, student: str, topic: str) -> Any:
        """Return the graded notebook below `autograded/`; raise `GradebookError` where there is none to read."""
        path = notebook_path(self._root / "autograded" / student, topic)
        try:
            return nbformat.read(path, as_version=4)
        except (OSError, ValueError, nbformat.ValidationError) as error:
            raise GradebookError(f"its graded notebook is missing or damaged ({path})") from error

    def write_task(
        self, student: str, topic: str, task: str, notebook: Any, *, entry: Entry | None, observations: bytes
    ) -> None:
        """Write a graded notebook in which one task was judged anew: of nbgrader's rows that one, ours, and the file.

        Where there is no entry of ours, because `nbgrader autograde` graded it, none is made.
        """
        cell = next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == task)
        score, _ = determine_grade(cell)
        with self._one_transaction():
            if self._gradebook.find_grade(task, topic, topic, student).auto_score != score:
                alone = nbformat.v4.new_notebook(cells=[copy.deepcopy(cell)])
                saveautogrades.SaveAutoGrades().preprocess(alone, self._resources(student, topic))
            if entry is not None:
                ledger.enter(self._gradebook.db(), entry, observations)
            self._write_notebook(student, topic, notebook)

    def _resources(self, student: str, topic: str) -> dict[str, Any]:
        return {"nbgrader": {"student": student, "assignment": topic, "notebook": topic, "db_url": self.db_url}}

    def _write_notebook(self, student: str, topic: str, notebook: Any) -> None:
        write_whole(notebook_path(self._root / "autograded" / student, topic), notebook_text(notebook))

    def _write_graded(self, entry: Entry, notebook: Any, submitted: datetime | None) -> None:
        student, topic = entry.student, entry.topic
        known = self._gradebook.update_or_create_student(student)
        timestamp = {} if submitted is None else {"timestamp": submitted}
        submission = self._shortcuts.submission_of(known, topic, **timestamp)
        resources = self._resources(student, topic)
        with self._shortcuts.at_hand(next(one for one in submission.notebooks if one.name == topic)):
            for preprocessor in self._preprocessors:
                notebook, resources = preprocessor.preprocess(notebook, resources)
        self._write_notebook(student, topic, notebook)

    def knows(self, student: str) -> bool:
        """Return whether there is any row of this student's."""
        try:
            self._gradebook.find_student(student)
        except MissingEntry:
            return any(entry.student == student for entry in self.entries().values())
        return True

    def forget(self, student: str) -> None:
        """Remove every row of a student: nbgrader's, with grades, marks and comments, and ours."""
        with self._one_transaction():
            with suppress(MissingEntry):
                self._gradebook.remove_student(student)
            ledger.forget(self._gradebook.db(), student)

    @contextmanager
    def _one_transaction(self) -> Iterator[None]:
        """Let nbgrader's code use this session, and commit once: all of a submission's rows, or none."""
        session = self._gradebook.db()
        try:
            with self._shortcuts.one_session():
                yield
            session.commit()
        except SQLAlchemyError as error:
            session.rollback()
            raise GradebookError(
                f"the gradebook {self.where} cannot be written: {reason(error)}. What is written stays, and the same "
                "command goes on"
            ) from error
        except BaseException:
            session.rollback()
            raise


def existing_gradebook(root: Path, db_url: str | None = None, *, writes: bool = False) -> GradebookWriter:
    """Open the gradebook that is there, by default to read from; raise `GradebookError` where there is none."""
    try:
        url = database_url(root, course_config(root), db_url)
    except ConfigFileNotFound as error:
        raise GradebookError(f"{root} is no course root: it has no nbgrader_config.py (--course DIR)") from error
    if not is_there(url):
        advice = "rlinfra-grade release makes one, rlinfra-grade batch fills it (--db-url, --course)"
        raise GradebookError(f"there is no gradebook at {shown(url)}: {advice}")
    return GradebookWriter(root, db_url, writes=writes)


def notebook_text(notebook: Any) -> str:
    """Return a notebook as the text of a file: the JSON that nbformat writes, a cell a line, in a tenth of its time."""
    cells = ",\n".join(map(_JSON.encode, notebook.cells))
    rest = _JSON.encode({name: part for name, part in notebook.items() if name != "cells"})
    return f'{{"cells": [\n{cells}\n],\n{rest[1:]}\n'


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there as a whole or, killed in between, as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    Path(name).chmod(0o644)
    Path(name).replace(path)
