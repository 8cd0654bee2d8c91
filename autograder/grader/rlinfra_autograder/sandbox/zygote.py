"""The grader's side of the zygote: a warm process of the student's environment that forks a child for each run.

It is started once a worker and lives in a folder of its own, in which every child gets a folder of its own. It ends
when its socket closes, and with it whatever child is left.
"""

from __future__ import annotations

import itertools
import json
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


class RunnerError(RuntimeError):
    """The grader itself cannot run notebooks: nothing is known of the submission, and nobody loses points."""


class ZygoteDiedError(RunnerError):
    """The zygote is gone: a new one can be started."""


@dataclass(frozen=True)
class ChildSettings:
    """How children are started: the interpreter, its limits, and what its environment and its disk hold besides.

    `program` is the folder of the code that a child runs. A zygote that is not `warm` starts at once and runs no
    notebook: it is for the canary alone.
    """

    python: Path
    limits: Limits = Limits()
    confined: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    writable: tuple[Path, ...] = ()
    program: Path = CHILD
    warm: bool = True


class Zygote:
    """A running zygote. Its methods may be called by several threads."""

    def __init__(self, settings: ChildSettings) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self.folder = Path(tempfile.mkdtemp(prefix="rlinfra-"))
        self.folder.chmod(0o711)  # a child with a uid of its own has to pass through
        home = self.folder / "home"
        home.mkdir(mode=0o700)
        self._control, theirs = socket.socketpair()
        self._control.settimeout(START_SECONDS)
        command = [str(settings.python), "-s", "-P", str(settings.program), str(theirs.fileno()), str(self.folder)]
        command += [] if settings.warm else ["cold"]
        try:
            process = subprocess.Popen(  # noqa: S603 - the command is ours
                command,
                pass_fds=(theirs.fileno(),),
                cwd=home,
                env=_environment(home) | dict(settings.environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            self._control.close()
            remove(self.folder)
            raise RunnerError(
                f"the student's Python at {settings.python} cannot be started ({error.strerror}): make install makes it"
            ) from error
        finally:
            theirs.close()
        self.pid = process.pid
        self.close = weakref.finalize(self, _end, process, self._control, self.folder)
        try:
            self._answer()
        except ZygoteDiedError as error:
            self.close()
            raise RunnerError(
                f"the student's Python at {settings.python} did not start: is it installed? (make install)"
            ) from error

    def fork(self) -> tuple[int, socket.socket, Path]:
        """Return a new child: its process id, the grader's end of its channel, and its empty working folder."""
        folder = self.folder / f"run-{next(self._numbers)}"
        folder.mkdir(mode=0o700)
        ours, theirs = socket.socketpair()
        try:
            answer = self._ask({"environment": _own(folder)}, theirs)
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
        data = json.dumps(request).encode()
        with self._lock:
            try:
                if descriptor is None:
                    self._control.sendall(data)
                else:
                    socket.send_fds(self._control, [data], [descriptor.fileno()])
            except OSError as error:
                raise ZygoteDiedError("the process that starts students' notebooks is gone") from error
            return self._answer()

    def _answer(self) -> dict[str, Any]:
        try:
            data = self._control.recv(_LONGEST_ANSWER)
        except OSError as error:
            raise ZygoteDiedError("the process that starts students' notebooks does not answer") from error
        if not data:
            raise ZygoteDiedError("the process that starts students' notebooks has ended")
        answer: dict[str, Any] = json.loads(data)
        return answer


def _end(process: subprocess.Popen[bytes], control: socket.socket, folder: Path) -> None:
    control.close()
    try:
        process.wait(timeout=5)
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
