"""The grading engine against its floor: both runs of a notebook against one fork and plain `exec` of the same cells."""

from __future__ import annotations

import json
import socket
import statistics
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from rlinfra_autograder.sandbox.attempt import GO_ON
from rlinfra_autograder.sandbox.process import ChildProcess
from rlinfra_autograder.sandbox.runner import ZygoteRunner
from rlinfra_autograder.sandbox.zygote import CHILD, ChildSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROUNDS = 15
CELLS = Path(__file__).with_name("notebook.txt").read_text().split("\n# ---\n")  # what a student of this course writes
FLOOR = Path(__file__).parent / "floor"
FLOOR_NAME, SHOWN, JUDGED, BOTH = "one fork and plain exec (the floor)", "shown run", "judged run", "both runs"
MOST_RATIO, MOST_MEGABYTES = 4.0, 30.0


def measure(root: Path) -> str:
    """Return the section of the results; the machine should be quiet."""
    python = root / ".venv-student" / "bin" / "python"
    light = ["assert True" if "plt.subplots" in source else source for source in CELLS]
    with _floor(python) as floor, ZygoteRunner(ChildSettings(python)) as runner:
        usual, without = (_compared(cells, floor, runner) for cells in (CELLS, light))
        megabytes = _private_megabytes(runner)
    rows = [
        f"| {name} | {_milliseconds(usual[name])} | {_milliseconds(without[name])} |"
        for name in (FLOOR_NAME, SHOWN, JUDGED, BOTH)
    ]
    ratio, light_ratio = map(_ratio, (usual, without))
    return "\n".join(
        [
            "## The grading engine",
            "",
            f"One notebook of {len(CELLS)} cells, one worker, medians of {ROUNDS} interleaved rounds.",
            "",
            "| | with its figure | without it |",
            "|---|---:|---:|",
            *rows,
            "",
            f"Both runs together take **{ratio:.2f} ×** the floor (at most {MOST_RATIO:g} × is wanted); without its",
            f"figure {light_ratio:.2f} ×. A running child holds **{megabytes:.1f} MB** of private memory (at most",
            f"{MOST_MEGABYTES:g} MB is wanted).",
            "",
        ]
    )


def _ratio(times: dict[str, list[float]]) -> float:
    return statistics.median(times[BOTH]) / statistics.median(times[FLOOR_NAME])


def _compared(
    cells: Sequence[str], floor: Callable[[Sequence[str]], None], runner: ZygoteRunner
) -> dict[str, list[float]]:
    """Return the seconds of each run in each round."""
    placed = list(enumerate(cells))
    times = _interleaved(
        {
            FLOOR_NAME: lambda: floor(cells),
            SHOWN: lambda: runner.run(placed, None),
            JUDGED: lambda: runner.run(placed, {}),
        }
    )
    return {**times, BOTH: [a + b for a, b in zip(times[SHOWN], times[JUDGED], strict=True)]}


def _milliseconds(seconds: Sequence[float]) -> str:
    return f"{1e3 * statistics.median(seconds):.0f} ms"


@contextmanager
def _floor(python: Path) -> Iterator[Callable[[Sequence[str]], None]]:
    """Yield a function that runs cells by plain exec in a fork of a process that is as warm as the zygote."""
    ours, theirs = socket.socketpair()
    command = [str(python), "-s", "-P", str(FLOOR), str(theirs.fileno()), str(CHILD)]
    environment = {"MPLBACKEND": "module://matplotlib_inline.backend_inline", "OPENBLAS_NUM_THREADS": "1"}
    with (
        subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment, cwd="/tmp") as process,  # noqa: S108, S603
        ours,
        ours.makefile("rw") as lines,
    ):
        theirs.close()
        lines.readline()

        def run(cells: Sequence[str]) -> None:
            print(json.dumps(cells), file=lines, flush=True)
            if (status := lines.readline().strip()) != "0":
                raise RuntimeError(f"the floor ended with {status}")

        yield run
        lines.close()
        ours.close()
        process.wait()


def _interleaved(runs: dict[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """Return the seconds of each run in each round; the runs take turns, so that noise meets all of them."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS + 2):
        for name, run in runs.items():
            begun = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - begun)
    return {name: values[2:] for name, values in times.items()}


def _private_megabytes(runner: ZygoteRunner) -> float:
    """Return what a child holds for itself after the last cell of the notebook, where it waits for word to go on."""
    with ChildProcess(runner.zygote(), runner.settings, {"cells": [*enumerate(CELLS)], "judged": False}) as child:
        while message := child.message_within(60):
            if message.get("end") == len(CELLS) - 1:
                break
            if "end" in message:
                child.send(GO_ON)
        else:
            raise RuntimeError("the child ended before its last cell did")
        return float(psutil.Process(child.pid).memory_full_info().uss) / 1e6
