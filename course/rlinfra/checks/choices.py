"""Checking choices: what each makes of a public workload is simulated at once, in the student's own kernel.

How far a choice gets is computed here, and the judge computes it the same way for the hidden workloads.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..observe import Call, Observation, observe
from ..wire import decode, encode
from .card import CheckResult, Row, show_value
from .examples import raised_text, says_unwritten, within_time
from .time_limit import still_running

if TYPE_CHECKING:
    from .data import PublicWorkload, TaskData

GOAL = 0.95  # the share of the best rate known that is worth all points
HEADS = ("workload", "goal", "what your choice comes to")


def way_to_goal(rate: float, default: float, best: float) -> float:
    """Return how far a rate has come from the default's, 0, to the goal, 1, of two decimals.

    Where the best rate known leaves no way to go, whatever is above the default is at the goal.
    """
    goal = GOAL * best
    if goal <= default:
        return float(rate > default)
    return round(min(1.0, max(0.0, (rate - default) / (goal - default))), 2)


def bench_of(name: str) -> Any:
    """Return the module of what notebooks hand out that simulates a task's choices."""
    return import_module(f"rlinfra.given.{name}")


def run_choices(task: TaskData, namespace: Mapping[str, Any]) -> CheckResult:
    """Return the card of a function that chooses: for each public workload, what its choice comes to."""
    rows, ways, printed, unwritten = [], [], "", 0
    for workload in task.workloads:
        observation = within_time(partial(_observed, task.name, namespace, workload))
        printed = printed or observation.printed
        unwritten += says_unwritten(observation)
        way, got = _judged(task, workload, observation)
        ways.append(way)
        goal = f"{GOAL * workload.best:,.0f} tokens/s, from {workload.default:,.0f} by default"
        rows.append(Row(workload.name, goal, got, raised=observation.raised is not None))
        if still_running(observation):
            break
    total, passed = len(task.workloads), sum(way == 1 for way in ways)
    points = round(task.points * sum(ways) / total, 2)
    if unwritten == total:
        problem = "It returns nothing. Write its body in the cell above, return the choice, and run both."
        return CheckResult(task.name, "not written yet", 0.0, task.points, (Row(problem=problem),))
    state = "passes" if passed == total else f"{passed} of {total} workloads at the goal"
    if all(row.raised for row in rows):
        state = "raises"
    return CheckResult(task.name, state, points, task.points, tuple(rows), "", printed, passed, HEADS)


def _observed(name: str, namespace: Mapping[str, Any], workload: PublicWorkload) -> Observation:
    call = Call.from_data(Call((workload.fields,)).to_data())
    return observe(call.function(name, namespace), call)


def _judged(task: TaskData, workload: PublicWorkload, observation: Observation) -> tuple[float, str]:
    """Return how far the choice gets, and what to say of it."""
    if observation.raised is not None:
        return 0.0, raised_text(observation)
    bench, choice = bench_of(task.bench), decode(encode(observation.value))
    form = task.accept.form_problem(choice)
    if form is not None:
        return 0.0, f"{show_value(choice)} ({form})"
    try:
        row = bench.simulate_choice(workload.fields, choice)
    except ValueError as error:
        return 0.0, f"{show_value(choice)} ({error})"
    broken = bench.broken_bounds(workload.fields, row)
    way = 0.0 if broken else way_to_goal(row[task.rate], workload.default, workload.best)
    verdict = (
        f"breaks {' and '.join(broken)}: no points" if broken else f"{100 * way:.0f} % of the way, no bound broken"
    )
    return way, f"{row[task.rate]:,.0f} tokens/s: {verdict}\n{bench.shown_bounds(workload.fields, row)}"
