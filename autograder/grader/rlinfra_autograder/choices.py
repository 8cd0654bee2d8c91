"""From choices to a verdict: what is asked of a function that chooses, how its choices are simulated, what they earn.

A choice comes from the student's process as plain data and is checked here. Then a second child simulates it, in which
the course's cells run and no student's. The rows of figures that come back are parsed as strictly as anything.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from rlinfra.checks.choices import bench_of, way_to_goal
from rlinfra.observe import Call, Observation

from .hidden import hint_of
from .probes import CALL_FAULTS, OBSERVED, Fault, Outcome, Probed, Request, failure_text, says_unwritten
from .tasks.sources import engine_source
from .verdicts import CriterionVerdict, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .sandbox.runner import Runner
    from .tasks.model import ChoiceTask

    Row = Mapping[str, float]
    Simulate = Callable[[Mapping[int, tuple[Mapping[str, Any], Mapping[str, Any]]]], Mapping[int, Outcome]]

LARGEST_FIGURE = 1e12
NOT_SIMULATED = "not simulated"
_CELL = """\
from rlinfra import check
from {bench} import simulate_choice as {name}
check("{name}")"""


@dataclass(frozen=True)
class Marks:
    """What a workload's points are measured by: the rates of the default choice and of the best one known."""

    default: float
    best: float


def choice_request(task: ChoiceTask, seed: str) -> Request:
    """Return what to ask of the function: a choice for each hidden workload."""
    return Request(task.name, calls=tuple(Call((workload,)) for workload in task.hidden_workloads(seed)))


def choices_hash(task: ChoiceTask, seed: str | None) -> str:
    """Return the hash of the workloads under a seed (of the public ones without), and of all that choices come to.

    That is: the source of what simulates them, of the reference and of the search for the best one.
    """
    workloads = list(task.examples.values()) if seed is None else task.hidden_workloads(seed)
    asked = [task.name, seed, workloads, dict(task.default), dict(task.space), engine_source(task)]
    return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def with_figures(task: ChoiceTask, probed: Probed, seed: str, marks: Sequence[Marks], simulate: Simulate) -> Probed:
    """Return the choices that were observed, and after them what a simulation made of each, with the workload's marks.

    Where there is no choice that can be simulated, a fault stands in its place.
    """
    if probed.status != OBSERVED or len(probed.outcomes) != len(task.workloads):
        return probed
    choices = [checked(task, outcome)[0] for outcome in probed.outcomes]
    pairs = zip(task.hidden_workloads(seed), choices, strict=True)
    asked = {place: (workload, choice) for place, (workload, choice) in enumerate(pairs) if choice is not None}
    rows = simulate(asked) if asked else {}
    figures = [_with_marks(rows.get(place, Fault(NOT_SIMULATED)), mark) for place, mark in enumerate(marks)]
    return Probed(OBSERVED, (*probed.outcomes, *figures))


def _with_marks(row: Outcome, mark: Marks) -> Outcome:
    if isinstance(row, Fault) or row.raised is not None:
        return row
    return Observation({"row": row.value, **asdict(mark)})


def checked(task: ChoiceTask, outcome: Outcome) -> tuple[dict[str, Any] | None, str]:
    """Return the choice that an outcome is, or None and why it is none."""
    if failure := failure_text(outcome):
        return None, failure
    assert isinstance(outcome, Observation)
    try:
        choice: dict[str, Any] = bench_of(task.bench).require_choice(outcome.value)
    except ValueError as error:  # repeats nothing of the value
        return None, f"no choice: {error}"
    return choice, ""


def simulator(task: ChoiceTask, runner: Runner) -> Simulate:
    """Return the way to simulate choices in a child that is confined and bounded as a student's is, a cell for each.

    A fault costs only the workload that it happens in.
    """

    def simulate(asked: Mapping[int, tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Mapping[int, Outcome]:
        names = {place: f"workload_{place}" for place in asked}
        cells = [(place, _CELL.format(bench=task.bench_module, name=name)) for place, name in names.items()]
        requests = {place: Request(names[place], calls=(Call(pair),)) for place, pair in asked.items()}
        probed = runner.run(cells, requests).probed
        return {place: _only(probed[name]) for place, name in names.items()}

    return simulate


def _only(probed: Probed) -> Outcome:
    return probed.outcomes[0] if probed.status == OBSERVED else Fault(NOT_SIMULATED)


def simulate_here(task: ChoiceTask) -> Simulate:
    """Return the way to simulate choices of our own (of attempts, of the reference) in this process."""
    bench = bench_of(task.bench)
    return lambda asked: {place: Observation(bench.simulate_choice(*pair)) for place, pair in asked.items()}


# --- the verdict -------------------------------------------------------------------------------------------------


def judge_choices(task: ChoiceTask, outcomes: Sequence[Outcome], seed: str) -> Verdict:
    """Return the verdict on a function that chooses: of each workload, how far its choice gets towards the goal."""
    count = len(task.workloads)
    workloads, choices, figures = task.hidden_workloads(seed), outcomes[:count], outcomes[count:]
    criteria, shown = [], Counter[str]()
    for place, workload in enumerate(task.workloads):
        figure = figures[place] if len(figures) == count else Fault(NOT_SIMULATED)
        choice, why = checked(task, choices[place]) if len(choices) == count else (None, "not run")
        way, note = (0.0, why) if choice is None else _way(task, workloads[place], figure)
        earned = round(workload.points * way, 2)
        criteria.append(CriterionVerdict(workload.title, workload.points, earned, 0, 0, note))
        row = _parsed(task, figure)
        if choice is not None and row is not None and way < 1:
            shown.update(hint_of(one.attempt) for one in task.mistakes if one.shows(workloads[place], choice, row[0]))
    remark = f"{task.name} returns nothing: is it written yet?" if all(map(says_unwritten, choices)) else ""
    hint = shown.most_common(1)[0][0] if shown else ""
    return Verdict(task.name, task.points, tuple(criteria), hint, remark)


def _way(task: ChoiceTask, workload: Mapping[str, Any], figure: Outcome) -> tuple[float, str]:
    """Return how far a choice gets in a workload, and a sentence that says so without any hidden value."""
    parsed = _parsed(task, figure)
    if parsed is None:
        why = CALL_FAULTS.get(figure.kind, "") if isinstance(figure, Fault) else ""
        return 0.0, "the simulation of this choice failed" + (f": {why}" if why else "")
    row, marks = parsed
    broken = bench_of(task.bench).broken_bounds(workload, row)
    if broken:
        return 0.0, f"breaks {' and '.join(broken)}"
    way = way_to_goal(row[task.rate], marks.default, marks.best)
    return way, f"{100 * way:.0f} % of the way from the default to the goal"


def _parsed(task: ChoiceTask, figure: Outcome) -> tuple[Row, Marks] | None:
    """Return the row and the marks that an outcome is, if it is nothing else: names as they must be, sane numbers."""
    match figure:
        case Observation(value={"row": dict(row), "default": default, "best": best}, raised=None):
            numbers = [*row.values(), default, best]
            if set(row) == set(bench_of(task.bench).ROW) and all(map(_is_figure, numbers)):
                return row, Marks(default, best)
    return None


def _is_figure(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and 0 <= value <= LARGEST_FIGURE  # type: ignore[arg-type,operator]
