"""The parent's interrupt: it says that the time is over, and is meant for student code alone.

Raised between two messages, it would leave one unread, and every answer after it would belong to another question. So
it is raised only where student code runs, and dropped elsewhere: the parent then gives the child up, and starts anew.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Interrupts:
    """Decides whether an interrupt is raised at this moment."""

    def __init__(self) -> None:
        self._heard = False
        signal.signal(signal.SIGINT, self._interrupted)

    @contextmanager
    def heard(self, heard: bool = True) -> Iterator[None]:
        """Raise the next interrupt as KeyboardInterrupt; with False, drop whatever comes."""
        before, self._heard = self._heard, heard
        try:
            yield
        finally:
            self._heard = before

    def _interrupted(self, *_: object) -> None:
        if self._heard:
            self._heard = False  # a second one, while the first is on its way up, would end the child
            raise KeyboardInterrupt
