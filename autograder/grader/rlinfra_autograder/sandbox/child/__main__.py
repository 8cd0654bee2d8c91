"""Started as `python -s -P …/sandbox/child CONTROL FOLDER`, with an inherited socket: becomes the zygote.

At first it is cold: it has no shell, and a child of it can only be the canary.
"""

from __future__ import annotations

import shutil
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from zygote import serve

if TYPE_CHECKING:
    from shell import Shell


def main() -> None:
    """Serve until the grader is gone, and leave nothing behind."""
    here = sys.path.pop(0)  # this folder: a child can neither import from it nor, once confined, read it
    packages = next((place for place, path in enumerate(sys.path) if "site-packages" in path), len(sys.path))
    sys.path.insert(packages, "")  # as in a kernel: after the standard library comes the working directory

    def warm_up() -> Shell:
        sys.path.insert(0, here)
        import warm

        shell = warm.warm_up()
        sys.path.remove(here)
        return shell

    folder = serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2], warm_up)
    shutil.rmtree(Path(folder), ignore_errors=True)


main()
