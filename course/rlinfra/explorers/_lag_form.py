"""The form of the lag explorer: its pictures and their parts, its controls and presets.

`_lag_specs` has the charts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._model import Control, Preset
from ._words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

CYCLE, AGES, COSTS, TRANSFER, VERSIONS = (
    "the lag cycle",
    "lag in flight and in queue",
    "what a cadence costs",
    "what a publication takes",
    "versions in a completion",
)
AT_ASSEMBLY, AT_QUEUE, AT_START = "when a batch is assembled", "when a completion is queued", "when a rollout starts"
CADENCE, FLIGHT, QUEUE = "from the cadence", "in flight", "in the queue"
PUBLICATION, LAG = "publication", "mean lag"
SET_UP, CALLS, WIRE = "set-up", "calls", "wire"
THE_TRANSFER = "the transfer"

LENGTHS = (200, 300, 450, 600, 900, 1_400, 2_600)  # of the completions beside the one that is chosen, in tokens
NOW = 240  # the trainer's version: a whole number of cycles at each cadence that is offered


def ordinal(number: int) -> str:
    """Return a number as a place in an order, such as `4th`."""
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def every(cadence: int) -> str:
    """Return after which updates a cadence publishes."""
    return "every update" if cadence == 1 else f"every {ordinal(cadence)} update"


def _counts(noun: str, counts: Iterable[int]) -> tuple[tuple[str, int], ...]:
    return tuple((counted(count, noun), count) for count in counts)


def _names(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, name) for name in names)


def _seconds(*seconds: float) -> tuple[tuple[str, float], ...]:
    return tuple((f"{second:g} s", second) for second in seconds)


def _more(name: str, label: str, choices: tuple[tuple[str, Any], ...], start: Any, why: str) -> Control:
    return Control(name, label, choices, start, why)


CONTROLS = (
    Control(
        "picture",
        "picture",
        _names(CYCLE, AGES, COSTS, TRANSFER, VERSIONS),
        AGES,
        "Each picture shows another part of what lag is, and of what it costs to keep it small.",
        listed=True,
    ),
    Control(
        "enforced",
        "enforced",
        _names(AT_ASSEMBLY, AT_QUEUE, AT_START),
        AT_ASSEMBLY,
        "A bound holds for the lag up to the moment at which somebody looks.",
        listed=True,
    ),
    Control(
        "every",
        "publish every",
        tuple((f"{ordinal(k)} update" if k > 1 else "update", k) for k in (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 48)),
        1,
        "Between two publications the trainer goes ahead of the engine, by one version an update.",
    ),
    Control(
        "tokens",
        "completion",
        _counts("token", (512, 1_024, 2_048, 4_000, 8_192, 16_384, 32_768)),
        8_192,
        "While a longer completion is in flight, more updates end. The seven others keep their lengths.",
    ),
    Control(
        "call_ms",
        "a call",
        tuple((f"{ms:g} ms", ms) for ms in (0, 0.1, 0.3, 1, 3, 10, 30)),
        3,
        "Each call of a publication takes this long, whatever it sends.",
    ),
    Control(
        "stall",
        "stall",
        ((THE_TRANSFER, THE_TRANSFER), *_seconds(0.08, 0.5, 1, 2, 4, 8, 16, 32, 80, 800)),
        8,
        "A costlier publication is to be shared by more updates. The whole stall counts, not the transfer alone.",
    ),
    _more(
        "bound",
        "bound",
        _counts("version", (0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64, 128)),
        2,
        "A completion at the bound is kept, one beyond it is not.",
    ),
    _more(
        "queue",
        "in queue",
        (("empty", 0), ("1 batch", 1), *((f"{count} batches", count) for count in (2, 3, 4, 6, 8, 16))),
        2,
        "Each batch that waits ahead of a completion is one more update before its own.",
    ),
    _more(
        "rate",
        "engine",
        tuple((f"{rate} tokens/s", rate) for rate in (25, 50, 100, 200)),
        50,
        "A faster engine has a completion in flight for less time.",
    ),
    _more(
        "update_seconds",
        "an update",
        _seconds(10, 20, 30, 60, 120, 300),
        10,
        "Slower updates make fewer versions while a completion is in flight.",
    ),
    _more(
        "updates",
        "run",
        _counts("update", (1, 4, 8, 10, 16, 32, 64, 128)),
        16,
        "A run that ends within a cycle has a mean lag of its own, and no publication for the rest.",
    ),
    _more(
        "lag_cost",
        "lag costs",
        tuple((f"{price:g} s a version", price) for price in (0, 0.01, 0.03, 0.1, 0.3, 1, 3, 10)),
        1,
        "This price is a judgement: the seconds of progress that an update loses to a version of mean lag.",
    ),
    Control(
        "candidates",
        "candidates",
        (
            ("1, 2, 4 and 8", (1, 2, 4, 8)),
            ("powers of 2 up to 64", (1, 2, 4, 8, 16, 32, 64)),
            ("1 to 16", tuple(range(1, 17))),
            ("multiples of 4 up to 64", tuple(range(4, 65, 4))),
        ),
        (1, 2, 4, 8, 16, 32, 64),
        "The least of these costs is found among them alone.",
        listed=True,
    ),
    _more(
        "payload",
        "payload",
        (
            ("0.14 GB adapter", 140_000_000),
            ("1.2 GB (0.6B)", 1_192_099_840),
            ("14 GB (7B)", 14_000_000_000),
            ("140 GB (70B)", 140_000_000_000),
            ("1,342 GB (671B)", 1_342_000_000_000),
        ),
        14_000_000_000,
        "The wire takes longer for more bytes; set-up and the calls for single tensors do not.",
    ),
    _more(
        "tensors",
        "tensors",
        _counts("tensor", (100, 291, 448, 723, 963, 5_000, 45_000)),
        291,
        "Sent one by one, each tensor is a call. A Llama-2-7B has 291 of them, the adapter of its linear layers 448.",
    ),
    _more(
        "bucket",
        "a bucket",
        tuple((f"{gb:g} GB", gb) for gb in (0.1, 0.25, 0.5, 1, 2, 4)),
        1,
        "Larger buckets are fewer calls, and more memory for the copy.",
    ),
    _more(
        "bandwidth",
        "link",
        tuple((f"{rate:g} GB/s", rate) for rate in (1.25, 3.125, 12.5, 25, 50, 100, 450)),
        25,
        "A faster link shortens the wire, and nothing else.",
    ),
    _more(
        "efficiency",
        "efficiency",
        tuple((f"{share:.0%}", share) for share in (0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1)),
        0.8,
        "This share of the link's bandwidth is reached.",
    ),
    _more(
        "setup",
        "set-up",
        _seconds(0, 0.05, 0.15, 0.5, 1, 2, 5),
        0,
        "It comes once a publication, before the first call.",
    ),
)

PRESETS = (
    Preset(
        "What does a bound on lag bound?",
        {"picture": AGES, "enforced": AT_QUEUE, "tokens": 8_192, "queue": 2, "bound": 2},
        "Nobody looks at the wait that follows, which is pale. Enforce the bound when a batch is assembled, then when "
        "a rollout starts, and compare the lags that get through and the mean lengths that are kept.",
    ),
    Preset(
        "Why is weight sync slower than the wire?",
        {"picture": TRANSFER, "payload": 14_000_000_000, "call_ms": 3, "tensors": 291, "setup": 0, "every": 4},
        "The bytes take the same time in each row. One by one, the calls take longer than they do. Make the link "
        "faster, then a call cheaper, and see which of them helps.",
    ),
    Preset(
        "How often should weights be published?",
        {"picture": COSTS, "stall": 8, "lag_cost": 1, "candidates": (1, 2, 4, 8), "every": 8},
        "Many updates share a rare publication, and it leaves the engine behind. Take the multiples of 4 as candidates "
        "and make the stall 100 times as long: the best cadence is 10 times as long.",
    ),
)
