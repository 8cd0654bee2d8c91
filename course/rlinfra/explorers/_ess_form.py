"""The form of the importance-weights explorer: its pictures, controls and presets, and the charts that it sends."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ._model import Control, Preset
from ._specs import LIMIT, PALER, REFERENCE, ROLLOUT, SKY, TRAINER, layered, limit

if TYPE_CHECKING:
    from ._specs import Layer

FOUR, LOOP, PARTS = "four completions: weights", "toy loop: weights", "toy loop: mismatch and lag"
RATIO, SHARE, TOKEN = "by length: the ratio", "by length: the ESS", "one token: who sampled it"
NO_CAP = 0
TRUNCATED, MASKED = "truncated", "masked"
LENGTHS = (1, 10, 20, 50, 100, 200, 500, 1000, 2000, 4000)
BY_TOKEN, BY_SEQUENCE, CLIPPED = "a token", "a whole completion", "a completion, clipped"
MISMATCH, LAG = "mismatch", "lag"
ENGINE, SCORED = "the engine samples", "the trainer scores"

CONTROLS = (
    Control(
        "picture",
        "picture",
        tuple((name, name) for name in (FOUR, LOOP, PARTS, RATIO, SHARE, TOKEN)),
        FOUR,
        "The controls stay as they are; each picture uses those that it has a use for.",
        listed=True,
    ),
    Control(
        "cap",
        "cap",
        (("none", NO_CAP), *((f"a ratio of {cap:g}", cap) for cap in (10, 5, 3, 2, 1.5, 1.25, 1))),
        NO_CAP,
        "A lower cap makes the weights more equal, and the estimator another one: less variance, more bias.",
    ),
    Control(
        "tokens",
        "tokens",
        tuple((f"{count:,} a completion", count) for count in LENGTHS),
        100,
        "The log-ratio of a completion is a sum over its tokens. That of a token does not know how many there are.",
    ),
    Control(
        "drift",
        "drift a token",
        tuple((f"{drift} nats", drift) for drift in (0.001, 0.002, 0.005, 0.012, 0.02, 0.03, 0.05)),
        0.03,
        "So far a token's log-probability moves; in the toy loop, with each version.",
    ),
    Control(
        "mismatch",
        "mismatch",
        (
            ("0 nats", 0.0),
            ("3e-6 nats (float32)", 3e-6),
            ("0.02 nats (bfloat16)", 0.02),
            ("0.47 nats (temperature)", 0.47),
            ("2.1 nats (mask)", 2.1),
        ),
        0.02,
        "So far engine and trainer are apart on a token at the same version: another precision, "
        "or a temperature or an attention mask that the trainer forgot.",
    ),
    Control(
        "versions",
        "lag",
        tuple((f"{lag} version{'' if lag == 1 else 's'}", lag) for lag in (0, 1, 2, 3, 4, 6, 8)),
        2,
        "Lag moves with the age of the version that sampled. Mismatch is there at lag 0 already.",
    ),
    Control(
        "beyond",
        "beyond cap",
        ((TRUNCATED, TRUNCATED), (MASKED, MASKED)),
        TRUNCATED,
        "Truncating leaves a large weight at the cap. Masking drops it, and what lies below 1 over the cap as well.",
        listed=True,
    ),
    Control(
        "temperature",
        "temperature",
        tuple((f"{temperature}", temperature) for temperature in (0.5, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0)),
        1.0,
        "The engine divides its logits by it before it samples; the trainer scores without.",
    ),
    Control(
        "top_p",
        "top-p",
        tuple((f"{top_p}", top_p) for top_p in (0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)),
        0.9,
        "The engine samples from the nucleus alone; what lies outside has no weight in any batch.",
    ),
)

PRESETS = (
    Preset(
        "How many samples is my batch worth, once clipped?",
        {"picture": FOUR, "cap": 2},
        "The fourth completion has 8 of 13 parts of the weight, so the four are worth little more than two samples. "
        "The cap makes that better. It also moves the weighted mean reward, from 0.308 to 0.571: this is the bias.",
    ),
    Preset(
        "How off-policy is it by token and by sequence?",
        {"picture": RATIO, "tokens": 100, "drift": 0.012},
        "A good one percent a token is nothing to a token, and a factor of 3.3 to a completion of 100. "
        "Add tokens: the lower line stays where it is.",
    ),
    Preset(
        "Is it the engine, or is it lag?",
        {"picture": PARTS, "mismatch": 0.02, "drift": 0.03, "versions": 4},
        "Where a green bar ends, the blue one begins: the parts add up in nats. "
        "Set the lag to 0: what is left is mismatch, and no fresher weights take it away.",
    ),
    Preset(
        "Can a batch with an ESS of 1 be wrong?",
        {"picture": TOKEN, "top_p": 0.9},
        "All ratios are equal, so the ESS is perfect. A token outside the nucleus has no weight in any batch. "
        "Raise top-p, and it gets some.",
    ),
)

_ACROSS: dict[str, Any] = {"type": "quantitative"}


def _colours(field: str, colours: dict[str, str], *, legend: bool) -> dict[str, Any]:
    """Return the colours by the value of a field, with a legend above the picture where they are not labelled."""
    shown = {"title": None, "orient": "top", "symbolType": "square", "labelLimit": 0} if legend else None
    scale = {"domain": list(colours), "range": list(colours.values())}
    return {"field": field, "type": "nominal", "scale": scale, "legend": shown}


def _tip(*fields: tuple[str, str]) -> list[dict[str, str]]:
    return [{"field": field, "title": title} for field, title in fields]


@cache
def weights_spec(step: int, note: str) -> dict[str, object]:
    """Return the chart of weights as bars, a row a completion, `step` pixels high; `note` says what is pale or grey.

    Its data sets are `before` and `weights`, `labels`, `cap` and `marks` (the reference's weights).
    """
    row = {"field": "row", "type": "nominal", "sort": None, "title": None}
    across = {**_ACROSS, "field": "weight"}
    title = f"weight of a completion, a ratio without a unit{note}"
    tip = _tip(("row", "completion"), ("told", "weight"), ("whose", "whose number"))
    before = {
        "data": {"name": "before"},
        "mark": {"type": "bar", "height": {"band": 0.8}, "color": SKY, "opacity": 0.5},
        "encoding": {
            "y": row,
            "x": {**across, "title": title, "axis": {"format": "~g", "tickCount": 6}},
            "tooltip": tip,
        },
    }
    bars = {
        "data": {"name": "weights"},
        "mark": {"type": "bar", "height": {"band": 0.5}, "color": TRAINER},
        "encoding": {"y": row, "x": across, "opacity": PALER, "tooltip": tip},
    }
    labels = {
        "data": {"name": "labels"},
        "mark": {"type": "text", "align": "left", "dx": 6},
        "encoding": {"y": row, "x": {"value": "width"}, "text": {"field": "text"}},
    }
    marks = {
        "data": {"name": "marks"},
        "mark": {"type": "tick", "thickness": 3, "color": REFERENCE, "bandSize": step * 0.8},
        "encoding": {"y": row, "x": across, "tooltip": tip},
    }
    return layered([before, bars, *limit("cap", "weight"), marks, labels], {"step": step})


@cache
def parts_spec(note: str) -> dict[str, object]:
    """Return the chart of two parts a completion, where the second begins where the first ends.

    Its data sets are `parts` and `totals`, the grey lines of which `note` says whose they are.
    """
    row = {"field": "row", "type": "nominal", "sort": None, "title": None}
    side = {"field": "part", "sort": [MISMATCH, LAG]}
    bars = {
        "data": {"name": "parts"},
        "mark": {"type": "bar"},
        "encoding": {
            "y": row,
            "yOffset": side,
            "x": {**_ACROSS, "field": "from", "title": f"log-ratio of a completion, nats (grey line: {note})"},
            "x2": {"field": "to"},
            "color": _colours("part", {MISMATCH: ROLLOUT, LAG: TRAINER}, legend=True),
            "opacity": PALER,
            "tooltip": _tip(("row", "completion"), ("part", "part"), ("told", "nats"), ("whose", "whose number")),
        },
    }
    totals = {
        "data": {"name": "totals"},
        "mark": {"type": "tick", "thickness": 3, "color": REFERENCE, "bandSize": 18},
        "encoding": {
            "y": row,
            "yOffset": side,
            "x": {**_ACROSS, "field": "total"},
            "tooltip": _tip(("row", "completion"), ("told", "total, nats")),
        },
    }
    return layered([bars, totals], {"step": 13})


def _label(name: str, across: Layer, up: Layer, align: str, dy: int) -> Layer:
    """Return the direct label of a line, at the place that the data set of that name has."""
    mark = {"type": "text", "align": align, "dy": dy, "fontWeight": "bold"}
    return {"data": {"name": name}, "mark": mark, "encoding": {"x": across, "y": up, "text": {"field": "text"}}}


@cache
def lines_spec(picture: str, note: str) -> dict[str, object]:
    """Return the chart of ratio or ESS by length, a line a level; `note` says what is grey.

    Its data sets are `lines`, `reference`, the labels `token`, `sequence` and `clipped`, and by ESS the length `at`.
    """
    by_ratio = picture == RATIO
    across = {
        **_ACROSS,
        "field": "tokens",
        "title": f"counted tokens of a completion{'' if by_ratio else ' (log axis)'}{note}",
        "scale": {"type": "linear" if by_ratio else "log", "nice": False},
        "axis": {"tickCount": 6},
    }
    up = {
        **_ACROSS,
        "field": "value",
        "title": "ratio, trainer to engine (log axis)" if by_ratio else "normalised ESS",
        "scale": {"type": "log"} if by_ratio else {"domain": [0, 1]},
        **({"axis": {"format": "~g"}} if by_ratio else {}),
    }
    tip = _tip(("level", "weight of"), ("length", "length"), ("told", "ratio" if by_ratio else "normalised ESS"))
    lines = {
        "data": {"name": "lines"},
        "mark": {"type": "line", "point": {"size": 45}, "strokeWidth": 2.5},
        "encoding": {
            "x": across,
            "y": up,
            "color": _colours("level", {BY_TOKEN: SKY, BY_SEQUENCE: TRAINER, CLIPPED: LIMIT}, legend=False),
            "opacity": PALER,
            "tooltip": tip,
        },
    }
    reference = {
        "data": {"name": "reference"},
        "mark": {"type": "line", "color": REFERENCE, "strokeDash": [5, 4], "strokeWidth": 4},
        "encoding": {"x": across, "y": up, "detail": {"field": "level"}, "tooltip": tip},
    }
    labels = [
        _label("token", across, up, "center" if by_ratio else "left", -10),
        _label("sequence", across, up, "right", -12 if by_ratio else 18),
        *([] if by_ratio else [_label("clipped", across, up, "right", -12)]),
    ]
    at = {
        "data": {"name": "at"},
        "mark": {"type": "rule", "color": REFERENCE, "strokeDash": [2, 3]},
        "encoding": {"x": across, "tooltip": {"field": "text"}},
    }
    return layered([*([] if by_ratio else [at]), lines, reference, *labels], 260)


@cache
def token_spec(note: str) -> dict[str, object]:
    """Return the chart of what the engine samples beside what the trainer scores, by token; `note` says what is grey.

    Its data sets are `bars`, `labels` and `marks` (the reference's probabilities).
    """
    row = {"field": "token", "type": "nominal", "title": None}
    side = {"field": "who", "sort": [ENGINE, SCORED]}
    across = {**_ACROSS, "field": "probability", "scale": {"domain": [0, 1]}}
    tip = _tip(("token", "token"), ("who", "who"), ("told", "probability"), ("whose", "whose number"))
    bars = {
        "data": {"name": "bars"},
        "mark": {"type": "bar"},
        "encoding": {
            "y": row,
            "yOffset": side,
            "x": {**across, "title": f"probability of the token{note}", "axis": {"tickCount": 6}},
            "color": _colours("who", {ENGINE: ROLLOUT, SCORED: TRAINER}, legend=True),
            "opacity": PALER,
            "tooltip": tip,
        },
    }
    labels = {
        "data": {"name": "labels"},
        "mark": {"type": "text", "align": "left", "dx": 6},
        "encoding": {"y": row, "yOffset": side, "x": across, "text": {"field": "told"}},
    }
    marks = {
        "data": {"name": "marks"},
        "mark": {"type": "tick", "thickness": 3, "color": REFERENCE, "bandSize": 18},
        "encoding": {"y": row, "yOffset": side, "x": across, "tooltip": tip},
    }
    return layered([bars, labels, marks], {"step": 20})
