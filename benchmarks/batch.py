"""A class of 200 here and by stock nbgrader, how time and memory grow with the class, and what loopers cost."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from .classes import TOPIC, Measured, grade_by_stock, grade_here, hand_in, our_course, stock_course

ROUNDS, ROUND = 3, 100
SIZES = (200, 1_000, 2_000)
LOOPERS = 20
LEAST_RATIO, MOST_GROWTH = 10.0, 0.15


def measure(_root: Path) -> str:
    """Return the section of the results; takes half an hour, and the machine should be quiet."""
    with tempfile.TemporaryDirectory(prefix="bench-batch-") as name:
        folder = Path(name)
        ours = our_course(folder / "ours")
        stock = stock_course(folder / "stock")
        versus = _versus(folder, ours, stock)
        growth = _growth(folder, ours)
        with_loopers = _with_loopers(folder, ours)
    return "\n".join(
        [
            "## A class",
            "",
            f"{ROUNDS * ROUND} submissions of `{TOPIC}`, from right to blank: {ROUNDS} interleaved rounds of {ROUND},",
            "medians of the time a submission, start-up and gradebook included. Stock is plain `nbgrader autograde` on",
            "the same notebooks with ordinary asserts; each process has its share of the class and its own gradebook.",
            "",
            "| | here | stock | ratio |",
            "|---|---:|---:|---:|",
            *(_versus_row(workers, *versus[workers]) for workers in versus),
            "",
            f"At least {LEAST_RATIO:g} × is wanted.",
            "",
            "| submissions, 2 workers | a submission | most memory of all processes (PSS) |",
            "|---|---:|---:|",
            *(
                f"| {size:,} | {1e3 * one.seconds / size:.0f} ms | {one.megabytes:.0f} MB |"
                for size, one in growth.items()
            ),
            "",
            _growth_sentence(growth),
            "",
            f"With {LOOPERS} of {SIZES[0]} whose functions never return, the class takes "
            f"{with_loopers.seconds / growth[SIZES[0]].seconds:.1f} × as long ({with_loopers.seconds:.0f} s):",
            f"{(with_loopers.seconds - growth[SIZES[0]].seconds) / LOOPERS:.1f} s for each of them.",
            "",
        ]
    )


def _versus(folder: Path, ours: Path, stock: Path) -> dict[int, tuple[list[float], list[float]]]:
    """Return the seconds a submission of each round, here and by stock nbgrader, by the number of workers."""
    times: dict[int, tuple[list[float], list[float]]] = {workers: ([], []) for workers in (1, 2)}
    for number in range(ROUNDS):
        submissions = folder / f"round-{number}"
        hand_in(submissions, ours / "release", ROUND)
        for workers, (here, there) in times.items():
            here.append(grade_here(ours, submissions, workers).seconds / ROUND)
            there.append(grade_by_stock(stock, submissions, workers).seconds / ROUND)
    return times


def _versus_row(workers: int, here: list[float], there: list[float]) -> str:
    ours, theirs = statistics.median(here), statistics.median(there)
    plural = "s" if workers > 1 else ""
    return f"| {workers} worker{plural} | {1e3 * ours:.0f} ms | {1e3 * theirs:.0f} ms | **{theirs / ours:.1f} ×** |"


def _growth(folder: Path, course: Path) -> dict[int, Measured]:
    found = {}
    for size in SIZES:
        hand_in(submissions := folder / f"class-{size}", course / "release", size)
        found[size] = grade_here(course, submissions, 2, memory=True)
    return found


def _growth_sentence(growth: dict[int, Measured]) -> str:
    small, large = (growth[size].seconds / size for size in (SIZES[0], SIZES[-1]))
    return (
        f"A submission among {SIZES[-1]:,} takes **{large / small - 1:+.0%}** of the time of one among {SIZES[0]}"
        f" (at most +{MOST_GROWTH:.0%} is wanted)."
    )


def _with_loopers(folder: Path, course: Path) -> Measured:
    hand_in(submissions := folder / "loopers", course / "release", SIZES[0], LOOPERS)
    return grade_here(course, submissions, 2)
