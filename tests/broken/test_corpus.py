"""The broken corpus: each ends in its outcome, and an admitted one has exactly the undamaged points."""

from __future__ import annotations

from collections import Counter
from functools import cache

import nbformat
import pytest

from rlinfra_autograder.grade import grade, submission_hash
from rlinfra_autograder.intake import Admitted, Refused, take_in
from tests.conftest import ROOT

from . import cells, files, folders, marks, texts  # noqa: F401  (they register the cases)
from .handed import CASES, STUDENT, undamaged

SEED = "a seed for the tests"


@cache
def released(topic):
    return nbformat.read(ROOT / "release" / topic / f"{topic}.ipynb", as_version=4)


@pytest.fixture(scope="module")
def verdicts(runner):
    """Grade a notebook as the engine does, and return its verdicts by task; the same cells are graded once."""
    known = {}

    def verdicts(notebook, topic):
        content = topic, submission_hash(notebook)
        if content not in known:
            graded = grade(notebook, topic=topic, student_id=STUDENT, runner=runner, seed=SEED, environment={})
            known[content] = {verdict.task: verdict for verdict in graded.verdicts}
        return known[content]

    return verdicts


@pytest.fixture(scope="module")
def expected(verdicts):
    """The verdicts on the undamaged submission, by topic."""
    return cache(lambda topic: verdicts(undamaged(released(topic), topic), topic))


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{case.kind}: {case.name}" for case in CASES])
def test_a_broken_submission_ends_in_its_outcome(number, tmp_path, verdicts, expected):
    case = CASES[number]
    handed = case.handed(tmp_path / "submitted", number, released)
    outcome = take_in(handed.folder, handed.topic, handed.released)
    if case.reason:
        assert isinstance(outcome, Refused)
        assert case.reason in outcome.reason
        assert outcome.reason.endswith(".")
        return
    assert isinstance(outcome, Admitted), outcome
    assert {repair.kind for repair in outcome.repairs} == case.repairs, outcome.repairs
    nbformat.validate(outcome.notebook)
    assert _answers(outcome.notebook) == _answers(undamaged(handed.released, handed.topic))
    assert verdicts(outcome.notebook, handed.topic) == expected(handed.topic)


def _answers(notebook):
    """What an assistant reads: the answers in words, line by line."""
    return [
        "".join(cell.source.split())
        for cell in notebook.cells
        if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution")
    ]


def test_the_undamaged_submission_has_some_points_and_not_all(expected):
    for topic in ("memory", "kv-cache", "records", "pipelines"):
        earned = [verdict.earned for verdict in expected(topic).values()]
        full = [verdict.points for verdict in expected(topic).values()]
        assert earned[0] < full[0]
        assert earned[1:] == full[1:]


def test_every_kind_has_three_cases_and_no_name_stands_twice():
    assert min(Counter(case.kind for case in CASES).values()) >= 3
    assert len({(case.kind, case.name) for case in CASES}) == len(CASES)
