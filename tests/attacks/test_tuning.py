"""Attacks on the task that is scored by simulation: on what crosses, on the simulator, and on what is kept of it.

Each student returns the default choice or worse, and so is worth 0 points without the trick.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest

from rlinfra.given.lab_tune import DEFAULT_CHOICE, WORKLOADS, simulate_choice
from rlinfra_autograder.best_known import FOLDER, hidden_marks
from rlinfra_autograder.choices import choices_hash
from rlinfra_autograder.grade import Graded, grade
from rlinfra_autograder.sandbox.runner import ZygoteRunner
from rlinfra_autograder.tasks import all_tasks
from tests.conftest import QUICK, ROOT

SEED = "a seed of the course that only the staff knows: 5f0c"
TUNE = all_tasks()["tune"]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course root in which the best choices are kept."""
    root = tmp_path_factory.mktemp("course")
    hidden_marks(TUNE, SEED, root)
    return root


def notebook(source: str) -> Any:
    """Return the released notebook's cells of the task, with this for an answer."""
    released = nbformat.read(ROOT / "release" / "lab" / "lab.ipynb", as_version=4)
    released.cells = [cell for cell in released.cells if cell.id in ("setup", "tune-prompt", "tune-code", "tune")]
    (code,) = (cell for cell in released.cells if cell.id == "tune-code")
    code.source = code.source.partition("\n")[0] + "\n" + source
    return released


def graded(source: str, runner: ZygoteRunner, root: Path) -> Graded:
    """Return what the grader makes of an answer."""
    made = notebook(source)
    return grade(made, topic="lab", student_id="mallory", runner=runner, seed=SEED, environment={}, root=root)


def earned(result: Graded) -> float:
    return next(verdict.earned for verdict in result.verdicts if verdict.task == "tune")


HONEST = "def tune(workload):\n    return {**DEFAULT_CHOICE, 'batch_tokens': 8_000, 'max_queue_tokens': 8_000}"
HOSTILE = {
    "huge integers": "return {**DEFAULT_CHOICE, 'batch_tokens': 10**5_000, 'max_queue_tokens': 1 << 500}",
    "deep dictionaries": """
    deep = {}
    for _ in range(50_000):
        deep = {"mode": deep}
    return deep""",
    "long text": "return {**DEFAULT_CHOICE, 'mode': 'sequential' * 10**6}",
    "other fields": "return {**DEFAULT_CHOICE, 'duration_seconds': 1e9, 'trainer_tokens_per_second': 1e9}",
    "its own bounds": "return {**DEFAULT_CHOICE, 'largest_lag': 99, 'smallest_ess': 0.0}",
    "a million workers": "return {**DEFAULT_CHOICE, 'workers': 10**6}",
    "not numbers": "return {**DEFAULT_CHOICE, 'batch_tokens': math.nan, 'max_policy_lag': -math.inf}",
    "a million items": "return dict.fromkeys(range(10**6), 1)",
    "the result itself": "return {'row': {'trained_tokens_per_second': 1e9}, 'default': 0.0, 'best': 1.0}",
    "a list of results": "return [{'trained_tokens_per_second': 1e9, 'max_lag': 0, 'mean_normalized_ess': 1.0}] * 9",
    "a number equal to all": """
    class Own(int):
        __eq__ = lambda self, other: True
        __lt__ = __le__ = __gt__ = __ge__ = __eq__
        __hash__ = None
    return {**DEFAULT_CHOICE, "batch_tokens": Own(10**9)}""",
    "a dictionary with two faces": """
    class Own(dict):
        looks = 0
        def __getitem__(self, key):
            self.looks += 1
            return dict.__getitem__(self, key) if self.looks < 9 else 10**9
        def items(self):
            return [*dict.items(self), ("workers", 10**6)]
    return Own(DEFAULT_CHOICE)""",
    "code for a mode": "return {**DEFAULT_CHOICE, 'mode': '__import__(\"os\")._exit(0)'}",
    "an end of the process": "import os; os._exit(0)",
    "an endless search": "\n    while True:\n        simulate_choice(workload, DEFAULT_CHOICE)",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_what_is_returned_is_no_choice_and_earns_nothing_in_bounded_time(body, runner, course):
    begun = time.monotonic()
    result = graded(f"def tune(workload):\n    {body}", runner, course)
    assert earned(result) == 0
    assert time.monotonic() - begun < 60
    assert earned(graded(HONEST, runner, course)) > 0


def test_a_simulator_that_is_ten_times_as_fast_in_the_students_process_earns_nothing(runner, course):
    result = graded(
        """
import rlinfra.checks.choices, rlinfra.given.lab_tune as bench
from rlinfra.simulator import result
slow = result.PipelineResult.trained_tokens_per_second.fget
result.PipelineResult.trained_tokens_per_second = property(lambda self: 10 * slow(self))
rlinfra.checks.choices.way_to_goal = lambda *_, **__: 1.0
bench.broken_bounds = lambda workload, row: []
bench.require_choice = lambda choice: choice
print("mine:", simulate_choice(WORKLOADS["fresh only"], DEFAULT_CHOICE)["trained_tokens_per_second"])
def tune(workload):
    return dict(DEFAULT_CHOICE)
""",
        runner,
        course,
    )
    (code,) = (cell for cell in result.notebook.cells if cell.get("id") == "tune-code")
    rate = simulate_choice(WORKLOADS["fresh only"], DEFAULT_CHOICE)[TUNE.rate]
    assert float(code.outputs[0].text.removeprefix("mine: ")) == pytest.approx(10 * rate)  # the trick works there
    assert earned(result) == 0


def test_cells_that_stand_in_for_the_courses_own_are_not_run_where_choices_are_simulated(settings, course):
    """A check inside of a call waits for an answer that nobody gives: here not as long as elsewhere."""
    with ZygoteRunner(replace(settings, limits=replace(QUICK, wall_factor=4.0))) as runner:
        result = graded(
            """
import builtins
def workload_0(*_):
    return {"trained_tokens_per_second": 1e6, "max_lag": 0, "mean_normalized_ess": 1.0, "trainer_idle_fraction": 0.0,
            "rollout_idle_fraction": 0.0, "weight_sync_fraction": 0.0}
for number in range(5):
    globals()[f"workload_{number}"] = simulate_choice = builtins.simulate_choice = workload_0
def tune(workload):
    check("workload_0")
    return dict(DEFAULT_CHOICE)
""",
            runner,
            course,
        )
    assert earned(result) == 0


@pytest.mark.parametrize("target", ["cache", "bench", "new file"])
def test_what_the_score_is_made_of_cannot_be_written(target, runner, course):
    path = course / FOLDER / f"{choices_hash(TUNE, SEED)}.json"
    targets = {"cache": str(path), "new file": str(path.with_name("new.json")), "bench": None}
    before, listed = path.read_bytes(), sorted(path.parent.iterdir())
    result = graded(
        f"""
import os
import rlinfra.given.lab_tune
path = {targets[target]!r} or rlinfra.given.lab_tune.__file__
tried = []
for attempt in (
    lambda: open(path, "r").read(), lambda: open(path, "w").write("[]"), lambda: os.remove(path),
    lambda: os.rename(path, path + ".old"), lambda: os.truncate(path, 0),
    lambda: os.symlink("/dev/null", path + ".link"), lambda: os.listdir(os.path.dirname(path)),
):
    try:
        attempt()
        tried.append("done")
    except OSError:
        tried.append("refused")
print(tried)
def tune(workload):
    return dict(DEFAULT_CHOICE)
""",
        runner,
        course,
    )
    (code,) = (cell for cell in result.notebook.cells if cell.get("id") == "tune-code")
    readable = "done" if target == "bench" else "refused"  # what notebooks hand out is theirs to read
    allowed = [readable, *["refused"] * 5, readable]
    assert code.outputs[0].text.strip() == str(allowed)
    assert (path.read_bytes(), sorted(path.parent.iterdir())) == (before, listed)
    assert earned(result) == 0
