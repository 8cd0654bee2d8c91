"""The form of the records explorer: its controls and presets, and the charts of its three pictures.

The pictures are a strip of tokens, a table of what the validator says of each fault, and timelines of loops.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ..given.records import REQUIRED_FIELDS, TRACES
from ._model import Control, Preset
from ._specs import GREY, LIMIT, PALER, REFERENCE, ROLLOUT, SKY, TRAINER, TRANSFER, YELLOW, layered

if TYPE_CHECKING:
    from ._specs import Layer

STRIP, BORDER, TIMELINE = "tokens of a completion", "a record at the border", "loops on a timeline"
NO_WEIGHTS, FINISH, AT_ONCE = "none come", "running ones finish", "taken at once"
OLD, NEW = 120, 121  # the policy versions of the strip
NOTHING, EVERYTHING = "none of them", "all ten"
MISSING, EMPTY, CUT, NAN, TRUE, NEGATIVE = FAULTS = ("missing", "empty", "cut short", "NaN", "True", "−1")
FOUR_LOOPS = "placement × protocol"
EOS, OWN_PADDING = 2, 0  # token ids

READ, PADDING = "read (prompt)", "padding"
CHOSEN = {OLD: f"chosen by version {OLD}", NEW: f"chosen by version {NEW}"}
ROWS = ("log", "turn 0", "turn 1", "turn 2")
NAMED, OTHER, THROUGH, UNKNOWN = "named as faulty", "another field is named", "gets through", "not known"
SIGNS = {NAMED: "✓", OTHER: "→", THROUGH: "✗", UNKNOWN: "?"}  # what the validator made of the fault
KINDS = {"produced": "rollout", "consumed": "update", "published": "loading of weights", "prepared": "prompts"}
WAITS, AHEAD = "waits", "ahead"

CONTROLS = (
    Control(
        "picture",
        "picture",
        ((STRIP, STRIP), (BORDER, BORDER), (TIMELINE, TIMELINE)),
        STRIP,
        "Each picture has controls of its own; in the others they change nothing.",
        listed=True,
    ),
    Control(
        "handover",
        "new weights",
        ((NO_WEIGHTS, NO_WEIGHTS), (FINISH, FINISH), (AT_ONCE, AT_ONCE)),
        AT_ONCE,
        "In the strip: a record has one version, so it is true only if no weights change while it is written.",
        listed=True,
    ),
    Control(
        "switch",
        "after token",
        tuple((f"{count} sampled", count) for count in (1, 2, 4, 8, 16, 32, 64, 128, 180, 240)),
        180,
        "In the strip: the new weights reach the engine when the episode has so many sampled tokens.",
    ),
    Control(
        "field",
        "broken field",
        ((NOTHING, NOTHING), *((name, name) for name in REQUIRED_FIELDS), (EVERYTHING, EVERYTHING)),
        NOTHING,
        "At the border: the row of the table that stands out.",
        listed=True,
    ),
    Control(
        "fault",
        "fault",
        tuple((fault, fault) for fault in FAULTS),
        MISSING,
        "At the border: the column that stands out. NaN, True and −1 stand for a number, a text or a last part.",
        listed=True,
    ),
    Control(
        "ahead",
        "ahead",
        tuple((f"{count} batch{'' if count == 1 else 'es'}", count) for count in range(4)),
        1,
        "On the timeline: so many batches more are rolled out before an update is over. The lanes that wait stay.",
    ),
    Control(
        "turns",
        "turns",
        tuple((f"{count} turn{'s' if count > 1 else ''}", count) for count in (1, 2, 3)),
        1,
        "In the strip: each turn is a record of its own, and reads all that was before it, its own calls included.",
    ),
    Control(
        "length",
        "completion",
        tuple((f"{count} tokens", count) for count in (2, 4, 8, 16, 32, 64, 128, 250)),
        250,
        "In the strip: the last turn's completion is so long. A first turn has half of it, a second turn a quarter.",
    ),
    Control(
        "ending",
        "ends by",
        (("EOS", "eos"), ("the token limit", "length")),
        "eos",
        "In the strip: at the limit the last completion is cut, and has no EOS. Then no EOS ends its mask.",
        listed=True,
    ),
    Control(
        "padding",
        "padding",
        tuple((f"{count} token{'' if count == 1 else 's'}", count) for count in (0, 1, 2, 4, 8, 16, 32, 64)),
        32,
        "In the strip: the batch has another row that is so much longer than the longest one here.",
    ),
    Control(
        "pad_id",
        "padding is",
        (("the EOS token, 2", EOS), ("a token of its own, 0", OWN_PADDING)),
        EOS,
        "In the strip: a mask that ends at the first EOS does not mind what comes after it.",
        listed=True,
    ),
    Control(
        "reading",
        "reading",
        tuple((f"{count} tokens", count) for count in (3, 16, 64, 256)),
        16,
        "In the strip: the question has so many tokens, and each tool's answer too. The policy chose none of them.",
    ),
    Control(
        "loop",
        "loops",
        ((FOUR_LOOPS, FOUR_LOOPS), *((name, name) for name in TRACES)),
        FOUR_LOOPS,
        "On the timeline: four toy loops that the other controls change, or a loop of the worked problem as it is.",
        listed=True,
    ),
    Control(
        "publish_every",
        "published",
        (("every update", 1), ("every 2nd update", 2), ("every 4th update", 4)),
        1,
        "On the timeline: rarer publications make the policy older. The order of rollouts and updates stays.",
    ),
    Control(
        "rollout_seconds",
        "a rollout",
        tuple((f"{count} s", count) for count in (1, 2, 4, 6, 8, 12, 16, 24)),
        6,
        "On the timeline: who runs ahead gains most where a rollout takes as long as the update and the loading.",
    ),
    Control(
        "update_seconds",
        "an update",
        tuple((f"{count} s", count) for count in (1, 2, 4, 6, 8, 12, 16, 24)),
        2,
        "On the timeline: a server that runs ahead works during the update; one GPU can't.",
    ),
    Control(
        "publish_seconds",
        "loading",
        tuple((f"{count} s", count) for count in (0, 1, 2, 4, 8)),
        1,
        "On the timeline: a loop that waits, waits for the loading of new weights too.",
    ),
)

PRESETS = (
    Preset(
        "Which policy chose these tokens?",
        {"picture": STRIP},
        "The engine took new weights at token 180, and the record has one version. Let running completions finish, and "
        "watch. Then cut the completion at the token limit (“ends by”): padding gets into the loss.",
    ),
    Preset(
        "What does the border let through?",
        {"picture": BORDER, "field": "response_tokens", "fault": CUT},
        "A lost token leaves the log-probabilities without a partner: that is their fault, not the tokens'. What gets "
        "through has the right form, and can still be wrong.",
    ),
    Preset(
        "Are we asynchronous now that a server generates?",
        {"picture": TIMELINE},
        "The verdict follows the order of rollouts and updates, in both places. Run 0 batches ahead, then 2, and "
        "watch time and age.",
    ),
)


def _colours(field: str, colours: dict[str, str], shown: tuple[str, ...] = ()) -> dict[str, Any]:
    legend = {"title": None, "orient": "top", "columns": 4, "labelLimit": 0, "symbolType": "square"}
    return {
        "field": field,
        "type": "nominal",
        "scale": {"domain": list(colours), "range": list(colours.values())},
        "legend": {**legend, "values": list(shown or colours)},
    }


def _tooltip(**titles: str) -> list[dict[str, str]]:
    return [{"field": field, "title": title} for field, title in titles.items()]


def _text(data: str, encoding: dict[str, Any], **mark: Any) -> Layer:
    return {
        "data": {"name": data},
        "mark": {"type": "text", **mark},
        "encoding": {**encoding, "text": {"field": "text"}},
    }


_AT_LEFT = {"x": {"value": 0}}


@cache
def strip_spec(*, overlay: bool) -> dict[str, Any]:
    """Return the chart of tokens: the agent's log, and below it a row for each of its records.

    Its data sets are `cells`, the token ids on them (`ids` on coloured cells, `pad_ids` on empty ones), `ends` (an EOS
    that the policy chose), `labels`, and the lines of what is in the loss, `loss` and `reference`.
    """
    y = {"field": "row", "type": "nominal", "sort": list(ROWS), "title": None}
    span = {"x": {"field": "start", "type": "quantitative"}, "x2": {"field": "end"}}
    middle = {"y": y, "x": {"field": "at", "type": "quantitative"}}
    meaning = "blue line: in the loss; grey line: by the reference" if overlay else "blue line: in the loss"
    axis = {"title": f"tokens from the start ({meaning})", "scale": {"nice": False, "zero": True}}
    colours = {READ: GREY, CHOSEN[OLD]: ROLLOUT, CHOSEN[NEW]: SKY, PADDING: "rgba(128, 128, 128, 0.25)"}
    cells = {
        "data": {"name": "cells"},
        "mark": {"type": "bar", "height": 24},
        "encoding": {
            **span,
            "y": y,
            "x": {**span["x"], **axis},
            "color": _colours("kind", colours),
            "opacity": PALER,
            "tooltip": _tooltip(row="row", kind="token", places="place", whose="whose cut"),
        },
    }
    lines = [
        {
            "data": {"name": name},
            "mark": {"type": "bar", "height": 5, "yOffset": offset, "color": colour},
            "encoding": {**span, "y": y, "tooltip": _tooltip(row="row", places="in the loss", whose="whose mask")},
        }
        for name, offset, colour in (("loss", 18, TRAINER), ("reference", 24, REFERENCE))
    ]
    texts = [
        _text("ids", middle, color="black", fontSize=10),
        _text("pad_ids", middle, fontSize=10),
        _text("ends", middle, dy=33, fontSize=10, fontWeight="bold"),
        _text("labels", {"y": y, **_AT_LEFT}, dy=-20, align="left"),
    ]
    return layered([cells, *lines, *texts], {"step": 76})


@cache
def border_spec(*, overlay: bool) -> dict[str, Any]:
    """Return the table of faults: a row a field, a column a fault, and what the validator says of it.

    Its data sets are `faults` and, for what the reference says, `reference`.
    """
    place = {
        "y": {"field": "field", "type": "nominal", "sort": list(REQUIRED_FIELDS), "title": None},
        "x": {
            "field": "fault",
            "type": "nominal",
            "sort": list(FAULTS),
            "title": f"the fault{' (grey: what the reference says)' if overlay else ''}",
            "axis": {"labelAngle": 0},
        },
    }
    beside = 12 if overlay else 0
    colours = {NAMED: ROLLOUT, OTHER: YELLOW, THROUGH: LIMIT, UNKNOWN: GREY}
    told = _tooltip(field="field", value="is", says="the validator", errors="its errors", whose="whose validator")
    cells: list[Layer] = [
        {
            "data": {"name": "faults"},
            "transform": [{"filter": f"{'' if chosen else '!'}datum.chosen"}],
            "mark": {"type": "rect", "width": {"band": 0.97}, "height": {"band": height}},
            "encoding": {**place, "color": _colours("says", colours), "opacity": PALER, "tooltip": told},
        }
        for chosen, height in ((False, 0.6), (True, 1))  # what is chosen stands out
    ]
    theirs = {
        "data": {"name": "reference"},
        "mark": {"type": "square", "size": 260, "opacity": 1, "color": REFERENCE, "xOffset": beside},
        "encoding": {**place, "tooltip": _tooltip(field="field", says="the reference")},
    }
    signs = [
        _text("faults", place, dx=-beside, fontSize=13, color="black"),
        _text("reference", place, dx=beside, fontSize=13, color="white"),
    ]
    return layered([*cells, theirs, *signs], {"step": 30})


_ORDER = (
    *("one GPU, waits", "one GPU, ahead", "server, waits", "trainer, waits", "server, ahead", "trainer, ahead"),
    *("server", "server-a", "server-b", "gpu-0", "cpu"),
)


@cache
def timeline_spec(kinds: tuple[str, ...], *, moments: bool) -> dict[str, Any]:
    """Return the timelines: a lane a device, bars of these kinds, and above them what a loop's protocol is.

    Its data sets are `events`, `loadings` (below, for they may run beside a rollout), `batches` (the numbers on
    the bars), `moments`, `verdicts` and, for what the reference says, `reference`. All times are in seconds.
    """
    y = {"field": "lane", "type": "nominal", "sort": list(_ORDER), "title": None}
    meaning = " (dashed: batch 1 starts, green; the update on batch 0 has ended, blue)" if moments else ""
    span = {
        "y": y,
        "x": {"field": "start", "type": "quantitative", "title": f"time, s{meaning}"},
        "x2": {"field": "end"},
    }
    colours = dict(zip(KINDS.values(), (ROLLOUT, TRAINER, TRANSFER, GREY), strict=True))
    told = _tooltip(lane="on", kind="what", batch="batch", version="version", start="start, s", end="end, s")
    sizes: dict[str, dict[str, Any]] = {"events": {"height": 22}, "loadings": {"height": 7, "yOffset": 15}}
    bars = [
        {
            "data": {"name": name},
            "mark": {"type": "bar", "stroke": "white", "strokeWidth": 0.5, **size},
            "encoding": {**span, "color": _colours("kind", colours, kinds), "tooltip": told},
        }
        for name, size in sizes.items()
    ]
    ink = {"condition": {"test": f"datum.kind === '{KINDS['consumed']}'", "value": "white"}, "value": "black"}
    batches = _text("batches", {"y": y, "x": {"field": "at", "type": "quantitative"}, "color": ink}, fontSize=10)
    rules = {
        "data": {"name": "moments"},
        "mark": {"type": "rule", "strokeDash": [6, 4], "strokeWidth": 2},
        "encoding": {
            "x": {"field": "at", "type": "quantitative"},
            "color": {"field": "kind", "type": "nominal"},
            "tooltip": _tooltip(text="moment", at="at, s"),
        },
    }
    verdicts = _text("verdicts", {"y": y, **_AT_LEFT}, dy=-20, align="left", fontWeight="bold")
    theirs = _text("reference", {"y": y, "x": {"value": "width"}}, dy=-20, align="right", color=REFERENCE)
    return layered([*bars, batches, rules, verdicts, theirs], {"step": 52})
