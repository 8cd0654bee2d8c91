"""The form of the lab explorer: what stands beside the settings, controls and presets, and the charts that it sends.

Controls of the loop bear the names of the simulator's fields, so that a setting is a configuration.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ._model import Control, Preset
from ._specs import REFERENCE, SKY, TRAINER, layered, limit

if TYPE_CHECKING:
    from collections.abc import Mapping

SECONDS = 120  # of simulated time, as in the notebook's own runs
# What no control moves, from the worked problem.
FIXED: Mapping[str, float] = {
    "duration_seconds": SECONDS,
    "rollout_overhead_seconds": 0.3,
    "median_completion_tokens": 500,
    "max_completion_tokens": 8192,
    "train_overhead_seconds": 0.4,
}
WORLD = (
    "workers",
    "worker_tokens_per_second",
    "verifier_seconds",
    "completion_spread",
    "trainer_tokens_per_second",
    "publish_seconds",
    "lag_sigma",
    "mismatch_sigma",
    "seed",
)
CHOICE = ("mode", "batch_tokens", "max_queue_tokens", "max_policy_lag", "sync_every_updates")

SET, BESIDE, THEIRS = "set", "beside", "the reference"  # the parts that a run can have
BY_TURNS, ONE_BATCH, LAG_2, LAG_6 = "by turns", "one-batch queue", "lag up to 2", "lag up to 6"
TUNED = "tune's choice"
_NOTEBOOKS = {"mode": "bounded_async", "batch_tokens": 4_000, "max_queue_tokens": 7_000}
# By name, the settings that what stands beside has of its own; the last two are runs of the worked problem.
OTHERS: Mapping[str, Mapping[str, Any]] = {
    BY_TURNS: {"mode": "sequential"},
    LAG_2: {**_NOTEBOOKS, "max_policy_lag": 2, "sync_every_updates": 1},
    LAG_6: {**_NOTEBOOKS, "max_policy_lag": 6, "sync_every_updates": 3},
}

ALL_FOUR, THROUGHPUT, QUEUE, LAG, ESS = "all four", "throughput", "queue", "lag", "ESS"
HYPOTHESES = "hypotheses"
ROWS = {THROUGHPUT: "throughput", QUEUE: "queue, deepest", LAG: "lag, mean", ESS: "ESS, mean"}


def _folded(name: str, label: str, unit: str, values: tuple[float, ...], *, start: float, why: str) -> Control:
    """Return a control that is folded away, and whose choices are numbers of one unit."""
    return Control(name, label, tuple((f"{value:,} {unit}", value) for value in values), start, why)


CONTROLS = (
    Control(
        "shown",
        "picture",
        (
            (ALL_FOUR, ALL_FOUR),
            ("throughput over time", THROUGHPUT),
            ("queue over time", QUEUE),
            ("lag of each batch", LAG),
            ("ESS of each batch", ESS),
        ),
        ALL_FOUR,
        "All pictures show the same two runs.",
        listed=True,
    ),
    Control(
        "beside",
        "beside it",
        tuple((name, name) for name in (BY_TURNS, ONE_BATCH, LAG_2, LAG_6, TUNED)),
        BY_TURNS,
        "Both runs have the same seed: the n-th completion of a worker is equally long in both.",
        listed=True,
    ),
    Control(
        "mode",
        "mode",
        (("all at once", "bounded_async"), ("by turns", "sequential")),
        "bounded_async",
        "By turns, the workers wait for the trainer and the trainer for the last of them; all at once, the data age.",
        listed=True,
    ),
    Control(
        "workers",
        "workers",
        tuple((f"{count} workers", count) for count in (2, 3, 4, 6, 8, 12, 16)),
        8,
        "Each worker generates one completion at a time, so more of them bring more tokens a second.",
    ),
    Control(
        "max_policy_lag",
        "largest lag",
        tuple((f"{lag} version{'' if lag == 1 else 's'}", lag) for lag in (0, 1, 2, 3, 4, 6, 12)),
        2,
        "What lags more when it is trained on is discarded. A bound that nothing reaches does nothing.",
    ),
    Control(
        "max_queue_tokens",
        "queue",
        tuple((f"{tokens:,} tokens", tokens) for tokens in (4_000, 7_000, 12_000, 16_000, 24_000)),
        7_000,
        "No rollout starts while so many tokens wait. What is in flight still arrives. By turns it has no effect.",
    ),
    Control(
        "sync_every_updates",
        "publish every",
        tuple((f"{every} update{'' if every == 1 else 's'}", every) for every in (1, 2, 3, 4)),
        1,
        "Publishing seldom takes less time on the link, and the workers sample with older weights.",
    ),
    _folded(
        "batch_tokens",
        "batch",
        "tokens",
        (1_000, 2_000, 4_000, 6_000, 8_000),
        start=4_000,
        why="Each update takes 0.4 s whatever its size, and makes one version.",
    ),
    _folded(
        "worker_tokens_per_second",
        "a worker",
        "tokens/s",
        (60, 90, 180, 360),
        start=180,
        why="A worker's speed counts for its tokens; 0.3 s a completion are on top.",
    ),
    _folded(
        "trainer_tokens_per_second",
        "trainer",
        "tokens/s",
        (600, 1_200, 2_400),
        start=1_200,
        why="No run trains more than this. Where the workers bring less, a faster trainer waits.",
    ),
    _folded(
        "publish_seconds",
        "publication",
        "s",
        (0.2, 0.6, 2.0, 4.0, 8.0),
        start=0.6,
        why="The workers have new weights so much later. By turns, everybody waits for it.",
    ),
    _folded(
        "verifier_seconds",
        "verifier",
        "s a completion",
        (0, 1, 2, 4),
        start=0,
        why="A worker is busy until its completion has a reward.",
    ),
    _folded(
        "completion_spread",
        "spread",
        "of log length",
        (0.0, 0.3, 0.6, 1.0),
        start=0.6,
        why="With 0 all completions have 500 tokens; the more they differ, the longer a round waits for its last one.",
    ),
    _folded(
        "lag_sigma",
        "drift",
        "a version",
        (0.1, 0.25, 0.4, 0.6),
        start=0.25,
        why="So much, squared, each version of lag adds to the variance of a rollout's log-weight.",
    ),
    _folded(
        "mismatch_sigma",
        "mismatch",
        "at lag 0",
        (0.0, 0.1, 0.3),
        start=0.1,
        why="Engine and trainer differ by this at the same weights. It stays where lag is 0.",
    ),
    Control(
        "seed",
        "luck",
        tuple((f"seed {seed}", seed) for seed in (12016, 1, 2, 3, 4)),
        12016,
        "A difference that another seed takes away is no finding.",
        listed=True,
    ),
    _folded(
        "largest_lag",
        "tune: lag",
        "versions at most",
        (0, 1, 2, 3),
        start=2,
        why="The first bound that the choice of tune must hold.",
    ),
    _folded(
        "smallest_ess",
        "tune: ESS",
        "at least",
        (0.5, 0.7, 0.8, 0.9),
        start=0.8,
        why="The second bound that the choice of tune must hold, on the mean over all batches.",
    ),
)

PRESETS = (
    Preset(
        "Does asynchrony help when generation dominates?",
        {"workers": 4},
        "The trainer could take 1,200 tokens a second, and four workers bring about 660. Overlapping takes away the "
        "waits for each other, and makes no worker faster. Move the workers.",
    ),
    Preset(
        "What does max lag bound?",
        {"shown": LAG, "beside": LAG_2, "max_policy_lag": 0},
        "It bounds the age at which a rollout is trained on, in flight and in the queue together. It is held by "
        "discarding, so a low bound is paid for in tokens. Raise it until nothing is discarded any more.",
    ),
    Preset(
        "Does a deeper queue train more?",
        {"shown": QUEUE, "beside": ONE_BATCH, "workers": 12, "max_policy_lag": 12, "max_queue_tokens": 24_000},
        "Not where the trainer is the slow stage. What waits gets older: look at the lag and the ESS of both.",
    ),
    Preset(
        "Which settings train most within the bounds?",
        {"beside": TUNED, "publish_seconds": 4.0},
        "Your function tune is given the loop and its two bounds, under More, and chooses the five settings beside.",
    ),
)

_PARTS = [SET, BESIDE, THEIRS]
_COLOUR = {
    "field": "part",
    "type": "nominal",
    "scale": {"domain": _PARTS, "range": [TRAINER, SKY, REFERENCE]},
    "legend": None,
}
_PALER = {"condition": {"test": "datum.whose === 'the reference' && datum.part === 'beside'", "value": 0.5}, "value": 1}
_WHAT = [{"field": "name", "title": "run"}, {"field": "said", "title": "value"}]


@cache
def dashboard() -> dict[str, object]:
    """Return the chart of all four measures, two bars each; its data sets are `bars` and `labels`, both in percent."""
    place = {
        "y": {
            "field": "row",
            "type": "nominal",
            "sort": [*ROWS.values(), HYPOTHESES],
            "title": None,
        },
        "yOffset": {"field": "part", "type": "nominal", "sort": _PARTS},
    }
    share = {
        "field": "percent",
        "type": "quantitative",
        "scale": {"domain": [0, 165]},
        "axis": {"values": [0, 25, 50, 75, 100]},
        "title": "share of the larger one, %",
    }
    bars = {
        "data": {"name": "bars"},
        "mark": {"type": "bar"},
        "encoding": {
            **place,
            "x": share,
            "color": _COLOUR,
            "opacity": _PALER,
            "tooltip": [{"field": "row", "title": "what"}, *_WHAT],
        },
    }
    labels = {
        "data": {"name": "labels"},
        "mark": {"type": "text", "align": "left", "dx": 5},
        "encoding": {**place, "x": share, "text": {"field": "text"}},
    }
    return layered([bars, labels], {"step": 22})


_AXES = {
    THROUGHPUT: "trained tokens/s, mean since the start",
    QUEUE: "tokens in the queue, most in each second",
    LAG: "mean lag of a batch, versions",
    ESS: "normalised ESS of a batch",
}


@cache
def over_time(measure: str) -> dict[str, object]:
    """Return the chart of a measure over simulated time, a line for each run.

    Its data sets are `lines` (of `seconds` and `value`), `ends` (labels right of them) and `limit`.
    """
    time = {
        "field": "seconds",
        "type": "quantitative",
        "title": "simulated time, s",
        "scale": {"domain": [0, 1.35 * SECONDS], "nice": False},
        "axis": {"values": [*range(0, SECONDS + 1, 20)]},
    }
    value = {
        "field": "value",
        "type": "quantitative",
        "title": _AXES[measure],
        "scale": {"domain": [0, 1]} if measure == ESS else {"zero": True},
    }
    of_batches = measure in (LAG, ESS)
    lines = {
        "data": {"name": "lines"},
        "mark": {
            "type": "line",
            "strokeWidth": 2,
            "interpolate": "linear" if of_batches else "step-after",
            "point": {"size": 30} if of_batches else False,
        },
        "encoding": {
            "x": time,
            "y": value,
            "color": _COLOUR,
            "detail": {"field": "whose"},
            "opacity": _PALER,
            "strokeDash": {
                "field": "part",
                "type": "nominal",
                "scale": {"domain": _PARTS, "range": [[1, 0], [7, 3], [2, 3]]},
                "legend": None,
            },
            "tooltip": [{"field": "seconds", "title": "at, s", "type": "quantitative", "format": ",.1f"}, *_WHAT],
        },
    }
    ends = {
        "data": {"name": "ends"},
        "mark": {"type": "text", "align": "left", "dx": 6, "dy": -7, "lineBreak": "\n"},
        "encoding": {"x": time, "y": value, "text": {"field": "text"}},
    }
    return layered([*limit("limit", "value", "y"), lines, ends], 280)
