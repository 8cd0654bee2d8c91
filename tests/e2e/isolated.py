"""The student's wheel, built as someone builds it who has a clone and no Node: isolated, from sources alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.conftest import ROOT

NEEDED = ("course", "hatch_build.py", "pyproject.toml", "README.md", "LICENSE")


def build_isolated(folder: Path) -> Path:
    """Build the wheel in a folder, with nothing at all on the PATH, and return the folder where it is unpacked."""
    clone = folder / "clone"
    clone.mkdir()
    for name in NEEDED:
        if (ROOT / name).is_dir():
            built = shutil.ignore_patterns("static", "node_modules", "__pycache__")
            shutil.copytree(ROOT / name, clone / name, ignore=built)
        else:
            shutil.copy(ROOT / name, clone)
    (folder / "nothing").mkdir()
    environment = {**os.environ, "PATH": str(folder / "nothing")}
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, clone]
    subprocess.run(command, env=environment, check=True)
    (wheel,) = folder.glob("rlinfra-*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "unpacked")
    return folder / "unpacked"
