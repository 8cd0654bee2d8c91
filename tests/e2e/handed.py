"""A small class that hands in one topic: right, wrong, with deleted or edited checks, hostile, killing its process."""

from __future__ import annotations

from pathlib import Path

import nbformat

from rlinfra_autograder.classroom import mistaken_student, synthetic_class
from tests.e2e.course import copy_course, run

TOPIC = "kv-cache"
STUDENTS = {student.id: student for student in synthetic_class()} | {
    "kira": mistaken_student("kira", TOPIC, "paged_kv_bytes", "total_rounded"),
}
HANDING_IN = ("ada", "kira", "wim", "vera", "udo", "sven")


def hand_in(folder: Path) -> Path:
    """Make a course root in which the class has handed in, and nothing is graded."""
    course = copy_course(folder)
    run(course, "rlinfra-grade", "release", TOPIC)
    released = nbformat.read(course / "release" / TOPIC / f"{TOPIC}.ipynb", as_version=4)
    for student in HANDING_IN:
        submission = course / "submitted" / student / TOPIC
        submission.mkdir(parents=True)
        nbformat.write(STUDENTS[student].submission(released, TOPIC), submission / f"{TOPIC}.ipynb")
        (submission / "timestamp.txt").write_text("2026-11-20 12:00:00 UTC")
    return course


def gradebook(course: Path) -> str:
    """Return the address of a course's own gradebook."""
    return f"sqlite:///{course / 'gradebook.db'}"
