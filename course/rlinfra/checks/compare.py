"""What a task accepts, and where a value differs from the expected one.

The judge and the instant checks compare with this one module, so a value that passes at the student's desk is
compared in the same way when it is graded. A specification is plain data (`to_data`, `from_data`), since it travels
with the check data that students get.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from ..wire import Other


@dataclass(frozen=True)
class Difference:
    """Where a value differs (`where` is "" for the value itself) and how, in words without any expected value.

    `got` describes the value itself. It is kept apart, since of a hidden case nothing that came back may be shown.
    """

    where: str
    problem: str
    got: str = ""

    def __str__(self) -> str:
        text = f"{self.problem}, this is {self.got}" if self.got else self.problem
        return f"{self.where}: {text}" if self.where else text


class Accept(Protocol):
    """A specification of the values that a task accepts as equal to the expected one."""

    kind: ClassVar[str]

    def differs(self, got: object, expected: object, where: str = "") -> Difference | None:
        """Return the first difference, or None where the value is right."""

    def form_problem(self, got: object, where: str = "") -> Difference | None:
        """Return what is wrong with the value's form alone, or None."""

    def to_data(self) -> dict[str, Any]:
        """Return the specification as JSON data."""


def describe(value: object) -> str:
    """Return what kind of thing a value is, for a sentence: `text`, `nothing (None)`, `a list of 3`."""
    match value:
        case None:
            return "nothing (None)"
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case Mapping():
            return "a dictionary"
        case list() | tuple():
            return f"a list of {len(value)}"
        case Other():
            return value.description
    return f"a value of type {type(value).__name__}"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True)
class Integer:
    """A count: an exact integer; an integral float of the same value is accepted."""

    kind: ClassVar[str] = "integer"

    def form_problem(self, got: object, where: str = "") -> Difference | None:
        """Want a number; NaN and infinity are no counts."""
        if not _is_number(got):
            return Difference(where, "a number is wanted", describe(got))
        if isinstance(got, float) and not math.isfinite(got):
            return Difference(where, "a finite number is wanted", repr(got))
        return None

    def differs(self, got: object, expected: object, where: str = "") -> Difference | None:
        """Equal or not: counts have no tolerance."""
        return self.form_problem(got, where) or (None if got == expected else Difference(where, "another number"))

    def to_data(self) -> dict[str, Any]:
        """Return the specification as JSON data."""
        return {"kind": self.kind}


@dataclass(frozen=True)
class Number:
    """A quantity: equal up to rounding, `|got - expected| <= max(relative * max(|got|, |expected|), absolute)`."""

    relative: float = 1e-9
    absolute: float = 1e-12
    kind: ClassVar[str] = "number"

    def form_problem(self, got: object, where: str = "") -> Difference | None:
        """Want a number; whether it is finite is a matter of its value."""
        return None if _is_number(got) else Difference(where, "a number is wanted", describe(got))

    def differs(self, got: object, expected: object, where: str = "") -> Difference | None:
        """Close or not; infinities are equal to themselves, NaN to NaN."""
        if problem := self.form_problem(got, where):
            return problem
        assert isinstance(got, (int, float))
        assert isinstance(expected, (int, float))
        if math.isnan(expected) or math.isnan(got):
            same = math.isnan(expected) and math.isnan(got)
        else:
            same = math.isclose(got, expected, rel_tol=self.relative, abs_tol=self.absolute)
        return None if same else Difference(where, "another number")

    def to_data(self) -> dict[str, Any]:
        """Return the specification as JSON data."""
        return {"kind": self.kind, "relative": self.relative, "absolute": self.absolute}


@dataclass(frozen=True)
class Text:
    """A word or a name, compared letter by letter; with `among`, one of those words."""

    among: tuple[str, ...] = ()
    kind: ClassVar[str] = "text"

    def form_problem(self, got: object, where: str = "") -> Difference | None:
        """Want text, and one of the words where they are listed."""
        if not isinstance(got, str):
            return Difference(where, "text is wanted", describe(got))
        if self.among and got not in self.among:
            return Difference(where, "one of these is wanted: " + ", ".join(f'"{word}"' for word in self.among))
        return None

    def differs(self, got: object, expected: object, where: str = "") -> Difference | None:
        """Equal or not."""
        return self.form_problem(got, where) or (None if got == expected else Difference(where, "another text"))

    def to_data(self) -> dict[str, Any]:
        """Return the specification as JSON data."""
        return {"kind": self.kind, "among": list(self.among)}


@dataclass(frozen=True)
class Flag:
    """Yes or no: True and 1 are the same, and so are False and 0."""

    kind: ClassVar[str] = "flag"

    def form_problem(self, got: object, where: str = "") -> Difference | None:
        """Want True or False, or 1 or 0."""
        if isinstance(got, (bool, int, float)) and got in (0, 1):
            return None
        return Difference(where, "True or False (or 1 or 0) is wanted", describe(got))

    def differs(self, got: object, expected: object, where: str = "") -> Difference | None:
        """Equal or not."""
        return self.form_problem(got, where) or (None if got == expected else Difference(where, "the other of the two"))

    def to_data(self) -> dict[str, Any]:
        """Return the specification as JSON data."""
        return {"kind": self.kind}


@dataclass(frozen=True)
class FaultyFields:
    """A list of `"field: problem"`: only the fields count, each once, in any order; what is said of them does not."""

    kind: ClassVar[str] = "faulty fields"

    def form_problem(self, got: object, where: str = "") -> Difference | None:
        """Want a list of text."""
        return ListOf(Text()).form_problem(got, where)

    def differs(self, got: object, expected: object, where: str = "") -> Difference | None:
        """Equal or not, as sorted lists of the words before the colons."""
        if problem := self.form_problem(got, where):
            return problem
        return None if _before_colons(got) == _before_colons(expected) else Difference(where, "other fields are named")

    def to_data(self) -> dict[str, Any]:
        """Return the specification as JSON data."""
        return {"kind": self.kind}


def _before_colons(texts: object) -> list[str]:
    assert isinstance(texts, Sequence)
    return sorted(str(text).partition(":")[0].strip() for text in texts)


@dataclass(frozen=True)
class Fields:
    """A dictionary (or a dataclass) that holds at least these named fields."""

    fields: Mapping[str, Accept]
    kind: ClassVar[str] = "fields"

    def form_problem(self, got: object, where: str = "") -> Difference | None:
        """Want a dictionary, with each field in its form."""
        if not isinstance(got, Mapping):
            return Difference(where, "a dictionary is wanted", describe(got))
        for name, accept in self.fields.items():
            if name not in got:
                return Difference(where, f'the key "{name}" is missing')
            if problem := accept.form_problem(got[name], _inside(where, name)):
                return problem
        return None

    def differs(self, got: object, expected: object, where: str = "") -> Difference | None:
        """Return the first field that differs."""
        if problem := self.form_problem(got, where):
            return problem
        assert isinstance(got, Mapping)
        assert isinstance(expected, Mapping)
        for name, accept in self.fields.items():
            if problem := accept.differs(got[name], expected[name], _inside(where, name)):
                return problem
        return None

    def to_data(self) -> dict[str, Any]:
        """Return the specification as JSON data."""
        return {"kind": self.kind, "fields": {name: accept.to_data() for name, accept in self.fields.items()}}


@dataclass(frozen=True)
class Items:
    """A tuple (or a list) of a fixed length, each place with its own form."""

    items: tuple[Accept, ...]
    kind: ClassVar[str] = "items"

    def form_problem(self, got: object, where: str = "") -> Difference | None:
        """Want a tuple of the right length, with each place in its form."""
        if not isinstance(got, Sequence) or isinstance(got, str) or len(got) != len(self.items):
            return Difference(where, f"a tuple of {len(self.items)} is wanted", describe(got))
        for place, (accept, item) in enumerate(zip(self.items, got, strict=True)):
            if problem := accept.form_problem(item, _inside(where, place)):
                return problem
        return None

    def differs(self, got: object, expected: object, where: str = "") -> Difference | None:
        """Return the first place that differs."""
        if problem := self.form_problem(got, where):
            return problem
        assert isinstance(got, Sequence)
        assert isinstance(expected, Sequence)
        for place, (accept, item, wanted) in enumerate(zip(self.items, got, expected, strict=True)):
            if problem := accept.differs(item, wanted, _inside(where, place)):
                return problem
        return None

    def to_data(self) -> dict[str, Any]:
        """Return the specification as JSON data."""
        return {"kind": self.kind, "items": [accept.to_data() for accept in self.items]}


@dataclass(frozen=True)
class ListOf:
    """A list (or a tuple, or an array) of any length, all items of one form."""

    item: Accept
    kind: ClassVar[str] = "list"

    def form_problem(self, got: object, where: str = "") -> Difference | None:
        """Want a list, with each item in its form."""
        if not isinstance(got, Sequence) or isinstance(got, str):
            return Difference(where, "a list is wanted", describe(got))
        problems = (self.item.form_problem(item, _inside(where, place)) for place, item in enumerate(got))
        return next((problem for problem in problems if problem), None)

    def differs(self, got: object, expected: object, where: str = "") -> Difference | None:
        """Return whether the lengths differ, else the first item that does."""
        if problem := self.form_problem(got, where):
            return problem
        assert isinstance(got, Sequence)
        assert isinstance(expected, Sequence)
        if len(got) != len(expected):
            return Difference(where, "a list of another length")
        problems = (
            self.item.differs(item, wanted, _inside(where, place))
            for place, (item, wanted) in enumerate(zip(got, expected, strict=True))
        )
        return next((problem for problem in problems if problem), None)

    def to_data(self) -> dict[str, Any]:
        """Return the specification as JSON data."""
        return {"kind": self.kind, "item": self.item.to_data()}


def _inside(where: str, name: str | int) -> str:
    return f"{where}[{name!r}]"


def same(accept: Accept, got: object, other: object) -> bool:
    """Return whether two values, neither of which need be well formed, are the same to a task."""
    return accept.form_problem(other) is None and accept.differs(got, other) is None


def names_argument(message: str, argument: str) -> bool:
    """Return whether an error message names an argument, as a whole word: `ranks` is not named by `num_ranks`."""
    return re.search(rf"\b{re.escape(argument)}\b", message) is not None


def from_data(data: Mapping[str, Any]) -> Accept:
    """Return the specification that `to_data` wrote."""
    match data["kind"]:
        case "integer":
            return Integer()
        case "number":
            return Number(data["relative"], data["absolute"])
        case "text":
            return Text(tuple(data["among"]))
        case "flag":
            return Flag()
        case "faulty fields":
            return FaultyFields()
        case "fields":
            return Fields({name: from_data(item) for name, item in data["fields"].items()})
        case "items":
            return Items(tuple(from_data(item) for item in data["items"]))
        case "list":
            return ListOf(from_data(data["item"]))
    raise ValueError(f"unknown kind of specification: {data['kind']!r}")
