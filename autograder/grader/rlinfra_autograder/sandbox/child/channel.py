"""Lines of JSON to and from the parent, over one inherited socket."""

from __future__ import annotations

import json
import os
import signal
from typing import Any


class Channel:
    """The child's end of the channel."""

    def __init__(self, descriptor: int) -> None:
        self._in = os.fdopen(descriptor, "r", encoding="utf-8", newline="\n")
        self._out = os.fdopen(descriptor, "w", encoding="utf-8", newline="\n", closefd=False)

    def send(self, **message: Any) -> None:
        """Send a message whole: the parent's interrupt waits until it is sent."""
        text = json.dumps(message, allow_nan=False) + "\n"
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._out.write(text)
            self._out.flush()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def receive(self) -> Any:
        """Wait for a message; the end of the parent ends the child."""
        line = self._in.readline()
        if not line:
            os._exit(0)
        return json.loads(line)
