"""One submission in, one graded notebook and its verdicts out.

The notebook is run twice: the shown run, whose outputs people see and in which no hidden input exists, and the judged
run, in which each check observes the hidden inputs at its place and every output is dropped. Choices that were observed
are then simulated in a child without a line of the notebook in it.
"""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import nbformat
from nbformat import NotebookNode

from rlinfra.observe import Observation

from .best_known import hidden_marks
from .choices import simulator, with_figures
from .feedback import SUMMARY_ID, points_text, summary_html, verdict_html
from .hidden import seed_fingerprint
from .judge import judge, request_of, second_request
from .probes import NOT_REACHED, OBSERVED, Probed
from .sandbox.attempt import CellRun
from .sandbox.runner import Execution
from .sanitise import clean_notebook
from .tasks import load_tasks, topic_source
from .tasks.model import ChoiceTask
from .text import one_line
from .verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from pathlib import Path

    from .intake import Repair
    from .sandbox.runner import Runner
    from .tasks.model import Task

METADATA_KEY = "rlinfra"


@dataclass(frozen=True)
class Graded:
    """A graded submission: the notebook with its outputs, the verdicts in task order, and the cells that stopped.

    `probed` is what was observed of each task, from which its verdict was made.
    """

    notebook: Any
    verdicts: tuple[Verdict, ...]
    faults: tuple[str, ...]
    probed: Mapping[str, Probed]

    @property
    def earned(self) -> float:
        """The points of all judged tasks."""
        return sum(verdict.earned for verdict in self.verdicts)


def grade(
    notebook: Any,
    *,
    topic: str,
    student_id: str,
    runner: Runner,
    seed: str,
    environment: Mapping[str, str],
    repairs: Sequence[Repair] = (),
    root: Path | None = None,
) -> Graded:
    """Return the graded submission of one student to one topic.

    `environment` holds the versions in the student's environment, as `Runner.verify` returned them; `repairs` what
    intake repaired, which the page then says. In the course root `root` the best choices known are kept; without, they
    are searched once a process. Raises `RunnerError` where the grader itself cannot run notebooks.
    """
    tasks = {task.name: task for task in load_tasks(topic)}
    places = _places(notebook, tasks)
    runs = _run(notebook, tasks, places, runner=runner, seed=seed, root=root)
    verdicts = tuple(judge(task, runs.probed[name], seed=seed, student_id=student_id) for name, task in tasks.items())
    faults = tuple(f"{_known_by(notebook.cells[place])}: {why}" for place, why in runs.faults.items())
    graded = clean_notebook(_with_outputs(notebook, runs.shown))
    _put_cards(graded, {places[verdict.task]: verdict for verdict in verdicts if verdict.task in places})
    said = tuple(repair.what for repair in repairs)
    summary = summary_html(verdicts, faults, repairs=said, confined=runner.confined)
    graded.cells.insert(0, nbformat.v4.new_markdown_cell(summary, id=_free_id(graded)))
    graded.metadata[METADATA_KEY] = {
        "provenance": _provenance(notebook, topic, seed, runner, environment),
        "verdicts": [asdict(verdict) for verdict in verdicts],
        "faults": list(faults),
        "repairs": [asdict(repair) for repair in repairs],
    }
    return Graded(graded, verdicts, faults, runs.probed)


def probe_task(notebook: Any, task: Task, *, runner: Runner, seed: str, root: Path | None = None) -> Probed:
    """Return what a submission does with one task's hidden inputs: the judged run, with that one request in it."""
    tasks = {task.name: task}
    cells = [(place, cell.source) for place, cell in enumerate(notebook.cells) if _runs(cell)]
    probed, _, _ = _judged(cells, tasks, _places(notebook, tasks), runner, seed)
    return _simulated(tasks, probed, runner, seed, root)[task.name]


def with_verdict(graded: Any, verdict: Verdict, details: Mapping[str, Any], *, confined: bool) -> Any:
    """Return a graded notebook in which one task was judged anew: its card, the table on top and the metadata.

    `details` is what the metadata is to say. Raises `ValueError` where it is no graded notebook with that task.
    """
    changed = copy.deepcopy(graded)
    places = _places(changed, {verdict.task})
    if not places or METADATA_KEY not in changed.metadata or not changed.cells[0].get("id", "").startswith(SUMMARY_ID):
        raise ValueError("it is not as the grader wrote it")
    _put_cards(changed, {places[verdict.task]: verdict})
    ours = changed.cells[places[verdict.task]].metadata.nbgrader
    ours.points = ours.points if ours.points == verdict.points else verdict.points
    verdicts = [Verdict.from_data(data) for data in details["verdicts"]]
    repairs = [repair["what"] for repair in details["repairs"]]
    changed.cells[0].source = summary_html(verdicts, details["faults"], repairs=repairs, confined=confined)
    changed.metadata[METADATA_KEY] = details
    return changed


@dataclass(frozen=True)
class _Runs:
    """What the runs of a notebook gave: the cells people see, what each check observed, and why cells were stopped."""

    shown: Mapping[int, CellRun]
    probed: Mapping[str, Probed]
    faults: Mapping[int, str]


def _run(
    notebook: Any,
    tasks: Mapping[str, Task],
    places: Mapping[str, int],
    *,
    runner: Runner,
    seed: str,
    root: Path | None,
) -> _Runs:
    """Run the notebook: shown, then judged, then once more what a drill asks of a second process; simulate choices.

    The shown run is over before any hidden input exists, so there is nothing that it could overhear.
    """
    cells = [(place, cell.source) for place, cell in enumerate(notebook.cells) if _runs(cell)]
    shown = runner.run(cells, None)
    probed, judged, drilled = _judged(cells, tasks, places, runner, seed)
    ends = [*drilled.cells.items(), *judged.cells.items(), *shown.cells.items()]
    faults = {place: run.fault for place, run in sorted(ends, key=itemgetter(0)) if run.fault}
    return _Runs(shown.cells, _simulated(tasks, probed, runner, seed, root), faults)


def _judged(
    cells: Sequence[tuple[int, str]], tasks: Mapping[str, Task], places: Mapping[str, int], runner: Runner, seed: str
) -> tuple[dict[str, Probed], Execution, Execution]:
    """Return what each task's check observed, with the run and the second run that it was observed in."""
    judged = runner.run(cells, {place: request_of(tasks[name], seed) for name, place in places.items()})
    seconds = {name: second_request(tasks[name], first, seed) for name, first in judged.probed.items()}
    drills = {places[name]: second for name, second in seconds.items() if second is not None}
    drilled = runner.run(cells, drills) if drills else Execution({}, {})
    joined = {name: _joined(judged.probed[name], second) for name, second in drilled.probed.items()}
    nothing = dict.fromkeys(tasks, Probed(NOT_REACHED))
    return {**nothing, **judged.probed, **joined}, judged, drilled


def _simulated(
    tasks: Mapping[str, Task], probed: Mapping[str, Probed], runner: Runner, seed: str, root: Path | None
) -> dict[str, Probed]:
    """Return what was observed, with what each choice comes to."""
    choosing = {name: task for name, task in tasks.items() if isinstance(task, ChoiceTask)}
    figures = {
        name: with_figures(task, probed[name], seed, hidden_marks(task, seed, root), simulator(task, runner))
        for name, task in choosing.items()
    }
    return {**probed, **figures}


def _joined(first: Probed, second: Probed) -> Probed:
    """Return the outcomes of a drill's second process, which got what the first handed over, and only that.

    Where the first raised or was stopped, that stays the outcome.
    """
    if second.status != OBSERVED:
        return second
    pairs = zip(first.outcomes, second.outcomes, strict=True)
    return Probed(OBSERVED, tuple(b if isinstance(a, Observation) and a.raised is None else a for a, b in pairs))


def _places(notebook: Any, names: Container[str]) -> dict[str, int]:
    """Return the place of each task's graded cell."""
    return {name: place for place, cell in enumerate(notebook.cells) if (name := _grade_id(cell)) in names}


def _runs(cell: Any) -> bool:
    return cell.cell_type == "code" and bool(cell.source.strip())


def _grade_id(cell: Any) -> str:
    """Return the grade id of a judged cell: a graded code cell that is no solution."""
    ours = cell.metadata.get("nbgrader", {})
    judged = cell.cell_type == "code" and ours.get("grade") and not ours.get("solution")
    return str(ours.get("grade_id")) if judged else ""


def _free_id(graded: Any) -> str:
    """Return the id of the summary's cell: one that no cell of the student's has."""
    taken = {cell.id for cell in graded.cells}
    return next(
        name for name in (SUMMARY_ID, *(f"{SUMMARY_ID}-{number}" for number in range(len(taken)))) if name not in taken
    )


def _known_by(cell: Any) -> str:
    """Return what a cell is known by to the student who wrote it: its first line."""
    return one_line(cell.source.strip().partition("\n")[0], 50)


def _with_outputs(notebook: Any, shown: Mapping[int, CellRun]) -> Any:
    """Return a copy of the notebook with the outputs of the shown run, and no others."""
    cells = []
    for place, cell in enumerate(notebook.cells):
        run = shown.get(place) or CellRun()
        ran = {"outputs": run.outputs, "execution_count": run.execution_count}
        cells.append(NotebookNode({**cell, **ran}) if cell.cell_type == "code" else cell)
    return NotebookNode({**notebook, "cells": cells})


def _put_cards(graded: Any, verdicts: Mapping[int, Verdict]) -> None:
    """Put the card of each task under its graded cell, in the place of whatever else came out there.

    nbgrader reads the points from the first result, and gives 0 for any error or text on stderr.
    """
    for place, verdict in verdicts.items():
        cell = graded.cells[place]
        card = {"text/plain": points_text(verdict.earned), "text/html": verdict_html(verdict)}
        result = {"output_type": "execute_result", "metadata": {}, "data": card}
        cell.outputs = [nbformat.from_dict({**result, "execution_count": cell.execution_count})]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def submission_hash(notebook: Any) -> str:
    """Return the hash of what a submission says: the types and sources of its cells."""
    return _sha256(json.dumps([(cell.cell_type, cell.source) for cell in notebook.cells]))


def _provenance(
    notebook: Any,
    topic: str,
    seed: str,
    runner: Runner,
    environment: Mapping[str, str],
) -> dict[str, Any]:
    """Return what made a grade: with the same, it comes out the same."""
    return {
        "submission_sha256": submission_hash(notebook),
        "tasks_and_reference_sha256": _sha256(topic_source(topic)),
        "course_seed": seed_fingerprint(seed),
        "limits": runner.limits.to_data(),
        "confined": runner.confined,
        "student_environment": dict(environment),
        "grader": dict(grader_versions()),
        "graded_at": now(),
    }


@cache
def grader_versions() -> Mapping[str, str]:
    """Return the versions of what grades."""
    return {name: version(name) for name in ("rlinfra-autograder", "rlinfra-reference", "nbgrader")}


def now() -> str:
    """Return the time as a grade states it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
