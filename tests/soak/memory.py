"""Memory of a running batch by what its processes are, sampled from outside: resident bytes (RSS, by psutil).

What is private to a zygote falls and rises with the children that share it; what is resident does not.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections import defaultdict
from contextlib import suppress
from types import TracebackType

import psutil

ROLES = ("batch", "worker", "zygote")  # by depth below the command; what is deeper is a student's run
_EVERY_SECONDS = 1.0


class Memory:
    """Samples a process and those below it from a thread, until the process ends; used as a context."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._samples: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.seen: set[psutil.Process] = {self._root}

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def most(self, role: str) -> float:
        """Return the most that a process of this role held, in MB."""
        return max((held for _, held in self._samples[role]), default=0.0)

    def growth(self, role: str) -> float:
        """Return by how much it grew in the second half, in MB: the slope of a line through the samples, times time."""
        samples = self._samples[role][len(self._samples[role]) // 2 :]
        if len(samples) < 2:
            return 0.0
        times, held = zip(*samples, strict=True)
        return statistics.linear_regression(times, held).slope * (times[-1] - times[0])

    def _watch(self) -> None:
        begun = time.monotonic()
        while not self._over.wait(_EVERY_SECONDS):
            held: dict[str, float] = {}
            level = [self._root]
            for role in ROLES:
                for process in level:
                    with suppress(psutil.Error):
                        held[role] = max(held.get(role, 0.0), process.memory_info().rss / 1e6)
                level = [child for process in level for child in _children(process)]
                self.seen.update(level)
            if len(held) == len(ROLES):  # else it is only beginning, or ending
                for role, most in held.items():
                    self._samples[role].append((time.monotonic() - begun, most))


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except psutil.Error:
        return []
