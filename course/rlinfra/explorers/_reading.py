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


def report(**readers: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    """Return what reads a dictionary that holds these names, each value with the reader of its name."""

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict) or not set(readers) <= set(value):
            raise WrongFormError(value, f"a dictionary with {', '.join(readers)}")
        return {name: _named(name, reader, value[name]) for name, reader in readers.items()}

    return read


def _named(name: str, reader: Callable[[Any], Any], value: Any) -> Any:
    try:
        return reader(value)
    except WrongFormError as wrong:
        raise WrongFormError(wrong.value, f"{wrong.expected}, as {name}") from None
