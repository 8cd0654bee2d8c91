"""Delete all that the course keeps of one student: rows of the gradebook and folders, and nobody else's.

`nbgrader db student remove` knows neither our table nor the folders.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError
from traitlets.config.loader import ConfigFileNotFound

from .course import course_config
from .database import GradebookError, database_url, is_there, reason
from .gradebook import existing_gradebook
from .sandbox import wipe

FOLDERS = ("submitted", "autograded", "feedback")


class ForgetError(RuntimeError):
    """Nothing was deleted, and why."""


class Forgetting:
    """What there is of one student, and its deletion. Raises `ForgetError` where the id is no name or nothing is there.

    `places` are the folders; `rows` tells whether the gradebook has any row.
    """

    def __init__(self, root: Path, student: str, db_url: str | None = None) -> None:
        if student in ("", ".", "..") or Path(student).name != student or "\\" in student or "\0" in student:
            raise ForgetError("a student's id is the name of one folder below submitted/")
        self._root, self._student, self._db_url = root, student, db_url
        self.places = [path for path in self._candidates() if path.exists() or path.is_symlink()]
        self.rows = self._has_gradebook() and self._in_gradebook(delete=False)
        if not self.places and not self.rows:
            raise ForgetError("there is nothing of a student of that id: no folder and no row in the gradebook")

    def _has_gradebook(self) -> bool:
        try:
            return is_there(database_url(self._root, course_config(self._root), self._db_url))
        except GradebookError as error:
            raise ForgetError(f"nothing was deleted: {error}") from error

    def _candidates(self) -> list[Path]:
        try:
            config = course_config(self._root)
        except ConfigFileNotFound as error:
            raise ForgetError(f"{self._root} is no course root: it has no nbgrader_config.py (--course DIR)") from error
        inbound = Path(str(config.Exchange.root)) / str(config.CourseDirectory.course_id) / "inbound"
        exchanged = inbound.iterdir() if inbound.is_dir() else ()  # student+topic+time, as nbgrader's submit writes
        mine = sorted(path for path in exchanged if path.name.split("+")[0] == self._student)
        return [*(self._root / name / self._student for name in FOLDERS), *mine]

    def _in_gradebook(self, *, delete: bool) -> bool:
        try:
            with existing_gradebook(self._root, self._db_url, writes=delete) as gradebook:
                if delete:
                    gradebook.forget(self._student)
                return gradebook.knows(self._student)
        except GradebookError as error:
            raise ForgetError(f"nothing was deleted: {error}") from error
        except SQLAlchemyError as error:
            raise ForgetError(f"nothing was deleted: the gradebook cannot be changed: {reason(error)}") from error

    def delete(self) -> None:
        """Delete rows and folders. Interrupted, it can be done again: what is left is found."""
        if self.rows:
            self._in_gradebook(delete=True)
        for path in self.places:
            if path.is_symlink() or not path.is_dir():
                path.unlink()
            else:
                wipe.remove(path)
