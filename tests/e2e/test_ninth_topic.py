"""To add a topic, add its files and one line in the list of topics: a throw-away topic shows it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import nbformat
import pytest

from rlinfra.topics import TOPICS
from tests.conftest import ROOT

GIVEN = '''"""A throw-away topic: adding up."""

from __future__ import annotations

from ..draws import Draws
from ..variants import Variant


def variant_story(draws: Draws) -> Variant:
    """Draw one number."""
    return Variant("Double it.", {"number": draws.integer(10**9, 10**12)})
'''
REFERENCE = '''"""A throw-away topic: adding up."""

__all__ = ["total_of"]


def total_of(numbers):
    """Return the sum of the numbers."""
    return sum(numbers)
'''
ATTEMPTS = '''"""Attempts at the throw-away topic."""


def first_alone(numbers):
    """Your value is the first number. What about the others?"""
    return numbers[0]


def loop(numbers):
    total = 0
    for number in numbers:
        total += number
    return total


def backwards(numbers):
    return sum(reversed(numbers))


def with_fsum(numbers):
    import math

    return math.fsum(numbers)
'''
TASKS = '''"""Tasks of the throw-away topic."""

from rlinfra.checks.compare import Integer
from rlinfra_reference import throw_away as reference

from ..attempts import throw_away as attempts
from .model import Criterion, FunctionTask, VariantField, VariantTask, case


def _typical(draws):
    return [case([draws.integer(1, 99) for _ in range(3)]) for _ in range(4)]


TASKS = (
    FunctionTask(
        name="total_of",
        reference=reference.total_of,
        accept=Integer(),
        examples=(case([1, 2, 3]),),
        criteria=(Criterion("typical", "three numbers", 18, _typical),),
        misconceptions=(attempts.first_alone,),
        correct=(attempts.loop, attempts.backwards, attempts.with_fsum),
    ),
    VariantTask(
        topic="throw-away",
        name="throw_away_variant",
        answer=lambda numbers: {"double": 2 * numbers["number"]},
        fields={"double": VariantField("", Integer(), 2, 2e9, 2e12)},
    ),
)
'''


def _cell(kind, text, name, **ours):
    base = {"grade": False, "grade_id": name, "locked": False, "schema_version": 3, "solution": False, "task": False}
    make = nbformat.v4.new_markdown_cell if kind == "markdown" else nbformat.v4.new_code_cell
    return make(text, id=name, metadata={"nbgrader": {**base, **ours}} if ours else {})


def _notebook():
    function = "def total_of(numbers):\n    ### BEGIN SOLUTION\n    return sum(numbers)\n    ### END SOLUTION"
    doubled = '{"double": 2 * variant("throw-away", STUDENT)["number"]}'
    answer = f"### BEGIN SOLUTION\nthrow_away_variant = {doubled}\n### END SOLUTION"
    return nbformat.v4.new_notebook(
        cells=[
            _cell("markdown", "# Throw-away", "title"),
            _cell("code", 'from rlinfra import check, variant\n\nSTUDENT = "your-id"', "setup"),
            _cell("markdown", "## Add up\n\n1 min", "total_of-prompt", locked=True),
            _cell("code", function, "total_of-code", solution=True),
            _cell("code", 'check("total_of")', "total_of", grade=True, locked=True, points=18),
            _cell("markdown", "## Your variant\n\n1 min: `double`", "throw_away_variant-prompt", locked=True),
            _cell("code", answer, "throw_away_variant-code", solution=True),
            _cell("code", 'check("throw_away_variant")', "throw_away_variant", grade=True, locked=True, points=2),
        ],
        metadata={"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}},
    )


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the repository with a ninth topic: new files, and one new line."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("course", "autograder", "source", "release"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "nbgrader_config.py", tree)
    topics = tree / "course" / "rlinfra" / "topics.py"
    last = f"    Topic({TOPICS[-1].name!r}, {TOPICS[-1].title!r}),\n".replace("'", '"')
    assert last in topics.read_text()
    topics.write_text(topics.read_text().replace(last, last + '    Topic("throw-away", "A throw-away topic"),\n'))
    grader = tree / "autograder" / "grader" / "rlinfra_autograder"
    (tree / "course" / "rlinfra" / "given" / "throw_away.py").write_text(GIVEN)
    (tree / "autograder" / "reference" / "rlinfra_reference" / "throw_away.py").write_text(REFERENCE)
    (grader / "attempts" / "throw_away.py").write_text(ATTEMPTS)
    (grader / "tasks" / "throw_away.py").write_text(TASKS)
    (tree / "source" / "throw-away").mkdir()
    nbformat.write(_notebook(), tree / "source" / "throw-away" / "throw-away.ipynb")
    return tree


def in_tree(tree, *command):
    paths = [tree / "course", tree / "autograder" / "reference", tree / "autograder" / "grader"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONWARNINGS": "ignore"}
    line = [sys.executable, "-m", *command]
    result = subprocess.run(line, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_a_ninth_topic_is_released_audited_and_graded_by_adding_files(tree):
    assert "throw-away: released" in in_tree(tree, "rlinfra_autograder.cli", "release", "throw-away")
    assert "throw-away: fresh" in in_tree(tree, "rlinfra_autograder.cli", "release", "throw-away", "--check")
    assert "0 faults" in in_tree(tree, "rlinfra_autograder.cli", "audit", "throw-away")
    student = _student_environment(tree)
    path = tree / "submitted" / "your-id" / "throw-away" / "throw-away.ipynb"
    path.parent.mkdir(parents=True)
    shutil.copy(tree / "source" / "throw-away" / "throw-away.ipynb", path)
    in_tree(tree, "nbgrader", "autograde", "throw-away", f"--GradeNotebook.student_python={student}")
    graded = nbformat.read(tree / "autograded" / "your-id" / "throw-away" / "throw-away.ipynb", as_version=4)
    points = {
        cell.id: cell.outputs[0].data["text/plain"]
        for cell in graded.cells
        if cell.id in ("total_of", "throw_away_variant")
    }
    assert points == {"total_of": "18", "throw_away_variant": "2"}


def _student_environment(tree):
    """Make a student's environment that holds the tree's own `rlinfra`; packages are shared by hard links."""
    environment = tree / ".venv-student"
    shutil.copytree(ROOT / ".venv-student", environment, copy_function=os.link, symlinks=True)
    (site,) = environment.glob("lib/python*/site-packages")
    shutil.rmtree(site / "rlinfra")
    shutil.copytree(tree / "course" / "rlinfra", site / "rlinfra")
    return environment / "bin" / "python"


def test_it_changes_no_existing_file_but_the_list_of_topics(tree):
    changed = [
        path.relative_to(ROOT)
        for name in ("course", "autograder", "source", "release")
        for path in (ROOT / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
        if path.read_bytes() != (tree / path.relative_to(ROOT)).read_bytes()
    ]
    assert [str(path) for path in changed] == ["course/rlinfra/topics.py"]
