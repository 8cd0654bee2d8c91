"""What belongs to the machine and not to a folder: other processes, shared memory, queues, keys. Linux, by ctypes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_CHILD_SUBREAPER = 36
_IPC_CREAT, _IPC_RMID, _PAGE = 0o1000, 0, 4096
_KEYCTL, _KEYCTL_UNLINK, _KEYCTL_SEARCH, _USER_KEYRING = 250, 9, 10, -4
_MQ_OPEN, _MQ_UNLINK = 240, 241


def eventually(holds: Callable[[], bool], seconds: float = 3.0) -> bool:
    """Return whether something comes true in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


class Victim:
    """A process of somebody else's, with the secret in its memory and its environment."""

    CODE = "import ctypes, os, time\nb = ctypes.create_string_buffer(os.environ['SECRET'].encode())\n"
    CODE += "print(ctypes.addressof(b), flush=True)\ntime.sleep(600)"

    def __init__(self, secret: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", self.CODE],
            env={"SECRET": secret},
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self.address = int(self._process.stdout.readline())
        self.pid = self._process.pid
        self._before = self._state()

    def _state(self) -> dict[str, object]:
        """Return what others could change of it."""
        process = psutil.Process(self.pid)
        return {
            "stopped": process.status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP, psutil.STATUS_ZOMBIE),
            "priority": process.nice(),
            "processors": process.cpu_affinity(),
            "limits": process.rlimit(psutil.RLIMIT_NOFILE),
        }

    def changed(self) -> list[str]:
        """Return what is no longer as it was."""
        if self._process.poll() is not None:
            return ["it is dead"]
        return [what for what, value in self._state().items() if value != self._before[what]]

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()


class SharedSegment:
    """A System V shared memory segment that holds the secret."""

    def __init__(self, secret: str) -> None:
        LIBC.shmat.restype = ctypes.c_void_p
        LIBC.shmdt.argtypes = [ctypes.c_void_p]
        self._secret = secret.encode()
        self.id = LIBC.shmget(0, _PAGE, _IPC_CREAT | 0o666)
        self._at = LIBC.shmat(self.id, None, 0)
        ctypes.memmove(self._at, self._secret, len(self._secret))

    def changed(self) -> bool:
        """Return whether somebody wrote in it."""
        return ctypes.string_at(self._at, len(self._secret)) != self._secret

    def close(self) -> None:
        """Remove it."""
        LIBC.shmdt(self._at)
        LIBC.shmctl(self.id, _IPC_RMID, None)


def kept_in_the_kernel(tag: str) -> list[str]:
    """Return what of the tag's the kernel keeps (a key, a message queue), and remove it."""
    found = []
    key = LIBC.syscall(_KEYCTL, _KEYCTL_SEARCH, _USER_KEYRING, b"user", tag.encode(), 0)
    if key >= 0:
        found.append("a key in the user's keyring")
        LIBC.syscall(_KEYCTL, _KEYCTL_UNLINK, key, _USER_KEYRING)
    if LIBC.syscall(_MQ_UNLINK, tag.encode()) == 0:
        found.append("a message queue")
    return found


@contextlib.contextmanager
def adopting_orphans() -> Iterator[None]:
    """Become the parent of descendants whose parent is gone, so that a detached process is seen."""
    LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def descendants() -> dict[int, psutil.Process]:
    """Return the processes below this one that run, without the browser's, which come and go as it likes."""
    return {p.pid: p for p in psutil.Process().children(recursive=True) if p.is_running() and not _is_of_no_concern(p)}


def _is_of_no_concern(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE or process.name().startswith(("chrom", "node"))
    except psutil.NoSuchProcess:
        return True


def end(processes: list[psutil.Process]) -> None:
    """End processes that an attack started, and take them away."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=3)


def remove_tree(path: Path) -> None:
    """Remove a folder of any depth: deeper than a path can name."""
    subprocess.run(["chmod", "-R", "u+rwx", path], check=False, stderr=subprocess.DEVNULL)
    subprocess.run(["rm", "-rf", path], check=True)
