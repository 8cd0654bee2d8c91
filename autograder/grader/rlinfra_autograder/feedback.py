"""A verdict as people read it under the graded cell of a feedback page: HTML without a value of any hidden case."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .verdicts import CriterionVerdict, Verdict

SUMMARY_ID = "rlinfra-result"  # of the cell on top of a graded notebook
UNCONFINED = (
    "<b>Graded without a sandbox.</b> The code in this notebook could reach whatever the grader can; "
    "nothing here proves that it did not."
)
_CELL = "text-align:left;vertical-align:top;padding:.2em 1em .2em 0"


def points_text(points: float) -> str:
    """Return points without needless digits: `2`, `1.5`, `0.67`."""
    return f"{round(points, 2):g}"


def verdict_html(verdict: Verdict) -> str:
    """Return the card of one task: points, one line a criterion, remark and hint."""
    rows = "".join(_row(criterion) for criterion in verdict.criteria)
    colour = "#009E73" if verdict.earned == verdict.points else "#E69F00" if verdict.earned else "#D55E00"
    notes = "".join(
        f"<p style='margin:.5em 0 0'><b>{title}.</b> {html.escape(text)}</p>"
        for title, text in (("Note", verdict.remark), ("Hint", verdict.hint))
        if text
    )
    return (
        f"<div style='border:1px solid #bbb;border-left:5px solid {colour};border-radius:3px;padding:.55em .9em'>"
        f"<code style='font-weight:600'>{html.escape(verdict.task)}</code>: "
        f"{points_text(verdict.earned)} of {points_text(verdict.points)} points"
        f"<table style='border-collapse:collapse;margin:.3em 0 0'>{rows}</table>{notes}</div>"
    )


def summary_html(
    verdicts: Sequence[Verdict], faults: Sequence[str], *, repairs: Sequence[str] = (), confined: bool = True
) -> str:
    """Return the top of a graded notebook: a row a task, cells that were stopped, repairs, whether it was confined."""
    rows = "".join(
        f"<tr><td style='{_CELL}'><code>{html.escape(verdict.task)}</code></td>"
        f"<td style='{_CELL}'>{points_text(verdict.earned)} of {points_text(verdict.points)}</td>"
        f"<td style='{_CELL}'>{html.escape(what_to_know(verdict))}</td></tr>"
        for verdict in verdicts
    )
    earned, points = sum(verdict.earned for verdict in verdicts), sum(verdict.points for verdict in verdicts)
    return (
        f"<h2>Result: {points_text(earned)} of {points_text(points)} points judged by the autograder</h2>"
        f"<table><tr><th style='{_CELL}'>task</th><th style='{_CELL}'>points</th>"
        f"<th style='{_CELL}'>what to know</th></tr>{rows}</table>"
        + _list("These cells were stopped, and the others were run without them:", faults)
        + _list("The notebook was repaired before it was graded:", repairs)
        + ("" if confined else f"<p>{UNCONFINED}</p>")
    )


def _list(title: str, lines: Sequence[str]) -> str:
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<p>{title}</p><ul>{items}</ul>" if lines else ""


def what_to_know(verdict: Verdict) -> str:
    """Return the one thing that helps most: the hint, else the remark, else the first criterion that is not met."""
    unmet = [criterion for criterion in verdict.criteria if not criterion.met]
    why = f" ({unmet[0].note})" if unmet and unmet[0].note else ""
    first = f"{'In part' if unmet[0].earned else 'Not met'}: {unmet[0].title}{why}." if unmet else ""
    return verdict.hint or verdict.remark or first


def verdict_text(verdict: Verdict) -> str:
    """Return the card as plain text, for a terminal or a log."""
    lines = [f"{verdict.task}: {points_text(verdict.earned)} of {points_text(verdict.points)} points"]
    lines += ["  " + " ".join(_parts(criterion)) for criterion in verdict.criteria]
    lines += [f"  {text}" for text in (verdict.remark, verdict.hint) if text]
    return "\n".join(lines)


def _parts(criterion: CriterionVerdict) -> tuple[str, str, str, str]:
    state = "✓ met" if criterion.met else "◐ in part" if criterion.earned else "✗ not met"
    cases = f"{criterion.right} of {criterion.total} right" if criterion.total else ""
    said = ": ".join(text for text in (cases, criterion.note) if text) or "nothing to judge"
    points = f"{points_text(criterion.earned)} of {points_text(criterion.points)}"
    return state, criterion.title, points, said


def _row(criterion: CriterionVerdict) -> str:
    state, title, points, count = (html.escape(text) for text in _parts(criterion))
    short = f"{_CELL};white-space:nowrap"
    cells = "".join(
        f"<td style='{style}'>{text}</td>"
        for style, text in ((short, state), (_CELL, title), (short, points), (_CELL, count))
    )
    return f"<tr>{cells}</tr>"
