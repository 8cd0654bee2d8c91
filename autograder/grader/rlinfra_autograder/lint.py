"""What every source notebook must keep: ids, points, order, clean outputs, and no solution in the release."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat

from .tasks import load_tasks
from .tasks.model import ChoiceTask, FunctionTask, SortingTask, Task, VariantTask

POINTS_A_TOPIC = 20
_SOLUTION = re.compile(r"^[ \t]*#+ ?BEGIN SOLUTION[ \t]*\n(.*?)^[ \t]*#+ ?END SOLUTION", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6}) ", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def lint_topic(root: Path, topic: str) -> list[str]:
    """Return the problems of a topic's source notebook, and of its release where there is one."""
    path = root / "source" / topic / f"{topic}.ipynb"
    if not path.is_file():
        return [f"{topic}: there is no notebook at source/{topic}/{topic}.ipynb"]
    source = nbformat.read(path, as_version=4)
    problems = [
        *_check_ids(path),
        *_check_cells(source),
        *_check_headings(source),
        *_check_tasks(source, load_tasks(topic)),
    ]
    released = root / "release" / topic / f"{topic}.ipynb"
    if released.is_file():
        problems += _check_release(source, nbformat.read(released, as_version=4))
    return [f"{topic}: {problem}" for problem in problems]


def _ours(cell: Any) -> dict[str, Any]:
    ours: dict[str, Any] = cell.metadata.get("nbgrader", {})
    return ours


def _check_ids(path: Path) -> list[str]:
    """Return the ids that stand twice in the file; reading it as a notebook would rename them in silence."""
    ids = [cell.get("id", "") for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    return [f"the cell id {one!r} stands twice" for one in sorted({one for one in ids if ids.count(one) > 1})]


def _check_cells(source: Any) -> list[str]:
    problems = []
    if "widgets" in source.metadata:  # JupyterLab saves them on demand; opened again, they are not found
        problems.append("the metadata holds the state of widgets: clear all outputs and save")
    for place, cell in enumerate(source.cells):
        where = f"cell {place + 1} ({cell.get('id', 'no id')})"
        grade_id = _ours(cell).get("grade_id")
        if grade_id is not None and cell.get("id") != grade_id:
            problems.append(f"{where}: its id must be its grade id {grade_id!r}")
        if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None):
            problems.append(f"{where}: outputs and numbers must be cleared")
        if "BEGIN SOLUTION" in _SOLUTION.sub("", cell.source):
            problems.append(f"{where}: a solution needs a line ### BEGIN SOLUTION and a line ### END SOLUTION")
    return problems


def _check_headings(source: Any) -> list[str]:
    levels = [
        (len(mark), cell.get("id"))
        for cell in source.cells
        if cell.cell_type == "markdown"
        for mark in _HEADING.findall(_FENCE.sub("", cell.source))
    ]
    problems = []
    if [level for level, _ in levels].count(1) != 1 or levels[0][0] != 1:
        problems.append("the notebook must open with its one heading of level 1")
    problems += [
        f"cell {after[1]}: a heading of level {after[0]} follows one of level {before[0]}"
        for before, after in pairwise(levels)
        if after[0] > before[0] + 1
    ]
    return problems


def _check_tasks(source: Any, tasks: tuple[Task, ...]) -> list[str]:
    cells = {cell.get("id"): cell for cell in source.cells}
    order = list(cells)
    names = [task.name for task in tasks]
    judged = [
        _ours(cell).get("grade_id")
        for cell in source.cells
        if _ours(cell).get("grade") and not _ours(cell).get("solution")
    ]
    problems = []
    if judged != names:
        problems.append(f"the graded cells are {judged}, the tasks {names}: each task must be used once, in order")
    total = sum(task.points for task in tasks)
    if total != POINTS_A_TOPIC:
        problems.append(f"the tasks are worth {total:g} points, not {POINTS_A_TOPIC}")
    for task in tasks:
        if task.name not in cells:
            continue
        graded = cells[task.name]
        if graded.source != f'check("{task.name}")':
            problems.append(f'{task.name}: the graded cell must be the one line check("{task.name}")')
        if _ours(graded).get("points") != task.points:
            problems.append(f"{task.name}: {_ours(graded).get('points')} points, the task says {task.points:g}")
        for part in ("prompt", "code"):
            if f"{task.name}-{part}" not in cells:
                problems.append(f"{task.name}: there is no cell {task.name}-{part}")
            elif order.index(f"{task.name}-{part}") > order.index(task.name):
                problems.append(f"{task.name}: the cell {task.name}-{part} stands after its check")
        problems += _check_prompt(task, cells)
    return problems


def _check_prompt(task: Task, cells: dict[str, Any]) -> list[str]:
    """Return what a prompt leaves out: a key that the answer must have, a class, a setting, the minutes it takes."""
    prompt = cells.get(f"{task.name}-prompt")
    code = cells.get(f"{task.name}-code")
    if prompt is None or code is None:
        return []
    problems = []
    if not (_ours(prompt).get("locked") and not _ours(prompt).get("solution")):
        problems.append(f"{task.name}: its prompt must be locked")
    if not _ours(code).get("solution") or _ours(code).get("grade"):
        problems.append(f"{task.name}: its code must be an autograded answer's solution cell")
    if not re.search(r"\d+ min", prompt.source):
        problems.append(f"{task.name}: its prompt does not state the minutes")
    match task:
        case FunctionTask():
            wanted = [f"def {name}(" for name in (task.drill.functions if task.drill else (task.name,))]
            text = code.source
        case ChoiceTask():
            wanted = [f"def {task.name}(", *task.space]
            text = "\n".join((code.source, prompt.source))
        case VariantTask():
            wanted = list(task.fields)
            text = prompt.source
        case SortingTask():
            wanted = [*task.key, *task.classes]
            text = prompt.source
    missing = [one for one in wanted if not re.search(rf"(?<!not ){re.escape(one)}", text)]
    return problems + [f"{task.name}: {one!r} is nowhere in its prompt or code" for one in missing]


def _check_release(source: Any, released: Any) -> list[str]:
    """Return the lines of solutions that the release still holds."""
    text = {line.strip() for cell in released.cells for line in cell.source.splitlines()}
    kept = {line.strip() for cell in source.cells for line in _SOLUTION.sub("", cell.source).splitlines()}
    solution_lines = {
        line.strip()
        for cell in source.cells
        for region in _SOLUTION.findall(cell.source)
        for line in region.splitlines()
        if len(line.strip()) > 8
    }
    return [f"the release holds a line of a solution: {line}" for line in sorted((solution_lines - kept) & text)]
