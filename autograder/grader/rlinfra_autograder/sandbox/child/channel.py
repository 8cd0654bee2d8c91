"""Lines of JSON to and from the parent, over one inherited socket."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

LONGEST_MESSAGE = 4 << 20  # what is longer, the parent takes for no message
_ENCODER = json.JSONEncoder(allow_nan=False)


class Channel:
    """The child's end of the channel."""

    def __init__(self, descriptor: int) -> None:
        self._in = os.fdopen(descriptor, "r", encoding="utf-8", newline="\n")
        self._out = os.fdopen(descriptor, "w", encoding="utf-8", newline="\n", closefd=False)

    def send(self, **message: Any) -> None:
        """Send a message whole: the parent's interrupt waits until it is sent.

        Raises `ValueError` for one that is too long or that JSON has no form for.
        """
        text = _ENCODER.encode(message) + "\n"
        if len(text) > LONGEST_MESSAGE:
            raise ValueError(f"{len(text):,} bytes are more than a message may have")
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
