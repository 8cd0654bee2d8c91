"""`make bench`: measures, prints, and writes `benchmarks/results.md`."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

import psutil
from rich.console import Console
from rich.markdown import Markdown

from . import engine, simulator

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results.md"


def main() -> None:
    """Run every benchmark."""
    before = os.getloadavg()[0]
    sections = [engine.measure(ROOT), simulator.measure(ROOT)]
    text = "\n".join([_machine(before), *sections])
    RESULTS.write_text(text)
    Console().print(Markdown(text))


def _machine(load: float) -> str:
    processor = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor() or platform.machine(),
    )
    return "\n".join(
        [
            "# Benchmarks",
            "",
            "Written by `make bench`. Ratios hold across machines better than times do.",
            "",
            f"- {datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, Linux {platform.release()}",
            f"- {os.cpu_count()} × {processor}, {psutil.virtual_memory().total / 2**30:.0f} GiB of memory",
            f"- load before the run (1 minute): {load:.2f}",
            "",
        ]
    )


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


main()
