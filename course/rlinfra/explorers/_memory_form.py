"""The form of the memory explorer: its bars and their parts, its controls and presets, and the chart that it sends."""

from __future__ import annotations

from functools import cache

from ._model import Control, Preset
from ._specs import GREY, PALER, REFERENCE, ROLLOUT, SKY, TRAINER, TRANSFER, VERIFIER, YELLOW, layered, limit

STATE = ("parameter_bytes", "gradient_bytes", "optimizer_state_bytes", "master_parameter_bytes")
WEIGHTS, GRADIENTS, OPTIMIZER = "weights", "gradients", "optimizer, master"
CACHE, LOGITS, ACTIVATIONS, COPY = "KV cache", "logits", "activations", "second copy"
PARTS = (WEIGHTS, GRADIENTS, OPTIMIZER, ACTIVATIONS, LOGITS, CACHE, COPY)
PHASES = ("rollout", "scoring", "training", "publication")
STAGES = ("stage 0", "stage 1", "stage 2", "stage 3")
BY_PHASE, BY_STAGE = "phases of the loop", "ZeRO stages"

_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_MODELS = (
    ("0.1 B", 100_000_000),
    ("0.6 B", 596_049_920),
    ("1.5 B", 1_500_000_000),
    ("3 B", 3_000_000_000),
    ("7 B", 7_000_000_000),
    ("7.5 B", 7_500_000_000),
    ("14 B", 14_000_000_000),
    ("32 B", 32_000_000_000),
    ("70 B", 70_000_000_000),
    ("235 B", 235_000_000_000),
    ("671 B", 671_000_000_000),
)
_SHARES = (
    ("LoRA, 0.1 %", 0.001),
    ("LoRA, 0.3 %", 0.003),
    ("LoRA, 1 %", 0.01),
    ("LoRA, 3 %", 0.03),
    ("LoRA, 10 %", 0.1),
    ("all of them", 1.0),
)
_GIBS = (0, 1, 2, 4, 8, 16, 32, 64, 128)

CONTROLS = (
    Control(
        "rows",
        "bars",
        ((BY_PHASE, BY_PHASE), (BY_STAGE, BY_STAGE)),
        BY_PHASE,
        "The phases share one card and take turns on it; the stages are four ways to divide the model's state.",
        listed=True,
    ),
    Control(
        "parameters",
        "parameters",
        _MODELS,
        7_000_000_000,
        "Weights, gradients and optimizer states grow with the model. The logits do not.",
    ),
    Control(
        "trained",
        "trained",
        _SHARES,
        1.0,
        "Gradients, optimizer states and the copy to publish are kept for what is trained, weights for everything.",
    ),
    Control(
        "stage",
        "ZeRO stage",
        tuple((f"stage {stage}", stage) for stage in range(4)),
        0,
        "Each stage divides one part more over the ranks: optimizer states, then gradients, then weights.",
    ),
    Control(
        "ranks",
        "ranks",
        tuple((f"{count} rank{'s' if count > 1 else ''}", count) for count in _COUNTS),
        1,
        "More ranks make smaller what the stage divides, and leave the rest whole on each of them.",
    ),
    Control(
        "sequences",
        "scored",
        tuple((f"{count} sequence{'s' if count > 1 else ''}", count) for count in _COUNTS[:9]),
        8,
        "Each sequence adds one logit for each of its tokens and each entry of the vocabulary.",
    ),
    Control(
        "card",
        "card",
        tuple((f"{gib} GiB", gib) for gib in (8, 16, 24, 40, 48, 80, 141, 192)),
        80,
        "Another card moves the line and nothing else.",
    ),
    Control(
        "tokens",
        "tokens",
        tuple((f"{count:,} a sequence", count) for count in (256, 512, 1024, 2048, 4096, 8192, 16384, 32768)),
        2048,
        "Every position of a scored sequence has logits of its own.",
    ),
    Control(
        "vocabulary",
        "vocabulary",
        (("32,000 entries", 32_000), ("128,256 entries", 128_256), ("151,936 entries", 151_936)),
        151_936,
        "Each position has one logit for every entry.",
    ),
    Control(
        "logit_bytes",
        "a logit",
        (("2 bytes (bfloat16)", 2), ("4 bytes (float32)", 4)),
        4,
        "The precision of the logits counts once for each of them, and for each copy.",
    ),
    Control(
        "copies",
        "copies",
        tuple((f"{count} alive", count) for count in (1, 2, 3, 4)),
        2,
        "Log-softmax writes a second tensor of the same shape, and its gradient would be a third.",
    ),
    Control(
        "parameter_bytes",
        "a weight",
        (("0.5 bytes (4 bits)", 0.5), ("1 byte (fp8)", 1), ("2 bytes (bfloat16)", 2), ("4 bytes (float32)", 4)),
        2,
        "Weights are held in every phase, frozen or trained.",
    ),
    Control(
        "gradient_bytes",
        "a gradient",
        (("2 bytes (bfloat16)", 2), ("4 bytes (float32)", 4)),
        2,
        "Only a trained parameter has a gradient, and only training holds it.",
    ),
    Control(
        "optimizer_state_bytes",
        "optimizer",
        (("0 bytes (SGD)", 0), ("2 bytes (8-bit Adam)", 2), ("4 bytes (momentum)", 4), ("8 bytes (Adam)", 8)),
        8,
        "The moments are kept for each trained parameter.",
    ),
    Control(
        "master_parameter_bytes",
        "master copy",
        (("none", 0), ("4 bytes (float32)", 4)),
        4,
        "The master copy is kept for each trained parameter, beside the weight that computes.",
    ),
    Control(
        "cache",
        "KV cache",
        tuple((f"{gib} GiB", gib) for gib in _GIBS),
        16,
        "The cache is given here, and resident while the engine generates.",
    ),
    Control(
        "activations",
        "activations",
        tuple((f"{gib} GiB", gib) for gib in _GIBS),
        8,
        "The activations are given here: the forward pass keeps them for the backward pass.",
    ),
)

PRESETS = (
    Preset(
        "Why does a 0.6B model run out of memory?",
        {"parameters": 596_049_920, "card": 16, "cache": 4, "activations": 4},
        "Its weights are small, but scoring holds a logit for each sequence, token and vocabulary entry, twice. "
        "Score fewer sequences at once, and watch.",
    ),
    Preset(
        "What does each ZeRO stage take off a rank?",
        {"rows": BY_STAGE, "parameters": 7_500_000_000, "stage": 2, "ranks": 64},
        "These are the numbers of the ZeRO paper's first figure, in GiB. Add ranks: only what a stage divides shrinks.",
    ),
    Preset(
        "What does LoRA save, and what stays?",
        {"parameters": 7_000_000_000, "trained": 0.003, "card": 24, "sequences": 1, "cache": 4, "activations": 4},
        "Gradients, optimizer states and the copy to publish are nearly gone. The frozen weights stay in every phase.",
    ),
)

_AXIS = {"field": "row", "type": "nominal", "sort": [*PHASES, *STAGES], "title": None}
_GIB = {"field": "gib", "type": "quantitative"}
_COLOURS = {  # the rollout's cache is green, what the trainer keeps blue, what is to be transferred orange
    WEIGHTS: SKY,
    GRADIENTS: YELLOW,
    OPTIMIZER: TRAINER,
    ACTIVATIONS: GREY,
    LOGITS: VERIFIER,
    CACHE: ROLLOUT,
    COPY: TRANSFER,
}


@cache
def spec(parts: tuple[str, ...], mark: str) -> dict[str, object]:
    """Return the chart of bars that consist of these parts: they alone are in the legend, in their colours.

    Its data sets are `parts`, `totals`, `marks` (a line across a bar, of this meaning) and `card`, all in GiB.
    """
    meaning = f" (grey line: {mark})" if mark else ""
    colour = {
        "field": "part",
        "type": "nominal",
        "scale": {"domain": list(_COLOURS), "range": list(_COLOURS.values())},
        "legend": {
            "title": None,
            "orient": "top",
            "columns": 3,
            "labelLimit": 0,
            "values": list(parts),
            "symbolType": "square",
        },
    }
    bars = {
        "data": {"name": "parts"},
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {
            "y": _AXIS,
            "x": {**_GIB, "stack": "zero", "title": f"resident on one card, GiB{meaning}"},
            "color": colour,
            "order": {"field": "order", "type": "ordinal"},
            "opacity": PALER,
            "tooltip": [
                {"field": "row", "title": "in"},
                {"field": "part", "title": "part"},
                {"field": "gib", "type": "quantitative", "title": "GiB", "format": ",.2f"},
                {"field": "whose", "title": "whose number"},
            ],
        },
    }
    totals = {
        "data": {"name": "totals"},
        "mark": {"type": "text", "align": "left", "dx": 5},
        "encoding": {"y": _AXIS, "x": _GIB, "text": {"field": "text"}},
    }
    marks = {
        "data": {"name": "marks"},
        "mark": {"type": "tick", "thickness": 3, "color": REFERENCE, "bandSize": 40},
        "encoding": {
            "y": _AXIS,
            "x": _GIB,
            "tooltip": [
                {"field": "kind", "title": "mark"},
                {"field": "gib", "type": "quantitative", "title": "GiB", "format": ",.2f"},
            ],
        },
    }
    return layered([bars, *limit("card", "gib"), marks, totals], {"step": 44})
