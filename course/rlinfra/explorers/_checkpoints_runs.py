"""What the checkpoints explorer lets happen: a run that failures strike, and a control batch after a restore.

Both are drawn from a seed, and no function of the notebook computes them: they are what its formulas and its verdict
are held against.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from ..draws import Draws
from ..given.checkpoints import ToyLoop

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

KEPT, WRITING, LOST, RESTART, OPEN = "work kept", "writing", "lost", "restart", "not saved yet"

# --- a run that failures strike ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """How a job saves and fails, all in seconds: work between checkpoints, a checkpoint, MTBF, a restart."""

    interval: float
    checkpoint: float
    mtbf: float
    restart: float


@dataclass(frozen=True)
class Stretch:
    """A part of a run from `start` to `end`, in seconds; `cycles` is how many checkpoints it stands for."""

    part: str
    start: float
    end: float
    cycles: int = 1


@cache
def lives(seed: int, span: int) -> tuple[float, ...]:
    """Return the times from one failure to the next, in units of the MTBF; at `span` the last is cut off.

    They are exponential: a failure is as likely in each moment. They depend on no interval, so the same failures
    strike whoever saves more or less often.
    """
    draws = Draws("failures", str(seed))
    found, past = [], 0.0
    while past < span:
        life = -math.log(draws.integer(1, 10**9) / 10**9)
        found.append(min(life, span - past))
        past += life
    return tuple(found)


def failures(seed: int, span: int) -> list[float]:
    """Return when failures strike, in units of the MTBF."""
    return list(accumulate(lives(seed, span)[:-1]))


def _life(job: Job, seconds: float, restart: float) -> tuple[float, int, float]:
    """Return what a life holds: seconds of restart, whole cycles of work and writing, and seconds after the last."""
    restart = min(restart, seconds)
    cycles, after = divmod(seconds - restart, job.interval + job.checkpoint)
    return restart, int(cycles), after


@lru_cache(maxsize=256)
def totals(job: Job, seeds: Sequence[int], span: int) -> Mapping[str, float]:
    """Return the seconds of each part, over the runs of these seeds together; each lasts `span` times the MTBF."""
    cycle, mtbf = job.interval + job.checkpoint, job.mtbf
    restart = lost = unsaved = unfinished = cycles = 0.0
    for seed in seeds:
        after = begun = 0.0
        for life in lives(seed, span):
            lost += after  # another life follows: what came after the last checkpoint was in vain
            worked = life * mtbf - begun  # as in `_life`, without a call: this is done for a thousand lives
            restart += begun if worked > 0 else life * mtbf
            whole, after = divmod(worked, cycle) if worked > 0 else (0.0, 0.0)
            cycles += whole
            begun = job.restart
        unsaved += min(after, job.interval)
        unfinished += max(0.0, after - job.interval)
    return {
        KEPT: cycles * job.interval,
        WRITING: cycles * job.checkpoint + unfinished,
        LOST: lost,
        RESTART: restart,
        OPEN: unsaved,
    }


def cost(parts: Mapping[str, float]) -> float:
    """Return the seconds lost for each second of work: without end where no work is done."""
    work = parts[KEPT] + parts[OPEN]
    return (parts[WRITING] + parts[LOST] + parts[RESTART]) / work if work else math.inf


def stretches(job: Job, seed: int, span: int, most: int) -> Iterator[Stretch]:
    """Yield a run as it goes on; where it has more than `most` cycles, several are drawn as one."""
    found = lives(seed, span)
    together = max(1, math.ceil(span * job.mtbf / (job.interval + job.checkpoint) / most))
    now = 0.0
    for place, life in enumerate(found):
        restart, cycles, after = _life(job, life * job.mtbf, job.restart if place else 0.0)
        rest: list[tuple[str, float, int]] = [(RESTART, restart, 0)]
        for first in range(0, cycles, together):
            count = min(together, cycles - first)
            rest += [(KEPT, count * job.interval, count), (WRITING, count * job.checkpoint, count)]
        if place < len(found) - 1:
            rest.append((LOST, after, 0))
        else:
            rest += [(OPEN, min(after, job.interval), 0), (WRITING, max(0.0, after - job.interval), 0)]
        for part, seconds, count in rest:
            if seconds > 0:
                yield Stretch(part, now, now + seconds, count)
                now += seconds


# --- a control batch after a restore -------------------------------------------------------------------------------

STEPS = 14
_BEFORE = 8
# What of the toy loop is in which part of a checkpoint. It has nothing of the four contracts.
_HELD = {
    "weights": ("weights", "published_weights"),
    "optimizer_state": ("moments",),
    "lr_scheduler": ("learning_rate",),
    "progress": ("step", "policy_version"),
    "rng_states": ("rng",),
    "dataset_cursor": ("cursor",),
    "curriculum": ("success",),
    "reward_normalization": ("reward_mean",),
    "layout": ("queue",),
}


@cache
def _outside(seed: int) -> list[dict[str, Any]]:
    """Return what comes from outside: the events before the failure, and those of the control batch."""
    draws = Draws("outside", str(seed))
    return [
        {
            "arrivals": 2 if place < _BEFORE else draws.integer(1, 2),
            "reward": draws.uniform(0, 1),
            "publish": draws.integer(1, 3) == 1,
        }
        for place in range(_BEFORE + STEPS)
    ]


@cache
def control_batch(seed: int, fresh: tuple[str, ...] = ()) -> tuple[float, ...]:
    """Return the loss of each step of the control batch if these parts begin as those of a new loop do.

    At each step a rollout arrives and a reward comes, so there is one to train on.
    """
    events = _outside(seed)
    loop, new = ToyLoop(seed), ToyLoop(seed)
    loop.run(events[:_BEFORE])
    for part in fresh:
        for name in _HELD.get(part, ()):
            setattr(loop, name, getattr(new, name))
    return tuple(update["loss"] for update in loop.run(events[_BEFORE:])["updates"])


def first_difference(seed: int, fresh: tuple[str, ...]) -> int | None:
    """Return the first step of the control batch, from 1, whose loss is not as without interruption, or None."""
    pairs = zip(control_batch(seed), control_batch(seed, fresh), strict=True)
    return next((place for place, (whole, after) in enumerate(pairs, 1) if whole != after), None)
