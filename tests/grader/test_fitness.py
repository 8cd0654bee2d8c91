"""Which workers of other machines may grade, and what they do with a submission that is not as the batch found it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlinfra_autograder.entries import FAILED, GRADED, Entry
from rlinfra_autograder.fitness import ClusterError, Terms, end_batch, grade_as_agreed, unfit
from rlinfra_autograder.jobs import Job, Outcome, Settings
from rlinfra_autograder.submissions import Fingerprints, Submission
from tests.conftest import ROOT, STUDENT_PYTHON

SETTINGS = Settings(ROOT, STUDENT_PYTHON, confined=True, seed="a long secret")
TOPIC = "memory"


@pytest.fixture
def terms():
    return Terms.of(SETTINGS, [TOPIC], {"limits": 1})


@pytest.fixture
def job(tmp_path):
    (tmp_path / "memory.ipynb").write_text("as it was")
    submission = Submission("ada", TOPIC, tmp_path)
    return Job(submission, Fingerprints(ROOT, SETTINGS.seed, {"limits": 1}).of(submission))


def graded(_settings, jobs):
    return [Outcome(Entry(one.submission.student, TOPIC, one.fingerprint, GRADED)) for one in jobs]


def test_where_all_is_as_in_the_terms_a_submission_is_graded(terms, job):
    assert [one.entry.status for one in grade_as_agreed(terms, graded, SETTINGS, [job])] == [GRADED]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("release/memory/memory.ipynb", f"workers need this course root at this path, {ROOT}"),
        ("student's Python", "from a shared file system"),
        ("nh3", "install there what is installed here"),
        ("code of the staff's packages", "start the worker again"),
    ],
)
def test_a_worker_that_joins_later_and_finds_anything_else_grades_nothing(terms, job, name, advice):
    other = replace(terms, found={**terms.found, name: "another"})
    assert f"finds {terms.found[name]} for {name}, and here it is another" in unfit(SETTINGS, other)
    with pytest.raises(ClusterError, match=advice):
        grade_as_agreed(other, graded, SETTINGS, [job])


def test_a_submission_with_other_files_than_the_batch_found_is_not_graded_and_says_so(terms, job):
    (job.submission.folder / "memory.ipynb").write_text("changed")
    (outcome,) = grade_as_agreed(terms, graded, SETTINGS, [job])
    assert outcome.entry.status == FAILED
    assert "found other files" in outcome.entry.reason


def test_of_a_batch_that_has_ended_nothing_more_is_begun(terms, job):
    end_batch(terms.batch, SETTINGS)
    assert grade_as_agreed(terms, graded, SETTINGS, [job, job]) == []


def test_the_seed_of_the_course_stands_in_no_log_of_a_cluster(terms):
    assert SETTINGS.seed not in f"{SETTINGS} {terms}"
