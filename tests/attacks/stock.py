"""The stock column: what the same notebooks get from plain nbgrader, measured and not recalled.

A course of its own with ordinary asserts in the graded cells, over the same hidden cases and with the same points,
hidden as nbgrader's manual says; graded by `nbgrader autograde` as it comes.
"""

from __future__ import annotations

import contextlib
import copy
import multiprocessing
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.apps import NbGraderApp

from . import notebooks
from .attack import Attack
from .catalogue import ATTACKS
from .system import adopting_orphans, descendants, end, eventually, remove_tree
from .world import World

BIN = Path(sys.executable).parent
CELL_SECONDS, SUBMISSION_SECONDS = 6, 45
CONFIG = f"""
c = get_config()
c.CourseDirectory.course_id = "stock"
c.Exchange.root = "exchange"
c.Execute.timeout = {CELL_SECONDS}
c.ClearSolutions.code_stub = {{"python": "pass  # YOUR CODE HERE"}}
"""
SCORE = """
select sum(grade.auto_score) from grade
join submitted_notebook on submitted_notebook.id = grade.notebook_id
join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id
where submitted_assignment.student_id = ?
"""


@dataclass(frozen=True)
class Measured:
    """What plain nbgrader gave: points, or None where the grading of this student failed."""

    points: float | None


def make_course(folder: Path) -> None:
    """Make a course with one assignment, released by nbgrader itself."""
    source = folder / "source" / notebooks.TOPIC / f"{notebooks.TOPIC}.ipynb"
    source.parent.mkdir(parents=True)
    (folder / "nbgrader_config.py").write_text(CONFIG)
    nbformat.write(_source(), source)
    said = _nbgrader(folder, "generate_assignment", notebooks.TOPIC)
    assert (folder / "release" / notebooks.TOPIC).is_dir(), said


def _source() -> Any:
    """Return the authors' notebook with asserts in the place of checks, between nbgrader's marks for hidden tests."""
    path = notebooks.ROOT / "source" / notebooks.TOPIC / f"{notebooks.TOPIC}.ipynb"
    notebook = notebooks.with_asserts(nbformat.read(path, as_version=4))
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.get("id") in notebooks.TASKS:
            cell.source = f"{cell.id}\n### BEGIN HIDDEN TESTS\n{cell.source}\n### END HIDDEN TESTS"
    return notebook


def _nbgrader(folder: Path, *arguments: str) -> str:
    """Run one of nbgrader's commands in a course, in a fork: importing it anew each time would take the most time."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            os.chdir(folder)
            os.environ.update(_environment(home))
            log = os.open(home / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            NbGraderApp.launch_instance(list(arguments))
        finally:
            os._exit(0)
    if not eventually(lambda: os.waitpid(pid, os.WNOHANG)[0] == pid, SUBMISSION_SECONDS):
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return (home / "log").read_text(errors="replace")


def _environment(home: Path) -> dict[str, str]:
    """Return what nbgrader and its kernels find of their own in the environment: places in the course's folder."""
    return {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(notebooks.ROOT / "course"),
        "PYTHONWARNINGS": "ignore",
        "HOME": str(home),
        "IPYTHONDIR": str(home / ".ipython"),
        "JUPYTER_CONFIG_DIR": str(home / ".jupyter"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
    }


def measure(course: Path, notebook_of: Attack | None, solved: bool = False) -> Measured:
    """Return what a student gets who hands in an attack's notebook (or the wrong one, or the right one)."""
    folder = Path(tempfile.mkdtemp(prefix="stock-", dir="/tmp"))
    shutil.copytree(course, folder, dirs_exist_ok=True)
    scratch = folder / "tmp"
    scratch.mkdir()
    base = notebooks.honest_notebook(notebooks.ATTACKER) if solved else notebooks.wrong_notebook()
    try:
        with World(scratch, root=folder) as world:
            before = set(descendants())
            handed_in = world.fill(notebook_of.notebook(base) if notebook_of else copy.deepcopy(base))
            path = folder / "submitted" / notebooks.ATTACKER / notebooks.TOPIC / f"{notebooks.TOPIC}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_text(nbformat.writes(handed_in))
            _nbgrader(folder, "autograde", notebooks.TOPIC, "--student", notebooks.ATTACKER)
            end([process for pid, process in descendants().items() if pid not in before])
            return Measured(_score(folder / "gradebook.db"))
    finally:
        remove_tree(folder)


def _score(gradebook: Path) -> float | None:
    try:
        with contextlib.closing(sqlite3.connect(gradebook)) as database:
            row = database.execute(SCORE, (notebooks.ATTACKER,)).fetchone()
    except sqlite3.Error:
        return None
    return None if row is None or row[0] is None else float(row[0])


def measure_all(names: Iterable[str]) -> Iterator[tuple[str, Measured]]:
    """Measure attacks by name, two at a time; wrong answers without a trick get nothing, right ones everything."""
    course = Path(tempfile.mkdtemp(prefix="stock-course-", dir="/tmp"))
    try:
        with adopting_orphans():
            make_course(course)
        assert measure(course, None) == Measured(0.0)
        assert measure(course, None, solved=True) == Measured(notebooks.ALL_POINTS)
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as workers:
            names = list(names)
            yield from zip(names, workers.map(partial(_measure_by_name, course), names), strict=True)
    finally:
        remove_tree(course)


def _measure_by_name(course: Path, name: str) -> Measured:
    return measure(course, next(attack for attack in ATTACKS if attack.name == name))
