"""Running notebooks for the grader, whatever is in them.

`Runner` is the interface that grading uses. `ZygoteRunner` forks a child from a warm process of the student's
environment for each run. A cell or a call that hangs or kills the process costs only itself: the notebook is run
again without it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import rlinfra

from ..probes import Fault, Probed, Request
from .attempt import UNSAFE_ADVICE, Attempt, Budget, CellRun, Plan
from .limits import Limits
from .process import ChildProcess
from .zygote import START_SECONDS, ChildSettings, RunnerError, Zygote, ZygoteDiedError


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


class ZygoteRunner:
    """Runs each notebook in a child of a zygote of its own; used as a context, or closed in the end.

    `forbidden` are paths that a child must not be able to read: `verify` lets a canary try. The zygote is started
    when it is first needed, and again should it ever be gone; with `first`, the control of another zygote, as a twin of
    that one while it is there. Several threads may run notebooks at a time.
    """

    def __init__(
        self, settings: ChildSettings, forbidden: Sequence[Path] = (), first: socket.socket | None = None
    ) -> None:
        self.settings = settings
        self.forbidden = tuple(forbidden)
        self._first = first
        self._lock = threading.Lock()
        self._zygote: Zygote | None = None

    @property
    def limits(self) -> Limits:
        """The limits of every run."""
        return self.settings.limits

    @property
    def confined(self) -> bool:
        """Whether student code is confined."""
        return self.settings.confined

    def __enter__(self) -> ZygoteRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the zygote and whatever it still has running."""
        with self._lock:
            if self._zygote is not None:
                self._zygote.close()
                self._zygote = None

    def zygote(self) -> Zygote:
        """Return the zygote, started if need be."""
        with self._lock:
            if self._zygote is None:
                self._zygote = self._twin() or Zygote(self.settings)
            return self._zygote

    def _twin(self) -> Zygote | None:
        try:
            return None if self._first is None else Zygote(self.settings, self._first)
        except RunnerError:  # that one has gone: this runner starts its own
            self._first = None
            return None

    def verify(self) -> Mapping[str, str]:
        """Let a canary in a child's place try to import the staff packages and to read the forbidden paths."""
        canary = {
            "modules": ["rlinfra_reference", "rlinfra_autograder"],
            "paths": [str(path) for path in self.forbidden] if self.settings.confined else [],
        }
        with ChildProcess(self.zygote(), self.settings, {"canary": canary}) as child:
            message = child.message_within(START_SECONDS)
        if message is not None and "refused" in message:
            raise RunnerError(f"student code cannot be confined here: {message['refused']}. {UNSAFE_ADVICE}")
        if message is None or "reached" not in message:
            raise RunnerError(f"the student's Python at {self.settings.python} cannot run a notebook: make install")
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
        zygote = self.zygote()
        try:
            return self._run(zygote, cells, requests)
        except ZygoteDiedError:  # somebody, or a lack of memory, killed it: no reason to lose a submission
            self._bury(zygote)
            return self._run(self.zygote(), cells, requests)

    def _bury(self, dead: Zygote) -> None:
        """Let go of a zygote that died; another thread may have started the next one already."""
        with self._lock:
            if self._zygote is dead:
                self._zygote = None
        dead.close()

    def _run(
        self, zygote: Zygote, cells: Sequence[tuple[int, str]], requests: Mapping[int, Request] | None
    ) -> Execution:
        zygote.warm_up()
        plan, budget, faults = Plan(), Budget(self.limits), 0
        while True:
            left = [cell for cell in cells if cell[0] not in plan.cells]
            attempt = Attempt(zygote, self.settings, left, requests, plan=plan, budget=budget)
            stop = attempt.run()
            if stop is None:
                break
            if stop.asked is not None and not plan.one_by_one:
                plan.one_by_one = True  # it may have been at a later one, whose turn the parent did not hear of
                continue
            if stop.asked is not None:
                plan.observations.setdefault(stop.place, {})[stop.asked] = Fault(stop.kind)
            else:
                plan.cells[stop.place] = attempt.cells[stop.place]
            if faults == self.limits.faults_per_notebook:
                attempt.cells[stop.place].fault = f"{stop.why}; it was the last of too many, and the rest was not run"
                break
            faults += 1
        probed = {request.name: attempt.probed_at(place) for place, request in (requests or {}).items()}
        return Execution({**attempt.cells, **plan.cells}, probed)
