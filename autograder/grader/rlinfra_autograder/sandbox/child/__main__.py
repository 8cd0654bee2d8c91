"""The child: runs a notebook's cells in the student's environment and answers the parent over two pipes.

Started as `python -I …/sandbox/child READ WRITE` with two inherited descriptors. Messages are lines of JSON. The
first one from the parent says what to do; everything that happens in the notebook goes back as it happens, so that
the parent knows where a child stopped.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from confinement import ConfinementError, confine


class Pipes:
    """Lines of JSON to and from the parent."""

    def __init__(self, read: int, write: int) -> None:
        self._in = os.fdopen(read, "r", encoding="utf-8", newline="\n")
        self._out = os.fdopen(write, "w", encoding="utf-8", newline="\n")

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


def main() -> None:
    """Put on the confinement, run the cells, and end without any of the student's exit handlers."""
    pipes = Pipes(int(sys.argv[1]), int(sys.argv[2]))
    order = pipes.receive()
    if "canary" in order:
        from canary import within_reach as work
    else:
        from cells import run_cells as work
    del sys.path[0]  # this folder: from here on it can be neither imported from nor, once confined, read

    if order["confine"] is not None:
        try:
            confine(**order["confine"])
        except ConfinementError as error:
            pipes.send(refused=str(error))
            os._exit(1)
    work(order, pipes)
    pipes.send(done=True)
    os._exit(0)


main()
