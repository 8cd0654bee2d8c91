"""The same class graded in every way there is comes to the same rows: nbgrader's own command is the judge of that.

Each way grades some that are right, wrong, late, broken, damaged, and one that cannot be told. One server of PostgreSQL
serves them.
"""

from __future__ import annotations

import io
import shutil
from contextlib import closing
from datetime import datetime

import pytest
from nbgrader.api import Gradebook
from rich.console import Console

from rlinfra_autograder.batch import ALL_GRADED, SOME_UNGRADED
from rlinfra_autograder.batchrun import BatchError, run_batch
from rlinfra_autograder.database import GradebookError, OnlyWriter, shown
from rlinfra_autograder.release import write_release
from rlinfra_autograder.tasks import load_tasks
from tests.e2e.course import run
from tests.e2e.handed import HANDING_IN, TOPIC, gradebook, hand_in
from tests.e2e.rows import mark_by_hand, rows, what_came_of_them
from tests.postgresql import PASSWORD, server

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]  # nbgrader 0.9.6 under SQLAlchemy 2.1
REFUSED, LATE = "vera", "kira"
TOLD = sorted(set(HANDING_IN) - {REFUSED})


def told(url):
    """Return the rows of those who are not refused: for the one who is, nbgrader leaves rows without a score."""
    return {name: [row for row in found if row[0] in TOLD] for name, found in rows(url).items()}


def due(url):
    """Set the deadline between the one who is late and the others."""
    with closing(Gradebook(url)) as opened:
        opened.update_or_create_assignment(TOPIC, duedate=datetime(2026, 11, 21))


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    """A course root in which the class has handed in, one too late and one a page instead of a notebook."""
    course = hand_in(tmp_path_factory.mktemp("handed-in"))
    (course / "submitted" / LATE / TOPIC / "timestamp.txt").write_text("2026-11-22 12:00:00 UTC")
    (course / "submitted" / REFUSED / TOPIC / f"{TOPIC}.ipynb").write_text("<html>")
    with (course / "nbgrader_config.py").open("a") as file:
        file.write('c.LateSubmissionPlugin.penalty_method = "zero"\n')
    due(gradebook(course))
    return course


@pytest.fixture(scope="module")
def graded_by_nbgrader(handed_in, tmp_path_factory):
    """A copy of it, graded by nbgrader's own command."""
    course = shutil.copytree(handed_in, tmp_path_factory.mktemp("theirs") / "course", symlinks=True)
    run(course, "nbgrader", "autograde", TOPIC, fails=True)  # it fails at the page, and goes on
    return course


@pytest.fixture(scope="module")
def marked_by_nbgrader(graded_by_nbgrader, tmp_path_factory):
    """A copy of that, in which all was marked by hand, and one was graded again since."""
    course = shutil.copytree(graded_by_nbgrader, tmp_path_factory.mktemp("marked") / "course", symlinks=True)
    mark_by_hand(gradebook(course))
    run(course, "nbgrader", "autograde", TOPIC, "--student", LATE, "--force")
    return course


@pytest.fixture
def course(handed_in, tmp_path):
    """A copy of the course root in which nothing is graded."""
    return shutil.copytree(handed_in, tmp_path / "course", symlinks=True)


def grade(course, **options):
    """Run the batch in this process; return its exit code and what it said."""
    said = io.StringIO()
    tally = run_batch(course, [TOPIC], Console(file=said, width=150), **options)
    return tally.exit_code, said.getvalue()


def test_nbgraders_command_is_worth_comparing_with(graded_by_nbgrader, marked_by_nbgrader):
    fresh, marked = told(gradebook(graded_by_nbgrader)), told(gradebook(marked_by_nbgrader))
    assert len(fresh["grade"]) == len(TOLD) * len(load_tasks(TOPIC))
    assert [penalty for student, penalty, _ in fresh["notebook"] if penalty] == [17.0], "kira has 17 of 20, and is late"
    assert len({auto for _, _, auto, *_ in fresh["grade"]}) > 2
    assert {(manual, extra) for *_, manual, extra, _ in marked["grade"]} == {(1.5, 0.5)}


def test_one_worker_over_what_nbgrader_graded_and_people_marked(graded_by_nbgrader, marked_by_nbgrader, tmp_path):
    course = shutil.copytree(graded_by_nbgrader, tmp_path / "course", symlinks=True)
    mark_by_hand(gradebook(course))
    assert grade(course, workers=1, students=LATE)[0] == ALL_GRADED
    assert told(gradebook(course)) == told(gradebook(marked_by_nbgrader))


def test_two_workers(course, graded_by_nbgrader):
    assert grade(course, workers=2)[0] == SOME_UNGRADED
    assert told(gradebook(course)) == told(gradebook(graded_by_nbgrader))
    run(course, "nbgrader", "generate_feedback", TOPIC, "--student", LATE)
    page = (course / "feedback" / LATE / TOPIC / f"{TOPIC}.html").read_text()
    assert "Result: 0 of 20 points" in page
    assert "17 points were taken off for handing in late" in page


def test_a_dask_cluster(course, graded_by_nbgrader, cluster):
    assert grade(course, dask=cluster.scheduler_address)[0] == SOME_UNGRADED
    assert told(gradebook(course)) == told(gradebook(graded_by_nbgrader))


def test_postgresql(course, graded_by_nbgrader, marked_by_nbgrader):
    with server() as postgresql:
        url = postgresql.create("rlinfra")
        with pytest.raises(BatchError, match=f"rlinfra-grade release {TOPIC} --db-url '.*:[*]{{3}}@") as error:
            grade(course, db_url=url)
        assert PASSWORD not in str(error.value)
        write_release(course, [TOPIC], url)
        due(url)
        code, said = grade(course, db_url=url, workers=2)
        assert code == SOME_UNGRADED
        assert told(url) == told(gradebook(graded_by_nbgrader))
        assert "0 graded now, 6 unchanged" in grade(course, db_url=url)[1]
        mark_by_hand(url)
        assert grade(course, db_url=url, students=LATE, force=True)[0] == ALL_GRADED
        assert told(url) == told(gradebook(marked_by_nbgrader))
        assert {(student, status) for student, status, _ in what_came_of_them(url)} == {
            *((student, "graded") for student in TOLD),
            (REFUSED, "ungraded"),
        }
        with closing(OnlyWriter(url)), pytest.raises(BatchError, match="another batch is grading into") as error:
            grade(course, db_url=url, force=True)
        assert PASSWORD not in str(error.value) + said + shown(url)
        with pytest.raises(GradebookError, match="cannot be reached") as refused:
            OnlyWriter(url.replace(PASSWORD, "guessed-wrongly"))
        assert "guessed-wrongly" not in str(refused.value)
    made = [path for path in course.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not [path for path in made if PASSWORD.encode() in path.read_bytes()]
