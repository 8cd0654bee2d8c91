"""Before the tests: which system packages are missing. A warning at a desk, a failure where CI is set."""

from __future__ import annotations

import os
import shutil
import sys

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """Return the path of a Chromium, or None where there is none."""
    return next((path for name in CHROMIUM if (path := shutil.which(name))), None)


def missing() -> list[str]:
    """Return what is missing, each with what the tests need it for."""
    return [] if chromium() else ["chromium (and fonts-dejavu-core): for the browser tests"]


if __name__ == "__main__":
    for what in missing():
        print(f"Missing system package {what}. README, “Tests”, has the command.")
    sys.exit(1 if missing() and os.environ.get("CI") else 0)
