"""Frozen dataclasses to plain JSON data and back, strictly: what does not fit is an error that names the place."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def encoded(value: Any) -> Any:
    """Return a dataclass, tuple, dict, number or text as JSON data; raises `TypeError` for anything else."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encoded(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [encoded(item) for item in value]
    if isinstance(value, dict):
        return {str(name): encoded(item) for name, item in value.items()}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"a report holds no {type(value).__name__}")


def decoded(kind: type[T], data: Any, where: str) -> T:
    """Return the dataclass of this kind from JSON data; raises `ValueError` that names the place."""
    _require(isinstance(data, dict), where, "an object", data)
    hints = get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    for name in data:
        if name not in names:
            raise ValueError(f"{where} has an unknown field {name!r}; it has {', '.join(names)}")
    for name in names:
        if name not in data:
            raise ValueError(f"{where} lacks the field {name!r}")
    return kind(**{name: _value(hints[name], data[name], f"{where}.{name}") for name in names})


def _value(hint: Any, data: Any, where: str) -> Any:
    """Return one value of a type: a dataclass, `tuple[X, ...]`, `dict[str, str]`, `X | None`, or a plain one."""
    if dataclasses.is_dataclass(hint):
        return decoded(typing.cast("type[Any]", hint), data, where)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        _require(isinstance(data, list), where, "a list", data)
        return tuple(_value(arguments[0], item, f"{where}[{place}]") for place, item in enumerate(data))
    if origin is dict:
        _require(isinstance(data, dict), where, "an object", data)
        return {name: _value(arguments[1], item, f"{where}.{name}") for name, item in data.items()}
    if origin is types.UnionType:
        (inner,) = (argument for argument in arguments if argument is not type(None))
        return None if data is None else _value(inner, data, where)
    return _plain(hint, data, where)


def _plain(hint: type, data: Any, where: str) -> Any:
    is_bool = isinstance(data, bool)
    if hint is float:
        _require(isinstance(data, int | float) and not is_bool, where, "a number", data)
        _require(math.isfinite(data), where, "a finite number", data)
        return float(data)
    words = {int: "an integer", str: "a text", bool: "true or false"}
    _require(isinstance(data, hint) and (is_bool == (hint is bool)), where, words[hint], data)
    return data


def _require(holds: bool, where: str, what: str, data: Any) -> None:
    if not holds:
        raise ValueError(f"{where} must be {what}, not {str(data)[:60]!r}")
