"""What nbgrader has no place for: two tables of ours in its database, each with one row a submission.

A row of the first says what a submission came to (graded, or ungraded and why), what was repaired, what made the grade,
and the fingerprint of all that it depends on. It is written in one transaction with nbgrader's own rows, so it is also
the journal of a batch: what has a row with today's fingerprint is done. The second keeps the observations that the
grade was made from (`observations`), apart, since they are large and seldom read.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING

from sqlalchemy import (
    Column,
    Float,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    delete,
    insert,
    inspect,
    select,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from .database import is_there
from .entries import Entry

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

_METADATA = MetaData()
_TABLE = Table(
    "rlinfra_submission",
    _METADATA,
    Column("student", String(128), primary_key=True),
    Column("topic", String(128), primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("reason", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("details", Text, nullable=False),
)
_OBSERVATIONS = Table(
    "rlinfra_observations",
    _METADATA,
    Column("student", String(128), primary_key=True),
    Column("topic", String(128), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)


def create_tables(connection: Connection) -> None:
    """Create the tables where they are missing."""
    _METADATA.create_all(connection)


def entries(session: Session) -> dict[tuple[str, str], Entry]:
    """Return all entries, by student and topic."""
    rows = session.execute(select(_TABLE)).mappings()
    found = [Entry(**{**row, "details": json.loads(row["details"])}) for row in rows]
    return {(entry.student, entry.topic): entry for entry in found}


def entries_at(url: str) -> dict[tuple[str, str], Entry]:
    """Return all entries of a database; none where there are none yet, or where it cannot be read.

    It is for a look without nbgrader, whose import takes long: who then opens the gradebook is told what is wrong.
    """
    if not is_there(url):
        return {}
    try:
        with Session(create_engine(url, poolclass=NullPool)) as session:
            return entries(session) if inspect(session.connection()).has_table(_TABLE.name) else {}
    except (SQLAlchemyError, ImportError):
        return {}


def entry_of(session: Session, student: str, topic: str) -> Entry | None:
    """Return the entry of one submission, or None where there is none, or no table of ours."""
    if not inspect(session.connection()).has_table(_TABLE.name):
        return None
    row = session.execute(select(_TABLE).where(_of(_TABLE, student, topic))).mappings().one_or_none()
    return None if row is None else Entry(**{**row, "details": json.loads(row["details"])})


def observations(session: Session, student: str, topic: str) -> bytes:
    """Return the packed observations of a submission; nothing where none are kept."""
    query = select(_OBSERVATIONS.c.content).where(_of(_OBSERVATIONS, student, topic))
    return session.execute(query).scalar() or b""


def forget(session: Session, student: str) -> int:
    """Remove all entries of a student and return how many there were; the caller commits."""
    session.execute(delete(_OBSERVATIONS).where(_OBSERVATIONS.c.student == student))
    found = session.execute(delete(_TABLE).where(_TABLE.c.student == student))
    return int(found.rowcount)  # type: ignore[attr-defined]


def enter(session: Session, entry: Entry, packed: bytes = b"") -> None:
    """Put an entry and its observations in the place of those that its submission had; the caller commits."""
    for table in (_TABLE, _OBSERVATIONS):
        session.execute(delete(table).where(_of(table, entry.student, entry.topic)))
    row = {f.name: getattr(entry, f.name) for f in fields(entry)}
    session.execute(insert(_TABLE).values({**row, "details": json.dumps(entry.details)}))
    if packed:
        row = {"student": entry.student, "topic": entry.topic, "content": packed}
        session.execute(insert(_OBSERVATIONS).values(row))


def _of(table: Table, student: str, topic: str) -> ColumnElement[bool]:
    return (table.c.student == student) & (table.c.topic == topic)
