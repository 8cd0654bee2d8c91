"""Messages from a student's process, read strictly: whatever it sends is JSON of a bounded form, or no message."""

from __future__ import annotations

import json
import math
from typing import Any

MOST_DEPTH = 64
MOST_DIGITS = 400
LONGEST_MESSAGE = 4 << 20


def parse_message(line: bytes) -> dict[str, Any] | None:
    """Return the message that a line holds, or None where it is none.

    Refused are: text that is not UTF-8, NaN and Infinity (also by overflow, as `1e999`), integers of more than 400
    digits, a key twice in one object, nesting deeper than 64, and whatever is not an object.
    """
    try:
        message = _DECODER.decode(line.decode())
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) and not _deeper_than(message, MOST_DEPTH) else None


def _deeper_than(data: Any, most: int) -> bool:
    level = [data]
    for _ in range(most):
        nested = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, (dict, list))]
        level = [child for children in nested for child in children]
        if not level:
            return False
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number that is too large")
    return value


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError("an integer of too many digits")
    return int(text)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse, parse_float=_finite, parse_int=_integer)
