"""The whole loop, tuned: choices that could do are simulated, and the fastest of those that hold both bounds is taken.

A batch of many tokens spreads what an update and a publication cost at any size. So the search is over what is left:
by turns or not, how old a rollout may be, and how often weights are published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlinfra.given.lab_tune import CHOICE_RANGES, DEFAULT_CHOICE, broken_bounds, simulate_choice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["tune"]


def tune(workload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choice for a workload that trains most tokens a second of some dozen that hold its bounds.

    Where none of them does, it is the default choice.
    """
    best, most = dict(DEFAULT_CHOICE), 0.0
    for choice in _candidates(workload):
        row = simulate_choice(workload, choice)
        if not broken_bounds(workload, row) and row["trained_tokens_per_second"] > most:
            best, most = choice, row["trained_tokens_per_second"]
    return best


def _candidates(workload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    batch = CHOICE_RANGES["batch_tokens"][1]
    largest_lag = min(workload["largest_lag"], CHOICE_RANGES["max_policy_lag"][1])
    for lag in range(largest_lag + 1):
        for mode in ("sequential", "bounded_async") if lag == 0 else ("bounded_async",):
            for sync in range(1, min(lag + 1, 3) + 1):
                yield {
                    "mode": mode,
                    "batch_tokens": batch,
                    "max_queue_tokens": 2 * batch,
                    "max_policy_lag": lag,
                    "sync_every_updates": sync,
                }
