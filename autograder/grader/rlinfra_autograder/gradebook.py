"""The one writer to nbgrader's database: a graded submission's rows, and ours beside them, in one transaction.

The rows are made by nbgrader's own code, by the preprocessors that the course's configuration lists after ours, so
that they are those of `nbgrader autograde`. They are only given one session to share, and one commit at the end.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import latesubmissions, saveautogrades
from traitlets.utils.importstring import import_item

from . import ledger
from .release import course_config, notebook_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

OURS = "rlinfra_autograder.plugin.GradeNotebook"


class GradebookError(RuntimeError):
    """The database cannot take what is graded, and what to do."""


class GradebookWriter:
    """Writes what submissions came to. Used as a context; one at a time has a database."""

    def __init__(self, root: Path, db_url: str | None = None) -> None:
        self._root = root
        config = course_config(root)
        self.db_url = db_url or f"sqlite:///{root / 'gradebook.db'}"
        self._gradebook = Gradebook(self.db_url, str(config.CourseDirectory.course_id))
        with self._gradebook.engine.begin() as connection:
            ledger.create_tables(connection)
        names = [name for name in config.Autograde.autograde_preprocessors if name != OURS]
        self._preprocessors = [import_item(name)(config=config) for name in names]

    def __enter__(self) -> GradebookWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._gradebook.close()

    def entries(self) -> dict[tuple[str, str], ledger.Entry]:
        """Return what submissions came to so far, by student and topic."""
        return ledger.entries(self._gradebook.db())

    def require(self, topic: str) -> None:
        """Raise `GradebookError` where the topic has not been released into this database."""
        try:
            self._gradebook.find_assignment(topic)
        except MissingEntry as error:
            raise GradebookError(
                f"the gradebook does not know the topic {topic}: rlinfra-grade release {topic}"
            ) from error

    def write(
        self, entry: ledger.Entry, notebook: Any = None, submitted: datetime | None = None, observations: bytes = b""
    ) -> None:
        """Write what a submission came to; with its graded notebook, also nbgrader's rows and `autograded/`.

        The notebook is in its place before the rows say that it is graded. Killed in between, the next batch finds no
        entry and grades again.
        """
        with self._one_transaction():
            if notebook is not None:
                self._write_graded(entry, notebook, submitted)
            ledger.enter(self._gradebook.db(), entry, observations)

    def _write_graded(self, entry: ledger.Entry, notebook: Any, submitted: datetime | None) -> None:
        student, topic = entry.student, entry.topic
        self._gradebook.update_or_create_student(student)
        timestamp = {} if submitted is None else {"timestamp": submitted}
        self._gradebook.update_or_create_submission(topic, student, **timestamp)
        resources: dict[str, Any] = {
            "nbgrader": {"student": student, "assignment": topic, "notebook": topic, "db_url": self.db_url}
        }
        for preprocessor in self._preprocessors:
            notebook, resources = preprocessor.preprocess(notebook, resources)
        write_whole(notebook_path(self._root / "autograded" / student, topic), nbformat.writes(notebook) + "\n")

    @contextmanager
    def _one_transaction(self) -> Iterator[None]:
        """Let nbgrader's code use this session, and commit once: all of a submission's rows, or none."""
        session = self._gradebook.db()
        try:
            with (
                _instead(self._gradebook.db, "commit", session.flush),
                _instead(self._gradebook, "close", lambda: None),
                _instead(saveautogrades, "Gradebook", lambda *_: self._gradebook),
                _instead(latesubmissions, "Gradebook", lambda *_: self._gradebook),
            ):
                yield
            session.commit()
        except BaseException:
            session.rollback()
            raise


@contextmanager
def _instead(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there as a whole or, killed in between, as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    Path(name).chmod(0o644)
    Path(name).replace(path)
