"""Where things lie in a course root, and its nbgrader configuration; apart, so that a worker needs no nbgrader."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from traitlets.config.loader import PyFileConfigLoader


def data_path(root: Path, topic: str) -> Path:
    """Return where a topic's check data lies in the repository."""
    return root / "course" / "rlinfra" / "checks" / "data" / f"{topic}.json"


def notebook_path(folder: Path, topic: str) -> Path:
    """Return where a topic's notebook lies in `source/` or `release/`."""
    return folder / topic / f"{topic}.ipynb"


def course_config(root: Path, **directory: str) -> Any:
    """Return the course's nbgrader configuration, with settings of `CourseDirectory` on top."""
    config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.update(directory)
    return config


def with_staff_programs() -> None:
    """Put the staff's programs on the PATH: creating a database runs alembic, which nbgrader looks for there."""
    folder = str(Path(sys.executable).parent)
    if folder not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join((folder, os.environ.get("PATH", "")))
