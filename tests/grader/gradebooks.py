"""A gradebook by hand: nbgrader's rows through nbgrader's own programming interface, and ours beside them."""

from __future__ import annotations

import shutil
import warnings
from contextlib import contextmanager

from nbgrader.api import Base, Gradebook
from sqlalchemy import create_engine
from sqlalchemy.exc import SAWarning

from rlinfra_autograder import ledger
from rlinfra_autograder.entries import Entry

from .course import REPOSITORY

CELLS = {"kv-cache": {"kv_one": 12.0, "kv_two": 8.0}, "ess": {"ess_one": 20.0, "ess-words": 4.0}}
BY_HAND = "ess-words"


def empty_gradebook(root):
    """Make a course root whose gradebook knows two topics of 20 and 24 points, the latter with a question in words."""
    root.mkdir(parents=True)
    shutil.copy(REPOSITORY / "nbgrader_config.py", root)
    Base.metadata.create_all(create_engine(url(root)))
    with opened(root) as gradebook:
        for topic, cells in CELLS.items():
            gradebook.add_assignment(topic, duedate="2026-11-20 12:00:00 UTC")
            gradebook.add_notebook(topic, topic)
            for name, points in cells.items():
                kind = "markdown" if name == BY_HAND else "code"
                gradebook.add_grade_cell(name, topic, topic, max_score=points, cell_type=kind)
    return root


def url(root):
    return f"sqlite:///{root / 'gradebook.db'}"


@contextmanager
def opened(root):
    """Yield the gradebook, with our table in it; what was done is committed at the end."""
    with Gradebook(url(root), "rlinfra") as gradebook:
        with gradebook.engine.begin() as connection:
            ledger.create_tables(connection)
        yield gradebook
        gradebook.db.commit()


def enrol(root, student, **about):
    with opened(root) as gradebook:
        gradebook.update_or_create_student(student, **about)


def put_scores(root, student, topic, scores, *, penalty=None, timestamp=None, waits=False):
    """Enter what the autograder gave a submission: a score a cell; the answer in words may still wait."""
    with opened(root) as gradebook, warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)  # nbgrader's own, as in nbgrader_config.py
        gradebook.update_or_create_student(student)
        submission = gradebook.update_or_create_submission(topic, student, timestamp=timestamp)
        for grade in submission.notebooks[0].grades:
            grade.auto_score = scores.get(grade.name)
            grade.needs_manual_grade = waits and grade.name == BY_HAND
        submission.notebooks[0].late_submission_penalty = penalty


def put_entry(root, student, topic, status, reason="", **details):
    with opened(root) as gradebook:
        ledger.enter(gradebook.db(), Entry(student, topic, "as now", status, reason, details=details))
