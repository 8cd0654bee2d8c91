"""`rlinfra-grade batch` in a course root: nbgrader's own rows, nothing silent, and nothing lost by a kill."""

from __future__ import annotations

import json
import shutil
import sqlite3

import pytest

from tests.e2e.course import run
from tests.e2e.handed import HANDING_IN, TOPIC, gradebook, hand_in
from tests.e2e.kills import kill_batch
from tests.e2e.rows import entered, mark_by_hand
from tests.e2e.rows import rows as rows_of


def rows(course):
    """Return the rows of a course's own gradebook."""
    return rows_of(gradebook(course))


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    """A course root in which the class has handed in, and nothing is graded."""
    return hand_in(tmp_path_factory.mktemp("handed-in"))


@pytest.fixture
def course(handed_in, tmp_path):
    """A copy of it."""
    return shutil.copytree(handed_in, tmp_path / "course", symlinks=True)


def test_a_submission_that_cannot_be_told_is_said_in_every_run_and_the_others_are_graded(course):
    (course / "submitted" / "ada" / TOPIC / f"{TOPIC}.ipynb").write_text("<html>")
    for said in (
        run(course, "rlinfra-grade", "batch", TOPIC, fails=True),
        run(course, "rlinfra-grade", "batch", TOPIC, fails=True),
    ):
        assert f"ada {TOPIC}: ungraded: " in said
    assert "0 graded now, 6 unchanged" in said
    assert {name for name, *_ in rows(course)["grade"]} == set(HANDING_IN) - {"ada"}


def test_what_is_marked_by_hand_survives_and_only_what_changed_is_graded(course):
    run(course, "rlinfra-grade", "batch", TOPIC)
    mark_by_hand(gradebook(course))
    path = course / "submitted" / "kira" / TOPIC / f"{TOPIC}.ipynb"
    path.write_text(path.read_text() + "\n")
    assert "1 graded now, 5 unchanged" in run(course, "rlinfra-grade", "batch", TOPIC)
    after = rows(course)
    assert {(manual, extra) for _, _, _, manual, extra, _ in after["grade"]} == {(1.5, 0.5)}
    assert {manual for *_, manual in after["comment"]} == {"well done"}


@pytest.fixture(scope="module")
def undisturbed(handed_in, tmp_path_factory):
    """The rows of a batch that nothing happened to."""
    course = shutil.copytree(handed_in, tmp_path_factory.mktemp("undisturbed") / "course", symlinks=True)
    run(course, "rlinfra-grade", "batch", TOPIC)
    return rows(course)


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 2, 4], ids=lambda count: f"after {count}")
def test_killed_at_any_moment_it_goes_on_and_ends_with_the_rows_of_an_undisturbed_run(course, undisturbed, after):
    kill_batch(course, TOPIC, "--workers", "2", when=lambda: entered(gradebook(course)) >= after)
    done = entered(gradebook(course))
    said = run(course, "rlinfra-grade", "batch", TOPIC)
    assert f"{len(HANDING_IN) - done} graded now, {done} unchanged" in said
    assert rows(course) == undisturbed


def test_what_made_a_grade_is_kept(course):
    run(course, "rlinfra-grade", "batch", TOPIC, "--student", "kira")
    with sqlite3.connect(course / "gradebook.db") as database:
        ((student, status, details),) = database.execute("select student, status, details from rlinfra_submission")
    made = json.loads(details)
    assert (student, status) == ("kira", "graded")
    assert {"provenance", "verdicts", "faults", "repairs"} == set(made)


def test_without_submissions_or_a_release_it_says_what_to_do(course):
    assert "holds no submission" in run(course, "rlinfra-grade", "batch", "memory", fails=True)
    shutil.copytree(course / "submitted" / "ada" / TOPIC, course / "submitted" / "ada" / "memory")
    assert "rlinfra-grade release memory" in run(course, "rlinfra-grade", "batch", "memory", fails=True)
    assert "there is no folder" in run(course, "rlinfra-grade", "batch", "--submissions", "/nowhere", fails=True)
