"""The form of the pipelines explorer: its pictures, its controls and presets, and the charts that it sends."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from ..given.pipelines import ROLLOUTS, Rollout
from ._model import Control, Preset
from ._specs import GREY, LIMIT, REFERENCE, ROLLOUT, SKY, TRAINER, TRANSFER, VERIFIER, layered, limit

TIMELINE, BALANCE, SPLIT = "in turn and overlapped", "stage balance", "cards divided"
GROUP, LENGTHS, QUEUE = "a group and its limit", "lengths, whole and cut", "queue, backpressure"
PICTURES = (TIMELINE, BALANCE, SPLIT, GROUP, LENGTHS, QUEUE)

ROLLING, VERIFYING, TRAINING = "rollout", "verification", "training"
RUNS, IDLE, CUT_OFF, WHOLE = "runs", "idle", "cut off", "if nothing stops it"
FINISHED, EASY, HARD, CUT = "finished", "easy, finished", "hard, finished", "cut at the limit"
_COLOURS = {
    ROLLING: ROLLOUT,
    VERIFYING: VERIFIER,
    TRAINING: TRAINER,
    RUNS: ROLLOUT,
    IDLE: GREY,
    CUT_OFF: LIMIT,
    WHOLE: ROLLOUT,
    FINISHED: ROLLOUT,
    EASY: SKY,
    HARD: ROLLOUT,
    CUT: LIMIT,
}

MILLION = 1_000_000
NO_LIMIT = math.inf
EIGHT, TRIPLED, SIXTEEN, TAIL = "8 of 2 to 20 s", "8 of 3 to 18 s", "16, easy and hard", "64, a long tail"


def _plain(*seconds: float) -> tuple[Rollout, ...]:
    """Return a group of which nothing is known but the seconds."""
    return tuple(Rollout("", each, 0) for each in seconds)


GROUPS = {
    EIGHT: _plain(2, 3, 4, 5, 6, 7, 8, 20),
    TRIPLED: _plain(3, 3, 4, 4, 5, 5, 6, 18),
    SIXTEEN: ROLLOUTS,
    # the 64 middle quantiles of an exponential distribution with a mean of 8 s
    TAIL: _plain(*(round(-8 * math.log(1 - (place + 0.5) / 64), 1) for place in range(64))),
}


def _seconds(*choices: int) -> tuple[tuple[str, int], ...]:
    return tuple((f"{seconds} s a batch" if seconds else "none", seconds) for seconds in choices)


def _millions(*choices: int, unit: str) -> tuple[tuple[str, int], ...]:
    return tuple((f"{millions} M {unit}", millions * MILLION) for millions in choices)


CONTROLS = (
    Control(
        "picture",
        "picture",
        tuple((name, name) for name in PICTURES),
        TIMELINE,
        "Two stages on a timeline, how busy each is, cards divided between them, one group, its lengths, and a queue.",
        listed=True,
    ),
    Control(
        "rollout",
        "rollout",
        _seconds(5, 10, 20, 25, 30, 40, 50, 60, 75, 90, 120, 180, 300),
        90,
        "It counts where stages are drawn. Overlap hides the shorter stage, so it gains most where both are equal.",
    ),
    Control(
        "training",
        "training",
        _seconds(5, 10, 20, 25, 30, 40, 50, 60, 75, 90, 120, 180, 300),
        10,
        "It counts where stages are drawn. A shorter training stage helps the overlapped loop only where it bounds it.",
    ),
    Control(
        "limit",
        "limit",
        (*((f"{seconds} s", seconds) for seconds in (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 40)), ("none", NO_LIMIT)),
        8,
        "It stops the rollouts of a group. A lower one frees the cards earlier, and cuts more of the long ones.",
    ),
    Control(
        "arrival",
        "tokens in",
        _millions(2, 4, 6, 8, 9, 10, 11, 12, 14, 16, 20, 30, 40, unit="a minute"),
        14 * MILLION,
        "Workers write so much while they run. What exceeds the trainer's share only fills the queue.",
    ),
    Control(
        "capacity",
        "capacity",
        _millions(1, 4, 10, 20, 40, 80, 100, 400, unit="tokens"),
        40 * MILLION,
        "Here the queue pauses its workers. More room delays the pauses, does not end them, and makes the data older.",
    ),
    Control(
        "verification",
        "verification",
        _seconds(0, 5, 10, 20, 25, 40, 60, 90, 120),
        0,
        "It is a stage of its own, which needs none of the cards. The balance and the divided cards count it.",
    ),
    Control(
        "batches",
        "batches",
        tuple((f"{count} batch{'es' if count > 1 else ''}", count) for count in (1, 2, 3, 4, 5, 8, 10, 20, 50, 100)),
        20,
        "The first batch passes every stage. The more follow, the less it matters.",
    ),
    Control(
        "cards",
        "cards",
        tuple((f"{count} cards", count) for count in (4, 8, 10, 16, 24)),
        10,
        "They are divided between rollout and training. The seconds above are those with all cards on one stage.",
    ),
    Control(
        "group",
        "group",
        tuple((name, name) for name in GROUPS),
        EIGHT,
        "One rollout a card. In a larger group the slowest is slower, and more cards wait for it.",
        listed=True,
    ),
    Control(
        "service",
        "tokens out",
        _millions(2, 4, 6, 8, 10, 12, 14, 16, 20, 30, unit="a minute"),
        10 * MILLION,
        "The trainer takes so much. If it takes what comes in, no worker pauses.",
    ),
    Control(
        "minutes",
        "watched",
        tuple((f"{minutes} min", minutes) for minutes in (1, 5, 10, 15, 20, 30, 60, 120, 240, 480)),
        30,
        "The first minutes know no pause. The longer you watch, the nearer is the share to that of the long run.",
    ),
)

PRESETS = (
    Preset(
        "Does asynchrony help when generation dominates?",
        {"picture": TIMELINE, "rollout": 90, "training": 10, "batches": 20},
        "Hardly: overlap hides training behind rollout, and training is short. Make the two equal, and watch.",
    ),
    Preset(
        "Which split of the cards balances the loop?",
        {"picture": SPLIT, "rollout": 90, "training": 10, "batches": 100, "cards": 10},
        "The one that makes both stages equally long. On the same cards it is no quicker than all of them in turn. "
        "Any other split lets cards wait.",
    ),
    Preset(
        "What does one slow rollout cost?",
        {"picture": GROUP, "group": EIGHT, "limit": 8},
        "Without the limit, seven cards wait for the eighth until 20 s. The limit buys that time, and cuts the longest "
        "rollout. Look at the lengths of the sixteen to see whom it hits.",
    ),
    Preset(
        "What if rollouts are too fast for the trainer?",
        {"picture": QUEUE, "arrival": 14 * MILLION, "service": 10 * MILLION, "capacity": 40 * MILLION, "minutes": 30},
        "The queue fills up, then its workers pause. The first half hour makes the overload look smaller than it is.",
    ),
)


def _coloured(parts: tuple[str, ...]) -> dict[str, Any]:
    """Return the colour of each part, with a legend of those that this picture can have."""
    legend = {
        "title": None,
        "orient": "top",
        "columns": 4,
        "labelLimit": 0,
        "values": list(parts),
        "symbolType": "square",
        "symbolOpacity": 1,
    }
    return {
        "field": "part",
        "type": "nominal",
        "scale": {"domain": list(_COLOURS), "range": list(_COLOURS.values())},
        "legend": legend,
    }


_OPACITY = {"field": "opacity", "type": "quantitative", "scale": None, "legend": None}
_TOOLTIP = [{"field": "tip", "title": "here"}, {"field": "whose", "title": "whose number"}]


@cache
def rows(
    parts: tuple[str, ...],
    order: tuple[str, ...],
    axis: str,
    mark: str = "",
    height: int = 34,
    *,
    percent: bool = False,
) -> dict[str, Any]:
    """Return the chart of level bars, `height` pixels a row, in rows of this order.

    Its data sets are `bars` (of `parts`, each from one place of the axis to another), `labels`, `marks` (a line across
    a row, of this meaning), `limit`, and `room`: a place that the axis has to reach, so that labels fit.
    """
    narrow = height < 12  # too narrow for a name beside each row
    y = {
        "field": "row",
        "type": "nominal",
        "scale": {"domain": list(order)},  # rows stand there before anything is known of them
        "title": "rollouts, one a card" if narrow else None,
        "axis": {"labels": not narrow, "ticks": not narrow, "labelLimit": 0},
    }
    x: dict[str, Any] = {
        "field": "from",
        "type": "quantitative",
        "title": [axis, f"(grey line: {mark})"] if mark else axis,
    }
    if percent:
        x["axis"] = {"values": list(range(0, 101, 20))}  # beyond is room for labels alone
    at = {"field": "at", "type": "quantitative"}
    bars = {
        "data": {"name": "bars"},
        "mark": {"type": "bar", "height": {"band": 0.8}},
        "encoding": {
            "y": y,
            "x": x,
            "x2": {"field": "to"},
            "color": _coloured(parts),
            "opacity": _OPACITY,
            "tooltip": _TOOLTIP,
        },
    }
    labels = {
        "data": {"name": "labels"},
        "mark": {"type": "text", "align": "left", "dx": 6},
        "encoding": {"y": y, "x": at, "text": {"field": "text"}},
    }
    marks = {
        "data": {"name": "marks"},
        "mark": {"type": "tick", "thickness": 3, "color": REFERENCE, "bandSize": height},
        "encoding": {"y": y, "x": at, "tooltip": {"field": "tip", "title": "here"}},
    }
    room = {"data": {"name": "room"}, "mark": {"type": "rule", "opacity": 0}, "encoding": {"x": at}}
    return layered([bars, marks, *limit("limit", "at"), labels, room], {"step": height})


@cache
def lengths(parts: tuple[str, ...], mark: str) -> dict[str, Any]:
    """Return the chart of how many rollouts are how long.

    Its data sets are `bars` (of `parts`, upright, between two lengths), `whole` (the outline without a limit), `marks`
    (level lines of this meaning) and `limit`.
    """
    x = {"field": "from", "type": "quantitative", "title": "length of a rollout, s"}
    meaning = "dashed: without a limit" + (f"; grey line: {mark}" if mark else "")
    y = {"field": "low", "type": "quantitative", "title": ["rollouts", f"({meaning})"], "axis": {"tickMinStep": 1}}
    place = {"x": x, "x2": {"field": "to"}, "y": y, "y2": {"field": "high"}, "tooltip": _TOOLTIP}
    bars = {
        "data": {"name": "bars"},
        "mark": {"type": "bar"},
        "encoding": {**place, "color": _coloured(parts), "opacity": _OPACITY},
    }
    whole = {
        "data": {"name": "whole"},
        "mark": {"type": "bar", "filled": False, "stroke": GREY, "strokeDash": [4, 3], "strokeWidth": 2},
        "encoding": place,
    }
    marks = {
        "data": {"name": "marks"},
        "mark": {"type": "rule", "color": REFERENCE, "strokeWidth": 3},
        "encoding": {"x": x, "x2": {"field": "to"}, "y": {**y, "field": "high"}, "tooltip": _TOOLTIP[0]},
    }
    return layered([bars, whole, marks, *limit("limit", "at")], 260)


@cache
def queue(mark: str) -> dict[str, Any]:
    """Return the chart of a queue's backlog over time.

    Its data sets are `backlog`, `reference` (the same as a line of this meaning), `paused` (the time in which workers
    pause), `label` and `capacity`.
    """
    x = {
        "field": "minute",
        "type": "quantitative",
        "title": "minutes since the queue was empty",
        "scale": {"zero": True},
    }
    title = "backlog, million tokens" + (f" (grey line: {mark})" if mark else "")
    y = {"field": "millions", "type": "quantitative", "title": title, "scale": {"zero": True}}
    band = {
        "data": {"name": "paused"},
        "mark": {"type": "rect", "color": GREY, "opacity": 0.35},
        "encoding": {"x": x, "x2": {"field": "to"}, "y": y, "y2": {"datum": 0}, "tooltip": _TOOLTIP},
    }
    backlog = {
        "data": {"name": "backlog"},
        "mark": {"type": "area", "color": TRANSFER, "opacity": 0.5, "line": {"color": TRANSFER, "strokeWidth": 3}},
        "encoding": {"x": x, "y": y, "opacity": {"value": 0.5}},
    }
    points = {
        "data": {"name": "backlog"},
        "mark": {"type": "point", "filled": True, "size": 20, "color": TRANSFER},
        "encoding": {"x": x, "y": y, "opacity": _OPACITY, "tooltip": _TOOLTIP},
    }
    reference = {
        "data": {"name": "reference"},
        "mark": {"type": "line", "color": REFERENCE, "strokeWidth": 3, "strokeDash": [3, 3]},
        "encoding": {"x": x, "y": y},
    }
    label = {
        "data": {"name": "label"},
        "mark": {"type": "text", "align": "center", "baseline": "middle"},
        "encoding": {"x": x, "y": y, "text": {"field": "text"}},
    }
    return layered([band, backlog, points, reference, *limit("capacity", "millions", axis="y"), label], 280)
