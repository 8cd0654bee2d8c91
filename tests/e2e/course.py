"""A course root of its own for a test: a copy of this repository's, with the same two environments."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

BIN = Path(sys.executable).parent


def copy_course(folder: Path) -> Path:
    """Copy what a course root needs: settings, sources, releases and the place of the check data."""
    for name in ("source", "release"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copytree(ROOT / "course" / "rlinfra" / "checks" / "data", folder / "course" / "rlinfra" / "checks" / "data")
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    (folder / ".venv-student").symlink_to(ROOT / ".venv-student")
    return folder


def run(folder: Path, *command: str, fails: bool = False) -> str:
    """Run one of the staff's commands in a folder, and return what it said."""
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONWARNINGS": "ignore"}
    result = subprocess.run(
        [BIN / command[0], *command[1:]], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert (result.returncode != 0) == fails, result.stdout + result.stderr
    return result.stdout + result.stderr
