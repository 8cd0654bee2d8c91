"""The demo: a synthetic class from release to feedback, through nbgrader, into its SQLite gradebook.

It works in the course root itself, so that nbgrader's own commands and the formgrader show what it made. It refuses
where the gradebook holds anybody who is not of the synthetic class.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import rlinfra
import rlinfra_autograder
import rlinfra_reference
from rlinfra.topics import TOPICS

from .classroom import Student, synthetic_class
from .feedback import points_text
from .grade import METADATA_KEY
from .hidden import DEMO_SEED, DEMO_SEED_ADVICE, course_seed
from .plugin import STUDENT_PYTHON, UNSAFE, verified_runner
from .release import ReleaseError, course_config, nbgrader_api, notebook_path, write_release
from .sandbox.zygote import RunnerError

WORKERS = min(os.cpu_count() or 1, 8)
JOURNAL = Path("build") / "demo.json"


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
    if not confine:
        os.environ[UNSAFE] = "1"
    topics = [topic.name for topic in TOPICS]
    students = synthetic_class()
    journal = _Journal(root / JOURNAL, confine)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbgrader 0.9.6 under SQLAlchemy 2.1 and nbformat warns at every step
        _release(root, topics)
        _enrol(root, students)
        work = [
            (student, topic)
            for topic in topics
            for student in students
            if _hand_in(root, student, topic) or not journal.holds(root, student.id, topic)
        ]
        _grade(root, work, journal, console)
        results = {
            (student.id, topic): read_result(root, student.id, topic) for student in students for topic in topics
        }
    _show(students, topics, results, console)
    if course_seed(root) == DEMO_SEED:
        console.print(DEMO_SEED_ADVICE)
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
        runner, _ = verified_runner(root, python, True)
        runner.close()  # each worker has its own
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
        (root / JOURNAL).unlink(missing_ok=True)
        write_release(root, topics)


def _enrol(root: Path, students: tuple[Student, ...]) -> None:
    """Enter the class in the gradebook, with names for the formgrader to show."""
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        for student in students:
            gradebook.update_or_create_student(student.id, first_name=student.id.title(), last_name="Demo")


def _hand_in(root: Path, student: Student, topic: str) -> bool:
    """Write a student's submission; return whether it is another than before."""
    released = nbformat.read(notebook_path(root / "release", topic), as_version=4)
    text = nbformat.writes(student.submission(released, topic))
    path = notebook_path(root / "submitted" / student.id, topic)
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True


class _Journal:
    """Remembers what each submission was graded with, so that a second run grades only what changed."""

    def __init__(self, path: Path, confined: bool) -> None:
        self._path = path
        self._key = _code_hash() + f" confined={confined}"
        self._entries: dict[str, str] = json.loads(path.read_text()) if path.is_file() else {}

    def holds(self, root: Path, student: str, topic: str) -> bool:
        """Return whether a submission is graded and has its feedback, with this code and these settings."""
        made = (
            notebook_path(root / "autograded" / student, topic),
            root / "feedback" / student / topic / f"{topic}.html",
        )
        key = self._key + course_seed(root)
        return self._entries.get(f"{student}/{topic}") == _sha256(key) and all(path.is_file() for path in made)

    def note(self, root: Path, student: str, topic: str) -> None:
        """Note that a submission is graded and has its feedback."""
        self._entries[f"{student}/{topic}"] = _sha256(self._key + course_seed(root))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._entries, indent=1))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _code_hash() -> str:
    """Return the hash of all code and data that a grade depends on."""
    digest = hashlib.sha256()
    for package in (rlinfra, rlinfra_reference, rlinfra_autograder):
        folder = Path(package.__file__ or "").parent
        for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.json")]):
            if path.name not in ("demo.py", "cli.py"):  # they show grades and make none
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _grade(root: Path, work: list[tuple[Student, str]], journal: _Journal, console: Console) -> None:
    """Autograde and write feedback for each submission, through nbgrader, in a process a core."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    fresh = multiprocessing.get_context("spawn")  # a fork would inherit the progress display's locks
    with (
        ProcessPoolExecutor(WORKERS, mp_context=fresh) as pool,
        Progress(*columns, console=console, transient=True) as progress,
    ):
        bar = progress.add_task("grading", total=len(work))
        jobs = {pool.submit(_grade_one, root, topic, student.id): (student.id, topic) for student, topic in work}
        for job in as_completed(jobs):
            student_id, topic = jobs[job]
            if why := job.result():
                raise DemoError(f"nbgrader cannot grade {student_id}, {topic}:\n{why}")
            journal.note(root, student_id, topic)
            progress.update(bar, description=f"graded {student_id}, {topic}", advance=1)
    before = len(synthetic_class()) * len(TOPICS) - len(work)
    console.print(f"{len(work)} submissions graded, {before} unchanged since they were.")


def _grade_one(root: Path, topic: str, student_id: str) -> str:
    """Autograde one submission and write its feedback; return why it could not be, or ""."""
    warnings.simplefilter("ignore")
    api = nbgrader_api(_config(root))
    for step in (api.autograde, api.generate_feedback):
        result = step(topic, student_id, force=True)
        if not result["success"]:
            return str(result.get("error") or result["log"])
    return ""


def _config(root: Path) -> Any:
    """Return nbgrader's configuration with patience for a database that another process is writing to."""
    return course_config(root, db_url=f"sqlite:///{root / 'gradebook.db'}?timeout=60")


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
