"""A class of 200, graded here and by stock nbgrader on the same notebooks with ordinary asserts."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from .classes import TOPIC, grade_by_stock, grade_here, hand_in, our_course, stock_course

ROUNDS, CLASS = 3, 200
LEAST_RATIO = 10.0


def measure(_root: Path) -> str:
    """Return the section of the results; takes three quarters of an hour, and the machine should be quiet."""
    with tempfile.TemporaryDirectory(prefix="bench-batch-") as name:
        times = _versus(Path(name))
    return "\n".join(
        [
            "## A class",
            "",
            f"{CLASS} submissions of `{TOPIC}`, from right to blank: {ROUNDS} interleaved rounds, medians of the time",
            "a submission, start-up and gradebook included. Stock is plain `nbgrader autograde` on the same notebooks",
            "with ordinary asserts; each process has its share of the class and its own gradebook.",
            "",
            "| | here | stock | ratio |",
            "|---|---:|---:|---:|",
            *(_row(workers, *times[workers]) for workers in times),
            "",
            f"At least {LEAST_RATIO:g} × is wanted.",
            "",
        ]
    )


def _versus(folder: Path) -> dict[int, tuple[list[float], list[float]]]:
    """Return the seconds a submission of each round, here and by stock nbgrader, by the number of workers."""
    ours = our_course(folder / "ours")
    stock = stock_course(folder / "stock")
    hand_in(submissions := folder / "class", ours / "release", CLASS)
    times: dict[int, tuple[list[float], list[float]]] = {workers: ([], []) for workers in (1, 2)}
    for _ in range(ROUNDS):
        for workers, (here, there) in times.items():
            here.append(grade_here(ours, submissions, workers).seconds / CLASS)
            there.append(grade_by_stock(stock, submissions, workers).seconds / CLASS)
    return times


def _row(workers: int, here: list[float], there: list[float]) -> str:
    ours, theirs = statistics.median(here), statistics.median(there)
    plural = "s" if workers > 1 else ""
    return f"| {workers} worker{plural} | {1e3 * ours:.0f} ms | {1e3 * theirs:.0f} ms | **{theirs / ours:.1f} ×** |"
