"""The form of the checkpoints explorer: its pictures, the parts of a checkpoint, its controls and presets."""

from __future__ import annotations

from typing import Any

from ..given.checkpoints import CHECKPOINT_PARTS
from ._model import Control, Preset

COST, RUN, MANIFEST, BATCH = "what an interval costs", "a run with failures", "a manifest", "a control batch"
SEEDS = range(1, 51)
MISSING, UNSOUND = "missing", "there, but not sound"
NOTHING, ALL_BUT_WEIGHTS = (), CHECKPOINT_PARTS[1:]
HOUR = 3600

# By part: a value that a look at the keys lets pass, what is wrong with it, and what happens without the part.
PARTS: dict[str, tuple[Any, str, str]] = {
    "weights": ({}, "empty", "there is nothing to go on with"),
    "optimizer_state": ("", "empty", "moments start at zero, the first steps differ"),
    "lr_scheduler": ("cosine", "a name, no state", "the warm-up comes again"),
    "progress": ({"global_step": 4000}, "no policy version", "lag is counted from a wrong version"),
    "rng_states": ({"python": 12_016}, "a seed, no state", "a reseeded generator repeats old draws"),
    "dataset_cursor": ("128000", "text, no count", "prompts are seen twice, late or never"),
    "curriculum": (None, "no dictionary", "prompts that were mastered come back"),
    "reward_normalization": ({"mean": 0.31, "std": 0.0}, "a std of 0", "advantages change their scale"),
    "tokenizer": ({"tokenizer_revision": "9f2c1e"}, "no chat template", "the same text becomes other tokens"),
    "environment": ({"verifier_version": "arith-v4"}, "one of two versions", "the same answer earns another reward"),
    "decoding": ({}, "empty", "the same weights become another policy"),
    "rollout_schema": (3, "no text", "stored rollouts are misread"),
    "layout": ({"ranks": 8}, "no queue recovery", "shards do not fit, waiting rollouts are lost"),
}

CONTROLS = (
    Control(
        "picture",
        "picture",
        tuple((picture, picture) for picture in (COST, RUN, MANIFEST, BATCH)),
        COST,
        "The first two are about how often to save, the others about what.",
        listed=True,
    ),
    Control(
        "interval",
        "save after",
        tuple(
            (f"{minutes} min", 60 * minutes)
            for minutes in (1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 480, 720, 1440)
        ),
        60 * 60,
        "Short intervals pay for writing, long ones for the work that a failure destroys.",
    ),
    Control(
        "checkpoint",
        "a checkpoint",
        (
            *((f"{seconds} s", seconds) for seconds in (5, 15, 30, 60, 120, 180)),
            *((f"{minutes} min", 60 * minutes) for minutes in (5, 10, 30)),
        ),
        180,
        "The job stands still while it is written. The dearer it is, the longer the best interval.",
    ),
    Control(
        "mtbf",
        "a failure",
        (
            ("every 15 min", HOUR // 4),
            *((f"every {hours:,} h", hours * HOUR) for hours in (1, 6, 10, 24, 240, 2500, 10_000, 50_000)),
        ),
        2500 * HOUR,
        "The mean time between failures of one machine. The rarer they are, the longer the best interval.",
    ),
    Control(
        "seed",
        "failures",
        tuple((f"seed {seed}", seed) for seed in SEEDS),
        1,
        "Another seed is another run of the same job: how often it is struck, and when, is luck.",
    ),
    Control(
        "lacks",
        "lacks",
        (
            ("nothing", NOTHING),
            ("all but the weights", ALL_BUT_WEIGHTS),
            *((part, (part,)) for part in CHECKPOINT_PARTS),
        ),
        NOTHING,
        "A part that is not in the checkpoint begins fresh, as in a new run.",
        listed=True,
    ),
    Control(
        "how",
        "what lacks is",
        ((MISSING, MISSING), (UNSOUND, UNSOUND)),
        MISSING,
        "A key that is there says nothing of its value.",
        listed=True,
    ),
    Control(
        "machines",
        "machines",
        tuple((f"{count:,}", count) for count in (1, 8, 64, 250, 1024, 4096, 16_384)),
        250,
        "A failure of any of them stops the job: its MTBF is that of one machine, divided by their number.",
    ),
    Control(
        "restart",
        "a restart",
        tuple((f"{minutes} min", 60 * minutes) for minutes in (0, 1, 5, 10, 30)),
        0,
        "Noticing the failure, finding machines, loading: the run pays for it, the formula leaves it out.",
    ),
    Control(
        "span",
        "the run lasts",
        tuple((f"{count} × MTBF", count) for count in (5, 10, 20)),
        10,
        "The longer a run, the nearer it comes to the average over many.",
    ),
)

PRESETS = (
    Preset(
        "How often should 250 machines save?",
        {"interval": 15 * 60},
        "A checkpoint takes 180 s, and a failure of one of the machines stops the job every 10 h. "
        "Four times as long an interval costs less than half. Around the best one the curve is flat.",
    ),
    Preset(
        "Why does one run lose more than the formula says?",
        {"picture": RUN, "checkpoint": 60, "mtbf": 50_000 * HOUR, "machines": 16_384, "seed": 5},
        "16,384 GPUs stop about every three hours, as in the training of Llama 3. The formula is an average, and this "
        "run is struck 15 times in place of 10. Try other seeds. Young's interval loses less by the same failures.",
    ),
    Preset(
        "Do the weights make a resume?",
        {"picture": MANIFEST, "lacks": ALL_BUT_WEIGHTS},
        "Old weights with all else fresh are a new run. The control batch, another picture, shows what it does.",
    ),
)
