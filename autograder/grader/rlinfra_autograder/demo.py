"""The demo: a synthetic class from release to feedback, through nbgrader, into its SQLite gradebook.

It works in the course root itself, so that nbgrader's own commands and the formgrader show what it made. It refuses
where the gradebook holds anybody who is not of the synthetic class.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import nbformat
from nbgrader.api import Gradebook
from rich.markup import escape
from rich.table import Table

from rlinfra.topics import TOPICS

from .batchrun import BatchError, run_batch
from .classroom import Student, synthetic_class
from .course import notebook_path
from .entries import GRADED
from .feedback import points_text
from .grade import METADATA_KEY
from .pages.run import FeedbackError, run_feedback
from .release import ReleaseError, write_release
from .runners import STUDENT_PYTHON, Nursery
from .sandbox.zygote import RunnerError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console


class DemoError(RuntimeError):
    """The demo cannot run here, and what to do."""


@dataclass(frozen=True)
class Result:
    """What the gradebook and the graded notebook say of one submission."""

    score: float
    max_score: float
    to_mark: bool
    remarks: tuple[str, ...]


def run_demo(root: Path, console: Console, *, confine: bool = True) -> None:
    """Release every topic, hand in and grade the class, write feedback, and show the table."""
    _refuse_real_class(root)
    confine = confine and _can_confine(root, console)
    topics = [topic.name for topic in TOPICS]
    students = synthetic_class()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbgrader 0.9.6 under SQLAlchemy 2.1 and nbformat warns at every step
        _release(root, topics)
        _enrol(root, students)
        for topic in topics:
            for student in students:
                _hand_in(root, student, topic)
        _grade(root, topics, console, confine=confine)
        results = {
            (student.id, topic): read_result(root, student.id, topic) for student in students for topic in topics
        }
    _show(students, topics, results, console)
    console.print("Look next at:", highlight=False)
    for line in (
        "feedback/grace/memory/memory.html                what a student gets back",
        "make formgrader                                  the gradebook in the browser",
        "make lab                                         the students' notebooks in JupyterLab",
        ".venv/bin/nbgrader export                        every grade as CSV",
    ):
        console.print(f"  {line}", highlight=False, markup=False)


def _refuse_real_class(root: Path) -> None:
    """Raise `DemoError` where the gradebook holds a student who is not of the synthetic class."""
    if not (root / "gradebook.db").is_file():
        return
    ours = {student.id for student in synthetic_class()}
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        others = sorted(student.id for student in gradebook.students if student.id not in ours)
    if others:
        raise DemoError(
            f"{root / 'gradebook.db'} holds a class of its own ({', '.join(others[:3])}, …), and the demo would mix "
            "with it: run it in a clone of its own."
        )


def _can_confine(root: Path, console: Console) -> bool:
    """Return whether student code can be confined; where not, the class is synthetic, and the demo says so."""
    python = root / STUDENT_PYTHON
    try:
        with Nursery(root, python, True) as nursery:
            nursery.verified_environment()
    except RunnerError as error:
        if "cannot be confined" not in str(error):
            raise DemoError(str(error)) from error
        console.print(f"{error}.\nThe demo's class is synthetic, so it goes on without, and marks every grade.")
        return False
    return True


def _release(root: Path, topics: list[str]) -> None:
    """Release every topic; where the notebooks have other cells than before, the class begins anew."""
    try:
        write_release(root, topics)
    except ReleaseError as error:
        if "submissions associated" not in str(error):
            raise DemoError(str(error)) from error
        (root / "gradebook.db").unlink()
        write_release(root, topics)


def _enrol(root: Path, students: tuple[Student, ...]) -> None:
    """Enter the class in the gradebook, with names for the formgrader to show."""
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        for student in students:
            gradebook.update_or_create_student(student.id, first_name=student.id.title(), last_name="Demo")


def _hand_in(root: Path, student: Student, topic: str) -> None:
    """Write a student's submission."""
    released = nbformat.read(notebook_path(root / "release", topic), as_version=4)
    path = notebook_path(root / "submitted" / student.id, topic)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(student.submission(released, topic)), encoding="utf-8")


def _grade(root: Path, topics: list[str], console: Console, *, confine: bool) -> None:
    """Grade what was handed in and write the pages that students get back; what is unchanged stays as it is."""
    workers = min(os.cpu_count() or 1, 8)
    try:
        batch = run_batch(root, topics, console, workers=workers, confined=confine)
        pages = None if batch.interrupted else run_feedback(root, topics, console, workers=workers)
    except (BatchError, FeedbackError) as error:
        raise DemoError(str(error)) from error
    if pages is None or pages.interrupted:
        raise DemoError("Interrupted: the same command goes on.")
    if ungraded := [entry for entry in batch.entries if entry.status != GRADED]:
        raise DemoError(f"{len(ungraded)} submissions of the class could not be graded, and all of them should be.")


def read_result(root: Path, student: str, topic: str) -> Result:
    """Return what the gradebook and the graded notebook say of a submission."""
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        submission = gradebook.find_submission(topic, student)
        score, max_score, to_mark = submission.score, submission.max_score, submission.needs_manual_grade
    notebook = nbformat.read(notebook_path(root / "autograded" / student, topic), as_version=4)
    return Result(score, max_score, to_mark, tuple(_remarks(notebook.metadata[METADATA_KEY])))


def _remarks(graded: Any) -> list[str]:
    """Return what an assistant would want to know of a graded notebook, in a few words each."""
    remarks = [f"{verdict['task']}: {verdict['hint']}" for verdict in graded["verdicts"] if verdict["hint"]]
    notes = {
        f"{verdict['task']}: {criterion['note']}"
        for verdict in graded["verdicts"]
        for criterion in verdict["criteria"]
        if any(word in criterion["note"] for word in ("time limit", "Python process", "raises"))
    }
    unwritten = [verdict["task"] for verdict in graded["verdicts"] if verdict["remark"]]
    if unwritten:
        remarks.append(f"nothing to judge in {len(unwritten)} of {len(graded['verdicts'])} tasks")
    return [*remarks, *sorted(notes), *graded["faults"]]


def _show(
    students: tuple[Student, ...], topics: list[str], results: dict[tuple[str, str], Result], console: Console
) -> None:
    """Print the table: a row a student, a column a topic, what was handed in and what the grading found."""
    table = Table(title="The class", title_justify="left")
    table.add_column("student", width=7)
    for topic in topics:
        most = points_text(results[students[0].id, topic].max_score)
        table.add_column(f"{topic}\nof {most}", justify="right", width=max(len(topic), 5))
    taken = sum(int(column.width or 0) + 3 for column in table.columns) + 4
    room = max(console.width - taken, 20)
    table.add_column("handed in\n[dim]what the grading found first[/dim]", width=room)
    for student in students:
        mine = [results[student.id, topic] for topic in topics]
        remarks = [remark for result in mine for remark in result.remarks]
        more = f" (+{len(remarks) - 1})" if len(remarks) > 1 else ""
        lines = [
            _cut(student.story, room),
            *(f"[dim]{escape(_cut(remarks[0], room, more))}[/dim]" for _ in remarks[:1]),
        ]
        points = [points_text(result.score) + ("*" if result.to_mark else "") for result in mine]
        table.add_row(student.id, *points, "\n".join(lines))
    console.print(table)
    if any(result.to_mark for result in results.values()):
        console.print(
            "* and a question in the student's own words, to be marked by hand", highlight=False, markup=False
        )


def _cut(text: str, room: int, more: str = "") -> str:
    """Return as much of a text as has room on a line, with `more` behind it."""
    left = room - len(more)
    return (text if len(text) <= left else f"{text[: left - 1]}…") + more
