"""Soak, print a table, and fail where a line of it does: `python -m tests.soak [SUBMISSIONS] [KILLS]`."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.attacks.notebooks import TOPIC
from tests.attacks.system import remove_tree
from tests.attacks.world import World
from tests.e2e.course import copy_course, run

from .batch import Finding, a_part, kill_and_resume, soak
from .handed import hand_in


def main(submissions: int = 1_000, kills: int = 25) -> None:
    """Grade so many submissions, and kill so often."""
    warnings.simplefilter("ignore")
    seed = int(time.time())
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    scratch = folder / "scratch"
    for path in (folder, scratch):
        path.mkdir(exist_ok=True)
        path.chmod(0o711)  # a child with a uid of its own has to pass through
    os.environ["TMPDIR"] = str(scratch)  # of the batches; what they leave there is seen
    try:
        with World(scratch) as world:
            course = copy_course(_made(folder / "course"))
            run(course, "rlinfra-grade", "release", TOPIC)
            handed = hand_in(course, submissions, world)
            part = a_part(course, min(4 * kills, submissions), folder / "part")
            print(f"{submissions} submissions are handed in; grading …", flush=True)
            findings = soak(course, handed, scratch)
            findings += kill_and_resume(part, course, kills, seed)
            _show(findings)
    finally:
        remove_tree(folder)
    sys.exit(not all(finding.holds for finding in findings))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _show(findings: list[Finding]) -> None:
    table = Table(title="Soak", title_justify="left")
    for column in ("what", "found", ""):
        table.add_column(column)
    for finding in findings:
        table.add_row(finding.what, finding.found, "" if finding.holds else "FAILED")
    Console(width=None if sys.stdout.isatty() else 120).print(table, markup=False, highlight=False)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
