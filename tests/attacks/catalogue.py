"""All attacks, in the order in which they are told."""

from __future__ import annotations

from . import forging, inputs, judging, kernel, reading
from .attack import Attack

ATTACKS: tuple[Attack, ...] = (
    *kernel.ATTACKS,
    *judging.ATTACKS,
    *forging.ATTACKS,
    *reading.ATTACKS,
    *inputs.ATTACKS,
)
