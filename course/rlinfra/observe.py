"""Calling a student's function and noting what it did: the in-kernel half of every check and every grade.

An observation is what one call did: returned a value or raised. It says nothing of right or wrong. In the student's
own kernel the checks compare observations with the public examples; in the grader's child a probe sends them to the
parent, which alone knows what is expected.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import linecache
import traceback
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from .wire import Json, decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

MAX_PRINTED = 2_000


@dataclass(frozen=True)
class Call:
    """The arguments of one call, as plain values.

    With `driver`, it is not the student's function itself that is called: a function of `rlinfra.given` of that name
    (such as `checkpoints.run_and_snapshot`) gets the notebook's variables and the arguments, and calls what it needs.
    """

    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)
    driver: str = ""

    def to_data(self) -> dict[str, Json]:
        """Return the call as JSON data."""
        data: dict[str, Json] = {
            "args": [encode(value) for value in self.args],
            "kwargs": {name: encode(value) for name, value in self.kwargs.items()},
        }
        return {**data, "driver": self.driver} if self.driver else data

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Call:
        """Return the call that `to_data` wrote; every call gets fresh argument objects."""
        return cls(
            tuple(decode(value) for value in data["args"]),
            {name: decode(value) for name, value in data["kwargs"].items()},
            data.get("driver", ""),
        )

    def function(self, name: str, namespace: Mapping[str, object]) -> Callable[..., object]:
        """Return what to call: the notebook's function of that name, or the driver with the notebook's variables."""
        if not self.driver:
            return namespace[name]  # type: ignore[return-value]
        module, _, driver = self.driver.partition(".")
        return partial(getattr(import_module(f"rlinfra.given.{module}"), driver), namespace)


@dataclass(frozen=True)
class Raised:
    """An exception that left the function.

    `exception` is the name of a built-in exception; an exception class of the student's own is known by the built-in
    that it derives from (`own` is then true), so that no name chosen at run time goes anywhere. `line` counts from 1
    in the cell that defines the function.
    """

    exception: str
    own: bool = False
    message: str = ""
    line: int | None = None


@dataclass(frozen=True)
class Observation:
    """What one call did: exactly one of a returned value (`raised` is None) and an exception."""

    value: object = None
    raised: Raised | None = None
    source_line: str = ""
    printed: str = ""

    def to_data(self) -> dict[str, Json]:
        """Return as JSON data what the grader needs: neither what was printed nor the source line."""
        if self.raised is None:
            return {"value": encode(self.value)}
        raised = self.raised
        return {
            "raised": {
                "exception": raised.exception,
                "own": raised.own,
                "message": raised.message,
                "line": raised.line,
            }
        }


class Probe(Protocol):
    """What a check does instead of running public examples while a notebook is being judged."""

    def __call__(self, name: str, namespace: Mapping[str, object]) -> None:
        """Observe the name's value or calls of it, and send the observations away."""


def observe(function: Callable[..., object], call: Call) -> Observation:
    """Call the function and return what it did; only an interrupt by the user gets through.

    The value is passed through the wire format, so that it is compared here in the form it has for the grader.
    """
    printed = _Printed()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            value = decode(encode(function(*call.args, **call.kwargs)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            line, source_line = _where(error)
            raised = Raised(*_builtin_name(error), message=_message(error), line=line)
            return Observation(raised=raised, source_line=source_line, printed=printed.getvalue())
    return Observation(value=value, printed=printed.getvalue())


@dataclass(frozen=True)
class Drill:
    """Two functions that are tried together, in two processes: what the first hands over is all that the second gets.

    `functions` are the names that the notebook must hold. `first` and `second` are drivers: the first is called with
    a call's first argument and returns what is handed over, the second with that and the call's second argument.
    """

    functions: tuple[str, ...]
    first: str
    second: str

    def first_call(self, call: Call) -> Call:
        """Return the call of the first process."""
        return Call((call.args[0],), driver=self.first)

    def second_call(self, call: Call, handed_over: object) -> Call:
        """Return the call of the second process."""
        return Call((handed_over, call.args[1]), driver=self.second)

    def observe(self, namespace: Mapping[str, object], call: Call) -> Observation:
        """Try both in this one process; what is handed over still passes through the wire format."""
        before = self.first_call(call)
        handed_over = observe(before.function("", namespace), before)
        if handed_over.raised is not None:
            return handed_over
        after = Call.from_data(self.second_call(call, handed_over.value).to_data())
        return observe(after.function("", namespace), after)


class _Printed(io.StringIO):
    """Keeps the first characters that a function prints and drops the rest; it cannot be closed."""

    def close(self) -> None:
        """Stay open: a function that closes its output is observed like any other."""

    def write(self, text: str, /) -> int:
        room = MAX_PRINTED - self.tell()
        if room > 0:
            super().write(str(text)[:room])
        return len(text)


def _builtin_name(error: BaseException) -> tuple[str, bool]:
    """Return the nearest built-in class of an exception, and whether the exception is of a class of its own."""
    bases: tuple[type, ...] = type.__dict__["__mro__"].__get__(type(error))  # what the class itself says may be a lie
    for kind in bases:
        if kind.__module__ == "builtins" and getattr(builtins, kind.__name__, None) is kind:
            return kind.__name__, kind is not type(error)
    return "BaseException", True


def _message(error: BaseException) -> str:
    try:
        return str(error)[:500]
    except BaseException:
        return ""


def _where(error: BaseException) -> tuple[int | None, str]:
    """Return the last line of a notebook's cell that the exception passed through, and its text.

    A cell's code is told by its variables: it runs in the main module. Code that was generated there (by a dataclass,
    say) has no file.
    """
    chain = BaseException.__dict__["__traceback__"].__get__(error)  # what the exception itself says may be a lie
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(chain) if in_notebook(frame)]
    if not frames:
        return None, ""
    file, line = frames[-1]
    return line, linecache.getline(file, line).strip()


def in_notebook(frame: FrameType) -> bool:
    """Return whether a frame is of the notebook's own code: a cell's, and not what was generated there."""
    return frame.f_globals.get("__name__") == "__main__" and frame.f_code.co_filename != "<string>"
