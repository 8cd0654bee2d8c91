"""How time and memory grow with the class, and what functions that never return cost it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .classes import Measured, grade_here, hand_in, our_course

SIZES = (200, 1_000, 2_000)
LOOPERS = 20  # of the smallest class
MOST_GROWTH = 0.15


def measure(_root: Path) -> str:
    """Return the section of the results; takes ten minutes, and the machine should be quiet."""
    with tempfile.TemporaryDirectory(prefix="bench-growth-") as name:
        folder = Path(name)
        course = our_course(folder / "ours")
        growth = _growth(folder, course)
        with_loopers = _with_loopers(folder, course).seconds
    without = growth[SIZES[0]].seconds
    return "\n".join(
        [
            "## Larger classes",
            "",
            "| submissions, 2 workers | a submission | most memory of all processes (PSS) |",
            "|---|---:|---:|",
            *(
                f"| {size:,} | {1e3 * one.seconds / size:.0f} ms | {one.megabytes:.0f} MB |"
                for size, one in growth.items()
            ),
            "",
            _sentence(growth),
            "",
            f"With {LOOPERS} of {SIZES[0]} whose functions never return, the class takes "
            f"{with_loopers / without:.1f} × as long ({with_loopers:.0f} s):",
            f"{(with_loopers - without) / LOOPERS:.1f} s for each of them.",
            "",
        ]
    )


def _growth(folder: Path, course: Path) -> dict[int, Measured]:
    found = {}
    for size in SIZES:
        hand_in(submissions := folder / f"class-{size}", course / "release", size)
        found[size] = grade_here(course, submissions, 2, memory=True)
    return found


def _sentence(growth: dict[int, Measured]) -> str:
    small, large = (growth[size].seconds / size for size in (SIZES[0], SIZES[-1]))
    return (
        f"A submission among {SIZES[-1]:,} takes **{large / small - 1:+.0%}** of the time of one among {SIZES[0]}"
        f" (at most +{MOST_GROWTH:.0%} is wanted)."
    )


def _with_loopers(folder: Path, course: Path) -> Measured:
    hand_in(submissions := folder / "loopers", course / "release", SIZES[0], LOOPERS)
    return grade_here(course, submissions, 2)
