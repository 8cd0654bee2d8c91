"""The nbgrader preprocessor that stands in the place of `Execute`: it runs and judges the notebook.

`nbgrader_config.py` names it as a string, so that nbgrader's commands for students need no staff package.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Unicode

import rlinfra_autograder
import rlinfra_reference

from .best_known import FOLDER as BEST_KNOWN
from .grade import grade
from .hidden import SEED_FILE, course_seed
from .sandbox.runner import ZygoteRunner
from .sandbox.zygote import ChildSettings

UNSAFE = "RLINFRA_UNSAFE_NO_SANDBOX"
STUDENT_PYTHON = Path(".venv-student/bin/python")


class GradeNotebook(NbGraderPreprocessor):
    """Runs a submitted notebook in the student's environment and puts the points in its graded cells."""

    student_python = Unicode(
        str(STUDENT_PYTHON), help="The interpreter of the student's environment, from the course root."
    ).tag(config=True)
    unsafe_no_sandbox = Bool(
        help="Run student code without confinement, and mark every grade so made. Also by RLINFRA_UNSAFE_NO_SANDBOX=1."
    ).tag(config=True)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Return the graded notebook; nbgrader's own `SaveAutoGrades` then reads the points from it."""
        root = Path.cwd()  # nbgrader converts in the course root
        confined = not (self.unsafe_no_sandbox or os.environ.get(UNSAFE) == "1")
        runner, environment = verified_runner(root, root / self.student_python, confined)
        ours = resources["nbgrader"]
        graded = grade(
            nb,
            topic=ours["assignment"],
            student_id=ours["student"],
            runner=runner,
            seed=course_seed(root),
            environment=environment,
            root=root,
        )
        for fault in graded.faults:
            self.log.info("%s of %s: %s", ours["student"], ours["assignment"], fault)
        return graded.notebook, resources


_RUNNERS: dict[tuple[Path, Path, bool], tuple[ZygoteRunner, Mapping[str, str]]] = {}
_ONE_AT_A_TIME = threading.Lock()


def verified_runner(root: Path, python: Path, confined: bool) -> tuple[ZygoteRunner, Mapping[str, str]]:
    """Return a runner that student code cannot reach the answers from, and the versions of its environment.

    Raises `RunnerError` where it could. Verified once a process, since every notebook asks for it; threads share it.
    """
    with _ONE_AT_A_TIME:
        key = root, python, confined
        if key not in _RUNNERS:
            packages = [Path(module.__file__ or "").parent for module in (rlinfra_autograder, rlinfra_reference)]
            secret = ("autograder", "source", "submitted", SEED_FILE, "gradebook.db", BEST_KNOWN)
            course = [root / name for name in secret]
            runner = ZygoteRunner(ChildSettings(python, confined=confined), (*packages, *course))
            _RUNNERS[key] = runner, runner.verify()
        return _RUNNERS[key]


def let_go_of_runners(root: Path | None = None) -> None:
    """End the runners of a course root, or of all, with what they have running; who asks again gets new ones."""
    with _ONE_AT_A_TIME:
        keys = [key for key in _RUNNERS if root in (None, key[0])]
        found = [_RUNNERS.pop(key)[0] for key in keys]
    for runner in found:
        runner.close()
