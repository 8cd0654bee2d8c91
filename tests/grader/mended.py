"""A graded course root with a tree of code of its own, in which a task is changed as its author would change it.

In `memory`, `ada` is right everywhere and `kira` forgets the copies in `logits_bytes`: 8 cases, one criterion, 1 point.
`zoe` hands in a web page.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys

import nbformat
import pytest
from rich.console import Console

from rlinfra_autograder.classroom import mistaken_student, synthetic_class
from rlinfra_autograder.gradebook import GradebookWriter
from rlinfra_autograder.hidden import DEMO_SEED
from rlinfra_autograder.jobs import Job, Settings
from rlinfra_autograder.release import write_release
from rlinfra_autograder.runners import STUDENT_PYTHON, verified_runner
from rlinfra_autograder.submissions import Fingerprints, find_submissions
from rlinfra_autograder.worker import work
from tests.e2e.course import copy_course

from .course import REPOSITORY, edit

TOPIC, TASK = "memory", "logits_bytes"
STUDENTS = {
    "ada": synthetic_class()[0],
    "kira": mistaken_student("kira", TOPIC, TASK, "copies_forgotten"),
}
TASKS = f"autograder/grader/rlinfra_autograder/tasks/{TOPIC}.py"
REFERENCE = f"autograder/reference/rlinfra_reference/{TOPIC}.py"
_COMMANDS = """
import json, sys
from rlinfra_autograder.cli import app

for line in json.loads(sys.argv[1]):
    try:
        app(line)
    except SystemExit as end:
        print(f"exit code {end.code}", flush=True)
"""


def make_graded(root):
    """Make a course root in which the three have handed in and are graded, without a process for each step."""
    copy_course(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        write_release(root, [TOPIC])
    released = nbformat.read(root / "release" / TOPIC / f"{TOPIC}.ipynb", as_version=4)
    handed_in = {name: nbformat.writes(one.submission(released, TOPIC)) for name, one in STUDENTS.items()}
    for student, text in {**handed_in, "zoe": "<html>"}.items():
        path = root / "submitted" / student / TOPIC / f"{TOPIC}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    settings = Settings(root, root / STUDENT_PYTHON, confined=True, seed=DEMO_SEED)
    runner, environment = verified_runner(root, settings.python, confined=True)
    limits = {"limits": runner.limits.to_data(), "confined": True, **environment}
    fingerprints = Fingerprints(root, settings.seed, limits)
    jobs = [Job(one, fingerprints.of(one)) for one in find_submissions(root / "submitted", [TOPIC])]
    with GradebookWriter(root) as gradebook:
        for outcome in work(settings, jobs):
            gradebook.write(outcome.entry, outcome.notebook, outcome.handed_in, outcome.observations)
    return root


def with_code(root):
    """Put a copy of the repository's code into a course root, to be changed."""
    for name in ("autograder", "course"):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(REPOSITORY / name, root / name, ignore=ignored, dirs_exist_ok=True)
    return root


def commands(tree, *lines):
    """Run commands one after the other in one process with the tree's own code, and return what they said."""
    paths = [tree / "course", tree / "autograder" / "reference", tree / "autograder" / "grader"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONWARNINGS": "ignore"}
    line = [sys.executable, "-c", _COMMANDS, json.dumps([line.split() for line in lines])]
    result = subprocess.run(line, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert "Traceback" not in result.stderr, result.stderr
    return result.stdout + result.stderr


def forget_the_copies(tree):
    """Change the reference so that what `kira` wrote is right, and what `ada` wrote is wrong. The inputs stay."""
    edit(tree / REFERENCE, "* element_bytes * copies", "* element_bytes")


def draw_one_case_more(tree):
    """Change the hidden inputs of the task."""
    edit(tree / TASKS, "for _ in range(6)\n    ] + [case(3, 5, 7", "for _ in range(7)\n    ] + [case(3, 5, 7")


def sql(tree, statement):
    """Change the gradebook as the formgrader would."""
    with sqlite3.connect(tree / "gradebook.db") as database:
        database.execute(statement)


def notebook(tree, student):
    """Return a graded notebook."""
    return nbformat.read(tree / "autograded" / student / TOPIC / f"{TOPIC}.ipynb", as_version=4)


def wide():
    """Return a console that says what a table says on one line."""
    return Console(width=165, file=io.StringIO(), record=True)
