"""What the charts of all explorers have in common: their frame as a Vega-Lite spec, their colours, a limit's line.

The colours are those of Okabe and Ito, told apart by nearly everyone, and mean the same in every chart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Layer = Mapping[str, Any]

TRAINER, ROLLOUT, VERIFIER, TRANSFER = "#0072B2", "#009E73", "#CC79A7", "#E69F00"
LIMIT, REFERENCE, SKY, YELLOW, GREY = "#D55E00", "#767676", "#56B4E9", "#F0E442", "#999999"

PALER = {"condition": {"test": "datum.whose === 'the reference'", "value": 0.45}, "value": 1}  # where it stands in


def layered(layers: Sequence[Layer], height: int | Mapping[str, int]) -> dict[str, Any]:
    """Return the spec of layers on top of each other, as wide as the page lets it be.

    `height` is in pixels, or `{"step": pixels}` of each row.
    """
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": [*layers],
    }


def limit(name: str, field: str, axis: str = "x") -> list[Layer]:
    """Return the line of a limit and its label: the data set `name` has the place in `field` and the label in `text`.

    The label of an upright line (`axis="x"`) stands above the picture, that of a level one at its right end.
    """
    place = {axis: {"field": field, "type": "quantitative"}}
    line = {
        "data": {"name": name},
        "mark": {"type": "rule", "color": LIMIT, "strokeDash": [6, 4], "strokeWidth": 2},
        "encoding": {**place, "tooltip": {"field": "text"}},
    }
    at_the_end = {"y": {"value": 0}} if axis == "x" else {"x": {"value": "width"}}
    label = {
        "data": {"name": name},
        "mark": {
            "type": "text",
            "color": LIMIT,
            "dy": -8,
            "fontWeight": "bold",
            "align": "center" if axis == "x" else "right",
        },
        "encoding": {**place, **at_the_end, "text": {"field": "text"}},
    }
    return [line, label]
