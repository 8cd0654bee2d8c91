"""A child of the zygote: one run of a notebook, talked to in lines of JSON, measured, and always ended and wiped."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from .messages import LONGEST_MESSAGE, parse_message
from .wipe import measure, measure_nameless, remove
from .zygote import START_SECONDS, ChildSettings, Zygote, ZygoteDiedError

_CPU_CLOCK = 2  # of the whole process: the clock that clock_getcpuclockid(3) names
_PATIENCE_SECONDS = 0.2  # for a process that is ending by itself, so that its exit status can be told


class ChildProcess:
    """A child with its channel and its working directory, all gone at the end of the block."""

    def __init__(self, zygote: Zygote, settings: ChildSettings, order: Mapping[str, Any]) -> None:
        self._zygote = zygote
        self._settings = settings
        self._order = order
        self._buffer = bytearray()
        self._status: int | None = None

    def __enter__(self) -> ChildProcess:
        settings = self._settings
        self.pid, self._channel, self.folder = self._zygote.fork()
        self._channel.setblocking(False)
        confine = None
        if settings.confined:
            confine = {
                "folder": str(self.folder),
                "read": [],
                "write": [str(path) for path in settings.writable],
                "limits": settings.limits.resources(),
            }
        self.send({"confine": confine, **self._order}, START_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            with suppress(ZygoteDiedError):  # its children end with it
                self.end()
        finally:
            self._channel.close()
            remove(self.folder)

    def send(self, message: Mapping[str, Any], seconds: float = 1.0) -> None:
        """Send a message; a child that is gone, or does not listen so long, is noticed when it is read from."""
        data = memoryview(json.dumps(message).encode() + b"\n")
        deadline = time.monotonic() + seconds
        with suppress(BrokenPipeError, ConnectionResetError):
            while data and time.monotonic() < deadline:
                try:
                    data = data[self._channel.send(data) :]
                except BlockingIOError:
                    select.select([], [self._channel], [], 0.1)

    def message_within(self, seconds: float) -> dict[str, Any] | None:
        """Return the next message; None if the child has ended, or what it sends is no message.

        Raises `TimeoutError` where none comes in time.
        """
        deadline = time.monotonic() + seconds
        while (end := self._buffer.find(b"\n")) < 0:
            ready, _, _ = select.select([self._channel], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError
            try:
                data = self._channel.recv(1 << 16)
            except ConnectionResetError:
                return None
            if not data or len(self._buffer) > LONGEST_MESSAGE:
                return None
            self._buffer += data
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return parse_message(line)

    def cpu_seconds(self) -> float:
        """Return the CPU time that the child has used: asked at every message, so by one call of the system."""
        try:
            return time.clock_gettime(~self.pid << 3 | _CPU_CLOCK)
        except OSError:  # it has ended
            return 0.0

    def excess(self, *, mapped: bool = True) -> str:
        """Return what the child uses more of than it may, or ""; the kernel has no limit of its own for these.

        `mapped` also looks for deleted files that are only mapped, which takes a millisecond or two.
        """
        limits = self._settings.limits
        if self._threads() > limits.threads:
            return f"started more than {limits.threads} threads"
        size, entries = measure(self.folder, limits.disk_entries)
        if entries > limits.disk_entries:
            return f"made more than {limits.disk_entries:,} files"
        if size + measure_nameless(self.pid, self.folder, limits.file_bytes if mapped else 0) > limits.disk_bytes:
            return f"wrote more than {limits.disk_bytes >> 20} MiB"
        return ""

    def _threads(self) -> int:
        """Return how many threads the child has; less than one once it has ended.

        The links to the folder of its threads are two more. Its status says the same, and takes seven times as long.
        """
        try:
            return os.stat(f"/proc/{self.pid}/task").st_nlink - 2  # noqa: PTH116 - as in `measure_nameless`
        except OSError:
            return 0

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the child."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGINT)

    def end(self, patience: float = 0.0) -> int:
        """End the child, and return its exit status (negative: the signal that ended it).

        Raises `ZygoteDiedError` where the zygote is gone: then it was not the child's own doing.
        """
        if self._status is None:
            self._status = self._zygote.reap(self.pid, patience)
        return self._status

    def how_it_ended(self) -> str:
        """Wait for the end of a child that no longer talks, and say how it came."""
        status = self.end(_PATIENCE_SECONDS)
        how = f"exit status {status}" if status >= 0 else signal.strsignal(-status) or f"signal {-status}"
        return f"ended the Python process ({how.lower()})"
