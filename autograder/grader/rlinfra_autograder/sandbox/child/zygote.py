"""The zygote: a warm process with one thread that forks a child for each run of a notebook, or a twin of itself.

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
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from canary import within_reach
from cells import run_cells
from channel import Channel
from confinement import ConfinementError, confine
from interrupts import Interrupts

if TYPE_CHECKING:
    from collections.abc import Callable

    from shell import Shell

_OURS = ("canary", "cells", "channel", "confinement", "interrupts", "seccomp", "shell", "warm", "zygote")
_CHANNEL, _LONGEST_REQUEST, _MOST_DESCRIPTORS = 3, 1 << 16, 1 << 20


def serve(control: socket.socket, folder: str, warm_up: Callable[[], Shell]) -> str:
    """Do what the grader asks until it is gone, and return the folder of the process that this one is by then.

    A child can run notebooks once `warm` was asked for. A twin is what this process is at that moment, with a grader's
    socket and a folder of its own.
    """
    shell: Shell | None = None
    twins: list[int] = []
    _send(control, ready=os.getpid())
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, _LONGEST_REQUEST, 1)
        request = json.loads(data) if data else None
        match request:
            case None:
                _await_all(twins)
                return folder
            case {"warm": _}:
                shell = shell or warm_up()
            case {"reap": pid, "patience": patience}:
                _send(control, status=_reap(pid, patience))
            case {"child": environment}:
                pid = os.fork()
                if pid == 0:
                    _become_child(descriptors[0], environment, shell)
                os.close(descriptors[0])
                _send(control, pid=pid)
            case {"twin": environment, "folder": its_folder}:
                pid = os.fork()
                if pid == 0:
                    control.close()
                    control, folder, twins = socket.socket(fileno=descriptors[0]), its_folder, []
                    _move_to(environment)
                    _send(control, ready=os.getpid())
                else:
                    os.close(descriptors[0])
                    twins.append(pid)


def _send(control: socket.socket, **answer: int) -> None:
    with suppress(OSError):  # the grader is gone, and the next message says so
        control.sendall(json.dumps(answer).encode())


def _move_to(environment: dict[str, str]) -> None:
    """Leave the session and the folder of the zygote behind."""
    os.setsid()
    os.environ.update(environment)
    os.chdir(environment["HOME"])


def _await_all(twins: list[int]) -> None:
    """Wait for the twins, a second at most: most have ended, and would be kept as dead ones by who inherits them."""
    end = time.monotonic() + 1.0
    while twins and time.monotonic() < end:
        twins = [pid for pid in twins if not os.waitpid(pid, os.WNOHANG)[0]]
        time.sleep(0.002 if twins else 0)


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
    _move_to(environment)
    os.dup2(descriptor, _CHANNEL)
    os.closerange(_CHANNEL + 1, _MOST_DESCRIPTORS)
    interrupts = Interrupts()
    tempfile.tempdir = None
    random.seed(0)  # Python gives every fork a start of its own; the same submission has to get the same grade
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
