"""Started as `python -s -P …/sandbox/child CONTROL HOME`, with an inherited socket: becomes the zygote.

With `cold` after that, it has no shell, and a child of it can only be the canary.
"""

from __future__ import annotations

import shutil
import socket
import sys
from pathlib import Path

from zygote import serve


def main() -> None:
    """Serve until the grader is gone, and leave nothing behind."""
    control = socket.socket(fileno=int(sys.argv[1]))
    shell = None
    if sys.argv[3:] != ["cold"]:
        from warm import warm_up

        shell = warm_up()
    del sys.path[0]  # this folder: a child can neither import from it nor, once confined, read it
    packages = next((place for place, path in enumerate(sys.path) if "site-packages" in path), len(sys.path))
    sys.path.insert(packages, "")  # as in a kernel: after the standard library comes the working directory
    serve(control, shell)
    shutil.rmtree(Path(sys.argv[2]), ignore_errors=True)


main()
