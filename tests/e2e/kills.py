"""A batch that is killed at some moment, and what must be left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from tests.e2e.course import BIN


def kill_batch(course: Path, *arguments: str, when: Callable[[], bool]) -> bool:
    """Start a batch and kill it as soon as `when` says so; return whether it was still at work then.

    Its workers, and what they have running, have to end by themselves.
    """
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [BIN / "rlinfra-grade", "batch", *arguments]
    with subprocess.Popen(command, cwd=course, env=environment, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and not when():
            time.sleep(0.01)
        at_work = process.poll() is None
        below = psutil.Process(process.pid).children(recursive=True) if at_work else []
        process.send_signal(signal.SIGKILL)
    left = psutil.wait_procs(below, timeout=60)[1]
    assert not left, left
    return at_work
