"""What a batch comes to when workers of a Dask cluster, or its scheduler, are lost, and which workers it refuses."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from rlinfra_autograder import batch
from rlinfra_autograder.batch import Pool
from rlinfra_autograder.cluster import Cluster
from rlinfra_autograder.entries import FAILED, GRADED, Entry
from rlinfra_autograder.fitness import ClusterError, Terms
from rlinfra_autograder.jobs import Job, Outcome, Settings
from rlinfra_autograder.submissions import Fingerprints, Submission
from tests.conftest import ROOT, STUDENT_PYTHON

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask's own threads
TOPIC = "memory"
SETTINGS = Settings(ROOT, STUDENT_PYTHON, confined=True, seed="")


def jobs(folder, *students):
    made = []
    for student in students:
        (folder / student / TOPIC).mkdir(parents=True)
        submission = Submission(student, TOPIC, folder / student / TOPIC)
        made.append(Job(submission, Fingerprints(ROOT, "", {}).of(submission)))
    return made


@contextmanager
def agreed(address):
    with Cluster(address) as found:
        found.agree(SETTINGS, Terms.of(SETTINGS, [TOPIC], {}))
        yield found


def _killed_or_graded(_settings, jobs):
    (one,) = jobs
    if one.submission.student == "killer":
        time.sleep(1)  # Dask gives up a worker that dies before its nanny knows that it has begun
        os.kill(os.getpid(), signal.SIGKILL)
    return [Outcome(Entry(one.submission.student, TOPIC, one.fingerprint, GRADED))]


@pytest.mark.slow
def test_one_that_kills_its_worker_again_is_given_up_and_told_and_the_others_are_graded(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(batch, "grade_jobs", _killed_or_graded)
    found = []
    with agreed(cluster.scheduler_address) as workers:
        pool = Pool(workers.workers, workers.start, workers.look)
        todo = jobs(tmp_path, "a", "killer", "b", "c", "d")
        pool.run(SETTINGS, todo, lambda one: found.append((one.entry.student, one.entry.status)), chunk=2)
        pool.close()
    assert sorted(found) == [("a", GRADED), ("b", GRADED), ("c", GRADED), ("d", GRADED), ("killer", FAILED)]


def _graded_late(_settings, jobs):
    time.sleep(5)
    return [Outcome(Entry(one.submission.student, TOPIC, one.fingerprint, GRADED)) for one in jobs]


def test_when_the_scheduler_is_gone_it_says_so_and_what_to_do(tmp_path, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(batch, "grade_jobs", _graded_late)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
        ) as gone,
        agreed(gone.scheduler_address) as workers,
    ):
        pool = Pool(workers.workers, workers.start, workers.look)
        closing = threading.Timer(0.5, gone.close)
        closing.start()
        with pytest.raises(ClusterError, match=r"the Dask scheduler at tcp:.* is gone: what is graded is kept"):
            pool.run(SETTINGS, jobs(tmp_path, "a"), lambda _: None)
        pool.close()
        closing.join()


def test_a_worker_that_finds_anything_else_is_refused_by_name_with_what_to_do(cluster):
    (worker,) = cluster.scheduler_info["workers"]
    same = Terms.of(SETTINGS, [TOPIC], {})
    with Cluster(cluster.scheduler_address) as found:
        for name, advice in (("course root", "from a shared file system"), ("nbgrader", "install there what is")):
            with pytest.raises(ClusterError, match=f"the Dask worker {worker} finds .* for {name}, .*{advice}"):
                found.agree(SETTINGS, replace(same, found={**same.found, name: "another"}))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "127.0.0.1", "postgres://127.0.0.1:1"])
def test_without_a_scheduler_it_says_what_an_address_looks_like(address):
    with pytest.raises(ClusterError, match=f"no Dask scheduler at {address}: --dask takes the address"):
        Cluster(address)
