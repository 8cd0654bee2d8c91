"""Grading as it would be without the judge: by what the graded cells put out, read as nbgrader reads it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from nbgrader.utils import determine_grade

from rlinfra_autograder.grade import Graded
from rlinfra_autograder.sandbox.runner import Runner
from rlinfra_autograder.verdicts import CriterionVerdict, Verdict

from . import notebooks


def grade_by_asserts(notebook: Any, runner: Runner) -> Graded:
    """Grade by asserts on the hidden cases in the graded cells; a cell that raises nothing has its points."""
    return _grade(notebooks.with_asserts(notebook), runner, lambda name, points, most: points)


def grade_by_cards(notebook: Any, runner: Runner) -> Graded:
    """Grade functions by the points that the checks' own cards say; what is not full marks does not count.

    The cards of answers that are no functions say whether their form is right, which wrong ones have too.
    """
    return _grade(
        notebook,
        runner,
        lambda name, points, most: points if name in notebooks.FUNCTIONS and points >= most else 0.0,
    )


def _grade(notebook: Any, runner: Runner, counted: Callable[[str, float, float], float]) -> Graded:
    graded = copy.deepcopy(notebook)
    cells = [(place, cell.source) for place, cell in enumerate(graded.cells) if cell.cell_type == "code"]
    runs = runner.run(cells, None).cells
    verdicts = []
    for place, cell in enumerate(graded.cells):
        if cell.cell_type != "code":
            continue
        run = runs.get(place)
        # a cell that was not run to its end is no success
        cell.outputs = run.outputs if run else [{"output_type": "error"}]
        if cell.get("id") in notebooks.TASKS:
            points, most = determine_grade(cell)
            earned = 0.0 if run is None or run.fault else counted(cell.id, points, most)
            verdicts.append(Verdict(cell.id, most, (CriterionVerdict("in the kernel", most, earned, 0, 0),)))
    return Graded(graded, tuple(verdicts), (), {})
