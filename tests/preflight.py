"""Before the tests: which system packages are missing. A warning at a desk, a failure where CI is set."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
DEBIANS_POSTGRESQL = Path("/usr/lib/postgresql")  # its programs are not on the PATH


def chromium() -> str | None:
    """Return the path of a Chromium, or None where there is none."""
    return next((path for name in CHROMIUM if (path := shutil.which(name))), None)


def postgresql() -> Path | None:
    """Return the folder of PostgreSQL's server programs, the newest, or None where there is none."""
    if found := shutil.which("pg_ctl"):
        return Path(found).resolve().parent
    folders = [path.parent for path in DEBIANS_POSTGRESQL.glob("*/bin/pg_ctl")]
    return max(folders, key=lambda folder: int(folder.parent.name), default=None)


def missing() -> list[str]:
    """Return what is missing, each with what the tests need it for."""
    needed = {
        "chromium (and fonts-dejavu-core): for the browser tests": chromium(),
        "postgresql: for the tests of a gradebook in PostgreSQL": postgresql(),
    }
    return [what for what, found in needed.items() if found is None]


if __name__ == "__main__":
    for what in missing():
        print(f"Missing system package {what}. README, “Tests”, has the command.")
    sys.exit(1 if missing() and os.environ.get("CI") else 0)
