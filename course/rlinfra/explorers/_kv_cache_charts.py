"""The charts of the KV cache explorer: two of its pictures are lines, three are bars, and each kind has its form."""

from __future__ import annotations

from functools import cache
from typing import Any

from ._kv_cache_form import (
    CHOSEN,
    CONTEXTS,
    EACH,
    EMPTY,
    ENOUGH,
    FILLED,
    GROUPS,
    MODELS,
    OTHER,
    PAGES,
    SHARED,
    SIZES,
    TOO_MANY,
    UNKNOWN,
)
from ._specs import GREY, LIMIT, PALER, REFERENCE, ROLLOUT, SKY, TRANSFER, YELLOW, layered, limit

_TOKENS = {
    "field": "tokens",
    "type": "quantitative",
    "scale": {"type": "log", "base": 2, "domain": [CONTEXTS[0], CONTEXTS[-1]]},
    "axis": {"values": list(CONTEXTS[1::2]), "format": ","},
}
_SEQUENCES = {
    "field": "sequences",
    "type": "quantitative",
    "title": "sequences at once (log scale)",
    "scale": {"type": "log", "base": 2, "domainMin": 1},
    "axis": {"format": ",", "tickCount": 8},
}
_COMPLETIONS = {
    "field": "completions",
    "type": "quantitative",
    "scale": {"domain": [0, GROUPS[-1]], "nice": False},
    "axis": {"values": [0, *GROUPS[2:]]},
}
_GROUP_GIB = {"field": "gib", "type": "quantitative", "title": "allocated for the group, GiB"}
_LINE_COLOURS = {TOO_MANY: LIMIT, ENOUGH: ROLLOUT, UNKNOWN: GREY, EACH: TRANSFER, SHARED: ROLLOUT}
_BAR_COLOURS = {FILLED: ROLLOUT, EMPTY: YELLOW, CHOSEN: ROLLOUT, OTHER: SKY}
# By picture: the axis, the unit of its numbers, and the parts that the legend names.
_BARS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    MODELS: ("cache of one token, KiB", "KiB", (CHOSEN, OTHER)),
    PAGES: ("cache of each sequence, MiB", "MiB", (FILLED, EMPTY)),
    SIZES: ("cache of all sequences, GiB", "GiB", (FILLED, EMPTY)),
}
_WHOSE = {"field": "whose", "title": "whose number"}


def _titled(channel: dict[str, Any], title: str, mark: str) -> dict[str, Any]:
    return {**channel, "title": f"{title}{f' (grey: {mark})' if mark else ''}"}


@cache
def fits_spec(mark: str) -> dict[str, Any]:
    """Return the chart of sequences against tokens: above its line, which is the limit, memory runs out.

    Its data sets are `over` (the space above), `lines`, `points`, `labels` and `reference`.
    """
    x = _titled(_TOKENS, "tokens a sequence, prompt included (log scale)", mark)
    over = {
        "data": {"name": "over"},
        "mark": {"type": "area", "color": LIMIT, "opacity": 0.12},
        "encoding": {"x": x, "y": _SEQUENCES, "y2": {"field": "top"}},
    }
    return layered([over, *_lines(x, _SEQUENCES, "left")], 300)


@cache
def group_spec(mark: str) -> dict[str, Any]:
    """Return the chart of a group's bytes against its size; data sets: `lines`, `points`, `labels`, `reference`."""
    return layered(_lines(_titled(_COMPLETIONS, "completions of one prompt", mark), _GROUP_GIB, "right"), 300)


def _lines(x: dict[str, Any], y: dict[str, Any], align: str) -> list[dict[str, Any]]:
    """Return the layers of lines with a label at their left or right end; that of the other setting is dashed."""
    place = {"x": x, "y": y}
    colour = {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": list(_LINE_COLOURS), "range": list(_LINE_COLOURS.values())},
        "legend": None,
    }
    unit, form = ("GiB", ",.2f") if y is _GROUP_GIB else ("sequences", ",")
    numbers = [
        {"field": "line", "title": "of"},
        {"field": x["field"], "type": "quantitative", "title": x["field"], "format": ","},
        {"field": y["field"], "type": "quantitative", "title": unit, "format": form},
        _WHOSE,
    ]
    lines = {
        "data": {"name": "lines"},
        "mark": {"type": "line", "strokeWidth": 2.5, "point": {"size": 30}},
        "encoding": {
            **place,
            "color": colour,
            "detail": {"field": "line"},
            "strokeDash": {"condition": {"test": "datum.dashed", "value": [5, 4]}, "value": [1, 0]},
            "opacity": PALER,
            "tooltip": numbers,
        },
    }
    reference = {
        "data": {"name": "reference"},
        "mark": {"type": "line", "color": REFERENCE, "strokeWidth": 3, "strokeDash": [2, 4]},
        "encoding": {**place, "detail": {"field": "line"}},
    }
    points = {
        "data": {"name": "points"},
        "mark": {"type": "point", "filled": True, "size": 130, "opacity": 1},
        "encoding": {**place, "color": colour, "tooltip": {"field": "text"}},
    }
    right_of = {"align": "left", "dx": 10, "dy": -7 if align == "left" else 6, "fontWeight": "bold"}
    left_of = {"align": "right", "dx": -9, "dy": 9, "fontWeight": "bold"}
    texts = [
        _texts("points", place, right_of, "!datum.below"),
        _texts("points", place, left_of, "datum.below"),
        _texts("labels", place, {"align": align, "dx": 6 if align == "left" else 0, "dy": -9}),
    ]
    return [lines, reference, points, *texts]


def _texts(name: str, place: dict[str, Any], look: dict[str, Any], where: str = "true") -> dict[str, Any]:
    """Return the layer of a data set's texts, of those rows for which an expression is true."""
    return {
        "data": {"name": name},
        "transform": [{"filter": where}],
        "mark": {"type": "text", **look},
        "encoding": {**place, "text": {"field": "text"}},
    }


@cache
def bars_spec(picture: str, mark: str) -> dict[str, Any]:
    """Return the chart of a picture's bars; data sets: `parts`, `pages` (their edges), `marks`, `totals`, `budget`."""
    title, unit, legend = _BARS[picture]
    y = {"field": "row", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 0}}
    x = {"field": "value", "type": "quantitative"}
    bars = {
        "data": {"name": "parts"},
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {
            "y": y,
            "x": {**_titled(x, title, mark), "stack": "zero"},
            "color": {
                "field": "part",
                "type": "nominal",
                "scale": {"domain": list(_BAR_COLOURS), "range": list(_BAR_COLOURS.values())},
                "legend": {"title": None, "orient": "top", "values": list(legend), "symbolType": "square"},
            },
            "order": {"field": "order", "type": "ordinal"},
            "opacity": PALER,
            "tooltip": [
                {"field": "row", "title": "of"},
                {"field": "part", "title": "part"},
                {"field": "value", "type": "quantitative", "title": unit, "format": ",.2f"},
                _WHOSE,
            ],
        },
    }
    pages = {
        "data": {"name": "pages"},
        "mark": {"type": "tick", "thickness": 2, "size": 24, "color": "#ffffff", "opacity": 0.85},
        "encoding": {"y": y, "x": x},
    }
    marks = {
        "data": {"name": "marks"},
        "mark": {"type": "tick", "thickness": 3, "size": 32, "color": REFERENCE},
        "encoding": {
            "y": y,
            "x": x,
            "tooltip": {"field": "value", "type": "quantitative", "title": f"the reference, {unit}", "format": ",.2f"},
        },
    }
    totals = _texts("totals", {"y": y, "x": x}, {"align": "left", "dx": 6})
    room = {  # for the texts: an axis ends where its numbers do
        "data": {"name": "totals"},
        "mark": {"type": "point", "opacity": 0},
        "encoding": {"y": y, "x": {**x, "field": "room"}},
    }
    return layered([bars, pages, *limit("budget", "value"), marks, totals, room], {"step": 34})
