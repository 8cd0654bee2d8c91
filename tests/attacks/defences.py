"""The defences by name, each with how a test switches off this one: no such switch is in the product.

`off` is a context that yields a function which grades a notebook with every other defence still on.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

from rlinfra_autograder import hidden, judge
from rlinfra_autograder import grade as grading
from rlinfra_autograder.hidden import HiddenSet
from rlinfra_autograder.sandbox.zygote import CHILD

from . import inkernel, notebooks
from .bench import Bench, running
from .world import GradeIt

Off = Callable[[Bench], Any]


@dataclass(frozen=True)
class Defence:
    """A defence, and how it is switched off: `how` says it in a sentence."""

    name: str
    how: str
    off: Off


# --- kinds of switches -------------------------------------------------------------------------------------------


def _grading_by(grade_it: Callable[[Any, Any], Any]) -> Off:
    """Grade in another way on the same runner."""

    @contextmanager
    def off(bench: Bench) -> Iterator[GradeIt]:
        yield lambda notebook: grade_it(notebook, bench.runner)

    return off


def _patching(*patches: tuple[Any, str, Any]) -> Off:
    """Put something else in the place of the grader's own functions."""

    @contextmanager
    def off(bench: Bench) -> Iterator[GradeIt]:
        with mock.patch.multiple(patches[0][0], **{name: new for _, name, new in patches}):
            yield bench.grade

    return off


def _child_with(**lines: str) -> Off:
    """Start a copy of the child's program, with lines appended to its modules."""

    @contextmanager
    def off(bench: Bench) -> Iterator[GradeIt]:
        program = bench.scratch.parent / f"{bench.scratch.name}-program"
        shutil.copytree(CHILD, program, ignore=shutil.ignore_patterns("__pycache__"))
        for module, line in lines.items():
            file = program / f"{module}.py"
            file.write_text(f"{file.read_text()}\n{line}\n")
        try:
            with running(replace(bench.settings, program=program)) as runner:
                yield lambda notebook: bench.grade(notebook, runner=runner)
        finally:
            shutil.rmtree(program)

    return off


def _settings(**changes: Any) -> Off:
    """Start children with other settings."""

    @contextmanager
    def off(bench: Bench) -> Iterator[GradeIt]:
        with running(replace(bench.settings, **changes)) as runner:
            yield lambda notebook: bench.grade(notebook, runner=runner)

    return off


def _limits(**changes: float) -> Off:
    """Start children under other limits."""

    @contextmanager
    def off(bench: Bench) -> Iterator[GradeIt]:
        limits = replace(bench.settings.limits, **changes)
        with running(replace(bench.settings, limits=limits)) as runner:
            yield lambda notebook: bench.grade(notebook, runner=runner)

    return off


# --- what stands in for the grader's own -------------------------------------------------------------------------


def _public_cases(name: str, seed: str) -> HiddenSet:
    """Return a set whose cases are the public examples."""
    task = notebooks.TASKS[name]
    examples = replace(task.criteria[0], points=task.points, draw=lambda draws: list(task.examples), needs=None)
    return HiddenSet(replace(task, criteria=(examples,)), seed)


def _needing_nothing(name: str, seed: str) -> HiddenSet:
    """Return the hidden set with criteria that count by themselves."""
    task = notebooks.TASKS[name]
    return HiddenSet(replace(task, criteria=tuple(replace(one, needs=None) for one in task.criteria)), seed)


def _judge_stated_id(task: Any, outcomes: Any, student_id: str) -> Any:
    """Judge a variant by the id that the notebook states."""
    return _JUDGE_VARIANT(task, outcomes, judge._stated_id(judge._value(outcomes[1])))


_JUDGE_VARIANT = judge._judge_variant


DEFENCES = {
    defence.name: defence
    for defence in (
        Defence(
            "scored outside the process",
            "the same checks as asserts in the graded cells, run by our engine",
            _grading_by(inkernel.grade_by_asserts),
        ),
        Defence(
            "only the judge writes points",
            "points are read from what the check's own card says",
            _grading_by(inkernel.grade_by_cards),
        ),
        Defence(
            "a refusal counts only beside right values",
            "every criterion counts by itself",
            _patching((judge, "hidden_set", _needing_nothing)),
        ),
        Defence(
            "numbers belong to the registered id",
            "a variant is judged by the id that the notebook states",
            _patching((judge, "_judge_variant", _judge_stated_id)),
        ),
        Defence(
            "hidden cases",
            "the judge asks for the public examples",
            _patching((judge, "hidden_set", _public_cases)),
        ),
        Defence(
            "Landlock",
            "the child's rules for files are not put on",
            _child_with(confinement="_restrict_files = lambda *a: None"),
        ),
    )
}
