"""The explorer of `pipelines`: stages in turn and overlapped, cards divided, a group that is cut, a queue that fills.

Whatever a picture ends with is a value of a function of the notebook, also the end of each single batch and of each
single rollout. What is computed here is what they are asked, where their values stand, and shares of counts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ._model import Explored, Picture
from ._pipelines_form import (
    BALANCE,
    CONTROLS,
    GROUP,
    LENGTHS,
    MILLION,
    PRESETS,
    QUEUE,
    SPLIT,
    TIMELINE,
    queue,
)
from ._pipelines_group import group, truncation
from ._pipelines_parts import mark, missing, whose
from ._pipelines_stages import balance, split, timeline
from ._reading import number, report

if TYPE_CHECKING:
    from ._functions import Redraw
    from ._model import Values
    from ._pipelines_parts import Data, Drawn, Report

STEPS = 24  # points of the backlog's line

_TOKENS = number("a number of tokens, 0 or more")
_SHARE = number("a share from 0 to 1", 0, 1 + 1e-9)
_BACKLOG = report(
    growth_per_minute=_TOKENS,
    full_after_minutes=number("a number of minutes, 0 or more", 0, math.inf),
    backlog_tokens=_TOKENS,
    paused_fraction=_SHARE,
    long_run_paused_fraction=_SHARE,
)


def _draw(values: Values, redraw: Redraw) -> Picture:
    """Return the picture that is chosen, from what the functions say to this setting."""
    pictures = {
        TIMELINE: timeline,
        BALANCE: balance,
        SPLIT: split,
        GROUP: group,
        LENGTHS: truncation,
        QUEUE: _backlog,
    }
    chart, data, title, details = pictures[values["picture"]](values, redraw)
    return Picture(chart, data, title, details, redraw.facts)


TOPIC = Explored(
    "pipelines",
    ("pipeline_report", "pipeline_makespan", "straggler_report", "queue_report"),
    CONTROLS,
    PRESETS,
    _draw,
)


def _backlog(values: Values, redraw: Redraw) -> Drawn:
    """Draw the backlog minute by minute: the report on the first m minutes says how much waits then."""
    arrival, service, minutes = values["arrival"], values["service"], values["minutes"]
    capacity, room = values["capacity"], values["capacity"] // MILLION

    def asked(watched: float) -> Report:
        return redraw.call("queue_report", _BACKLOG, arrival, service, minutes=watched, capacity=capacity)

    answer = asked(minutes)
    redraw.tell("queue_report", answer, _waiting)
    its = answer.value
    moments = {minutes * step / STEPS for step in range(1, STEPS + 1)}
    if its is not None and 0 < its["full_after_minutes"] < minutes:
        moments.add(its["full_after_minutes"])  # there the line bends
    answers = [(moment, asked(moment)) for moment in sorted(moments)]
    points = [
        {"minute": moment, **_tokens(one.value), "tip": f"after {moment:,.1f} min {_waiting(one.value)}", **whose(one)}
        for moment, one in answers
        if one.value is not None
    ]
    start = [{"minute": 0, "millions": 0, "tip": "empty at the start", "whose": "given", "opacity": 0}]
    data: Data = {
        "backlog": start + points if points else [],
        "reference": [
            {"minute": moment, **_tokens(one.reference)}
            for moment, one in answers
            if redraw.overlay and one.reference is not None
        ],
        "paused": [],
        "label": [{"minute": minutes, "millions": 0, "text": ""}],  # so far does the axis reach, whatever is known
        "capacity": [{"millions": room, "text": f"capacity: {room} million tokens"}],
    }
    chart = queue(mark(redraw))
    rates = (
        f"{arrival // MILLION} million tokens a minute come in while workers run, the trainer takes out "
        f"{service // MILLION} million; the capacity is {room} million, and {minutes} min are watched."
    )
    if its is None:
        return chart, data, missing(redraw, "queue_report", "the backlog"), rates
    full = its["full_after_minutes"]
    if full < minutes:
        text = f"workers pause {its['long_run_paused_fraction']:.1%} of this time"
        data["paused"] = [{"minute": full, "to": minutes, "millions": room, "tip": text, "whose": answer.whose}]
        if minutes - full > 0.4 * minutes:  # else there is no room for it
            data["label"].append({"minute": (full + minutes) / 2, "millions": room / 2, "text": text})
    details = (
        f"{rates} While workers run, the backlog grows by {its['growth_per_minute'] / MILLION:,.1f} million tokens a "
        f"minute. After {minutes} min {_waiting(its)}: a new rollout waits {its['backlog_tokens'] / service:,.1f} min "
        f"for the trainer. In the long run workers are paused {its['long_run_paused_fraction']:.1%} of the time."
    )
    return chart, data, _told_of_queue(its, minutes), details


def _told_of_queue(its: dict[str, Any], minutes: int) -> str:
    """Return the title of a queue: when it is full, and how much its workers are paused."""
    full, waits = its["full_after_minutes"], f"{its['backlog_tokens'] / MILLION:,.1f} million tokens wait"
    long_run = f"{its['long_run_paused_fraction']:.1%}"
    if full < minutes:
        return (
            f"The queue is full after {full:,.1f} min: workers are paused {its['paused_fraction']:.1%} of the first "
            f"{minutes} min, and {long_run} in the long run"
        )
    if full < math.inf:
        return (
            f"After {minutes} min {waits}: it is full after {full:,.1f} min, then workers pause {long_run} of the time"
        )
    return f"The queue never fills up: after {minutes} min {waits}, and no worker pauses"


def _tokens(its: dict[str, Any]) -> dict[str, float]:
    return {"millions": its["backlog_tokens"] / MILLION}


def _waiting(its: dict[str, Any]) -> str:
    return (
        f"{its['backlog_tokens'] / MILLION:,.1f} million tokens wait, paused {its['paused_fraction']:.1%} of the time"
    )
