"""One attempt at running a notebook: one child, from its first cell until it ends or has to be given up."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import nbformat

from ..probes import NOT_REACHED, OBSERVED, Fault, Outcome, Probed, Request, parse_observation
from .limits import Limits
from .outputs import OutputLog
from .process import ChildProcess
from .zygote import START_SECONDS, ChildSettings, RunnerError, Zygote

UNSAFE_ADVICE = (
    "Grade on Linux 5.13 or newer; or, for submissions that you trust, set RLINFRA_UNSAFE_NO_SANDBOX=1: "
    "student code can then read all that you can, and every grade so made is marked"
)
GO_ON = {"go": "on"}  # what a child waits for at the end of a cell
_POLL_SECONDS = 0.05
_WATCH_SECONDS = 0.1
NO_TIME_LEFT = "the notebook's time was over"


@dataclass
class CellRun:
    """What one cell did: its outputs, its number, and why it was stopped if it was."""

    outputs: list[Any] = field(default_factory=list)
    execution_count: int | None = None
    fault: str = ""


@dataclass(frozen=True)
class Stop:
    """Where and why a child had to be given up: in a cell, and in which of a request's observations."""

    place: int
    asked: int | None
    kind: str
    why: str


@dataclass
class Plan:
    """What an attempt leaves out, learned from the attempts before it: cells, and observations by their place.

    With `one_by_one` a child sends each observation by itself: one before it ended with some that it had not sent.
    """

    cells: dict[int, CellRun] = field(default_factory=dict)
    observations: dict[int, dict[int, Fault]] = field(default_factory=dict)
    one_by_one: bool = False


class Budget:
    """The time of a whole run, however often it has to begin again."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._cpu_before = 0.0
        self._begun = time.monotonic()

    def is_over(self, child: ChildProcess) -> bool:
        """Return whether the run has used up its CPU time, or so much wall time that it only waits."""
        wall = time.monotonic() - self._begun
        if wall > self._limits.notebook_cpu_seconds * self._limits.wall_factor:
            return True
        return self._cpu_before + child.cpu_seconds() > self._limits.notebook_cpu_seconds

    def charge(self, child: ChildProcess) -> None:
        """Note what a child used that is about to be given up."""
        self._cpu_before += child.cpu_seconds()


class Clock:
    """The time of one step (a cell, or a call): CPU seconds decide, wall time is the backstop."""

    def __init__(self, child: ChildProcess, cpu_seconds: float, limits: Limits) -> None:
        self._child = child
        self._limit = cpu_seconds
        self._cpu = child.cpu_seconds()
        self._wall = time.monotonic()
        self._limits = limits

    def over(self) -> bool:
        """Return whether the step's time is over."""
        wall = time.monotonic() - self._wall
        if wall <= self._limit:  # CPU time cannot be over before wall time is: one thread of Python at a time
            return False
        return wall > self._limit * self._limits.wall_factor or self._child.cpu_seconds() - self._cpu > self._limit


class Attempt:
    """One child running the notebook, until it ends or has to be given up."""

    def __init__(
        self,
        zygote: Zygote,
        settings: ChildSettings,
        cells: Sequence[tuple[int, str]],
        requests: Mapping[int, Request] | None,
        *,
        plan: Plan,
        budget: Budget,
    ) -> None:
        self._zygote = zygote
        self._settings = settings
        self._limits = settings.limits
        self._sources = cells
        self._next_places = iter([place for place, _ in cells])
        self._most_lines = max((source.count("\n") + 1 for _, source in cells), default=0)
        self._requests = requests
        self._plan = plan
        self._budget = budget
        self._place: int | None = None
        self._asked: int | None = None
        self._ahead: deque[int] = deque()  # asked as well, to come after it
        self._interrupted = False
        self._probing: Request | None = None
        self._outcomes: dict[int, list[Outcome]] = {}
        self._status: dict[int, str] = {}
        self._log = OutputLog(settings.limits)
        self.cells: dict[int, CellRun] = {}

    def probed_at(self, place: int) -> Probed:
        """Return what the check at a graded cell observed."""
        if status := self._status.get(place):
            return Probed(status)
        assert self._requests is not None
        outcomes = self._outcomes.get(place)
        if outcomes is None:
            return Probed(NOT_REACHED)
        missing = len(self._requests[place]) - len(outcomes)
        return Probed(OBSERVED, (*outcomes, *[Fault("skipped")] * missing))

    def run(self) -> Stop | None:
        """Run the cells; return where the child had to be given up, or None where it ran to the end."""
        order = {"cells": self._sources, "judged": self._requests is not None}
        with ChildProcess(self._zygote, self._settings, order) as child:
            try:
                return self._follow(child)
            finally:
                self._budget.charge(child)

    def _follow(self, child: ChildProcess) -> Stop | None:
        """Follow what the child does, message by message, and keep its time."""
        clock = Clock(child, START_SECONDS, self._limits)
        watched = time.monotonic()
        while True:
            if clock.over():  # also while messages pour in: a loop may print for ever
                if self._interrupted or self._place is None:
                    return self._give_up("time", f"stopped after {self._limits.cell_cpu_seconds:g} seconds")
                self._interrupted = True
                child.interrupt()
                clock = Clock(child, self._limits.grace_seconds, self._limits)
            if time.monotonic() - watched > _WATCH_SECONDS:
                watched = time.monotonic()
                if self._place is not None and (why := child.excess()):
                    return self._give_up("excess", why)
                if self._budget.is_over(child):
                    self._note_fault(NO_TIME_LEFT)
                    return None
            try:
                message = child.message_within(_POLL_SECONDS)
            except TimeoutError:
                continue
            if message is None:
                return self._give_up("died", child.how_it_ended())
            if "refused" in message and self._place is None:
                raise RunnerError(f"student code cannot be confined here: {message['refused']}. {UNSAFE_ADVICE}")
            if "done" in message:
                return None
            # a child waits at the end of a cell, so that no other cell is blamed
            if "end" in message and self._place is not None and (why := child.excess(mapped=False)):
                return self._give_up("excess", why)
            if self._handle(message, child):
                seconds = self._limits.cell_cpu_seconds if self._asked is None else self._limits.call_cpu_seconds
                clock = Clock(child, seconds, self._limits)

    def _handle(self, message: dict[str, Any], child: ChildProcess) -> bool:
        """Act on a message; return whether it starts a new step of the clock."""
        match message:
            case {"ready": True} if self._place is None:
                self._begin_next()
            case {"end": int(place), "count": int(count)} if type(place) is type(count) is int and place == self._place:
                self.cells[place].outputs = self._log.take()
                self.cells[place].execution_count = count
                for output in self.cells[place].outputs:
                    if output["output_type"] == "execute_result":
                        output["execution_count"] = count
                if self._interrupted:
                    self._note_fault(f"stopped after {self._limits.cell_cpu_seconds:g} seconds")
                child.send(GO_ON)
                self._begin_next()
            case {"output": dict(output)} if self._requests is None:
                self._log.add(output)
                return False
            case {"probe": str(name)}:
                self._begin_probe(name)
                self._ask_next(child)
                return self._asked is not None
            case {"observed": [*observed, last]} if self._asked is not None and len(observed) <= len(self._ahead):
                for one in observed:
                    self._note_outcome(one)
                    self._asked = self._ahead.popleft()
                self._note_outcome(last, late=self._interrupted)  # nothing comes after one that took long
                if "stopped" in message:
                    self._ahead.clear()
                self._ask_next(child)
            case {"status": str(status)} if self._asked is not None:
                self._note_status(status)
                self._ahead.clear()
                self._ask_next(child)
            case _:
                return False
        return True

    def _begin_next(self) -> None:
        """Begin with the next cell, if there is one; what was still asked in the one before, nobody answers."""
        self._asked = self._probing = None
        self._interrupted = False
        self._ahead.clear()
        place = next(self._next_places, None)
        if place is not None:
            self._place = place
            self.cells[place] = CellRun()

    def _begin_probe(self, name: str) -> None:
        """Start the probe if the check stands in the graded cell of its task, and has not been met before."""
        request = (self._requests or {}).get(-1 if self._place is None else self._place)
        assert self._place is not None
        self._probing = request if request is not None and request.name == name else None
        if self._place in self._outcomes:
            self._probing = None
        if self._probing is not None:
            self._outcomes[self._place] = []

    def _ask_next(self, child: ChildProcess) -> None:
        """Ask for the next observations, up to one that is to be skipped, or say that it is enough.

        They are asked for in one message, and few messages answer them: most of a check's time would else go into
        waiting.
        """
        if self._ahead:
            self._asked, self._interrupted = self._ahead.popleft(), False
            return
        self._asked = None
        assert self._place is not None
        if self._probing is None or self._place in self._status:
            child.send({"enough": True})
            return
        outcomes = self._outcomes[self._place]
        skipped = self._plan.observations.get(self._place, {})
        faults = sum(isinstance(outcome, Fault) for outcome in outcomes)
        while len(outcomes) in skipped:
            outcomes.append(skipped[len(outcomes)])
            faults += 1
        if len(outcomes) == len(self._probing) or faults >= self._limits.faults_per_check:
            child.send({"enough": True})
            return
        first, total = len(outcomes), len(self._probing)
        places = range(first, min([total, *(place for place in skipped if place > first)]))
        child.send(self._probing.message(places, one_by_one=self._plan.one_by_one))
        self._ahead.extend(places)
        self._asked, self._interrupted = self._ahead.popleft(), False

    def _note_outcome(self, observed: object, *, late: bool = False) -> None:
        assert self._place is not None
        if late:
            fault = Fault("time")
            self._plan.observations.setdefault(self._place, {})[len(self._outcomes[self._place])] = fault
            outcome: Outcome = fault
        else:
            try:
                outcome = parse_observation(observed, self._most_lines)
            except ValueError:
                outcome = Fault("died")
        self._outcomes[self._place].append(outcome)

    def _note_status(self, status: str) -> None:
        """Note that there is nothing to observe; a variable that is missing is only so much of an answer."""
        assert self._place is not None
        assert self._probing is not None
        if self._asked == 0 or self._probing.calls:
            self._status[self._place] = status if status in ("missing", "not callable") else NOT_REACHED
        else:
            self._outcomes[self._place].append(Fault("missing"))

    def _note_fault(self, why: str) -> None:
        if self._place is not None and self._place in self.cells:
            self.cells[self._place].fault = why

    def _give_up(self, kind: str, why: str) -> Stop:
        if self._place is None:
            raise RunnerError(f"the student's Python at {self._settings.python} ended before the first cell")
        cell = self.cells[self._place]
        cell.outputs = self._log.take()
        if self._asked is None:
            cell.fault = why
            cell.outputs.append(
                nbformat.v4.new_output("error", ename="Stopped", evalue=why, traceback=[f"Stopped: {why}"])
            )
        return Stop(self._place, self._asked, kind, why)
