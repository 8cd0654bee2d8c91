"""A synthetic class of 24: what students hand in, from flawless to hostile, for the demo and the tests.

Each student starts from the released notebook, as a real one does, and fills in the solution cells. The right and
the mistaken functions are those that the tasks know (`attempts/`).
"""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rlinfra.topics import TOPICS
from rlinfra.variants import variant

from .hidden import hint_of
from .tasks import load_tasks
from .tasks.model import ChoiceTask, FunctionTask, SortingTask, Task, VariantTask

Solve = Callable[[Task, str], str | None]
Edit = Callable[[Any], None]


@dataclass(frozen=True)
class Student:
    """One student of the class.

    `solve` gives the source of each solution cell, or None to leave it blank. `mistakes` are the misconceptions by
    task, `edit` is what the student did to the notebook by hand, `states_id` the id that the notebook states, `writes`
    whether questions in words are answered.
    """

    id: str
    story: str
    solve: Solve
    mistakes: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    edit: Edit | None = None
    states_id: str | None = None
    writes: bool = True

    def submission(self, released: Any, topic: str) -> Any:
        """Return the notebook that this student hands in for a topic."""
        notebook = copy.deepcopy(released)
        stated = self.id if self.states_id is None else self.states_id
        cells = {cell.id: cell for cell in notebook.cells}
        cells["setup"].source = cells["setup"].source.replace('STUDENT = "your-id"', f"STUDENT = {stated!r}")
        for task in load_tasks(topic):
            mistake = self.mistakes.get(task.name)
            source = attempt_source(mistake, task) if mistake else self.solve(task, stated)
            if source is not None:
                cells[f"{task.name}-code"].source = source
        for cell in _graded(notebook):
            if self.writes and cell.cell_type == "markdown":
                cell.source = f"An answer of {self.id}'s in a few sentences, for an assistant to read."
        if self.edit is not None:
            self.edit(notebook)
        return notebook


def attempt_source(attempt: Callable[..., Any], task: Task) -> str:
    """Return an attempt as a student would write it: under the name that its task asks for, without a docstring.

    Of an attempt at a drill, what it defines stands in the cell by itself.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(attempt)))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.name = task.name
    if ast.get_docstring(definition) is not None:
        del definition.body[0]
    if isinstance(task, FunctionTask) and task.drill is not None:
        tree.body = definition.body[:-1]  # all but the line that returns the functions
    return ast.unparse(tree)


def solve_in_style(style: int) -> Solve:
    """Return a way to solve every task right: functions in the style of that number, answers as plain dictionaries."""

    def solve(task: Task, stated_id: str) -> str | None:
        match task:
            case FunctionTask() | ChoiceTask():
                return attempt_source(task.correct[style % len(task.correct)], task)
            case VariantTask():
                return f"{task.name} = {dict(task.answer(variant(task.topic, stated_id).numbers))!r}"
            case SortingTask():
                return f"{task.name} = {task.key!r}"

    return solve


def _blank(_task: Task, _stated_id: str) -> str | None:
    return None


def _functions(topic: str) -> list[FunctionTask | ChoiceTask]:
    return [task for task in load_tasks(topic) if isinstance(task, FunctionTask | ChoiceTask)]


def _topic_of(task: Task) -> str:
    return next(topic.name for topic in TOPICS if task in load_tasks(topic.name))


def _half(task: Task, stated_id: str) -> str | None:
    """Solve the first half of a topic, and leave the next task with a slip of the pen."""
    tasks = load_tasks(_topic_of(task))
    place = tasks.index(task) - len(tasks) // 2
    if place == 0:
        return f"def {task.name}(:\n    return"
    return solve_in_style(0)(task, stated_id) if place < 0 else None


def _every_other(task: Task, stated_id: str) -> str | None:
    return solve_in_style(0)(task, stated_id) if load_tasks(_topic_of(task)).index(task) % 2 == 0 else None


def _with(*specials: str) -> Solve:
    """Return the flawless way, with the first functions of every topic replaced by sources with the name `NAME`."""

    def solve(task: Task, stated_id: str) -> str | None:
        functions = _functions(_topic_of(task))
        place = functions.index(task) if isinstance(task, FunctionTask | ChoiceTask) else len(specials)
        return (
            specials[place].replace("NAME", task.name) if place < len(specials) else solve_in_style(0)(task, stated_id)
        )

    return solve


_EXITS = """
import os

def NAME(*args, **kwargs):
    os._exit(1)
"""
_SEGFAULTS = """
import ctypes

def NAME(*args, **kwargs):
    ctypes.string_at(0)
"""
_LOOPS = """
def NAME(*args, **kwargs):
    while True:
        pass
"""
_LOOPS_FOR_EVER = """
def NAME(*args, **kwargs):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
"""
_STORES = """
seen = []

def NAME(*args, **kwargs):
    print("seen", args, kwargs)
    seen.append((args, kwargs))
    raise ValueError(repr((args, kwargs)))
"""
_NAMES_A_CLASS = """
print(seen)

def NAME(*args, **kwargs):
    raise type("Seen_" + repr((args, kwargs)), (ValueError,), {})(repr(seen))
"""


def _graded(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]


def _edit_checks(notebook: Any) -> None:
    """Overwrite the checks with the points wished for, and raise the maximum."""
    for cell in _graded(notebook):
        cell.source = f"{cell.metadata.nbgrader['points']}"
        cell.metadata.nbgrader["points"] = 100


def _delete_checks(notebook: Any) -> None:
    """Delete every other graded cell, and put a note of one's own in between."""
    gone = {cell.id for cell in _graded(notebook)[::2]}
    notebook.cells = [cell for cell in notebook.cells if cell.id not in gone]
    notebook.cells[3].source += "\n# my notes: ask about this in the tutorial"


def mistaken_student(name: str, topic: str, task_name: str, mistake: str) -> Student:
    """Return a student who is flawless but for one mistake, known by the name of the attempt."""
    task = next(task for task in _functions(topic) if task.name == task_name)
    wrong = next(wrong for wrong in task.misconceptions if wrong.__name__ == mistake)
    return Student(name, f"mistake in {task_name}", solve_in_style(0), {task_name: wrong})


def _mistakes(number: int) -> dict[str, Callable[..., Any]]:
    """Return the one mistake of the mistaken student of that number: topics in turn, and tasks in turn within them."""
    topic = TOPICS[number % len(TOPICS)].name
    task = _functions(topic)[number // len(TOPICS) % len(_functions(topic))]
    return {task.name: task.misconceptions[0]}


def synthetic_class() -> tuple[Student, ...]:
    """Return the 24 students; every one hands in a notebook for every topic."""
    flawless = solve_in_style(0)
    mistaken = ("felix", "grace", "hugo", "ines", "jonas", "kira", "liam", "mona", "nils", "olga")
    return (
        Student("ada", "flawless, first style", flawless),
        Student("bela", "flawless, second style", solve_in_style(1)),
        Student("chen", "flawless, third style", solve_in_style(2)),
        Student("dora", "flawless, states her id as ' DORA '", flawless, states_id=" DORA "),
        Student("emil", "flawless, styles mixed", lambda task, stated: solve_in_style(len(task.name))(task, stated)),
        *(
            Student(name, f"mistake in {task}: {wrong.__name__.replace('_', ' ')}", flawless, {task: wrong})
            for number, name in enumerate(mistaken)
            for task, wrong in _mistakes(number).items()
        ),
        Student("paul", "first half, then a cell that does not parse", _half, writes=False),
        Student("quinn", "every other task", _every_other, writes=False),
        Student("rosa", "blank", _blank, writes=False),
        Student("sven", "two functions end the Python process", _with(_EXITS, _SEGFAULTS)),
        Student("tara", "two functions never return", _with(_LOOPS, _LOOPS_FOR_EVER)),
        Student("udo", "prints, stores and raises its arguments", _with(_STORES, _NAMES_A_CLASS)),
        Student(
            "vera", "overwrote the checks with full marks, nothing written", _blank, edit=_edit_checks, writes=False
        ),
        Student("wim", "flawless, but deleted every other check", flawless, edit=_delete_checks),
        Student("xenia", "variants solved for another's id", flawless, states_id="ada"),
    )


def expected_hint(student: Student) -> str:
    """Return the hint that the student's mistake should bring, or ""."""
    return next((hint_of(mistake) for mistake in student.mistakes.values()), "")
