"""The charts of the lag explorer, one a picture. Lag is blue where the trainer went ahead, green where it is in flight.

Orange is what publishes. A grey line is the reference's, or what an axis says that it is.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ._lag_form import (
    AGES,
    CADENCE,
    CALLS,
    COSTS,
    CYCLE,
    FLIGHT,
    LAG,
    PUBLICATION,
    QUEUE,
    SET_UP,
    TRANSFER,
    VERSIONS,
    WIRE,
)
from ._specs import GREY, PALER, REFERENCE, ROLLOUT, SKY, TRAINER, layered, limit
from ._specs import TRANSFER as ORANGE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_COLOURS = {
    AGES: {CADENCE: TRAINER, FLIGHT: ROLLOUT, QUEUE: SKY},
    COSTS: {PUBLICATION: ORANGE, LAG: TRAINER},
    TRANSFER: {SET_UP: GREY, CALLS: SKY, WIRE: ORANGE},
}
_WHOLE = {"tickMinStep": 1, "format": ",d", "labelFlush": False}  # of an axis that counts


@cache
def spec(picture: str, grey: str) -> dict[str, Any]:
    """Return the chart of a picture; `grey` says what its grey marks are, which are its data set `marks`."""
    return _CHARTS[picture](f" (grey: {grey})" if grey else "")


def _number(name: str, title: str, spell: str = ",.3g") -> dict[str, Any]:
    """Return the part of a tooltip that tells a number."""
    return {"field": name, "type": "quantitative", "title": title, "format": spell}


def _cycle(grey: str) -> dict[str, Any]:
    """Return the lag of each update (`lags`), their `mean`, and the `publications` between two updates."""
    update = {
        "field": "update",
        "type": "quantitative",
        "title": "update (orange lines: publications)",
        "axis": {**_WHOLE, "grid": False},
        "scale": {"nice": False},
    }
    lag = {"field": "lag", "type": "quantitative", "title": f"lag, versions{grey}", "axis": _WHOLE}
    tooltip = [_number("update", "update", ",d"), _number("lag", "lag, versions", ",d")]
    publications = {
        "data": {"name": "publications"},
        "mark": {"type": "rule", "color": ORANGE, "strokeWidth": 1.5},
        "encoding": {"x": update, "tooltip": {"field": "text"}},
    }
    marks = {
        "data": {"name": "marks"},
        "mark": {"type": "line", "color": REFERENCE, "strokeWidth": 6, "opacity": 0.6},
        "encoding": {"x": update, "y": lag, "tooltip": tooltip},
    }
    lags = {
        "data": {"name": "lags"},
        "mark": {"type": "line", "color": TRAINER, "strokeWidth": 2, "point": {"color": TRAINER, "size": 45}},
        "encoding": {"x": update, "y": lag, "tooltip": [*tooltip, {"field": "whose", "title": "whose number"}]},
    }
    line = {
        "data": {"name": "mean"},
        "mark": {"type": "rule", "color": TRAINER, "strokeDash": [6, 4]},
        "encoding": {"y": lag, "tooltip": {"field": "text"}},
    }
    label = {
        "data": {"name": "mean"},
        "mark": {"type": "text", "align": "left", "dx": 6, "color": TRAINER, "fontWeight": "bold"},
        "encoding": {"y": lag, "x": {"value": "width"}, "text": {"field": "text"}},
    }
    return layered([publications, marks, lags, line, label], 220)


def _ages(grey: str) -> dict[str, Any]:
    """Return a bar a completion: where its lag arises (`parts`), and what comes of it (`totals`)."""
    title = f"lag when a batch takes it, versions (pale: nobody looks){grey}"
    bars = _bars(AGES, "completion", {"field": "lag", "type": "quantitative", "title": title, "axis": _WHOLE}, "lag")
    bars["encoding"]["opacity"] = {"condition": {"test": "!datum.seen", "value": 0.35}, "value": 1}
    bars["encoding"]["tooltip"] = [
        {"field": "completion", "title": "completion"},
        {"field": "part", "title": "lag"},
        _number("lag", "versions", ",d"),
        {"field": "whose", "title": "whose number"},
    ]
    return layered([bars, *limit("bound", "lag"), *_along("completion", "lag")], {"step": 30})


def _transfer(grey: str) -> dict[str, Any]:
    """Return a bar a way to send: set-up, calls and wire (`parts`), and their sum (`totals`)."""
    length = {
        "field": "seconds",
        "type": "quantitative",
        "title": f"seconds a publication{grey}",
        "axis": {"labelFlush": False},
    }
    bars = _bars(TRANSFER, "way", length, "seconds")
    bars["encoding"]["tooltip"] = [
        {"field": "way", "title": "sent as"},
        {"field": "part", "title": "part"},
        _number("seconds", "seconds"),
        {"field": "whose", "title": "whose number"},
    ]
    return layered([bars, *_along("way", "seconds")], {"step": 54})


def _bars(picture: str, row: str, length: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Return level bars of stacked parts, a row each, in the order in which the data has them."""
    return {
        "data": {"name": "parts"},
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {
            "y": _row(row),
            "x": {**length, "field": field, "stack": "zero"},
            "color": _colour(picture),
            "order": {"field": "order", "type": "ordinal"},
            "opacity": PALER,
        },
    }


def _along(row: str, field: str) -> list[dict[str, Any]]:
    """Return the grey marks across level bars, and the text at the end of each."""
    place = {"y": _row(row), "x": {"field": field, "type": "quantitative"}}
    marks = {
        "data": {"name": "marks"},
        "mark": {"type": "tick", "thickness": 3, "color": REFERENCE, "bandSize": 28},
        "encoding": {**place, "tooltip": [{"field": "kind", "title": "mark"}, _number(field, field)]},
    }
    totals = {
        "data": {"name": "totals"},
        "mark": {"type": "text", "align": "left", "dx": 5},
        "encoding": {**place, "text": {"field": "text"}},
    }
    return [marks, totals]


def _row(row: str) -> dict[str, Any]:
    return {"field": row, "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 0}}


def _colour(picture: str) -> dict[str, Any]:
    colours = _COLOURS[picture]
    return {
        "field": "part",
        "type": "nominal",
        "scale": {"domain": list(colours), "range": list(colours.values())},
        "legend": {"title": None, "orient": "top", "labelLimit": 0, "symbolType": "square", "symbolOpacity": 1},
    }


def _costs(grey: str) -> dict[str, Any]:
    """Return a bar a candidate: what publishing and what lag cost an update (`parts`), and some `totals`."""
    candidate = {
        "field": "every",
        "type": "ordinal",
        "sort": None,
        "title": "K: publish after every … update",
        "axis": {"labelAngle": 0},
    }
    cost = {"field": "seconds", "type": "quantitative", "title": f"seconds an update{grey}"}
    bars = {
        "data": {"name": "parts"},
        "mark": {"type": "bar", "width": {"band": 0.8}},
        "encoding": {
            "x": candidate,
            "y": {**cost, "stack": "zero"},
            "color": _colour(COSTS),
            "order": {"field": "order", "type": "ordinal"},
            "opacity": PALER,
            "tooltip": [
                _number("every", "K, updates", ",d"),
                {"field": "part", "title": "part"},
                _number("seconds", "seconds an update"),
                {"field": "whose", "title": "whose number"},
            ],
        },
    }
    place = {"x": candidate, "y": cost}
    marks = {
        "data": {"name": "marks"},
        "mark": {"type": "tick", "thickness": 3, "color": REFERENCE},
        "encoding": {**place, "tooltip": [{"field": "kind", "title": "mark"}, _number("seconds", "seconds an update")]},
    }
    totals = {
        "data": {"name": "totals"},
        "mark": {"type": "text", "dy": -8},
        "encoding": {**place, "text": {"field": "text"}},
    }
    least = {
        "data": {"name": "least"},
        "mark": {"type": "text", "dy": -8, "fontWeight": "bold"},
        "encoding": {**place, "text": {"field": "text"}},
    }
    return layered([bars, marks, totals, least], 240)


def _versions(grey: str) -> dict[str, Any]:
    """Return a step a version: the tokens that it sampled (`runs`), and how old they are; with the `bound`."""
    title = f"token of the completion{grey}"
    token = {"field": "before", "type": "quantitative", "title": title, "scale": {"nice": False}}
    lag = {"field": "lag", "type": "quantitative", "title": "lag when it is finished, versions", "axis": _WHOLE}
    runs = {
        "data": {"name": "runs"},
        "mark": {"type": "rect", "color": ROLLOUT, "stroke": ROLLOUT, "strokeWidth": 1.5},
        "encoding": {
            "x": token,
            "x2": {"field": "last"},
            "y": lag,
            "y2": {"datum": 0},
            "fillOpacity": {"condition": {"test": "datum.odd", "value": 0.5}, "value": 0.8},
            "opacity": PALER,
            "tooltip": [
                _number("version", "version", "d"),
                _number("first", "first token", ",d"),
                _number("last", "last token", ",d"),
                _number("lag", "lag, versions", ",d"),
                {"field": "whose", "title": "whose number"},
            ],
        },
    }
    marks = {
        "data": {"name": "marks"},
        "mark": {"type": "rule", "color": REFERENCE, "strokeWidth": 3},
        "encoding": {
            "x": token,
            "x2": {"field": "last"},
            "y": lag,
            "tooltip": [{"field": "kind", "title": "mark"}, _number("lag", "lag, versions", ",d")],
        },
    }
    return layered([runs, marks, *limit("bound", "lag", "y")], 240)


_CHARTS: dict[str, Callable[[str], dict[str, Any]]] = {
    CYCLE: _cycle,
    AGES: _ages,
    COSTS: _costs,
    TRANSFER: _transfer,
    VERSIONS: _versions,
}
