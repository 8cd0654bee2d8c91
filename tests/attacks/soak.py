"""`make soak`: 300 hostile notebooks in a row on one runner. Nothing is left, and the next student has full marks."""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import psutil
from rich.progress import track

from . import notebooks
from .bench import Bench, bench
from .catalogue import ATTACKS
from .system import descendants
from .world import World


def in_use(one: Bench) -> dict[str, object]:
    """Return what the grader holds: processes, its own and the zygote's descriptors, files in its folders."""
    zygote = one.runner.zygote()
    zygote.warm_up()
    return {
        "processes": sorted(descendants()),
        "descriptors of the grader": _descriptors(os.getpid()),
        "descriptors of the zygote": _descriptors(zygote.pid),
        "files": sorted(str(path) for path in one.scratch.rglob("*")),
    }


def _descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def soak(count: int) -> tuple[dict[str, tuple[object, object]], float, float]:
    """Return what is more than before after so many attacks, the next honest student's points, and MB of memory grown.

    Memory is that of the grader and its zygote, from after the first round of attacks on.
    """
    with bench() as one, World(one.scratch) as world:
        wrong = notebooks.wrong_notebook()
        hostile = [world.fill(attack.notebook(wrong)) for attack in ATTACKS]
        one.grade(wrong)
        before, memory = in_use(one), 0
        for number in track(range(count), "Grading hostile notebooks …", transient=True):
            one.grade(hostile[number % len(hostile)])
            if number == len(hostile) - 1:
                memory = _memory(one)
        grown = _memory(one) - memory
        after = in_use(one)
        honest = one.grade(notebooks.honest_notebook(), notebooks.NEIGHBOUR)
    more = {name: (value, after[name]) for name, value in before.items() if after[name] != value}
    return more, honest.earned, grown / 1e6


def _memory(one: Bench) -> int:
    pids = (os.getpid(), one.runner.zygote().pid)
    return sum(int(psutil.Process(pid).memory_full_info().uss) for pid in pids)


def main() -> None:
    """Soak, print, and fail where anything is left."""
    warnings.simplefilter("ignore")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    begun = time.monotonic()
    more, earned, grown = soak(count)
    for name, (before, after) in more.items():
        print(f"{name}: {before} before, {after} after")
    print(
        f"{count} hostile notebooks in {time.monotonic() - begun:.0f} s: {'nothing' if not more else len(more)} left "
        f"behind, memory {grown:+.1f} MB, and the next honest one has {earned:g} of {notebooks.ALL_POINTS:g} points."
    )
    sys.exit(bool(more) or earned != notebooks.ALL_POINTS)


if __name__ == "__main__":
    main()
