"""The shared queue of a batch: everything comes to something, whatever happens to the workers."""

from __future__ import annotations

import os
import signal
from concurrent.futures import BrokenExecutor, Future
from pathlib import Path

import pytest

from rlinfra_autograder.batch import ALL_GRADED, INTERRUPTED, SOME_FAILED, SOME_UNGRADED, Pool, Tally, open_jobs
from rlinfra_autograder.entries import FAILED, GRADED, UNGRADED, Entry
from rlinfra_autograder.jobs import Job, Outcome, Settings
from rlinfra_autograder.submissions import Submission

SETTINGS = Settings(Path(), Path(), confined=True, seed="")


def job(student, fingerprint="as now"):
    return Job(Submission(student, "memory", Path()), fingerprint)


def entry(student, status=GRADED, fingerprint="as now"):
    return Entry(student, "memory", fingerprint, status)


class Workers:
    """An executor that grades at once; a submission of one of the `killers` kills its worker and breaks the pool."""

    def __init__(self, killers=(), once=()):
        self.killers, self.once, self.started, self.broken, self.seen = set(killers), set(once), 0, False, []

    def start(self):
        self.started += 1
        self.broken = False
        return self

    def submit(self, _work, _settings, jobs):
        if self.broken:
            raise BrokenExecutor
        future = Future()
        names = [one.submission.student for one in jobs]
        self.seen += names
        if killer := (self.killers | self.once) & set(names):
            self.once -= killer
            self.broken = True
            future.set_exception(BrokenExecutor())
        else:
            future.set_result([Outcome(entry(name)) for name in names])
        return future

    def shutdown(self, **_):
        pass


def graded(workers, names, chunk=1):
    found = []
    Pool(2, workers.start).run(SETTINGS, [job(name) for name in names], lambda one: found.append(one.entry), chunk)
    return {one.student: one.status for one in found}, found


@pytest.mark.parametrize("chunk", [1, 3])
def test_every_submission_comes_to_something_once(chunk):
    names = [f"s{number}" for number in range(20)]
    by_name, found = graded(Workers(), names, chunk)
    assert by_name == dict.fromkeys(names, GRADED)
    assert len(found) == 20


@pytest.mark.parametrize("chunk", [1, 4])
def test_one_that_kills_its_worker_again_and_again_is_given_up_and_told_and_the_others_are_graded(chunk):
    workers = Workers(killers=["s5"])
    by_name, found = graded(workers, [f"s{number}" for number in range(12)], chunk)
    assert by_name == {f"s{number}": FAILED if number == 5 else GRADED for number in range(12)}
    assert "was killed, twice" in next(one.reason for one in found if one.student == "s5")
    assert workers.started > 1


def test_one_that_killed_its_worker_once_is_graded_the_second_time():
    by_name, _ = graded(Workers(once=["s3"]), [f"s{number}" for number in range(8)])
    assert set(by_name.values()) == {GRADED}


def test_only_new_changed_and_failed_ones_are_open():
    done = {
        ("same", "memory"): entry("same"),
        ("changed", "memory"): entry("changed", fingerprint="as before"),
        ("failed", "memory"): entry("failed", FAILED),
        ("refused", "memory"): entry("refused", UNGRADED),
    }
    jobs = [job(name) for name in ("same", "changed", "failed", "refused", "new")]
    todo, known = open_jobs(jobs, done, force=False)
    assert [one.submission.student for one in todo] == ["changed", "failed", "new"]
    assert [one.student for one in known] == ["same", "refused"]
    assert len(open_jobs(jobs, done, force=True)[0]) == 5


@pytest.mark.parametrize(
    ("statuses", "interrupted", "code"),
    [
        ([GRADED, GRADED], False, ALL_GRADED),
        ([GRADED, UNGRADED], False, SOME_UNGRADED),
        ([UNGRADED, FAILED], False, SOME_FAILED),
        ([GRADED], True, INTERRUPTED),
    ],
)
def test_the_exit_code_tells_what_the_batch_came_to_also_in_runs_before(statuses, interrupted, code):
    entries = [entry(str(number), status) for number, status in enumerate(statuses)]
    assert Tally(known=entries[:1], done=entries[1:], interrupted=interrupted).exit_code == code


def _killed_or_graded(_settings, jobs):
    (one,) = jobs
    if one.submission.student == "killer":
        os.kill(os.getpid(), signal.SIGKILL)
    return [Outcome(entry(one.submission.student))]


def test_real_worker_processes_survive_one_that_is_killed():
    found = []
    pool = Pool(2, work=_killed_or_graded)
    pool.run(SETTINGS, [job(name) for name in ("a", "killer", "b", "c")], lambda one: found.append(one.entry))
    pool.close()
    assert {one.student: one.status for one in found} == {"a": GRADED, "b": GRADED, "c": GRADED, "killer": FAILED}
