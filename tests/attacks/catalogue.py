"""All attacks, in the order in which they are told."""

from __future__ import annotations

from . import forging, inputs, judging, kernel, leftovers, network, others, privilege, processes, reading
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
)
