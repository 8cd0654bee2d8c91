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
    """Rows under column heads; numbers stand right, and large integers are grouped by thousands."""

    heads: Sequence[str]
    rows: Sequence[Sequence[object]]

    def __repr__(self) -> str:
        lines = [[*self.heads], *[[_text(value) for value in row] for row in self.rows]]
        widths = [max(len(line[place]) for line in lines) for place in range(len(self.heads))]
        return "\n".join(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) for line in lines
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th scope='col' style='text-align:left'>{html.escape(name)}</th>" for name in self.heads)
        body = "".join(
            "<tr>"
            + "".join(
                f"<td style='text-align:{'left' if place == 0 else 'right'}'>{html.escape(_text(value))}</td>"
                for place, value in enumerate(row)
            )
            + "</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """Return a table that a notebook shows."""
    return Table(heads, rows)


def _text(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
