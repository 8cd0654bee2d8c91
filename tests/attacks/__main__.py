"""`make attacks`: what every attack gets here and from plain nbgrader, as a table. Fails if one gets anything here."""

from __future__ import annotations

import sys
import warnings

from rich.console import Console
from rich.progress import track
from rich.table import Table

from . import notebooks
from .attack import Attack, Goal
from .bench import bench
from .catalogue import ATTACKS
from .feedback_page import feedback_reader
from .stock import Measured, measure_all
from .world import Touch, World


def attack_here() -> dict[str, tuple[float, list[Touch]]]:
    """Return by name what each attack earned and touched here."""
    found = {}
    with bench() as one, feedback_reader(one.grade(notebooks.wrong_notebook()).notebook) as reader:
        if reader is None:
            sys.exit("Missing system package chromium: a third of the attacks act in a browser.")
        for attack in track(ATTACKS, "Attacking the grader …", transient=True):
            with World(one.scratch, reader) as world:
                graded, touches = world.attempt(attack, one.grade)
                if attack.goal is Goal.LEFTOVER:
                    touches += world.next_student(one.grade)
            found[attack.name] = (graded.earned if graded else 0.0, touches)
    return found


def measure_stock() -> dict[str, Measured]:
    """Return by name what each attack gets from plain nbgrader."""
    names = [attack.name for attack in ATTACKS]
    return dict(track(measure_all(names), "Measuring plain nbgrader …", total=len(names), transient=True))


def table_of(here: dict[str, tuple[float, list[Touch]]], stock: dict[str, Measured]) -> Table:
    """Return the table: a row an attack, its kind where a new one begins."""
    table = Table("kind", "attack", box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("stock nbgrader", justify="right")
    table.add_column("here", justify="right")
    table.add_column("touched here")
    before: Attack | None = None
    for attack in ATTACKS:
        earned, touches = here[attack.name]
        kind = attack.kind if before is None or before.kind != attack.kind else ""
        table.add_row(
            kind,
            attack.name,
            _points(stock[attack.name].points),
            f"{earned:g}",
            "; ".join(map(str, touches)) or "nothing",
        )
        before = attack
    return table


def _points(points: float | None) -> str:
    return "no grade" if points is None else f"{points:g} of {notebooks.ALL_POINTS:g}"


def main() -> None:
    """Attack, measure, print; the exit status says whether anything was gained or touched here."""
    warnings.simplefilter("ignore")
    here, stock = attack_here(), measure_stock()
    gained = sum(earned for earned, _ in here.values())
    touched = sum(len(touches) for _, touches in here.values())
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(table_of(here, stock))
    there = sum(measured.points is None or measured.points > 0 for measured in stock.values())
    console.print(
        f"\n{len({attack.kind for attack in ATTACKS})} kinds, {len(ATTACKS)} attacks. "
        f"Here: {gained:g} points gained, {touched} things touched. "
        f"Plain nbgrader: {there} of them gained points or ended the grading."
    )
    sys.exit(1 if gained or touched else 0)


if __name__ == "__main__":
    main()
