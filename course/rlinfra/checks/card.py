"""The check card: what a student sees under a graded cell.

State is told by a sign and a word, never by colour alone. Only failing examples are shown, passed ones are counted.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..observe import Call

MAX_SHOWN = 160
_BLUE, _VERMILION, _ORANGE, _GREEN = "#0072B2", "#D55E00", "#E69F00", "#009E73"


@dataclass(frozen=True)
class Row:
    """One failing example, or (with `problem`) one sentence in the place of the examples."""

    call: str = ""
    expected: str = ""
    got: str = ""
    problem: str = ""
    differs_at: str = ""
    raised: bool = False


@dataclass(frozen=True)
class CheckResult:
    """What a check found. Its HTML is the card; its text is the points so far, a number that nbgrader reads.

    `heads` are over the columns of the rows.
    """

    name: str
    state: str
    points: float
    max_points: float
    rows: tuple[Row, ...] = ()
    hint: str = ""
    printed: str = ""
    passed: int = 0
    heads: tuple[str, str, str] = ("call", "expected", "got")

    def __repr__(self) -> str:
        return f"{self.points:.4g}"

    def summary(self) -> str:
        """Return the card as plain text, for a terminal."""
        lines = [f"{self.name}: {self.state}, {self.points:.3g} of {self.max_points:g} points so far"]
        for row in self.rows:
            lines.append(f"  {row.problem}" if row.problem else f"  {row.call}")
            if not row.problem:
                width = max(map(len, self.heads[1:]))
                further = "\n" + " " * (width + 5)
                lines += [
                    f"    {head:{width}} {text.replace(chr(10), further)}"
                    for head, text in zip(self.heads[1:], (row.expected, row.got), strict=True)
                ]
        if self.hint:
            lines.append(f"  Hint: {self.hint}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        sign, colour = self._sign()
        e = html.escape
        points = f"{self.points:.3g} of {self.max_points:g} points so far" if self.max_points else ""
        parts = [
            f"<div class='rlinfra-card' role='group' aria-label='Check of {e(self.name)}: {e(self.state)}' "
            f"style='border:1px solid rgba(128,128,128,.45);border-left:5px solid {colour};border-radius:3px;"
            "padding:.55em .9em;margin:.2em 0;line-height:1.45;color:inherit'>"
            "<div style='display:flex;flex-wrap:wrap;gap:.2em .9em;align-items:baseline'>"
            f"<code style='font-weight:600'>{e(self.name)}</code>"
            f"<span><span aria-hidden='true' style='color:{colour};font-weight:700'>{sign}</span> {e(self.state)}"
            f"</span><span style='margin-left:auto'>{points}</span></div>"
        ]
        examples = [row for row in self.rows if not row.problem]
        parts += [f"<p style='margin:.5em 0 0'>{e(row.problem)}</p>" for row in self.rows if row.problem]
        if examples:
            parts.append(_table(examples, self.heads))
        if self.hint:
            parts.append(f"<p style='margin:.6em 0 0'><b style='color:{_BLUE}'>Hint.</b> {e(self.hint)}</p>")
        if self.printed:
            parts.append(
                "<details style='margin:.5em 0 0'><summary>Your function printed</summary>"
                f"<pre style='margin:.3em 0 0;white-space:pre-wrap'>{e(self.printed)}</pre></details>"
            )
        return "".join([*parts, "</div>"])

    def _sign(self) -> tuple[str, str]:
        if self.max_points and self.points >= self.max_points:
            return "✓", _GREEN
        if self.passed:
            return "◐", _ORANGE
        return ("○", _BLUE) if self.state == "not written yet" else ("✗", _VERMILION)


def _table(rows: list[Row], heads: tuple[str, str, str]) -> str:
    cell = "text-align:left;vertical-align:top;padding:.25em .8em .25em 0;border-top:1px solid rgba(128,128,128,.25)"
    head = "".join(f"<th scope='col' style='{cell};border-top:0'>{name}</th>" for name in heads)
    code = "white-space:pre-wrap;overflow-wrap:anywhere;background:none;padding:0"
    body = "".join(
        "<tr>"
        f"<td style='{cell}'><code style='{code}'>{html.escape(row.call)}</code></td>"
        f"<td style='{cell}'><code style='{code}'>{html.escape(row.expected)}</code></td>"
        f"<td style='{cell}'><code style='{code};font-weight:600'>{html.escape(row.got)}</code>"
        + (f"<br>differs at <code style='{code}'>{html.escape(row.differs_at)}</code>" if row.differs_at else "")
        + "</td></tr>"
        for row in rows
    )
    return f"<table style='border-collapse:collapse;margin:.5em 0 0;width:100%'><tr>{head}</tr>{body}</table>"


def show_value(value: object) -> str:
    """Return a value for reading: thousands separated in large numbers, long values cut in the middle."""
    return _cut(_show(value))


def _show(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10_000:
        return f"{value:_}"
    if isinstance(value, float) and value.is_integer() and 10_000 <= abs(value) < 1e15:
        return f"{value:_.1f}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_show(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_show(item) for item in value) + "]"
    return repr(value)


def show_call(name: str, call: Call) -> str:
    """Return a call as Python text, as the student could type it."""
    arguments = [_show(value) for value in call.args]
    arguments += [f"{key}={_show(value)}" for key, value in dict(call.kwargs).items()]
    return _cut(f"{name}({', '.join(arguments)})", 2 * MAX_SHOWN)


def _cut(text: str, most: int = MAX_SHOWN) -> str:
    if len(text) <= most:
        return text
    half = most // 2 - 2
    return f"{text[:half]} … {text[-half:]}"
