"""Classes to grade, here and by stock nbgrader: the same notebooks of one topic, in course roots of their own."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import psutil
from tests.attacks.notebooks import TOPIC, with_asserts
from tests.e2e.course import BIN, copy_course, run

from rlinfra_autograder.classroom import Student, mistaken_student, solve_in_style, synthetic_class
from rlinfra_autograder.tasks import load_tasks
from rlinfra_autograder.tasks.model import FunctionTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STOCK_CONFIG = """
c = get_config()
c.CourseDirectory.course_id = "stock"
c.ClearSolutions.code_stub = {"python": "pass  # YOUR CODE HERE"}
"""
_SAMPLE_SECONDS = 1.0


@dataclass(frozen=True)
class Measured:
    """What a command took: seconds, and the most memory that it and its processes held at a time."""

    seconds: float
    megabytes: float = 0.0


def students(loops: bool = False) -> tuple[Student, ...]:
    """Return right, half right, mistaken and blank students; with `loops`, the one whose functions never return."""
    if loops:
        return tuple(student for student in synthetic_class() if student.id == "tara")
    plain = [student for student in synthetic_class() if student.id in ("paul", "quinn", "rosa")]
    functions = [task for task in load_tasks(TOPIC) if isinstance(task, FunctionTask)]
    wrong = [
        mistaken_student(f"mistaken-{task.name}-{mistake.__name__}", TOPIC, task.name, mistake.__name__)
        for task in functions
        for mistake in task.misconceptions
    ]
    right = [Student(f"right-{style}", "flawless", solve_in_style(style)) for style in range(3)]
    return (*right, *plain, *wrong)


def hand_in(folder: Path, release: Path, count: int, loopers: int = 0) -> None:
    """Write a class's submissions to `folder/STUDENT/TOPIC/`; `loopers` of them have functions that never return."""
    released = nbformat.read(release / TOPIC / f"{TOPIC}.ipynb", as_version=4)
    loopers_first = [*itertools.islice(itertools.cycle(students(loops=True)), loopers)]
    others = itertools.islice(itertools.cycle(students()), count - loopers)
    texts: dict[str, str] = {}
    for number, student in enumerate([*loopers_first, *others]):
        if student.id not in texts:
            texts[student.id] = nbformat.writes(student.submission(released, TOPIC))
        path = folder / f"s{number:04}" / TOPIC / f"{TOPIC}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(texts[student.id])


def our_course(folder: Path) -> Path:
    """Make a course root with the topic released, and nobody in it."""
    copy_course(folder)
    run(folder, "rlinfra-grade", "release", TOPIC)
    shutil.copy(folder / "gradebook.db", folder / "empty.db")
    return folder


def stock_course(folder: Path) -> Path:
    """Make a course of plain nbgrader with the same notebook, its checks written as ordinary asserts."""
    source = folder / "source" / TOPIC / f"{TOPIC}.ipynb"
    source.parent.mkdir(parents=True)
    (folder / "nbgrader_config.py").write_text(STOCK_CONFIG)
    ours = Path(__file__).parent.parent / "source" / TOPIC / f"{TOPIC}.ipynb"
    nbformat.write(with_asserts(nbformat.read(ours, as_version=4)), source)
    run(folder, "nbgrader", "generate_assignment", TOPIC)
    shutil.copy(folder / "gradebook.db", folder / "empty.db")
    return folder


def grade_here(course: Path, submissions: Path, workers: int, memory: bool = False) -> Measured:
    """Grade all of a folder by `rlinfra-grade batch`, into an empty gradebook."""
    begin_anew(course)
    command = ["rlinfra-grade", "batch", TOPIC, "--submissions", str(submissions), "--workers", str(workers)]
    measured = timed([(course, command)], memory=memory)
    _all_graded([course], submissions)
    return measured


def grade_by_stock(course: Path, submissions: Path, processes: int) -> Measured:
    """Grade all of a folder by `nbgrader autograde`, a process for each share of the class, each with a gradebook."""
    shares = share_out(course, "submitted", submissions, processes)
    measured = timed([(share, ["nbgrader", "autograde", TOPIC]) for share in shares])
    _all_graded(shares, submissions)
    return measured


def share_out(course: Path, step: str, submissions: Path, processes: int) -> list[Path]:
    """Return copies of a course, each with its share of the submissions in the folder of that step."""
    shares = []
    names = sorted(path.name for path in submissions.iterdir())
    for number in range(processes):
        share = course.with_name(f"{course.name}-{number}")
        shutil.rmtree(share, ignore_errors=True)
        shutil.copytree(course, share, symlinks=True)
        for name in names[number::processes]:
            shutil.copytree(submissions / name, share / step / name)
        shares.append(share)
    return shares


def begin_anew(course: Path) -> None:
    """Forget all that was graded."""
    for made in ("autograded", "feedback", "build"):
        shutil.rmtree(course / made, ignore_errors=True)
    shutil.copy(course / "empty.db", course / "gradebook.db")


def timed(commands: Sequence[tuple[Path, Sequence[str]]], *, memory: bool = False) -> Measured:
    """Run commands side by side, each in its folder, and return what they took together."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONWARNINGS": "ignore"}
    begun = time.perf_counter()
    started = [
        subprocess.Popen(  # noqa: S603 - the commands are ours
            [str(BIN / name), *arguments],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for folder, (name, *arguments) in commands
    ]
    most = 0.0
    while memory and any(process.poll() is None for process in started):
        most = max(most, _megabytes(process.pid for process in started))
        time.sleep(_SAMPLE_SECONDS)
    for process, (folder, command) in zip(started, commands, strict=True):
        if process.wait():
            raise RuntimeError(f"{' '.join(command)} in {folder} ended with {process.returncode}")
    return Measured(time.perf_counter() - begun, most)


def _megabytes(pids: Iterable[int]) -> float:
    """Return the memory of processes and all below them, shared pages counted once (PSS), in MB."""
    total = 0
    for pid in pids:
        try:
            parent = psutil.Process(pid)
            family = [parent, *parent.children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
        for process in family:
            try:
                total += process.memory_full_info().pss
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
    return total / 1e6


def _all_graded(courses: Iterable[Path], submissions: Path) -> None:
    graded = sum(len(list(course.glob(f"autograded/*/{TOPIC}/{TOPIC}.ipynb"))) for course in courses)
    if graded != (wanted := len(list(submissions.iterdir()))):
        raise RuntimeError(f"{graded} of {wanted} submissions were graded")
