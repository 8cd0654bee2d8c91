"""The canary: tries to reach what a student's process must not reach, and reports what it could."""

from __future__ import annotations

import importlib
import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def within_reach(order: dict[str, Any], channel: Any) -> None:
    """Send the modules of `order["canary"]` that can be imported, and the paths that can be listed or read."""
    reached = []
    for name in order["canary"]["modules"]:
        try:
            importlib.import_module(name)
        except (ImportError, OSError):  # a folder on the path that may not be read
            continue
        reached.append(f"import {name}")
    for path in map(Path, order["canary"]["paths"]):
        try:
            if path.is_dir():
                next(path.iterdir(), None)
            else:
                with path.open("rb") as file:
                    file.read(1)
        except OSError:
            continue
        reached.append(f"read {path}")
    versions = {"python": platform.python_version()}
    for name in ("rlinfra", "ipython", "numpy"):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    channel.send(reached=reached, versions=versions)
