"""A time limit for the notebook's functions, wherever they are called.

In the main thread of a system that has alarms, an alarm stops a call, also inside of a library. Elsewhere (in a
browser, on Windows, in a thread) the notebook's own code looks at the clock as it goes, and so does each function that
it calls.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from ..observe import Observation, Raised, in_notebook

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

AGAIN_SECONDS = 1.0  # an alarm rings again, for a loop that swallows it


class _StillRunningError(KeyboardInterrupt):
    """Raised inside a call that has taken too long; like an interrupt, it passes through `observe`."""


class TimeLimit:
    """Seconds that calls share, as a context: what still runs when they are over is stopped.

    Only what is called by `run` is stopped, and nothing that happens in between.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._calling = False

    def __enter__(self) -> TimeLimit:
        self._until = time.monotonic() + self._seconds
        main = threading.current_thread() is threading.main_thread()
        self._has_alarm = main and hasattr(signal, "setitimer")
        if self._has_alarm:
            self._before = signal.signal(signal.SIGALRM, self._ring)
            signal.setitimer(signal.ITIMER_REAL, self._seconds, AGAIN_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        if self._has_alarm:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    @property
    def left(self) -> float:
        """The seconds that are left, below 0 where they are over."""
        return self._until - time.monotonic()

    def run(self, call: Callable[[], Observation]) -> Observation:
        """Return what a call did, or that it was stopped (`still_running`)."""
        try:
            try:
                self._calling = True
                return call() if self._has_alarm or sys.gettrace() is not None else self._traced(call)
            finally:
                self._calling = False
        except _StillRunningError:
            self._calling = False
            return Observation(raised=Raised("_StillRunningError"))

    def _ring(self, _signal: int, _frame: object) -> None:
        if self._calling:
            raise _StillRunningError

    def _traced(self, call: Callable[[], Observation]) -> Observation:
        """Make the call with a look at the clock as it goes. A debugger's trace is left alone, and has no limit."""
        sys.settrace(self._look)
        try:
            return call()
        finally:
            sys.settrace(None)

    def _look(self, frame: FrameType, _event: str, _value: Any) -> Any:
        if self.left < 0:
            raise _StillRunningError
        if not in_notebook(frame):
            return None
        frame.f_trace_opcodes = True  # a loop in one line begins no line
        return self._look


def still_running(observation: Observation) -> bool:
    """Return whether a call was stopped because it took too long."""
    return observation.raised is not None and observation.raised.exception == "_StillRunningError"
