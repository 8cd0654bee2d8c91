"""A pool at work behind a progress display: how much is done, how fast, how long it takes yet, what went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from .batch import Pool


def run_pool(
    pool: Pool,
    settings: Any,
    jobs: Sequence[Any],
    take: Callable[[Any], bool],
    *,
    console: Console,
    doing: str,
    not_done: str,
    chunk: int = 1,
) -> bool:
    """Do the jobs, hand out each outcome as it comes, and close the pool; return False where Ctrl-C ended it.

    `take` returns whether an outcome is a good one; of the others the display says how many are `not_done`.
    """
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )  # fmt: skip
    try:
        with Progress(*columns, console=console, transient=True) as progress:
            bar = progress.add_task(doing, total=len(jobs), rate="")
            faults = 0

            def note(outcome: Any) -> None:
                nonlocal faults
                faults += not take(outcome)
                speed = progress.tasks[bar].speed
                said = [f"{60 * speed:.0f} a minute"] if speed else []
                said += [f"{faults} {not_done}"] if faults else []
                progress.update(bar, advance=1, rate=", ".join(said))

            pool.run(settings, jobs, note, chunk)
    except KeyboardInterrupt:
        return False
    finally:
        pool.close()
    return True
