"""The form of the KV cache explorer: its pictures and their parts, published models, controls and presets."""

from __future__ import annotations

from dataclasses import dataclass

from ._model import Control, Preset

FITS, MODELS, GROUP, PAGES, SIZES = "what fits", "published models", "a group", "pages", "block sizes"
FILLED, EMPTY, CHOSEN, OTHER = "holds a token", "empty", "chosen", "others"
EACH, SHARED = "a prompt each", "prompt shared"
ENOUGH, TOO_MANY, UNKNOWN = "fits", "out of memory", "unknown"
LIMIT_LINE = "the limit"
CONTEXTS = tuple(2**power for power in range(7, 18))
GROUPS = (1, 2, 4, 8, 16, 32, 64)
BLOCKS = (1, 8, 16, 32, 64, 128, 256)
# What eight completions take of the limit: most end early, one runs to the end.
SPREAD = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 1.0)
AS_PUBLISHED = 0


@dataclass(frozen=True)
class Shape:
    """What a model's configuration says of its attention."""

    num_layers: int
    hidden_size: int
    num_query_heads: int
    num_kv_heads: int
    head_dim: int


SHAPES = {
    "Llama-2-7B": Shape(32, 4_096, 32, 32, 128),
    "Llama-3-8B": Shape(32, 4_096, 32, 8, 128),
    "Llama-3-70B": Shape(80, 8_192, 64, 8, 128),
    "Qwen2.5-7B": Shape(28, 3_584, 28, 4, 128),
    "Qwen3-0.6B": Shape(28, 1_024, 16, 8, 128),
    "Qwen3-4B": Shape(36, 2_560, 32, 8, 128),
    "the worked example": Shape(32, 4_096, 32, 4, 128),
}


def _as_published(unit: str, values: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
    """Return the choices of a dimension: that of the model, or another."""
    return (("as published", AS_PUBLISHED), *((f"{value} {unit}{'s' * (value > 1)}", value) for value in values))


CONTROLS = (
    Control(
        "picture",
        "picture",
        tuple((name, name) for name in (FITS, MODELS, GROUP, PAGES, SIZES)),
        FITS,
        "Each picture asks another question of the same cache.",
        listed=True,
    ),
    Control(
        "model",
        "model",
        tuple((name, name) for name in SHAPES),
        "Llama-3-8B",
        "A model's layers, KV heads and head dimension set the bytes of a token; how many parameters it has does not.",
        listed=True,
    ),
    Control(
        "num_kv_heads",
        "KV heads",
        _as_published("head", (1, 2, 4, 8, 16, 32)),
        AS_PUBLISHED,
        "Each KV head of each layer keeps a key and a value for every token.",
    ),
    Control(
        "sequences",
        "sequences",
        tuple((f"{count:,} at once", count) for count in (2**power for power in range(11))),
        64,
        "More rollouts at once keep the card busy, and each brings its own cache.",
    ),
    Control(
        "completion",
        "completion",
        tuple((f"{n:,} tokens", n) for n in (60, 256, 500, 1_024, 2_048, 3_072, 4_096, 8_192, 16_384, 32_768)),
        4_096,
        "Every token that is generated stays in the cache until its sequence ends.",
    ),
    Control(
        "share",
        "prompts",
        ((EACH, False), (SHARED, True)),
        False,
        "Shared, the full blocks of a prompt are held once for its group; the last, partly filled one is not.",
    ),
    Control(
        "group",
        "group size",
        tuple((f"{count} of a prompt" if count > 1 else "1: no group", count) for count in GROUPS),
        8,
        "The larger the group, the more completions share the blocks of one prompt.",
    ),
    Control(
        "prompt",
        "prompt",
        tuple((f"{n:,} tokens", n) for n in (100, 256, 512, 1_000, 1_024, 2_048, 4_096, 8_192)),
        1_024,
        "The tokens of the prompt are cached like those that are generated.",
    ),
    Control(
        "budget",
        "left for cache",
        tuple((f"{gib} GiB", gib) for gib in (1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 64, 96, 128)),
        40,
        "What weights and the engine's reserve leave on each card is all that the cache can take.",
    ),
    Control(
        "block",
        "block",
        tuple((f"{count} token{'s' * (count > 1)}", count) for count in BLOCKS),
        16,
        "A sequence takes whole blocks, so larger ones leave more empty at its end, and less of a prompt is shared.",
    ),
    Control(
        "element_bytes",
        "an element",
        (("1 byte (fp8)", 1), ("2 bytes (bfloat16)", 2), ("4 bytes (float32)", 4)),
        2,
        "Every key and value is a row of such numbers.",
    ),
    Control(
        "head_dim",
        "head_dim",
        _as_published("number", (64, 96, 128, 256)),
        AS_PUBLISHED,
        "Each key and each value has that many numbers.",
    ),
    Control(
        "num_layers",
        "layers",
        _as_published("layer", (1, 16, 28, 32, 48, 64, 80)),
        AS_PUBLISHED,
        "Each layer has keys and values of its own.",
    ),
    Control(
        "ranks",
        "ranks",
        tuple((f"{count} rank{'s' * (count > 1)}", count) for count in GROUPS[:6]),
        1,
        "Ranks divide the KV heads until each has one; after that a rank's cache no longer shrinks.",
    ),
)

PRESETS = (
    Preset(
        "How many rollouts fit on the card?",
        {"prompt": 4_096},
        "A sequence takes 1 GiB, so of 64 only 40 fit. Share the prompt in each group of 8, and all 64 do.",
    ),
    Preset(
        "What did grouped-query attention buy?",
        {"picture": MODELS, "model": "Llama-2-7B", "completion": 3_072},
        "Llama-2-7B has a KV head for each of its 32 query heads, Llama-3-8B one for every four: a quarter of the "
        "bytes a token, and four times the sequences.",
    ),
    Preset(
        "Why does a group of 32 not take 4 times one of 8?",
        {"picture": GROUP, "model": "Qwen3-0.6B", "prompt": 1_000, "completion": 500, "group": 32, "share": True},
        "Both hold the 62 full blocks of the prompt once. Give each completion a prompt of its own, and it is 4 times.",
    ),
    Preset(
        "What do pages save?",
        {"picture": SIZES, "model": "Qwen3-0.6B", "prompt": 256, "budget": 24},
        "Most completions end early. Reserving the longest length for each leaves most of it empty, as Kwon et al. "
        "(2023) found of engines before pages. With pages, only the last one of a sequence can have room.",
    ),
)
