"""The whole loop: hypotheses from its metrics, and the recovery of the loop that hands out prompts.

A diagnosis is a list of hypotheses, each with the measurement that would test it, and never one verdict.
"""

from __future__ import annotations

import json
import math
import numbers
from typing import TYPE_CHECKING, Any

from rlinfra.given import require_count, require_fraction
from rlinfra.given.lab import REQUIRED_METRICS, DispatchLoop
from rlinfra.simulator import PipelineConfig, result_row, simulate_pipeline

from .lab_tune import tune

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "MEASUREMENTS",
    "PipelineConfig",
    "diagnose_pipeline",
    "load_loop",
    "recovered_control_batch",
    "result_row",
    "save_loop",
    "simulate_pipeline",
    "tune",
]

MEASUREMENTS = {
    "supply": "time what a batch waits for: rollout, verifier, input",
    "assembly": "count by reason which records in the queue may not enter a batch",
    "overload": "compare tokens in and tokens out a minute, over many updates",
    "backpressure": "time the pauses of the workers, beside the depth of the queue",
    "stragglers": "compare the rollout durations within a group",
    "verifier": "profile the verifier's critical path",
    "publication": "time gathering, conversion, transfer and loading apart",
    "off_policy": "score a batch at lag 0 with engine and trainer, then vary the lag",
    "memory": "measure the peak of each phase: KV cache, activations, transfer buffers",
    "trace": "look at a trace of the stages",
}


def diagnose_pipeline(metrics: Mapping[str, Any]) -> list[str]:
    """Return every hypothesis that the metrics give rise to, as `code: what would test it`; see `MEASUREMENTS`.

    Fractions and the normalised ESS lie between 0 and 1, the growth of the queue is in tokens a minute and may be
    negative, out-of-memory events are a count. Further metrics do not matter. Raises `ValueError` that names a metric
    which is missing, no number, a bool, not finite or out of range.
    """
    _require_metrics(metrics)
    growth = metrics["queue_growth_per_minute"]
    trainer_idle = metrics["trainer_idle_fraction"] > 0.25
    rollout_idle = metrics["rollout_idle_fraction"] > 0.25
    fires = {
        "supply": trainer_idle and growth <= 0,
        "assembly": trainer_idle and growth > 0,
        "overload": growth > 0,
        "backpressure": rollout_idle and growth >= 0,
        "stragglers": rollout_idle and growth <= 0,
        "verifier": metrics["verifier_fraction"] > 0.3,
        "publication": metrics["weight_sync_fraction"] > 0.2,
        "off_policy": metrics["normalized_ess"] < 0.5,
        "memory": metrics["oom_events"] > 0,
    }
    codes = [code for code, fired in fires.items() if fired] or ["trace"]
    return [f"{code}: {MEASUREMENTS[code]}" for code in codes]


def _require_metrics(metrics: Mapping[str, Any]) -> None:
    """Raise `ValueError` that names a metric which is missing or senseless."""
    for name in REQUIRED_METRICS:
        if name not in metrics:
            raise ValueError(f"metrics must hold {name}")
    require_fraction("trainer_idle_fraction", metrics["trainer_idle_fraction"])
    require_fraction("rollout_idle_fraction", metrics["rollout_idle_fraction"])
    require_fraction("verifier_fraction", metrics["verifier_fraction"])
    require_fraction("weight_sync_fraction", metrics["weight_sync_fraction"])
    require_fraction("normalized_ess", metrics["normalized_ess"])
    require_count("oom_events", metrics["oom_events"])
    growth = metrics["queue_growth_per_minute"]
    if isinstance(growth, bool) or not isinstance(growth, numbers.Real) or not math.isfinite(growth):
        raise ValueError(f"queue_growth_per_minute must be a finite number, not {growth!r}")


# --- the recovery drill ------------------------------------------------------------------------------------------


def save_loop(loop: DispatchLoop) -> dict[str, Any]:
    """Return all that a loop's recovery depends on, as JSON can hold it; the loop itself stays as it is."""
    return {
        "version": loop.version,
        "next_prompt": loop.next_prompt,
        "next_ticket": loop.next_ticket,
        "in_flight": [rollout["prompt"] for _, rollout in sorted(loop.in_flight.items())],
        "again": loop.again,
        "queue": loop.queue,
        "paused": loop.paused,
    }


def load_loop(state: Mapping[str, Any]) -> DispatchLoop:
    """Return a loop that goes on after a failure: its workers are gone, so all that was in flight counts as lost.

    The prompts in flight are handed out again after those that waited for it already, the oldest ticket first, and
    under new tickets: a result that still comes in under an old one is refused.
    """
    loop = DispatchLoop()
    loop.version = state["version"]
    loop.next_prompt = state["next_prompt"]
    loop.next_ticket = state["next_ticket"]
    loop.again = [*state["again"], *state["in_flight"]]
    loop.queue = state["queue"]
    loop.paused = state["paused"]
    return loop


def recovered_control_batch(before: Sequence[Sequence[Any]], after: Sequence[Sequence[Any]]) -> list[str]:
    """Return what a loop does in the events `after` a failure, if it ran through those `before`, and was recovered."""
    loop = DispatchLoop()
    loop.run(before)
    return load_loop(json.loads(json.dumps(save_loop(loop)))).run(after)
