"""What a batch starts beforehand: a zygote that gets ready beside it, and workers that have what is imported."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

import rlinfra
from rlinfra_autograder.batch import Pool
from rlinfra_autograder.runners import Nursery
from rlinfra_autograder.sandbox.zygote import RunnerError
from tests.conftest import STUDENT_PYTHON


def test_it_is_verified_beside_what_the_batch_does(root):
    with Nursery(root, STUDENT_PYTHON, True) as nursery:
        assert nursery.verified_environment()["rlinfra"] == rlinfra.__version__


def test_one_that_was_never_needed_is_killed_and_leaves_nothing(root, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Nursery(root, STUDENT_PYTHON, True) as nursery:
        nursery.verified_environment()
        zygote = psutil.Process(nursery._runner.zygote().pid)
        assert len(list(tmp_path.iterdir())) == 1
    assert not zygote.is_running()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("asked", [Nursery.verified_environment, Nursery.open])
def test_what_is_wrong_is_told_to_whoever_asks_for_it(root, asked):
    with Nursery(root, Path("/no/such/python"), True) as nursery:
        for _ in range(2):
            with pytest.raises(RunnerError, match=r"cannot be started.*make install makes it"):
                asked(nursery)


def _parent(_settings, jobs):
    return [os.getppid() for _ in jobs]


def parent_of_workers():
    """Return the process that the workers of a pool were forked from."""
    found = []
    pool = Pool(1, work=_parent)
    pool.run(None, ["a job"], found.append)
    pool.close()
    return found[0]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, workers are never forked from this process")
def test_workers_are_forked_from_a_process_that_has_one_thread():
    source = (
        "import os; from tests.grader.test_nursery import parent_of_workers; print(parent_of_workers() == os.getpid())"
    )
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert run.stdout == "True\n"


def test_beside_another_thread_they_are_not():
    """It may hold a lock, which would be locked in the fork for ever."""
    done = threading.Event()
    threading.Thread(target=done.wait).start()
    try:
        assert parent_of_workers() != os.getpid()
    finally:
        done.set()
