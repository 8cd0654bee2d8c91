"""Nbgrader's own code, in one transaction and with what it asks for again and again at hand.

It opens a connection a preprocessor and commits a cell, looks up each cell's grade and comment by a query of its own,
and checks a schema anew before it checks a cell by it. That changes no row, and takes most of the time of writing one.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jsonschema.exceptions import best_match
from jsonschema.validators import validator_for
from nbgrader.api import BaseCell, Comment, Grade
from nbgrader.nbgraderformat import common
from nbgrader.preprocessors import latesubmissions, saveautogrades
from sqlalchemy import select

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from nbgrader.api import Assignment, Gradebook, Student, SubmittedAssignment, SubmittedNotebook

_MOST_KEPT = 10_000


@contextmanager
def instead(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Put another value in the place of an attribute for a while."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


class Shortcuts:
    """What nbgrader's code finds in the place of its own while it writes to one gradebook."""

    def __init__(self, gradebook: Gradebook) -> None:
        self._gradebook = gradebook
        self._schemas = _Schemas()
        self._assignments: dict[str, Assignment] = {}

    @contextmanager
    def one_session(self) -> Iterator[None]:
        """Let nbgrader's code use the gradebook's session; what it commits waits for the commit of the caller."""
        with (
            instead(self._gradebook.db, "commit", lambda: None),
            instead(self._gradebook, "close", lambda: None),
            instead(saveautogrades, "Gradebook", lambda *_: self._gradebook),
            instead(latesubmissions, "Gradebook", lambda *_: self._gradebook),
            instead(common, "jsonschema", self._schemas),
        ):
            yield

    def submission_of(self, student: Student, topic: str, **columns: Any) -> SubmittedAssignment:
        """Return a student's submission, updated or made; neither the student nor the assignment is looked up again."""
        book = self._gradebook
        if topic not in self._assignments:
            self._assignments[topic] = book.find_assignment(topic)
        with (
            instead(book, "find_student", lambda _: student),
            instead(book, "find_assignment", lambda _: self._assignments[topic]),
        ):
            return book.update_or_create_submission(topic, student.id, **columns)

    @contextmanager
    def at_hand(self, notebook: SubmittedNotebook) -> Iterator[None]:
        """Let the gradebook find this notebook, its submission, grades and comments without a query for each."""
        book, session = self._gradebook, self._gradebook.db
        its = notebook.name, notebook.assignment.name, notebook.student.id

        def here(found: Any, elsewhere: Callable[..., Any], key: tuple[str, ...]) -> Callable[..., Any]:
            def find(*asked: str) -> Any:
                session.flush()  # as a query would: what the database computes is read from it next
                return found if asked == key else elsewhere(*asked)

            return find

        with (
            instead(book, "find_submission", here(notebook.assignment, book.find_submission, its[1:])),
            instead(book, "find_submission_notebook", here(notebook, book.find_submission_notebook, its)),
            instead(book, "find_grade", self._finder(Grade, "grades", notebook, book.find_grade)),
            instead(book, "find_comment", self._finder(Comment, "comments", notebook, book.find_comment)),
        ):
            yield

    def _finder(
        self, kind: Any, rows: str, notebook: SubmittedNotebook, elsewhere: Callable[..., Any]
    ) -> Callable[..., Any]:
        """Return what finds a cell's row. Rows that are new are not in the database yet: they go there filled in."""
        if notebook in self._gradebook.db.new:
            of = notebook.notebook
            names = {cell.id: cell.name for cell in (*of.grade_cells, *of.solution_cells, *of.task_cells)}
            found = {names[row.cell_id]: row for row in getattr(notebook, rows)}
        else:
            query = select(BaseCell.name, kind).join(BaseCell, BaseCell.id == kind.cell_id)
            found = dict(map(tuple, self._gradebook.db.execute(query.where(kind.notebook_id == notebook.id))))
        its = notebook.name, notebook.assignment.name, notebook.student.id

        def find(cell: str, *of: str) -> Any:
            return found[cell] if of == its and cell in found else elsewhere(cell, *of)

        return find


class _Schemas:
    """Stands in the place of the module `jsonschema`: does the same, and asks once about what is the same.

    A class has its metadata in common: the cells of one release.
    """

    def __init__(self) -> None:
        self._schema: Mapping[str, Any] = {}
        self._validator: Any = None
        self._valid: set[str] = set()

    def validate(self, instance: Any, schema: Mapping[str, Any]) -> None:
        """Raise `ValidationError` where the instance is not of the schema."""
        if self._validator is None or schema != self._schema:
            kind = validator_for(schema)
            kind.check_schema(schema)
            self._schema, self._validator, self._valid = schema, kind(schema), set()
        text = json.dumps(instance, sort_keys=True)
        if text in self._valid:
            return
        error = best_match(self._validator.iter_errors(instance))
        if error is not None:
            raise error
        if len(self._valid) < _MOST_KEPT:
            self._valid.add(text)
