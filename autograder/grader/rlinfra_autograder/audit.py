"""The audit of the hidden cases: whether they grade what they should.

Over several course seeds: every misconception is told from the right answer, every correct variant gets full marks,
nearly every mutant of the reference is killed, and a constant or an always-raising function scores nothing.
"""

from __future__ import annotations

import contextlib
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rlinfra.checks.choices import way_to_goal
from rlinfra.observe import Call, Observation, Raised, observe
from rlinfra.wire import encode

from .best_known import hidden_marks, public_marks, rate_of
from .choices import choice_request, simulate_here, with_figures
from .hidden import HiddenSet, expected_value, hint_of, is_right
from .judge import judge, judge_function
from .mutants import mutants_of
from .probes import OBSERVED, Probed
from .tasks.model import ChoiceTask, FunctionTask, SortingTask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .tasks import Task
    from .verdicts import Verdict

SEEDS = 20
MUTANTS_KILLED = 0.95
EQUIVALENT_MOST = 0.05
_MUTANT_SECONDS = 2.0
_USUAL_CONSTANTS: tuple[object, ...] = (None, 0, 1, -1, 0.5, "", True, [], {})


@dataclass
class TaskAudit:
    """What the audit of one task found; `faults` are what makes the audit fail."""

    task: str
    misconceptions: int = 0
    told_by_hidden: int = 0
    told_by_examples: int = 0
    variants: int = 0
    variants_full: int = 0
    mutants: int = 0
    killed: int = 0
    equivalent: int = 0
    equivalents: list[str] = field(default_factory=list)
    survivors: list[str] = field(default_factory=list)
    free_points: float = 0.0
    faults: list[str] = field(default_factory=list)


def audit_task(task: Task, seeds: int = SEEDS) -> TaskAudit:
    """Audit one task over so many seeds."""
    report = TaskAudit(task.name)
    if isinstance(task, FunctionTask):
        sets = [HiddenSet(task, f"audit-{number}") for number in range(seeds)]
        _audit_misconceptions(task, sets, report)
        _audit_variants(task, sets, report)
        _audit_mutants(task, sets, report)
        _audit_free_points(sets, report)
    elif isinstance(task, SortingTask):
        _audit_sorting(task, report)
    elif isinstance(task, ChoiceTask):
        _audit_choices(task, [f"audit-{number}" for number in range(seeds)], report)
    return report


def _audit_misconceptions(task: FunctionTask, sets: list[HiddenSet], report: TaskAudit) -> None:
    report.misconceptions = len(task.misconceptions)
    for misconception in task.misconceptions:
        name = misconception.__name__.lstrip("_")
        if not hint_of(misconception):
            report.faults.append(f"misconception {name} has no hint")
        missed = [
            hidden.seed
            for hidden in sets
            if judge_function(hidden, hidden.outcomes(misconception)).earned == task.points
        ]
        if missed:
            report.faults.append(f"misconception {name} gets full marks under {len(missed)} of {len(sets)} seeds")
        else:
            report.told_by_hidden += 1
        if any(not _right_in_example(task, place, misconception) for place in range(len(task.examples))):
            report.told_by_examples += 1


def _right_in_example(task: FunctionTask, place: int, function: Callable[..., object]) -> bool:
    example = task.examples[place]
    expected = None if example.names else expected_value(task, example.call)
    return is_right(task, example, expected, task.attempt(function, example.call))


def _audit_variants(task: FunctionTask, sets: list[HiddenSet], report: TaskAudit) -> None:
    report.variants = len(task.correct)
    if len(task.correct) < 3:
        report.faults.append(f"only {len(task.correct)} correct variants, three are wanted")
    for variant in task.correct:
        name = variant.__name__.lstrip("_")
        short = [
            hidden.seed for hidden in sets if judge_function(hidden, hidden.outcomes(variant)).earned != task.points
        ]
        wrong = [place for place in range(len(task.examples)) if not _right_in_example(task, place, variant)]
        if short or wrong:
            report.faults.append(
                f"correct variant {name} loses points under {len(short)} of {len(sets)} seeds"
                + (f", and fails example {wrong[0] + 1}" if wrong else "")
            )
        else:
            report.variants_full += 1


def _audit_mutants(task: FunctionTask, sets: list[HiddenSet], report: TaskAudit) -> None:
    validation = any(drawn.names is not None for hidden in sets for _, drawn in hidden.cases)
    mutants = mutants_of(task.reference, validation=validation)
    known = dict(task.equivalent_mutants)
    for mutant in mutants:
        if mutant.change in known:
            report.equivalent += 1
            report.equivalents.append(f"{mutant.description} ({task.equivalent_mutants[mutant.change]})")
            known[mutant.change] = ""
            continue
        report.mutants += 1
        if all(_killed(task, hidden, mutant.function) for hidden in sets):
            report.killed += 1
        else:
            report.survivors.append(mutant.description)
    report.faults += [
        f"no mutant is described by {where!r} (equivalent_mutants)" for where, why in known.items() if why
    ]
    if report.equivalent > EQUIVALENT_MOST * len(mutants):
        report.faults.append(f"{report.equivalent} of {len(mutants)} mutants are called equivalent: at most 5 % may be")
    if report.killed < MUTANTS_KILLED * report.mutants:
        report.faults.append(f"only {report.killed} of {report.mutants} mutants are killed")


def _killed(task: FunctionTask, hidden: HiddenSet, mutant: Callable[..., Any]) -> bool:
    """Return whether some hidden case tells the mutant from the reference; a mutant that hangs is told."""

    def answer(*args: object, **kwargs: object) -> object:
        return task.answer(mutant(*args, **kwargs))

    with _alarm(_MUTANT_SECONDS):
        for (_, drawn), expected in zip(hidden.cases, hidden.expected, strict=True):
            if not is_right(task, drawn, expected, observe(answer, Call.from_data(drawn.call.to_data()))):
                return True
        return False
    return True


class _MutantHangsError(KeyboardInterrupt):
    """The time of a mutant is over."""


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """End the block quietly after so many seconds."""

    def stop(_signal: int, _frame: object) -> None:
        raise _MutantHangsError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _MutantHangsError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _audit_free_points(sets: list[HiddenSet], report: TaskAudit) -> None:
    """Find what functions that do not look at their arguments earn: constants, and each built-in exception raised."""
    for hidden in sets:
        constants: dict[str, object] = {repr(encode(value)): value for value in hidden.expected}
        constants.update({repr(value): value for value in _USUAL_CONSTANTS})
        candidates = [[Observation(value)] * len(hidden.cases) for value in constants.values()]
        everything = " ".join({drawn.names for _, drawn in hidden.cases if drawn.names})
        candidates += [
            [Observation(raised=Raised(kind, message=everything))] * len(hidden.cases)
            for kind in ("ValueError", "TypeError", "NotImplementedError")
        ]
        best = max(judge_function(hidden, outcomes).earned for outcomes in candidates)
        report.free_points = max(report.free_points, best)
    if report.free_points:
        report.faults.append(f"a constant or an always-raising function earns {report.free_points:g} points")


def attempted(task: ChoiceTask, attempt: Callable[..., object], seed: str) -> Probed:
    """Return what is observed of an attempt of ours at a task on choices, all of it in this process."""
    observed = tuple(observe(attempt, call) for call in choice_request(task, seed).calls)
    return with_figures(task, Probed(OBSERVED, observed), seed, hidden_marks(task, seed, None), simulate_here(task))


def _audit_choices(task: ChoiceTask, seeds: list[str], report: TaskAudit) -> None:
    """Find who gets full marks, who his own hint, and what the default earns, or a function that only raises.

    A constant that happens to do in some workloads is an honest choice for these: it must not do in all.
    """

    def verdicts(attempt: Callable[..., object], seeds: list[str] = seeds) -> list[Verdict]:
        return [judge(task, attempted(task, attempt, seed), seed=seed, student_id="x") for seed in seeds]

    report.misconceptions, report.variants = len(task.misconceptions), len(task.correct)
    for misconception in task.misconceptions:
        name, found = misconception.__name__, verdicts(misconception)
        report.told_by_hidden += all(one.earned < task.points for one in found)
        report.told_by_examples += bool(_short_in_examples(task, misconception))
        if full := sum(one.earned == task.points for one in found):
            report.faults.append(f"misconception {name} gets full marks under {full} of {len(seeds)} seeds")
        if other := sum(one.hint != hint_of(misconception) for one in found):
            report.faults.append(f"misconception {name} gets another hint under {other} of {len(seeds)} seeds")
    for variant in (task.reference, *task.correct):
        short = sum(one.earned != task.points for one in verdicts(variant))
        examples = _short_in_examples(task, variant)
        if short or examples:
            where = "".join(f", and in the example {name}" for name in examples)
            report.faults.append(f"{variant.__name__} loses points under {short} of {len(seeds)} seeds{where}")
        elif variant is not task.reference:
            report.variants_full += 1
    for attempt in (_raising, *map(_returning, (*_USUAL_CONSTANTS, dict(task.default)))):
        report.free_points = max(report.free_points, *(one.earned for one in verdicts(attempt)))
    if report.free_points:
        report.faults.append(f"the default or an always-raising function earns {report.free_points:g} points")
    for seed in seeds:
        constants = [_returning(task.reference(workload)) for workload in task.hidden_workloads(seed)]
        if any(verdicts(constant, [seed])[0].earned == task.points for constant in constants):
            report.faults.append(f"one choice gets full marks in all workloads of the seed {seed}")


def _returning(value: object) -> Callable[[object], object]:
    return lambda _: value


def _raising(_: object) -> object:
    raise ValueError("workload")


def _short_in_examples(task: ChoiceTask, attempt: Callable[..., Any]) -> list[str]:
    """Return the public workloads in which an attempt of ours does not come to the goal."""
    ways = {
        name: way_to_goal(rate_of(task, workload, attempt(dict(workload))), marks.default, marks.best)
        for (name, workload), marks in zip(task.examples.items(), public_marks(task), strict=True)
    }
    return [name for name, way in ways.items() if way < 1]


def _audit_sorting(task: SortingTask, report: TaskAudit) -> None:
    for name in task.classes:
        constant = Probed(OBSERVED, (Observation(dict.fromkeys(task.key, name)), Observation("x")))
        verdict = judge(task, constant, seed="audit", student_id="x")
        report.free_points = max(report.free_points, verdict.earned)
    if report.free_points:
        report.faults.append(f"one class for every statement earns {report.free_points:g} points")
