"""Validators for the arguments of a function: each raises `ValueError` that names the argument, or returns it.

They make a senseless argument an error at the place where it came in, instead of a wrong number three functions on.
"""

from __future__ import annotations

import math
import numbers
import operator
from typing import TypeVar

N = TypeVar("N", int, float)


def require_count(name: str, value: int, *, minimum: int = 0) -> int:
    """Return `value` if it is an integer of at least `minimum`; a bool is no count, and neither is 3.0."""
    try:
        count = operator.index(value)
    except TypeError:
        count = None
    if count is None or isinstance(value, bool):
        raise ValueError(f"{name} must be an integer, not {value!r}")
    if count < minimum:
        raise ValueError(f"{name} must be at least {minimum}, not {count}")
    return count


def require_nonnegative(name: str, value: N) -> N:
    """Return `value` if it is a finite number of at least 0."""
    if not _is_finite_number(value) or value < 0:
        raise ValueError(f"{name} must be a finite number, 0 or more, not {value!r}")
    return value


def require_positive(name: str, value: N) -> N:
    """Return `value` if it is a finite number above 0."""
    if not _is_finite_number(value) or value <= 0:
        raise ValueError(f"{name} must be a finite number above 0, not {value!r}")
    return value


def require_fraction(name: str, value: float) -> float:
    """Return `value` if it is a number from 0 to 1, both included."""
    if not _is_finite_number(value) or not 0 <= value <= 1:
        raise ValueError(f"{name} must lie between 0 and 1, not {value!r}")
    return value


def _is_finite_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    return isinstance(value, numbers.Integral) or math.isfinite(value)
