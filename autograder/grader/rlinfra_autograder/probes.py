"""What a probe asks at a check's place, and what came back. Whatever came back is not trusted: it is parsed here.

A probe of a function asks for calls; a probe of an answer reads its variable and the id that the notebook states.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rlinfra.checks import examples
from rlinfra.observe import Call, Observation, Raised
from rlinfra.wire import MAX_DEPTH, MAX_INTEGER_BITS, Other, decode

if TYPE_CHECKING:
    from collections.abc import Iterable

MISSING, NOT_CALLABLE, NOT_REACHED, OBSERVED = "missing", "not callable", "not reached", "observed"


@dataclass(frozen=True)
class Request:
    """What to observe at the check of one task: calls of the function of that name, or the values of variables."""

    name: str
    calls: tuple[Call, ...] = ()
    read: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.calls) + len(self.read)

    def message(self, places: Iterable[int], *, one_by_one: bool = False) -> dict[str, object]:
        """Return what to send to the child for the observations at these places, and how they are to be answered."""
        return {"asked": [self._asked[place] for place in places], "one by one": one_by_one}

    @cached_property
    def _asked(self) -> tuple[dict[str, object], ...]:
        reads: list[dict[str, object]] = [{"read": name} for name in self.read]
        calls: list[dict[str, object]] = [{"call": call.to_data()} for call in self.calls]
        return (*reads, *calls)


@dataclass(frozen=True)
class Fault:
    """Why there is no observation: `time` (the limit), `died` (the process ended), `skipped` (after several faults)."""

    kind: str


Outcome = Observation | Fault
CALL_FAULTS = {"time": "stopped at the time limit", "died": "ended the Python process"}


@dataclass(frozen=True)
class Probed:
    """What a check saw at its place in the notebook: a status, and an outcome for each thing asked for."""

    status: str
    outcomes: tuple[Outcome, ...] = ()


def parse_observation(data: Any, most_lines: int = 10_000) -> Observation:
    """Return the observation that JSON from the student's process stands for; `ValueError` where it is none.

    The line of an exception is one of `most_lines`, which the longest cell has: a larger one would be a message.
    Names that were chosen in that process do not get through: an exception is known by a built-in name, an object
    without a plain form is "an object".
    """
    _refuse_unbounded(data)
    match data:
        case {"value": value, **rest} if not rest:
            return Observation(value=_anonymous(decode(value)))
        case {"raised": {"exception": str(name), "own": bool(own), "message": str(message), "line": line}, **rest} if (
            not rest
        ):
            kind = getattr(builtins, name, None)
            if not (isinstance(kind, type) and issubclass(kind, BaseException)):
                name, own = "Exception", True
            place = line if type(line) is int and 0 < line <= most_lines else None
            return Observation(raised=Raised(name, own, message[:500], place))
    raise ValueError("not an observation")


def _refuse_unbounded(data: Any) -> None:
    """Raise `ValueError` for what no honest child sends: deeper or larger than the wire allows."""
    level, depth = [data], 0
    while level:
        depth += 1
        if depth > 2 * MAX_DEPTH + 4:  # a dictionary with other than text keys takes two levels
            raise ValueError("nested too deeply")
        if any(type(item) is int and item.bit_length() > MAX_INTEGER_BITS for item in level):
            raise ValueError("an integer of too many bits")
        nested = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, (dict, list))]
        level = [child for children in nested for child in children]


def _anonymous(value: object) -> object:
    if isinstance(value, Other):
        return Other("an object")
    if isinstance(value, list):
        return [_anonymous(item) for item in value]
    if isinstance(value, dict):
        return {_anonymous(key): _anonymous(item) for key, item in value.items()}
    return value


def failure_text(outcome: Outcome) -> str:
    """Return what may be said of a call that returned nothing: the kind of fault, or an exception's name and line."""
    if isinstance(outcome, Fault):
        return CALL_FAULTS.get(outcome.kind, "not run, after the faults before it")
    raised = outcome.raised
    if raised is None:
        return ""
    kind = f"an exception of its own (a {raised.exception})" if raised.own else raised.exception
    return f"raises {kind}" + (f" in line {raised.line} of the cell" if raised.line else "")


def says_unwritten(outcome: Outcome) -> bool:
    """Return whether a function is as it was handed out: it raises NotImplementedError, or returns nothing."""
    return isinstance(outcome, Observation) and examples.says_unwritten(outcome)
