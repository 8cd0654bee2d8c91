"""The one chart of the report: how many submissions have how many points, as SVG that stands in the page itself."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..feedback import points_text

if TYPE_CHECKING:
    from .figures import TopicFigures

_BLUE, _BLACK = "#0072B2", "#1a1a1a"  # Okabe-Ito's blue
_MOST_BARS = 25
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be read aloud, searched and printed sharply
    "svg.hashsalt": "rlinfra",
    "font.family": "sans-serif",
    "font.size": 9,
}
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def histogram(figures: TopicFigures, sentence: str) -> Markup:
    """Return the distribution of the scores; `sentence` is its text alternative. "" where nothing is graded."""
    if not figures.scores:
        return Markup()
    width = max(1, math.ceil(figures.max_score / _MOST_BARS))
    bars = Counter(int(score // width) for score in figures.scores)
    top = max(int(figures.max_score // width), *bars)
    with rc_context(_SETTINGS):
        figure = Figure(figsize=(5.2, 2.2), layout="constrained")
        axes = figure.add_subplot()
        axes.bar([width * bar for bar in bars], list(bars.values()), width=0.86 * width, color=_BLUE)
        middle = figures.median
        if middle is not None and len(figures.scores) > 1:
            axes.axvline(middle, color=_BLACK, linestyle=(0, (4, 3)), linewidth=1)
            left = middle > figures.max_score / 2
            axes.annotate(
                f"median {points_text(middle)}", (middle, 1), xycoords=("data", "axes fraction"),
                xytext=(-4 if left else 4, 3), textcoords="offset points", ha="right" if left else "left",
            )  # fmt: skip
        axes.set_xlim(-0.7 * width, (top + 0.7) * width)
        axes.set_xlabel(f"score in points, of {points_text(figures.max_score)}")
        axes.set_ylabel("submissions")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
        axes.spines[["top", "right"]].set_visible(False)
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", transparent=True, metadata=_NO_METADATA)
    return _inline(drawn.getvalue(), figures.name, sentence)


def _inline(svg: str, topic: str, sentence: str) -> Markup:
    """Return the drawing as an element of a page: sized by the page, its ids its own, with a text alternative."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r'(<svg\b[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg\b[^>]*?) height="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{topic}-", body)
    label = Markup.escape(sentence)
    return Markup(body.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))  # noqa: S704 - numbers of ours
