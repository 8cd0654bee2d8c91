"""What nbgrader has no place for: a table of ours in its database, with one row a submission.

A row says what a submission came to (graded, or ungraded and why), what was repaired, what made the grade, and the
fingerprint of all that it depends on. It is written in one transaction with nbgrader's own rows, so it is also the
journal of a batch: what has a row with today's fingerprint is done.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, Float, MetaData, String, Table, Text, delete, insert, select

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.orm import Session

GRADED, UNGRADED, FAILED = "graded", "ungraded", "failed"

_TABLE = Table(
    "rlinfra_submission",
    MetaData(),
    Column("student", String(128), primary_key=True),
    Column("topic", String(128), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("status", String(16), nullable=False),
    Column("reason", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("details", Text, nullable=False),
)


@dataclass(frozen=True)
class Entry:
    """What one submission came to. `status` is `graded`, `ungraded` (it cannot be told) or `failed` (the grader's own).

    `details` is JSON data: the repairs, and for a graded one its provenance, verdicts and faults.
    """

    student: str
    topic: str
    fingerprint: str
    status: str
    reason: str = ""
    seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


def create_table(connection: Connection) -> None:
    """Create the table where it is missing."""
    _TABLE.metadata.create_all(connection)


def entries(session: Session) -> dict[tuple[str, str], Entry]:
    """Return all entries, by student and topic."""
    rows = session.execute(select(_TABLE)).mappings()
    found = [Entry(**{**row, "details": json.loads(row["details"])}) for row in rows]
    return {(entry.student, entry.topic): entry for entry in found}


def forget(session: Session, student: str) -> int:
    """Remove all entries of a student and return how many there were; the caller commits."""
    found = session.execute(delete(_TABLE).where(_TABLE.c.student == student))
    return int(found.rowcount)  # type: ignore[attr-defined]


def enter(session: Session, entry: Entry) -> None:
    """Put an entry in the place of the one that its submission had; the caller commits."""
    ours = (_TABLE.c.student == entry.student) & (_TABLE.c.topic == entry.topic)
    session.execute(delete(_TABLE).where(ours))
    row = {f.name: getattr(entry, f.name) for f in fields(entry)}
    session.execute(insert(_TABLE).values({**row, "details": json.dumps(asdict(entry)["details"])}))
