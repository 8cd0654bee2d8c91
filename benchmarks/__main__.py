"""`make bench`: measures, and writes `benchmarks/results.md`; `python -m benchmarks PART…` measures some parts anew."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import psutil
from rich.console import Console
from rich.markdown import Markdown

from . import batch, engine, explorers, growth, pages, simulator

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results.md"
PARTS = {
    "engine": engine.measure,
    "batch": batch.measure,
    "growth": growth.measure,
    "pages": pages.measure,
    "simulator": simulator.measure,
    "explorers": explorers.measure,
}
HEAD = """# Benchmarks

Written by `make bench`. Ratios hold across machines better than times do.
"""


def main() -> None:
    """Run the benchmarks that are named, or all; the sections of the others stay as they are."""
    chosen = sys.argv[1:] or list(PARTS)
    if unknown := [name for name in chosen if name not in PARTS]:
        sys.exit(f"there is no benchmark {unknown[0]}; there are {', '.join(PARTS)}")
    for name in chosen:
        load = os.getloadavg()[0]
        section = f"{PARTS[name](ROOT)}\n{_circumstances(load)}\n"
        Console().print(Markdown(section))
        sections = {**_sections(), section.partition("\n")[0]: section}
        RESULTS.write_text("\n".join([HEAD, *sections.values()]).rstrip() + "\n")


def _sections() -> dict[str, str]:
    """Return the sections of the results by their titles."""
    _, *sections = (RESULTS.read_text() if RESULTS.is_file() else "").split("\n## ")
    return {f"## {section.partition(chr(10))[0]}": f"## {section.rstrip()}\n" for section in sections}


def _circumstances(load: float) -> str:
    """Return a line on the machine, and on how quiet it was."""
    processor = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor() or platform.machine(),
    )
    return (
        f"*{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, Linux {platform.release()}, "
        f"{os.cpu_count()} × {processor}, {psutil.virtual_memory().total / 2**30:.0f} GiB of memory; "
        f"load before the run (1 minute): {load:.2f}.*"
    )


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


main()
