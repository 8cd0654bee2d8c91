"""The hidden cases of a function task under one course seed, with what is expected and what each misconception gives.

Computed once a task and seed: a class of hundreds is judged against the same set.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from rlinfra.checks.compare import names_argument, same
from rlinfra.observe import Call, Observation
from rlinfra.wire import decode, encode

from .probes import Request
from .tasks.model import Case, Criterion, FunctionTask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

DEMO_SEED = "demo"
DEMO_SEED_ADVICE = "The hidden cases are drawn from the public demo seed. Before a real class: README, “Assistants”."
SEED_FILE = "course-seed.txt"


def course_seed(root: Path) -> str:
    """Return the course seed: the text of `course-seed.txt` in the course root, else the public demo seed."""
    try:
        seed = (root / SEED_FILE).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return DEMO_SEED
    if not seed:
        raise ValueError(f"{root / SEED_FILE} is empty: write a long random text in it, or remove it")
    return seed


def seed_fingerprint(seed: str) -> str:
    """Return what a grade may say of its seed: `demo (public)`, or the start of a hash."""
    if seed == DEMO_SEED:
        return "demo (public)"
    return hashlib.sha256(f"rlinfra course seed {seed}".encode()).hexdigest()[:12]


def expected_value(task: FunctionTask, call: Call, reference: Callable[..., object] | None = None) -> object:
    """Return the right answer in the form that crosses the wire; `reference` stands in for the task's own."""
    fresh = Call.from_data(call.to_data())
    return decode(encode(task.answer((reference or task.reference)(*fresh.args, **fresh.kwargs))))


def is_right(task: FunctionTask, drawn: Case, expected: object, outcome: Observation) -> bool:
    """Return whether an outcome meets a case: the expected value, or a ValueError that names the argument."""
    raised = outcome.raised
    if drawn.names is not None:
        return raised is not None and raised.exception == "ValueError" and names_argument(raised.message, drawn.names)
    return raised is None and task.accept.differs(outcome.value, expected) is None


def same_outcome(task: FunctionTask, one: Observation, other: Observation) -> bool:
    """Return whether two calls did the same: equal values as the task accepts them, or the same kind of exception."""
    if one.raised is not None or other.raised is not None:
        return one.raised is not None and other.raised is not None and one.raised.exception == other.raised.exception
    return same(task.accept, one.value, other.value)


@dataclass(frozen=True)
class HiddenSet:
    """The hidden cases of a task, in the order in which they are asked."""

    task: FunctionTask
    seed: str

    @cached_property
    def cases(self) -> tuple[tuple[Criterion, Case], ...]:
        """Every case with its criterion."""
        return tuple(self.task.hidden_cases(self.seed))

    @cached_property
    def request(self) -> Request:
        """What the probe of the task asks for: of a drill, what its first process does."""
        calls = [drawn.call for _, drawn in self.cases]
        drill = self.task.drill
        return Request(self.task.name, calls=tuple(drill.first_call(call) if drill else call for call in calls))

    @cached_property
    def inputs_hash(self) -> str:
        """The hash of all that is asked of a function: every call, in both processes of a drill."""
        drill = self.task.drill
        drivers = [*drill.functions, drill.first, drill.second] if drill else []
        asked = [self.task.name, drivers, [drawn.call.to_data() for _, drawn in self.cases]]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    @cached_property
    def expected(self) -> tuple[object, ...]:
        """The right answer of every case; None where a `ValueError` is."""
        return tuple(
            None if drawn.names is not None else expected_value(self.task, drawn.call) for _, drawn in self.cases
        )

    @cached_property
    def misconceptions(self) -> tuple[tuple[str, tuple[Observation, ...], tuple[bool, ...]], ...]:
        """Each misconception's hint, what it does in every case, and where that is right."""
        found = [(hint_of(wrong), self.outcomes(wrong)) for wrong in self.task.misconceptions]
        return tuple((hint, outcomes, self.rightness(outcomes)) for hint, outcomes in found)

    def outcomes(self, function: Callable[..., object]) -> tuple[Observation, ...]:
        """Return what a function does in every case."""
        return tuple(self.task.attempt(function, drawn.call) for _, drawn in self.cases)

    def rightness(self, outcomes: Iterable[object]) -> tuple[bool, ...]:
        """Return for every case whether its outcome is right; what is no observation is not."""
        return tuple(
            isinstance(outcome, Observation) and is_right(self.task, drawn, expected, outcome)
            for (_, drawn), expected, outcome in zip(self.cases, self.expected, outcomes, strict=True)
        )


@cache
def hidden_set(task_name: str, seed: str) -> HiddenSet:
    """Return the hidden set of a task, kept for the life of the process."""
    from .tasks import all_tasks  # noqa: PLC0415 - tasks are found by name, and import this package

    task = all_tasks()[task_name]
    if not isinstance(task, FunctionTask):
        raise TypeError(f"{task_name} is no function task and has no hidden cases")
    return HiddenSet(task, seed)


def hint_of(misconception: Callable[..., object]) -> str:
    """Return a misconception's hint: its docstring on one line."""
    return " ".join((misconception.__doc__ or "").split())
