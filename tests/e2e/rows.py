"""The rows of a gradebook without their keys, so that two can be compared, whatever database they lie in."""

from __future__ import annotations

from typing import Any

from nbgrader.api import BaseCell, Comment, Grade, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import create_engine, func, select, update
from sqlalchemy.exc import DatabaseError

from rlinfra_autograder.ledger import _TABLE as LEDGER

GRADE, COMMENT, CELL = Grade.__table__, Comment.__table__, BaseCell.__table__
NOTEBOOK, SUBMISSION = SubmittedNotebook.__table__, SubmittedAssignment.__table__


def _of_a_cell(table: Any, *columns: str) -> Any:
    joined = (
        table.join(NOTEBOOK, NOTEBOOK.c.id == table.c.notebook_id)
        .join(SUBMISSION, SUBMISSION.c.id == NOTEBOOK.c.assignment_id)
        .join(CELL, CELL.c.id == table.c.cell_id)
    )
    return select(SUBMISSION.c.student_id, CELL.c.name, *(table.c[name] for name in columns)).select_from(joined)


QUERIES = {
    "grade": _of_a_cell(GRADE, "auto_score", "manual_score", "extra_credit", "needs_manual_grade"),
    "comment": _of_a_cell(COMMENT, "auto_comment", "manual_comment"),
    "notebook": select(SUBMISSION.c.student_id, NOTEBOOK.c.late_submission_penalty, SUBMISSION.c.timestamp).select_from(
        NOTEBOOK.join(SUBMISSION, SUBMISSION.c.id == NOTEBOOK.c.assignment_id)
    ),
}


def rows(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return nbgrader's rows."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = {name: sorted(map(tuple, connection.execute(query)), key=repr) for name, query in QUERIES.items()}
    engine.dispose()
    return found


def what_came_of_them(url: str) -> set[tuple[str, str, str]]:
    """Return each submission's student, status and reason in our table."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = {tuple(row) for row in connection.execute(select(LEDGER.c.student, LEDGER.c.status, LEDGER.c.reason))}
    engine.dispose()
    return found


def mark_by_hand(url: str) -> None:
    """Give every cell points and a comment by hand, as an assistant does in the formgrader."""
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(update(GRADE).values(manual_score=1.5, extra_credit=0.5))
        connection.execute(update(COMMENT).values(manual_comment="well done"))
    engine.dispose()


def entered(url: str) -> int:
    """Return how many submissions our table knows; 0 where it is not there yet."""
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            return int(connection.scalar(select(func.count()).select_from(LEDGER)) or 0)
    except DatabaseError:
        return 0
    finally:
        engine.dispose()
