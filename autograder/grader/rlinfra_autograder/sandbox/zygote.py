"""The grader's side of the zygote: a warm process of the student's environment that forks a child for each run.

It is started once a worker and lives in a folder of its own, in which every child gets a folder of its own. It ends
when its socket closes, and with it whatever child is left.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .limits import Limits
from .wipe import remove

CHILD = Path(__file__).parent / "child"
START_SECONDS = 60.0
_LONGEST_ANSWER = 1 << 16
_END_SECONDS = 5.0


class RunnerError(RuntimeError):
    """The grader itself cannot run notebooks: nothing is known of the submission, and nobody loses points."""


class ZygoteDiedError(RunnerError):
    """The zygote is gone: a new one can be started."""


@dataclass(frozen=True)
class ChildSettings:
    """How children are started: the interpreter, its limits, and what its environment and its disk hold besides.

    `program` is the folder of the code that a child runs.
    """

    python: Path
    limits: Limits = Limits()
    confined: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    writable: tuple[Path, ...] = ()
    program: Path = CHILD


class Zygote:
    """A running zygote. Its methods may be called by several threads.

    With `first`, the control of another one, it is a twin of that, which takes a moment where a start takes seconds.
    """

    def __init__(self, settings: ChildSettings, first: socket.socket | None = None) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._told_to_warm_up = False
        self.folder = Path(tempfile.mkdtemp(prefix="rlinfra-"))
        self.folder.chmod(0o711)  # a child with a uid of its own has to pass through
        home = self.folder / "home"
        home.mkdir(mode=0o700)
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(START_SECONDS)
        process = None
        try:
            if first is None:
                process = _started(settings, theirs, self.folder, home)
            else:
                request = {"twin": _own(home), "folder": str(self.folder)}
                socket.send_fds(first, [json.dumps(request).encode()], [theirs.fileno()])
        except OSError as error:
            self.control.close()
            remove(self.folder)
            if first is not None:
                raise ZygoteDiedError("the process that starts students' notebooks is gone") from error
            raise RunnerError(
                f"the student's Python at {settings.python} cannot be started ({error.strerror}): make install makes it"
            ) from error
        finally:
            theirs.close()
        self.close = weakref.finalize(self, _end, process, self.control, self.folder)
        try:
            self.pid = int(self._answer()["ready"])
        except ZygoteDiedError as error:
            self.close()
            raise RunnerError(
                f"the student's Python at {settings.python} did not start: is it installed? (make install)"
            ) from error

    def warm_up(self) -> None:
        """Let it get ready to run notebooks, which takes it some seconds; what it is asked meanwhile has to wait."""
        with self._lock:
            if not self._told_to_warm_up:
                self._send({"warm": True})
                self._told_to_warm_up = True

    def kill(self) -> None:
        """End it at once, whatever it does: for one that runs nothing, since who is killed cleans nothing up."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def fork(self) -> tuple[int, socket.socket, Path]:
        """Return a new child: its process id, the grader's end of its channel, and its empty working folder."""
        folder = self.folder / f"run-{next(self._numbers)}"
        folder.mkdir(mode=0o700)
        ours, theirs = socket.socketpair()
        try:
            answer = self._ask({"child": _own(folder)}, theirs)
        except ZygoteDiedError:
            ours.close()
            raise
        finally:
            theirs.close()
        return int(answer["pid"]), ours, folder

    def reap(self, pid: int, patience: float) -> int:
        """Return the exit status of a child (negative: the signal), after so many seconds at most."""
        return int(self._ask({"reap": pid, "patience": patience})["status"])

    def _ask(self, request: Mapping[str, Any], descriptor: socket.socket | None = None) -> dict[str, Any]:
        with self._lock:
            self._send(request, descriptor)
            return self._answer()

    def _send(self, request: Mapping[str, Any], descriptor: socket.socket | None = None) -> None:
        descriptors = [] if descriptor is None else [descriptor.fileno()]
        try:
            socket.send_fds(self.control, [json.dumps(request).encode()], descriptors)
        except OSError as error:
            raise ZygoteDiedError("the process that starts students' notebooks is gone") from error

    def _answer(self) -> dict[str, Any]:
        try:
            data = self.control.recv(_LONGEST_ANSWER)
        except OSError as error:
            raise ZygoteDiedError("the process that starts students' notebooks does not answer") from error
        if not data:
            raise ZygoteDiedError("the process that starts students' notebooks has ended")
        answer: dict[str, Any] = json.loads(data)
        return answer


def _started(settings: ChildSettings, control: socket.socket, folder: Path, home: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - the command is ours
        [str(settings.python), "-s", "-P", str(settings.program), str(control.fileno()), str(folder)],
        pass_fds=(control.fileno(),),
        cwd=home,
        env=_environment(home) | dict(settings.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _end(process: subprocess.Popen[bytes] | None, control: socket.socket, folder: Path) -> None:
    """End a zygote, which ends when it is no longer listened to; of a twin, its socket says when it has ended."""
    with suppress(OSError):
        control.shutdown(socket.SHUT_WR)
    if process is None:
        with suppress(OSError):
            control.settimeout(_END_SECONDS)
            while control.recv(_LONGEST_ANSWER):
                pass
    control.close()
    if process is not None:
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    with suppress(OSError):
        remove(folder)


def _environment(home: Path) -> dict[str, str]:
    """Return the whole environment of a zygote: nothing of the grader's own gets through."""
    return {
        **_own(home),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
    }


def _own(folder: Path) -> dict[str, str]:
    """Return the part of the environment that names a process's own folder."""
    return {"HOME": str(folder), "TMPDIR": str(folder), "IPYTHONDIR": str(folder / ".ipython")}
