"""The grader that is attacked: our engine with short limits, its temporary folders in a place that is watched."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rlinfra_autograder.grade import Graded, grade
from rlinfra_autograder.sandbox.limits import Limits
from rlinfra_autograder.sandbox.runner import Runner, ZygoteRunner
from rlinfra_autograder.sandbox.zygote import ChildSettings
from tests.conftest import QUICK, STUDENT_PYTHON

from . import notebooks
from .system import remove_tree

SHORT = replace(
    QUICK,
    cell_cpu_seconds=0.8,
    notebook_cpu_seconds=1.5,
    wall_factor=5.0,
    memory_bytes=256 << 20,
    file_bytes=4 << 20,
    disk_bytes=16 << 20,
    disk_entries=200,
    threads=32,
    cell_output_bytes=1 << 17,
    notebook_output_bytes=1 << 18,
)
# What works without a defence has to get there also on a machine that is busy with other tests.
UNHURRIED = replace(SHORT, cell_cpu_seconds=4.0, notebook_cpu_seconds=12.0, call_cpu_seconds=4.0)


@dataclass(frozen=True)
class Bench:
    """Where attacks are tried: how children are started, a runner of such children, and where their folders lie."""

    settings: ChildSettings
    runner: Runner
    scratch: Path

    @property
    def unhurried(self) -> ChildSettings:
        """How children are started that are to have time."""
        return replace(self.settings, limits=UNHURRIED)

    def grade(self, notebook: Any, student: str = notebooks.ATTACKER, runner: Runner | None = None) -> Graded:
        """Grade a notebook as the product does."""
        return grade(
            notebook,
            topic=notebooks.TOPIC,
            student_id=student,
            runner=runner or self.runner,
            seed=notebooks.SEED,
            environment={},
        )


@contextmanager
def running(settings: ChildSettings, started: bool = True) -> Iterator[Runner]:
    """Start a runner of such children, and close it in the end."""
    with ZygoteRunner(settings) as runner:
        if started:
            runner.zygote().warm_up()
        yield runner


@contextmanager
def bench(limits: Limits = SHORT) -> Iterator[Bench]:
    """Set up the bench in a temporary folder of its own."""
    before = tempfile.tempdir, os.environ.get("TMPDIR")
    scratch = Path(tempfile.mkdtemp(prefix="attacks-scratch-"))
    scratch.chmod(0o711)
    tempfile.tempdir = os.environ["TMPDIR"] = str(scratch)
    settings = ChildSettings(STUDENT_PYTHON, limits)
    try:
        with running(settings) as runner:
            yield Bench(settings, runner, scratch)
    finally:
        tempfile.tempdir = before[0]
        os.environ.pop("TMPDIR")
        if before[1] is not None:
            os.environ["TMPDIR"] = before[1]
        remove_tree(scratch)
