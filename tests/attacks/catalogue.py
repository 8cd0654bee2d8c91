"""All attacks, in the order in which they are told."""

from __future__ import annotations

from . import judging, kernel
from .attack import Attack

ATTACKS: tuple[Attack, ...] = (*kernel.ATTACKS, *judging.ATTACKS)
