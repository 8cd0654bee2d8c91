"""What crosses between the student's process and the grader: JSON, with the few Python values JSON lacks.

Non-finite floats travel as `{"$float": "nan"}`, dictionaries with other than text keys as `{"$dict": [[key, value]]}`,
and whatever has no plain form as `{"$other": "its type"}`. NumPy's numbers and arrays become plain ones on the way,
so a task accepts them without knowing of NumPy. Everything is bounded: a value that is too deep, too long or too
large is sent as an `$other` that says so.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

MAX_DEPTH = 8
MAX_ITEMS = 20_000
MAX_TEXT = 4_000
MAX_INTEGER_BITS = 512


@dataclass(frozen=True)
class Other:
    """A value with no plain form: all that is known of it is a description such as `a generator`."""

    description: str

    def __repr__(self) -> str:
        return f"<{self.description}>"


class _TooLargeError(Exception):
    """The value has more items than may cross."""


def encode(value: object) -> Json:
    """Return the JSON form of a value; raises nothing but an interrupt, whatever the value does."""
    try:
        return _Encoder().encode(value, 0)
    except _TooLargeError:
        return {"$other": f"a value with more than {MAX_ITEMS} items"}
    except KeyboardInterrupt:
        raise
    except BaseException:  # a hostile object may raise anything from any method
        return {"$other": "an object that cannot be read"}


def decode(data: Json) -> object:
    """Return the value that a JSON form stands for; raise `ValueError` if it is none."""
    if isinstance(data, list):
        return [decode(item) for item in data]
    if not isinstance(data, dict):
        return data
    match data:
        case {"$float": "nan" | "inf" | "-inf" as text, **rest} if not rest:
            return float(text)
        case {"$other": str(text), **rest} if not rest:
            return Other(text[:MAX_TEXT])
        case {"$dict": list(pairs), **rest} if not rest:
            return {_key(pair): decode(pair[1]) for pair in map(_pair, pairs)}
    if any(key.startswith("$") for key in data):
        raise ValueError(f"not a wire value: {sorted(data)}")
    return {key: decode(item) for key, item in data.items()}


def _pair(data: Json) -> list[Json]:
    if not isinstance(data, list) or len(data) != 2:
        raise ValueError("not a pair of a key and a value")
    return data


def _key(pair: list[Json]) -> object:
    key = decode(pair[0])
    return key if isinstance(key, (str, int, float, bool, type(None), Other)) else str(key)


class _Encoder:
    """Encodes one value, counting its items as it goes."""

    def __init__(self) -> None:
        self._items = -1  # the value itself is not one of its items

    def encode(self, value: object, depth: int) -> Json:
        self._items += 1
        if self._items > MAX_ITEMS:
            raise _TooLargeError
        if depth > MAX_DEPTH:
            return {"$other": "a value nested too deeply"}
        plain = _PLAIN.get(type(value))
        if plain:  # most values are: all else is asked for more than its type
            return plain(value)
        if isinstance(value, Other):
            return {"$other": str.__str__(value.description)[:MAX_TEXT]}
        if isinstance(value, type):
            return {"$other": "a class"}
        if isinstance(value, str):
            return str.__str__(value)[:MAX_TEXT]
        if isinstance(value, numbers.Integral) or (hasattr(value, "__index__") and not hasattr(value, "tolist")):
            return _integer(operator.index(value))
        if isinstance(value, float):
            return _real(float.__float__(value))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
            return self.encode(fields, depth)
        if isinstance(value, dict):
            return self._mapping(value, depth)
        if isinstance(value, (list, tuple)):
            return [self.encode(item, depth + 1) for item in value]
        return self._library_value(value, depth)

    def _mapping(self, value: dict[object, object], depth: int) -> Json:
        items = list(dict.items(value))
        if all(isinstance(key, str) and not str.startswith(key, "$") for key, _ in items):
            return {str.__str__(key)[:MAX_TEXT]: self.encode(item, depth + 1) for key, item in items}
        return {"$dict": [[self.encode(key, depth + 1), self.encode(item, depth + 1)] for key, item in items]}

    def _library_value(self, value: object, depth: int) -> Json:
        """Encode numbers and arrays of libraries that need not be installed: NumPy, decimal, fractions."""
        tolist = getattr(value, "tolist", None)
        if callable(tolist):
            plain = tolist()
            if type(plain) in (bool, int, float, str, list):
                return self.encode(plain, depth)
        if isinstance(value, numbers.Number) and hasattr(value, "__float__"):
            whole = value == int(value) if math.isfinite(float(value)) else False  # type: ignore[call-overload]
            return _integer(int(value)) if whole else _real(float(value))  # type: ignore[call-overload]
        name = type(value).__name__
        return {"$other": f"a value of type {name[:60]}"}


def _integer(value: int) -> Json:
    if value.bit_length() > MAX_INTEGER_BITS:
        return {"$other": f"an integer of {value.bit_length()} bits"}
    return value


def _real(value: float) -> Json:
    return value if math.isfinite(value) else {"$float": repr(value)}


def _as_it_is(value: bool | None) -> Json:
    return value


_PLAIN: dict[type, Callable[[Any], Json]] = {
    type(None): _as_it_is, bool: _as_it_is, int: _integer, float: _real,
}  # fmt: skip
