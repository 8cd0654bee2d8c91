"""A child process of the student's environment: started, talked to in lines of JSON, timed, and always ended."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from .limits import Limits

CHILD = Path(__file__).parent / "child"
START_SECONDS = 60.0
_LONGEST_LINE = 16 << 20


class RunnerError(RuntimeError):
    """The grader itself cannot run notebooks: nothing is known of the submission, and nobody loses points."""


@dataclass(frozen=True)
class ChildSettings:
    """How children are started: the interpreter, its limits, and what its environment and its disk hold besides."""

    python: Path
    limits: Limits = Limits()
    confined: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    writable: tuple[Path, ...] = ()


class ChildProcess:
    """A child process with its pipes and its empty working directory, all gone at the end of the block."""

    def __init__(self, settings: ChildSettings, order: Mapping[str, Any]) -> None:
        self._settings = settings
        self._order = order
        self._buffer = b""

    def __enter__(self) -> ChildProcess:
        settings = self._settings
        self.folder = Path(tempfile.mkdtemp(prefix="rlinfra-run-"))
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        command = [str(settings.python), "-s", "-P", str(CHILD), str(theirs_in), str(theirs_out)]
        try:
            self.process = subprocess.Popen(  # noqa: S603 - the command is ours
                command,
                pass_fds=(theirs_in, theirs_out),
                cwd=self.folder,
                env=_environment(self.folder) | dict(settings.environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            for descriptor in (theirs_in, theirs_out, self._in, self._out):
                os.close(descriptor)
            shutil.rmtree(self.folder)
            raise RunnerError(
                f"the student's Python at {settings.python} cannot be started ({error.strerror}): make install makes it"
            ) from error
        os.close(theirs_in)
        os.close(theirs_out)
        confine = None
        if settings.confined:
            confine = {
                "read": [],
                "write": [str(self.folder), *map(str, settings.writable)],
                "limits": settings.limits.resources(),
            }
        self.send({"confine": confine, **self._order})
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._in)
        os.close(self._out)
        _remove(self.folder)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message; a child that is gone is noticed when it is read from."""
        data = json.dumps(message).encode() + b"\n"
        with suppress(BrokenPipeError):
            while data:
                data = data[os.write(self._out, data) :]

    def message_within(self, seconds: float) -> dict[str, Any] | None:
        """Return the next message; None if the child has ended, or what it sends is no message.

        Raises `TimeoutError` where none comes in time.
        """
        deadline = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError
            data = os.read(self._in, 1 << 16)
            if not data or len(self._buffer) > _LONGEST_LINE:
                return None
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return None
        return message if isinstance(message, dict) else None

    def cpu_seconds(self) -> float:
        """Return the CPU time that the child has used."""
        try:
            times = psutil.Process(self.process.pid).cpu_times()
        except psutil.NoSuchProcess:
            return 0.0
        return float(times.user + times.system)

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the child."""
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGINT)


def _environment(folder: Path) -> dict[str, str]:
    """Return the whole environment of a child: nothing of the grader's own gets through."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "IPYTHONDIR": str(folder / ".ipython"),
        "LANG": "C.UTF-8",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
    }


def _remove(folder: Path) -> None:
    """Remove a folder that a student may have made hard to remove."""
    for path, _, _ in os.walk(folder):
        with suppress(OSError):
            Path(path).chmod(stat.S_IRWXU)
    shutil.rmtree(folder, ignore_errors=True)
