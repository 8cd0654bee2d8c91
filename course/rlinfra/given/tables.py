"""A plain table for a notebook, and a way to fill it from functions that may not be written yet."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DASH = "–"


def attempt(function: Callable[[], object]) -> object:
    """Return what the function returns, or a dash where it raises or returns nothing."""
    try:
        value = function()
    except Exception:
        return DASH
    return DASH if value is None or value is ... else value


@dataclass(frozen=True)
class Table:
    """Rows under column heads; all columns but the first stand right, and large integers are grouped by thousands."""

    heads: Sequence[str]
    rows: Sequence[Sequence[object]]

    def __repr__(self) -> str:
        lines = [[*self.heads], *[[_text(value) for value in row] for row in self.rows]]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.heads))]
        return "\n".join("  ".join(map(_aligned, range(len(line)), line, widths)).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        head = "".join(
            f"<th scope='col' style='text-align:{_side(place)}'>{html.escape(name)}</th>"
            for place, name in enumerate(self.heads)
        )
        body = "".join(
            "<tr>"
            + "".join(
                f"<td style='text-align:{_side(place)}'>{html.escape(_text(value))}</td>"
                for place, value in enumerate(row)
            )
            + "</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """Return a table that a notebook shows."""
    return Table(heads, rows)


def _side(place: int) -> str:
    return "right" if place else "left"


def _aligned(place: int, text: str, width: int) -> str:
    return text.rjust(width) if place else text.ljust(width)


def _text(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
