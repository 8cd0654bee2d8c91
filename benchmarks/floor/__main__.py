"""The floor: a warm process that forks and runs cells by plain `exec`. No shell, no outputs, no confinement, no grade.

Started as `python -s -P …/floor CONTROL CHILD`, with an inherited socket and the folder of the real child's code, of
which it takes the warming up: floor and engine fork the same process.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path


def main() -> None:
    """Run the cells of each line in a fork, and answer when it is over."""
    sys.path.insert(0, sys.argv[2])
    from warm import warm_up  # noqa: PLC0415 - it lies in that folder

    warm_up()
    with socket.socket(fileno=int(sys.argv[1])) as control, control.makefile("rw") as lines:
        print("ready", file=lines, flush=True)
        for line in lines:
            cells = json.loads(line)
            pid = os.fork()
            if pid == 0:
                _run(cells)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            print(status, file=lines, flush=True)


def _run(cells: list[str]) -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    try:
        with Path(os.devnull).open("w") as sys.stdout:
            for source in cells:
                exec(compile(source, "<cell>", "exec"), namespace)  # noqa: S102 - that is the floor
    except BaseException:
        os._exit(1)
    os._exit(0)


main()
