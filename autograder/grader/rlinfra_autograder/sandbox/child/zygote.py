"""The zygote: a warm process with one thread that forks a child for each run of a notebook.

The grader asks for a child over an inherited socket and passes the child's end of a channel along. The zygote never
sees a submission, a hidden input or another child's channel; what a child does to itself, the next one does not find.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from canary import within_reach
from cells import run_cells
from channel import Channel
from confinement import ConfinementError, confine
from interrupts import Interrupts

if TYPE_CHECKING:
    from shell import Shell

_OURS = ("canary", "cells", "channel", "confinement", "interrupts", "seccomp", "shell", "warm", "zygote")
_CHANNEL, _LONGEST_REQUEST, _MOST_DESCRIPTORS = 3, 1 << 16, 1 << 20


def serve(control: socket.socket, shell: Shell | None) -> None:
    """Fork and reap children as the grader asks, until it is gone."""
    control.sendall(json.dumps({"ready": True}).encode())
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, _LONGEST_REQUEST, 1)
        if not data:
            return
        request = json.loads(data)
        if "reap" in request:
            answer = {"status": _reap(request["reap"], request["patience"])}
        else:
            pid = os.fork()
            if pid == 0:
                _become_child(descriptors[0], request["environment"], shell)
            os.close(descriptors[0])
            answer = {"pid": pid}
        control.sendall(json.dumps(answer).encode())


def _reap(pid: int, patience: float) -> int:
    """Wait for the end of a child, kill it where that takes too long, and return its exit status."""
    end = time.monotonic() + patience
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= end:
            os.kill(pid, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        time.sleep(0.002)


def _become_child(descriptor: int, environment: dict[str, str], shell: Shell | None) -> None:
    """Leave all of the zygote behind but its memory, put on the confinement, work, and end without exit handlers."""
    os.setsid()
    os.dup2(descriptor, _CHANNEL)
    os.closerange(_CHANNEL + 1, _MOST_DESCRIPTORS)
    interrupts = Interrupts()
    os.environ.update(environment)
    tempfile.tempdir = None
    random.seed(0)  # Python gives every fork a start of its own; the same submission has to get the same grade
    os.chdir(environment["HOME"])
    for name in _OURS:
        sys.modules.pop(name, None)  # a student's own module may have any of these names
    channel = Channel(_CHANNEL)
    try:
        _work(channel, shell, interrupts)
    finally:
        os._exit(1)


def _work(channel: Channel, shell: Shell | None, interrupts: Interrupts) -> None:
    order: dict[str, Any] = channel.receive()
    if order["confine"] is not None:
        try:
            confine(**order["confine"])
        except ConfinementError as error:
            channel.send(refused=str(error))
            return
    if "canary" in order:
        within_reach(order, channel)
    else:
        run_cells(order, shell, channel, interrupts)
    channel.send(done=True)
    os._exit(0)
