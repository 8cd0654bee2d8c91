"""`rlinfra-grade batch` in a course root: nbgrader's own rows, nothing silent, and nothing lost by a kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time

import nbformat
import psutil
import pytest

from rlinfra_autograder.classroom import mistaken_student, synthetic_class
from rlinfra_autograder.tasks import load_tasks
from tests.e2e.course import BIN, copy_course, run

TOPIC = "kv-cache"
STUDENTS = {student.id: student for student in synthetic_class()} | {
    "kira": mistaken_student("kira", TOPIC, "paged_kv_bytes", "total_rounded"),
}
HANDING_IN = ("ada", "kira", "wim", "vera", "udo", "sven")
ROWS = {
    "grade": """
        select student.id, base_cell.name, grade.auto_score, grade.manual_score, grade.extra_credit,
               grade.needs_manual_grade
        from grade join submitted_notebook on submitted_notebook.id = grade.notebook_id
        join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id
        join student on student.id = submitted_assignment.student_id join base_cell on base_cell.id = grade.cell_id""",
    "comment": """
        select student.id, base_cell.name, comment.auto_comment, comment.manual_comment
        from comment join submitted_notebook on submitted_notebook.id = comment.notebook_id
        join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id
        join student on student.id = submitted_assignment.student_id
        join base_cell on base_cell.id = comment.cell_id""",
    "notebook": """
        select submitted_assignment.student_id, submitted_notebook.late_submission_penalty,
               submitted_assignment.timestamp
        from submitted_notebook join submitted_assignment
        on submitted_assignment.id = submitted_notebook.assignment_id""",
}


def rows(course):
    """Return nbgrader's rows without their keys."""
    with sqlite3.connect(course / "gradebook.db") as database:
        return {name: sorted(database.execute(query).fetchall(), key=repr) for name, query in ROWS.items()}


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    """A course root in which the class has handed in, and nothing is graded."""
    course = copy_course(tmp_path_factory.mktemp("handed-in"))
    run(course, "rlinfra-grade", "release", TOPIC)
    released = nbformat.read(course / "release" / TOPIC / f"{TOPIC}.ipynb", as_version=4)
    for student in HANDING_IN:
        folder = course / "submitted" / student / TOPIC
        folder.mkdir(parents=True)
        nbformat.write(STUDENTS[student].submission(released, TOPIC), folder / f"{TOPIC}.ipynb")
        (folder / "timestamp.txt").write_text("2026-11-20 12:00:00 UTC")
    return course


@pytest.fixture
def course(handed_in, tmp_path):
    """A copy of it."""
    return shutil.copytree(handed_in, tmp_path / "course", symlinks=True)


def test_the_rows_are_those_of_nbgraders_own_command(course, tmp_path):
    theirs = shutil.copytree(course, tmp_path / "theirs", symlinks=True)
    run(theirs, "nbgrader", "autograde", TOPIC)
    run(course, "rlinfra-grade", "batch", TOPIC, "--workers", "2")
    assert len(rows(theirs)["grade"]) == len(HANDING_IN) * len(load_tasks(TOPIC))
    assert rows(course) == rows(theirs)
    run(course, "nbgrader", "generate_feedback", TOPIC)
    assert "Result: 17 of 20 points" in (course / "feedback" / "kira" / TOPIC / f"{TOPIC}.html").read_text()


def test_a_submission_that_cannot_be_told_is_said_in_every_run_and_the_others_are_graded(course):
    (course / "submitted" / "ada" / TOPIC / f"{TOPIC}.ipynb").write_text("<html>")
    for said in (
        run(course, "rlinfra-grade", "batch", TOPIC, fails=True),
        run(course, "rlinfra-grade", "batch", TOPIC, fails=True),
    ):
        assert f"ada {TOPIC}: ungraded: " in said
    assert "0 graded now, 6 unchanged" in said
    assert {name for name, *_ in rows(course)["grade"]} == set(HANDING_IN) - {"ada"}


def test_what_is_marked_by_hand_survives_and_only_what_changed_is_graded(course):
    run(course, "rlinfra-grade", "batch", TOPIC)
    with sqlite3.connect(course / "gradebook.db") as database:
        database.execute("update grade set manual_score = 1.5, extra_credit = 0.5")
        database.execute("update comment set manual_comment = 'well done'")
    path = course / "submitted" / "kira" / TOPIC / f"{TOPIC}.ipynb"
    path.write_text(path.read_text() + "\n")
    assert "1 graded now, 5 unchanged" in run(course, "rlinfra-grade", "batch", TOPIC)
    after = rows(course)
    assert {(manual, extra) for _, _, _, manual, extra, _ in after["grade"]} == {(1.5, 0.5)}
    assert {manual for *_, manual in after["comment"]} == {"well done"}


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 2, 4], ids=lambda count: f"after {count}")
def test_killed_at_any_moment_it_is_gone_on_with_and_ends_with_the_rows_of_an_undisturbed_run(course, tmp_path, after):
    undisturbed = shutil.copytree(course, tmp_path / "undisturbed", symlinks=True)
    run(undisturbed, "rlinfra-grade", "batch", TOPIC)
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [BIN / "rlinfra-grade", "batch", TOPIC, "--workers", "2"]
    with subprocess.Popen(command, cwd=course, env=environment, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and entered(course) < after:
            time.sleep(0.01)
        workers = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.send_signal(signal.SIGKILL)
    assert not psutil.wait_procs(workers, timeout=20)[1]
    done = entered(course)
    said = run(course, "rlinfra-grade", "batch", TOPIC)
    assert f"{len(HANDING_IN) - done} graded now, {done} unchanged" in said
    assert rows(course) == rows(undisturbed)


def entered(course):
    with sqlite3.connect(course / "gradebook.db", timeout=30) as database:
        try:
            return database.execute("select count(*) from rlinfra_submission").fetchone()[0]
        except sqlite3.OperationalError:  # the table is not there yet
            return 0


def test_what_made_a_grade_is_kept(course):
    run(course, "rlinfra-grade", "batch", TOPIC, "--student", "kira")
    with sqlite3.connect(course / "gradebook.db") as database:
        ((student, status, details),) = database.execute("select student, status, details from rlinfra_submission")
    made = json.loads(details)
    assert (student, status) == ("kira", "graded")
    assert {"provenance", "verdicts", "faults", "repairs"} == set(made)


def test_without_submissions_or_a_release_it_says_what_to_do(course):
    assert "holds no submission" in run(course, "rlinfra-grade", "batch", "memory", fails=True)
    shutil.copytree(course / "submitted" / "ada" / TOPIC, course / "submitted" / "ada" / "memory")
    assert "rlinfra-grade release memory" in run(course, "rlinfra-grade", "batch", "memory", fails=True)
    assert "there is no folder" in run(course, "rlinfra-grade", "batch", "--submissions", "/nowhere", fails=True)
