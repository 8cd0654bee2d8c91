"""All attacks, in the order in which they are told."""

from __future__ import annotations

from . import (
    exhausting,
    forging,
    injecting,
    inputs,
    judging,
    kernel,
    killing,
    leftovers,
    lines,
    network,
    others,
    privilege,
    processes,
    reading,
)
from .attack import Attack

ATTACKS: tuple[Attack, ...] = (
    *kernel.ATTACKS,
    *judging.ATTACKS,
    *forging.ATTACKS,
    *reading.ATTACKS,
    *inputs.ATTACKS,
    *others.ATTACKS,
    *processes.ATTACKS,
    *network.ATTACKS,
    *privilege.ATTACKS,
    *leftovers.ATTACKS,
    *exhausting.ATTACKS,
    *killing.ATTACKS,
    *injecting.ATTACKS,
    *lines.ATTACKS,
)
