"""The charts that the checkpoints explorer sends, one a picture; the names in them are those of its data."""

from __future__ import annotations

from typing import Any

from ._checkpoints_form import BATCH, COST, MANIFEST, PARTS, RUN
from ._checkpoints_runs import KEPT, LOST, OPEN, RESTART, STEPS, WRITING
from ._specs import LIMIT, PALER, REFERENCE, SKY, TRAINER, TRANSFER, YELLOW, layered, limit

OVERHEAD, REWORK = "overhead", "rework"
YOURS, YOUNG, DALY = "your interval", "Young's", "Daly's"
BY_REFERENCE = " (reference)"  # after the name of a row or a line: what the reference says, in grey
ROWS = (YOURS, YOUNG, f"{YOUNG}{BY_REFERENCE}", DALY, f"{DALY}{BY_REFERENCE}")
WHOLE, RESTORED = "without interruption", "from this checkpoint"


def spec(picture: str, *, checkpoint: bool = True) -> dict[str, Any]:
    """Return the chart of a picture; `checkpoint` says whether its control batch has a line from the checkpoint."""
    return _BATCHES[checkpoint] if picture == BATCH else _SPECS[picture]


def _values(*fields: tuple[str, str, str]) -> list[dict[str, str]]:
    """Return a tooltip of fields, each with a title and a format; a text has none."""
    return [
        {"field": field, "title": title, **({"type": "quantitative", "format": form} if form else {})}
        for field, title, form in fields
    ]


def _cost() -> dict[str, Any]:
    """Return the chart of `curve`, `reference` (lines), `labels`, `rules` (Young, Daly) and `own`, in minutes and %."""
    ticks = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440, 2880, 10_080]
    x = {
        "field": "minutes",
        "type": "quantitative",
        "title": "work between two checkpoints, minutes (log axis)",
        "scale": {"type": "log", "nice": False},
        "axis": {"values": ticks, "grid": False, "format": "~g", "labelOverlap": True},
    }
    y = {"field": "percent", "type": "quantitative", "title": "lost, % of the work", "axis": {"format": ",~g"}}
    told = _values(
        ("part", "part", ""), ("minutes", "minutes", ",.1f"), ("percent", "%", ",.2f"), ("whose", "whose number", "")
    )
    colour = {
        "field": "part",
        "type": "nominal",
        "scale": {"domain": [WRITING, REWORK, OVERHEAD], "range": [TRANSFER, LIMIT, TRAINER]},
        "legend": None,
    }
    return layered(
        [
            {
                "data": {"name": "reference"},
                "mark": {
                    "type": "line",
                    "color": REFERENCE,
                    "strokeWidth": 7,
                    "opacity": 0.5,
                    "interpolate": "monotone",
                },
                "encoding": {"x": x, "y": y, "detail": {"field": "part"}},
            },
            {
                "data": {"name": "rules"},
                "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 2},
                "encoding": {
                    "x": x,
                    "color": {
                        "condition": {"test": "datum.grey", "value": REFERENCE},
                        "value": TRAINER,
                    },
                    "tooltip": {"field": "text"},
                },
            },
            *(
                {
                    "data": {"name": "rules"},
                    "transform": [{"filter": f"datum.side === '{side}'"}],
                    "mark": {"type": "text", "dy": -8, "dx": shift, "align": side},
                    "encoding": {"x": x, "y": {"value": 0}, "text": {"field": "text"}},
                }
                for side, shift in (("left", 2), ("right", -2))
            ),
            {
                "data": {"name": "curve"},
                "mark": {"type": "line", "strokeWidth": 2.5, "interpolate": "monotone", "point": {"size": 22}},
                "encoding": {"x": x, "y": y, "color": colour, "opacity": PALER, "tooltip": told},
            },
            {
                "data": {"name": "labels"},
                "mark": {"type": "text", "align": "left", "dx": 6, "dy": -8, "fontWeight": "bold"},
                "encoding": {"x": x, "y": y, "color": colour, "text": {"field": "part"}},
            },
            {
                "data": {"name": "own"},
                "mark": {"type": "point", "filled": True, "size": 130, "opacity": 1, "color": TRAINER},
                "encoding": {"x": x, "y": y, "tooltip": told},
            },
            {
                "data": {"name": "own"},
                "mark": {"type": "text", "align": "left", "dx": 10, "dy": -4},
                "encoding": {"x": x, "y": y, "text": {"field": "text"}},
            },
        ],
        300,
    )


def _run() -> dict[str, Any]:
    """Return the chart of `stretches` of each row and `failures`, in hours; `totals` are a text at each row's end."""
    colours = {KEPT: TRAINER, WRITING: TRANSFER, LOST: LIMIT, RESTART: YELLOW, OPEN: SKY}
    y = {"field": "row", "type": "nominal", "sort": [*ROWS], "title": None}
    x = {"field": "start", "type": "quantitative", "title": "hours since the start (upright lines: failures)"}
    return layered(
        [
            {
                "data": {"name": "stretches"},
                "mark": {"type": "bar", "height": {"band": 0.7}},
                "encoding": {
                    "y": y,
                    "x": x,
                    "x2": {"field": "end"},
                    "color": {
                        "condition": {"test": "datum.grey", "value": REFERENCE},
                        "field": "part",
                        "type": "nominal",
                        "scale": {"domain": list(colours), "range": list(colours.values())},
                        "legend": {"title": None, "orient": "top", "symbolType": "square", "labelLimit": 0},
                    },
                    "tooltip": _values(
                        ("row", "saves after", ""),
                        ("part", "part", ""),
                        ("start", "from, h", ",.2f"),
                        ("end", "to, h", ",.2f"),
                        ("cycles", "checkpoints", ",d"),
                    ),
                },
            },
            {
                "data": {"name": "failures"},
                "mark": {"type": "rule", "color": LIMIT, "strokeWidth": 1.5},
                "encoding": {"x": {**x, "field": "hours"}, "tooltip": _values(("hours", "failure after, h", ",.2f"))},
            },
            {
                "data": {"name": "totals"},
                "mark": {"type": "text", "align": "left", "dx": 5},
                "encoding": {"y": y, "x": {**x, "field": "hours"}, "text": {"field": "text"}},
            },
        ],
        {"step": 52},
    )


def _manifest() -> dict[str, Any]:
    """Return the chart of `parts`: what the manifest holds of each, and the verdict on it."""
    y = {"field": "part", "type": "nominal", "sort": [*PARTS], "title": None}
    data = {"name": "parts"}
    told = _values(("part", "part", ""), ("holds", "in the manifest", ""), ("verdict", "your function", ""))
    text = {"type": "text", "align": "left"}
    return layered(
        [
            {
                "data": data,
                "transform": [{"filter": "datum.faulty"}],
                "mark": {"type": "rect", "color": LIMIT, "opacity": 0.16},
                "encoding": {"y": y, "x": {"value": 0}, "x2": {"value": "width"}},
            },
            {
                "data": data,
                "mark": {**text, "fontWeight": "bold"},
                "encoding": {"y": y, "x": {"value": 6}, "text": {"field": "verdict"}},
            },
            {
                "data": data,
                "mark": text,
                "encoding": {"y": y, "x": {"value": 84}, "text": {"field": "holds"}, "tooltip": told},
            },
            {
                "data": data,
                "mark": {**text, "align": "right", "color": REFERENCE},
                "encoding": {"y": y, "x": {"value": "width"}, "text": {"field": "reference"}},
            },
        ],
        {"step": 24},
    )


def _batch(*, checkpoint: bool) -> dict[str, Any]:
    """Return the chart of `losses`, a line a run, and `differs`, the first step that is not as it would have been."""
    colours = {WHOLE: REFERENCE, RESTORED: TRAINER}
    lines = {
        "data": {"name": "losses"},
        "mark": {"type": "line", "point": {"size": 45}},
        "encoding": {
            "x": {
                "field": "step",
                "type": "quantitative",
                "title": "step of the control batch",
                "scale": {"domain": [1, STEPS]},
                "axis": {"tickCount": STEPS},
            },
            "y": {"field": "loss", "type": "quantitative", "title": "loss (no unit)"},
            "strokeWidth": {"condition": {"test": f"datum.run === '{WHOLE}'", "value": 6}, "value": 2},
            "color": {
                "field": "run",
                "type": "nominal",
                "scale": {"domain": list(colours), "range": list(colours.values())},
                "legend": {
                    "title": None,
                    "orient": "top",
                    "labelLimit": 0,
                    "values": list(colours)[: 1 + checkpoint],
                },
            },
            "tooltip": _values(("run", "run", ""), ("step", "step", "d"), ("loss", "loss", ".4f")),
        },
    }
    return layered([lines, *limit("differs", "step")], 280)


_SPECS = {COST: _cost(), RUN: _run(), MANIFEST: _manifest()}
_BATCHES = {checkpoint: _batch(checkpoint=checkpoint) for checkpoint in (False, True)}
