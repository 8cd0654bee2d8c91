"""The nbgrader preprocessor that stands in the place of `Execute`: it runs and judges the notebook.

`nbgrader_config.py` names it as a string, so that nbgrader's commands for students need no staff package.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Unicode

from .grade import grade
from .hidden import course_seed
from .runners import STUDENT_PYTHON, verified_runner

UNSAFE = "RLINFRA_UNSAFE_NO_SANDBOX"


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
