"""Replay never changes a right answer: a solved notebook with a killer cell at each position has full marks."""

from __future__ import annotations

import copy

import nbformat
import pytest

from rlinfra.topics import TOPICS
from rlinfra_autograder.classroom import Student, solve_in_style
from rlinfra_autograder.grade import grade
from rlinfra_autograder.sandbox.runner import Execution, ZygoteRunner
from rlinfra_autograder.sandbox.zygote import ChildSettings
from rlinfra_autograder.tasks import FunctionTask, load_tasks
from tests.conftest import QUICK, STUDENT_PYTHON, THOROUGH

FLAWLESS = solve_in_style(0)
NAMES = [topic.name for topic in TOPICS]
TOPICS_HERE = NAMES if THOROUGH else NAMES[::3]
FIRST_LINE = "# the killer"
KILLERS = {
    "import os; os._exit(3)": "ended the Python process (exit status 3)",
    "import ctypes; ctypes.string_at(0)": "ended the Python process (segmentation fault)",
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": "ended the Python process (killed)",
    "import sys; sys.exit()": "",  # no killer: a kernel goes on after it
}
HANGS_ON = """while True:
    try:
        while True:
            pass
    except BaseException:
        pass"""
IN_A_FUNCTION = [*[source for source, why in KILLERS.items() if why], HANGS_ON]


class JudgedOnly:
    """A runner that leaves out the shown run: it judges nothing."""

    def __init__(self, runner: ZygoteRunner) -> None:
        self._runner = runner
        self.limits, self.confined = runner.limits, runner.confined

    def verify(self):
        return {}

    def run(self, cells, requests):
        return Execution({}, {}) if requests is None else self._runner.run(cells, requests)


@pytest.fixture(scope="module")
def judging():
    """Children are not measured here, which would make them slow."""
    with ZygoteRunner(ChildSettings(STUDENT_PYTHON, QUICK)) as runner:
        yield JudgedOnly(runner)


def solved(root, topic, solve=FLAWLESS):
    released = nbformat.read(root / "release" / topic / f"{topic}.ipynb", as_version=4)
    return Student("ada", "flawless", solve).submission(released, topic)


def with_killers(notebook, killers):
    """Return the notebook with more code cells: each before the code cell of its number, or at the end."""
    killed = copy.deepcopy(notebook)
    places = [*(place for place, cell in enumerate(killed.cells) if cell.cell_type == "code"), len(killed.cells)]
    for position, killer in sorted(killers.items(), reverse=True):
        cell = nbformat.v4.new_code_cell(f"{FIRST_LINE} at {position}\n{killer}")
        killed.cells.insert(places[position], cell)
    return killed


def positions(notebook):
    return range(sum(cell.cell_type == "code" for cell in notebook.cells) + 1)


def judged(notebook, topic, judging):
    return grade(notebook, topic=topic, student_id="ada", runner=judging, seed="a seed for the tests", environment={})


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS_HERE)
def test_a_cell_that_kills_the_process_costs_nothing_wherever_it_stands(root, judging, topic):
    """A sixth of the positions in a notebook, another one for each topic; where it may take its time, all six."""
    notebook = solved(root, topic)
    for first in range(6) if THOROUGH else [NAMES.index(topic) % 6]:
        some = positions(notebook)[first::6]
        killers = {position: list(KILLERS)[number % len(KILLERS)] for number, position in enumerate(some)}
        result = judged(with_killers(notebook, killers), topic, judging)
        told = {position: why for position, killer in killers.items() if (why := KILLERS[killer])}
        assert result.faults == tuple(f"{FIRST_LINE} at {position}: {why}" for position, why in told.items())
        missing = [verdict.task for verdict in result.verdicts if verdict.earned != verdict.points]
        assert (killers, missing) == (killers, [])


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS_HERE)
def test_a_cell_that_never_ends_costs_nothing_in_between_or_at_the_end(root, judging, topic):
    """In two places only: each costs the seconds that a cell may take."""
    notebook = solved(root, topic)
    places = (1 + 2 * NAMES.index(topic), positions(notebook)[-1])
    result = judged(with_killers(notebook, dict.fromkeys(places, HANGS_ON)), topic, judging)
    assert result.faults == tuple(f"{FIRST_LINE} at {place}: stopped after 1 seconds" for place in places)
    assert result.earned == 20


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS_HERE)
def test_a_function_that_kills_the_process_loses_its_own_points_and_no_others(root, judging, topic):
    number = NAMES.index(topic)
    tasks = [task for task in load_tasks(topic) if isinstance(task, FunctionTask)]
    deadly = tasks[-1 - number % len(tasks)]
    lines = "\n".join(f"    {line}" for line in IN_A_FUNCTION[number % len(IN_A_FUNCTION)].splitlines())

    def solve(task, stated):
        if task is deadly:
            return f"def {task.name}(*args, **kwargs):\n{lines}"
        return FLAWLESS(task, stated)

    result = judged(solved(root, topic, solve), topic, judging)
    missing = {verdict.task: verdict.earned for verdict in result.verdicts if verdict.earned != verdict.points}
    assert missing == {deadly.name: 0}
