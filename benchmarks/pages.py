"""Feedback pages here and by nbgrader's own command, of the same graded notebooks."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path

from .classes import TOPIC, grade_here, hand_in, our_course, share_out, timed

ROUNDS, CLASS, PROCESSES = 3, 200, 2
LEAST_RATIO = 3.0


def measure(_root: Path) -> str:
    """Return the section of the results; the machine should be quiet."""
    here, there = [], []
    with tempfile.TemporaryDirectory(prefix="bench-pages-") as name:
        course = our_course(Path(name) / "ours")
        submissions = Path(name) / "class"
        hand_in(submissions, course / "release", CLASS)
        grade_here(course, submissions, PROCESSES)
        graded = shutil.move(course / "autograded", Path(name) / "graded")
        for _ in range(ROUNDS):
            shares = share_out(course, "autograded", graded, PROCESSES)
            for share in shares:
                _with_its_own_exporter(share / "nbgrader_config.py")
            there.append(timed([(share, ["nbgrader", "generate_feedback", TOPIC]) for share in shares]).seconds)
            (whole,) = share_out(course, "autograded", graded, 1)
            command = ["rlinfra-grade", "feedback", TOPIC, "--workers", str(PROCESSES)]
            here.append(timed([(whole, command)]).seconds)
            if (pages := len(list(whole.glob("feedback/*/*/*.html")))) != CLASS:
                raise RuntimeError(f"{pages} of {CLASS} pages were written")
    ours, theirs = (statistics.median(times) / CLASS for times in (here, there))
    return "\n".join(
        [
            "## Feedback",
            "",
            f"{CLASS} pages of `{TOPIC}`, {PROCESSES} processes each, medians of {ROUNDS} interleaved rounds:",
            f"{1e3 * ours:.0f} ms a page here, {1e3 * theirs:.0f} ms by `nbgrader generate_feedback`:",
            f"**{theirs / ours:.1f} ×** its rate",
            f"(at least {LEAST_RATIO:g} × is wanted).",
            "",
        ]
    )


def _with_its_own_exporter(config: Path) -> None:
    """Take our exporter, which is quicker, out of a course's settings."""
    text = config.read_text()
    config.write_text(text[: text.index("c.GenerateFeedback.exporter_class")])
