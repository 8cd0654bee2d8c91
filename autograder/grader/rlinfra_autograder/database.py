"""Which database the gradebook is, how its address is shown, and that one process at a time grades into it."""

from __future__ import annotations

import fcntl
import hashlib
import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

if TYPE_CHECKING:
    from collections.abc import Callable

_LOCK = int.from_bytes(hashlib.sha256(b"rlinfra gradebook").digest()[:8], "big", signed=True)  # one in every database


class GradebookError(RuntimeError):
    """The database cannot take what is graded, and what to do."""


def database_url(root: Path, config: Any, chosen: str | None = None) -> str:
    """Return the gradebook's address: the chosen one, or `CourseDirectory.db_url` of nbgrader_config.py, or SQLite."""
    configured = config.CourseDirectory.get("db_url")
    return str(chosen or configured or f"sqlite:///{root / 'gradebook.db'}")


def is_there(url: str) -> bool:
    """Return False for a SQLite database without its file, which opening it would make. Raises as `shown` does."""
    shown(url)
    parsed = make_url(url)
    return parsed.get_backend_name() != "sqlite" or Path(parsed.database or "").is_file()


def shown(url: str) -> str:
    """Return an address without its password. Raises `GradebookError` where it is none."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise GradebookError(
            "the database's address (--db-url) cannot be read: it looks like sqlite:////folder/gradebook.db or "
            "postgresql+psycopg://user:password@host/database"
        ) from error
    hidden = {name: "***" for name in parsed.query if "password" in name}
    return unquote(parsed.update_query_dict(hidden).render_as_string(hide_password=True))


def reason(error: BaseException) -> str:
    """Return what a database says is wrong: the first line, without the statement and its values."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


class OnlyWriter:
    """The right to grade into a database, which one process at a time has; it ends with the process at the latest.

    In SQLite it is a lock on a file beside the database, in PostgreSQL an advisory lock of a connection. Raises
    `GradebookError` where another process has it, or the database cannot be reached.
    """

    def __init__(self, url: str) -> None:
        self._held = ExitStack()
        self._shown, parsed = shown(url), make_url(url)
        if parsed.get_backend_name() == "sqlite":
            if parsed.database and parsed.database != ":memory:":
                self._lock_beside(Path(parsed.database))
        else:
            self._lock_inside(url)

    def close(self) -> None:
        """Give it up."""
        self._held.close()

    def _lock_beside(self, database: Path) -> None:
        try:
            descriptor = os.open(f"{database}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise GradebookError(f"the gradebook {self._shown} cannot be written: {error.strerror}") from error
        self._held.callback(os.close, descriptor)
        self._or_refuse(lambda: _locked(descriptor))

    def _lock_inside(self, url: str) -> None:
        try:
            engine = create_engine(url, poolclass=NullPool)
            connection = self._held.enter_context(engine.connect().execution_options(isolation_level="AUTOCOMMIT"))
        except ImportError as error:
            raise GradebookError(
                f"the driver of {self._shown} is not installed: pip install 'rlinfra-autograder[postgres]'"
            ) from error
        except SQLAlchemyError as error:
            raise GradebookError(f"the gradebook {self._shown} cannot be reached: {reason(error)}") from error
        if engine.dialect.name == "postgresql":
            query = text("select pg_try_advisory_lock(:key)")
            self._or_refuse(lambda: bool(connection.scalar(query, {"key": _LOCK})))

    def _or_refuse(self, take: Callable[[], bool]) -> None:
        if not take():
            self._held.close()
            raise GradebookError(f"another batch is grading into {self._shown}: wait until it has ended, or end it")


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
