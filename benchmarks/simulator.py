"""The simulator against the SimPy program of the tests, its largest run, and how its time grows."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from tests.simulator.oracle import Oracle

from rlinfra.simulator import PipelineConfig, simulate_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROUNDS = 3
GROWTH = {10: 21, 100: 11, 1_000: 5, 10_000: 1}  # so many workers, timed so often
MOST_SECONDS, MOST_MEGABYTES = 10.0, 500.0
LARGEST = """
import json, resource, time
from benchmarks.simulator import long_rollouts, simulate_pipeline
begun = time.process_time()
run = simulate_pipeline(long_rollouts(10_000))
seconds = time.process_time() - begun
print(json.dumps([seconds, run.finished_rollouts, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6]))
"""


def short_rollouts(workers: int) -> PipelineConfig:
    """Return an hour of completions of about 3.6 s; queue and trainer grow with the workers."""
    return PipelineConfig(
        duration_seconds=3600,
        workers=workers,
        batch_tokens=500 * workers,
        max_queue_tokens=875 * workers,
        trainer_tokens_per_second=150 * workers,
    )


def long_rollouts(workers: int) -> PipelineConfig:
    """Return an hour of completions of about 120 s; queue and trainer grow with the workers."""
    return PipelineConfig(
        duration_seconds=3600,
        workers=workers,
        worker_tokens_per_second=5,
        batch_tokens=500 * workers,
        max_queue_tokens=875 * workers,
        trainer_tokens_per_second=6 * workers,
    )


def measure(root: Path) -> str:
    """Return the section of the results; the machine should be quiet."""
    ours, theirs = _against_simpy()
    seconds, rollouts, megabytes = _largest(root)
    growth = _growth()
    first = min(growth)
    rows = [
        f"| {workers:,} | {finished:,} | {taken:.3f} s | {1e6 * taken / finished:.1f} µs "
        f"| {taken / growth[first][1] / (workers * math.log(workers) / first / math.log(first)):.2f} |"
        for workers, (finished, taken) in growth.items()
    ]
    return "\n".join(
        [
            "## The simulator",
            "",
            "Seconds are CPU seconds: a run has one thread, and waits for nothing.",
            "",
            f"1,000 workers, one simulated hour, about a million rollouts, medians of {ROUNDS} interleaved rounds:",
            f"{ours:.1f} s, and {theirs:.1f} s as a SimPy program. The simulator takes",
            f"**{ours / theirs:.2f} ×** SimPy's time (at most 1 × is wanted).",
            "",
            f"10,000 concurrent rollouts of about 120 s for one hour, {rollouts:,} in all: **{seconds:.1f} s** and",
            f"**{megabytes:.0f} MB** (at most {MOST_SECONDS:g} s and {MOST_MEGABYTES:g} MB are wanted).",
            "",
            "The same with fewer workers. The last column is the growth since the first row over that of n log n, with",
            "n workers (at most 1 is wanted):",
            "",
            "| workers | rollouts | median | a rollout | over n log n |",
            "|---:|---:|---:|---:|---:|",
            *rows,
            "",
        ]
    )


def _against_simpy() -> tuple[float, float]:
    """Return the median seconds of both programs; they take turns, so that noise meets both."""
    config = short_rollouts(1_000)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(_seconds(lambda: simulate_pipeline(config)))
        theirs.append(_seconds(lambda: Oracle(config, notes=False)))
    return statistics.median(ours), statistics.median(theirs)


def _largest(root: Path) -> tuple[float, int, float]:
    """Return seconds, rollouts and peak memory (MB) of the largest run, in a process of its own."""
    command = [sys.executable, "-c", LARGEST]
    answer = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout  # noqa: S603
    seconds, rollouts, megabytes = json.loads(answer)
    return seconds, rollouts, megabytes


def _growth() -> dict[int, tuple[int, float]]:
    """Return the finished rollouts and the median seconds for each number of workers."""
    growth = {}
    for workers, times in GROWTH.items():
        config = long_rollouts(workers)
        finished = simulate_pipeline(config).finished_rollouts
        growth[workers] = finished, statistics.median(_seconds(lambda: simulate_pipeline(config)) for _ in range(times))  # noqa: B023
    return growth


def _seconds(run: Callable[[], object]) -> float:
    begun = time.process_time()
    run()
    return time.process_time() - begun
