"""Checkpoints and recovery: how often to write one, what it must hold, and a drill that shows whether it does.

Times are in seconds, overheads are fractions: seconds lost for each second of work. Restart time is left out.
"""

from __future__ import annotations

import json
import math
import platform
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rlinfra.draws import Draws
from rlinfra.given import require_count, require_positive
from rlinfra.given.checkpoints import CHECKPOINT_PARTS, ToyLoop

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "CheckpointCadence",
    "CheckpointManifest",
    "ManifestErrors",
    "RecoveryDrill",
    "checkpoint_as_dict",
    "checkpoint_cadence",
    "checkpoint_errors",
    "daly_interval",
    "make_checkpoint",
    "optimal_checkpoint_interval",
    "recovery_drill",
    "restore",
    "resumed_control_batch",
    "snapshot",
]


# --- how often ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CheckpointCadence:
    """What a checkpoint interval costs, in seconds lost for each second of work."""

    interval_seconds: float
    writing_fraction: float
    rework_fraction: float

    @property
    def total_fraction(self) -> float:
        """Writing and rework together."""
        return self.writing_fraction + self.rework_fraction


def optimal_checkpoint_interval(checkpoint_seconds: float, mtbf_seconds: float) -> float:
    """Return the seconds of work between checkpoints that cost least, to first order.

    Young 1974, "A first order approximation to the optimum checkpoint interval". Good where a checkpoint takes far
    less than the mean time between failures. Raises `ValueError` where a time is not positive and finite.
    """
    require_positive("checkpoint_seconds", checkpoint_seconds)
    require_positive("mtbf_seconds", mtbf_seconds)
    return math.sqrt(2 * checkpoint_seconds * mtbf_seconds)


def daly_interval(checkpoint_seconds: float, mtbf_seconds: float) -> float:
    """Return the seconds of work between checkpoints that cost least, to higher order.

    Daly 2006, "A higher order estimate of the optimum checkpoint interval for restart dumps": a series in
    sqrt(C / 2M), and M itself where a checkpoint takes 2M or more. Raises `ValueError` where a time is not positive
    and finite.
    """
    require_positive("checkpoint_seconds", checkpoint_seconds)
    require_positive("mtbf_seconds", mtbf_seconds)
    if checkpoint_seconds >= 2 * mtbf_seconds:
        return mtbf_seconds
    ratio = checkpoint_seconds / (2 * mtbf_seconds)
    series = 1 + math.sqrt(ratio) / 3 + ratio / 9
    return math.sqrt(2 * checkpoint_seconds * mtbf_seconds) * series - checkpoint_seconds


def checkpoint_cadence(interval: float, *, checkpoint_seconds: float, mtbf_seconds: float) -> CheckpointCadence:
    """Return what an interval costs: writing C / T, and rework T / 2M, half an interval lost at each failure.

    First order, as in Young 1974. Raises `ValueError` where a time is not positive and finite.
    """
    require_positive("interval", interval)
    require_positive("checkpoint_seconds", checkpoint_seconds)
    require_positive("mtbf_seconds", mtbf_seconds)
    return CheckpointCadence(interval, checkpoint_seconds / interval, interval / (2 * mtbf_seconds))


# --- what it holds -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ManifestErrors:
    """The faulty parts of a manifest, as `part: problem`, and the start that the checkpoint still supports.

    `start` is `resume`, `new run` (from old weights) or `no start`.
    """

    errors: tuple[str, ...]
    start: str


def checkpoint_errors(manifest: object) -> ManifestErrors:
    """Return which of the thirteen parts of a resumable checkpoint are missing or unsound, each once."""
    if not isinstance(manifest, dict):
        return ManifestErrors(("manifest: not a dictionary",), "no start")
    errors = {}
    for part in CHECKPOINT_PARTS:
        if part not in manifest:
            errors[part] = "missing"
        elif not _is_sound(part, manifest[part]):
            errors[part] = "not sound"
    start = "resume"
    if errors:
        start = "no start" if "weights" in errors else "new run"
    return ManifestErrors(tuple(f"{part}: {problem}" for part, problem in errors.items()), start)


def _is_sound(part: str, value: Any) -> bool:
    match part:
        case "optimizer_state" | "rollout_schema":
            return _is_text(value)
        case "dataset_cursor":
            return _is_count(value)
        case "curriculum":
            return isinstance(value, dict)
    if not isinstance(value, dict) or value == {}:
        return False
    match part:
        case "progress":
            return _is_count(value.get("global_step")) and _is_count(value.get("policy_version"))
        case "rng_states":
            return all(isinstance(state, list) and state != [] for state in value.values())
        case "reward_normalization":
            return _is_finite(value.get("mean")) and _is_finite(value.get("std")) and value["std"] > 0
        case "tokenizer":
            return _is_text(value.get("tokenizer_revision")) and _is_text(value.get("chat_template_revision"))
        case "environment":
            return _is_text(value.get("verifier_version")) and _is_text(value.get("environment_version"))
        case "layout":
            return _is_count(value.get("ranks")) and value["ranks"] > 0 and _is_text(value.get("queue_recovery"))
    return True  # weights, scheduler, decoding: a dictionary that is not empty


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True)
class CheckpointManifest:
    """A small manifest: counters, the position in the data, a generator's state as JSON can hold it, versions."""

    optimizer_step: int
    current_version: int
    published_version: int
    dataset_cursor: int
    rng_kind: str
    rng_state: Any
    component_versions: Mapping[str, str]


def make_checkpoint(
    *, optimizer_step: int, current_version: int, published_version: int, dataset_cursor: int, rng: Any
) -> CheckpointManifest:
    """Return a manifest with the state that `rng` has now; `rng` is a `random.Random` or a NumPy `Generator`.

    Raises `ValueError` where a count is negative or no integer, where the published version is above the current
    one, or where `rng` is neither kind of generator.
    """
    require_count("optimizer_step", optimizer_step)
    require_count("current_version", current_version)
    require_count("published_version", published_version)
    if published_version > current_version:
        raise ValueError(f"published_version must be at most {current_version}, not {published_version}")
    require_count("dataset_cursor", dataset_cursor)
    versions = {"python": platform.python_version()}
    if hasattr(rng, "getstate"):
        state = rng.getstate()
    elif hasattr(rng, "bit_generator"):
        import numpy as np  # noqa: PLC0415 - only for those who hand in a generator of NumPy

        state = rng.bit_generator.state
        versions["numpy"] = np.__version__
    else:
        raise ValueError(f"rng must be a random.Random or a NumPy Generator, not {rng!r}")
    return CheckpointManifest(
        optimizer_step,
        current_version,
        published_version,
        dataset_cursor,
        rng_kind=type(rng).__name__,
        rng_state=_plain(state),
        component_versions=versions,
    )


def checkpoint_as_dict(manifest: CheckpointManifest) -> dict[str, Any]:
    """Return a manifest as a flat dictionary that JSON can hold; the generator's state is under `rng_state`."""
    return asdict(manifest)


def _plain(value: Any) -> Any:
    """Return a state with lists in the place of tuples and arrays."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


# --- the recovery drill ------------------------------------------------------------------------------------------


def snapshot(loop: ToyLoop) -> dict[str, Any]:
    """Return everything that a loop's future depends on, as JSON can hold it."""
    return {
        "seed": loop.seed,
        "weights": loop.weights,
        "moments": loop.moments,
        "learning_rate": loop.learning_rate,
        "step": loop.step,
        "policy_version": loop.policy_version,
        "published_weights": loop.published_weights,
        "rng": loop.rng.getstate(),
        "cursor": loop.cursor,
        "success": [[prompt, rate] for prompt, rate in loop.success.items()],
        "reward_mean": loop.reward_mean,
        "queue": loop.queue,
    }


def restore(state: Mapping[str, Any]) -> ToyLoop:
    """Return a loop that goes on where a snapshot was taken; `state` has been through JSON."""
    loop = ToyLoop(state["seed"])
    loop.weights = state["weights"]
    loop.moments = state["moments"]
    loop.learning_rate = state["learning_rate"]
    loop.step = state["step"]
    loop.policy_version = state["policy_version"]
    loop.published_weights = state["published_weights"]
    version, internal, gauss_next = state["rng"]
    loop.rng.setstate((version, tuple(internal), gauss_next))  # JSON made lists of the tuples
    loop.cursor = state["cursor"]
    loop.success = dict(state["success"])
    loop.reward_mean = state["reward_mean"]
    loop.queue = state["queue"]
    return loop


def resumed_control_batch(before: Mapping[str, Any], after: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return `run(after)` of a loop that ran through `before`, went through JSON and was restored."""
    loop = ToyLoop(before["seed"])
    loop.run(before["events"])
    return restore(json.loads(json.dumps(snapshot(loop)))).run(after)


@dataclass(frozen=True)
class RecoveryDrill:
    """The losses of a control batch in three runs; the matches compare all that was to be seen, not losses alone."""

    uninterrupted: tuple[float, ...]
    resumed: tuple[float, ...]
    exact_match: bool
    broken_resume: tuple[float, ...]
    broken_match: bool


def recovery_drill(*, seed: int, before: int, after: int) -> RecoveryDrill:
    """Return what a control batch of `after` events gives without interruption, resumed, and from weights alone.

    The loop runs through `before` events first; what comes from outside is drawn apart from the loop's own seed.
    Raises `ValueError` where `seed` is no count, or `before` or `after` is below 1.
    """
    require_count("seed", seed)
    require_count("before", before, minimum=1)
    require_count("after", after, minimum=1)
    outside = Draws("outside", str(seed))
    events = [
        {
            "arrivals": outside.integer(1, 2),
            "reward": outside.uniform(0, 1),
            "publish": outside.integer(1, 3) == 1,
        }
        for _ in range(before + after)
    ]
    loop = ToyLoop(seed)
    loop.run(events[:before])
    saved = json.dumps(snapshot(loop))
    broken = ToyLoop(seed)
    broken.weights, broken.published_weights = list(loop.weights), list(loop.weights)
    control = [one.run(events[before:]) for one in (loop, restore(json.loads(saved)), broken)]
    uninterrupted, resumed, broken_resume = (tuple(update["loss"] for update in run["updates"]) for run in control)
    return RecoveryDrill(
        uninterrupted, resumed, control[0] == control[1], broken_resume, broken_match=control[0] == control[2]
    )
