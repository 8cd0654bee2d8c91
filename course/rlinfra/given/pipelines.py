"""What the pipelines topic hands out: a batch of rollouts to truncate, and the variant problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..variants import Variant

if TYPE_CHECKING:
    from ..draws import Draws


@dataclass(frozen=True)
class Rollout:
    """One finished rollout: which kind of task it worked on, its seconds if nothing stops it, and its reward."""

    task: str
    seconds: float
    reward: float


# Sixteen rollouts of one and the same policy: on hard tasks they take longer, and earn their reward less often.
ROLLOUTS = (
    *(
        Rollout("easy", seconds, reward)
        for seconds, reward in zip((2, 3, 3, 4, 4, 5, 5, 6), (1,) * 7 + (0,), strict=True)
    ),
    *(
        Rollout("hard", seconds, reward)
        for seconds, reward in zip((6, 7, 8, 9, 11, 13, 16, 20), (0, 0, 1, 0, 1, 0, 1, 0), strict=True)
    ),
)


def variant_story(draws: Draws) -> Variant:
    """Draw a loop of two stages and a queue that overflows, and tell their story."""
    rollout = draws.integer(40, 400)
    train = draws.integer(40, 400)
    batches = draws.integer(20, 200)
    service = draws.integer(6_000_000, 12_000_000)
    growth = draws.integer(2_000_000, 6_000_000)
    capacity = draws.integer(20_000_000, 60_000_000)
    minutes = draws.integer(40, 120)
    story = (
        f"A loop rolls out a batch in {rollout} s and trains on it in {train} s. It used to do one after the other; "
        f"now the two stages overlap as in an ideal pipeline, and it runs {batches} batches. Later the team buys more "
        f"rollout workers. They now write {service + growth:,} tokens a minute into the queue while they run, and the "
        f"trainer takes {service:,} tokens a minute out. Backpressure pauses the workers at {capacity:,} tokens. The "
        f"queue is empty at the start, and is watched for {minutes} minutes."
    )
    return Variant(
        story,
        {
            "rollout_seconds": rollout,
            "train_seconds": train,
            "batches": batches,
            "arrival_per_minute": service + growth,
            "service_per_minute": service,
            "capacity": capacity,
            "minutes": minutes,
        },
    )
