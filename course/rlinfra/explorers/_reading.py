"""Reading what a function returned: whoever draws a value says what it has to be, and nonsense is told, not drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._functions import WrongFormError

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST = 1e24  # beyond it a number is no size of anything here, and an axis has no room for it


def number(expected: str, least: float = 0, most: float = LARGEST) -> Callable[[Any], float]:
    """Return what reads a number between two bounds; `expected` is what its error says, such as `seconds, above 0`."""

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:  # so is NaN
            raise WrongFormError(value, expected)
        return value

    return read


def size(value: Any, most: float = LARGEST) -> float:
    """Return a number of bytes; raise `WrongFormError` where it is none, or more than `most`."""
    return number("a number of bytes, 0 or more", 0, most)(value)
