"""Running notebooks for the grader, whatever is in them.

`Runner` is the interface that grading uses. `SubprocessRunner` starts a fresh interpreter of the student's
environment for each run. A cell or a call that hangs or kills the process costs only itself: the notebook is run
again without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import rlinfra

from ..probes import Fault, Probed, Request
from .attempt import UNSAFE_ADVICE, Attempt, CellRun, Plan
from .limits import Limits
from .process import START_SECONDS, ChildProcess, ChildSettings, RunnerError


@dataclass(frozen=True)
class Execution:
    """A run of a notebook: each cell by its place, and what each requested check observed."""

    cells: Mapping[int, CellRun]
    probed: Mapping[str, Probed]


class Runner(Protocol):
    """Runs notebooks for the grader."""

    @property
    def limits(self) -> Limits:
        """The limits of every run."""

    @property
    def confined(self) -> bool:
        """Whether student code is confined; a grade made without says so."""

    def verify(self) -> Mapping[str, str]:
        """Return the versions in the student's environment.

        Raises `RunnerError` if student code could reach the reference, the tasks, the seed or the gradebook.
        """

    def run(self, cells: Sequence[tuple[int, str]], requests: Mapping[int, Request] | None) -> Execution:
        """Run code cells, pairs of a place and a source.

        With `requests` (by the place of the graded cell) it is the judged run, in which each check observes what its
        request asks for. With None it is the shown run, and checks show their public examples.
        """


@dataclass(frozen=True)
class SubprocessRunner:
    """Runs each notebook in a fresh interpreter of the student's environment.

    `forbidden` are paths that a child must not be able to read: `verify` lets a canary try.
    """

    settings: ChildSettings
    forbidden: tuple[Path, ...] = ()

    @property
    def limits(self) -> Limits:
        """The limits of every run."""
        return self.settings.limits

    @property
    def confined(self) -> bool:
        """Whether student code is confined."""
        return self.settings.confined

    def verify(self) -> Mapping[str, str]:
        """Let a canary in the child's place try to import the staff packages and to read the forbidden paths."""
        canary = {
            "modules": ["rlinfra_reference", "rlinfra_autograder"],
            "paths": [str(path) for path in self.forbidden] if self.settings.confined else [],
        }
        with ChildProcess(self.settings, {"canary": canary}) as child:
            message = child.message_within(START_SECONDS)
        if message is not None and "refused" in message:
            raise RunnerError(f"student code cannot be confined here: {message['refused']}. {UNSAFE_ADVICE}")
        if message is None or "reached" not in message:
            raise RunnerError(
                f"the student's Python at {self.settings.python} did not start: is it installed? (make install)"
            )
        if message["reached"]:
            raise RunnerError(
                "student code could reach what it must not: "
                + ", ".join(map(str, message["reached"]))
                + ". Install the student's environment apart from the staff's (make install makes both)."
            )
        versions: dict[str, str] = message["versions"]
        if versions["rlinfra"] != rlinfra.__version__:
            raise RunnerError(
                f"the student's environment holds rlinfra {versions['rlinfra']}, the grader {rlinfra.__version__}: "
                "install the same version in both (make install)"
            )
        return versions

    def run(self, cells: Sequence[tuple[int, str]], requests: Mapping[int, Request] | None) -> Execution:
        """Run the cells; see `Runner.run`."""
        plan = Plan()
        for _ in range(self.settings.limits.faults_per_notebook + 1):
            attempt = Attempt(self.settings, [cell for cell in cells if cell[0] not in plan.cells], requests, plan)
            stop = attempt.run()
            if stop is None:
                break
            if stop.asked is not None:
                plan.observations.setdefault(stop.place, {})[stop.asked] = Fault(stop.kind)
            else:
                plan.cells[stop.place] = attempt.cells[stop.place]
        probed = {request.name: attempt.probed_at(place) for place, request in (requests or {}).items()}
        return Execution({**attempt.cells, **plan.cells}, probed)
