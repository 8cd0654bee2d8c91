"""A notebook's functions as an explorer calls them: looked up by name, within a time a redraw, and never trusted.

What a function did wrong is noted beside its name, and the drawing goes on without its value. Where the reference is
installed, its value stands in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..checks.card import show_value
from ..checks.examples import raised_text, says_unwritten
from ..checks.time_limit import TimeLimit, still_running
from ..observe import Call, observe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")
U = TypeVar("U")
SECONDS_A_REDRAW = 1.0  # of all functions together
_COPIED = (dict, list, tuple)


@dataclass(frozen=True)
class Problem:
    """Why a function of the notebook has no value to draw; `unwritten` where it only waits to be written."""

    text: str
    unwritten: bool = False


class _UnusableError(Exception):
    """A function has no value to draw, and why."""

    def __init__(self, text: str, *, unwritten: bool = False) -> None:
        super().__init__(text)
        self.problem = Problem(text, unwritten)


class WrongFormError(Exception):
    """A value cannot be drawn; `expected` says what can."""

    def __init__(self, value: Any, expected: str) -> None:
        super().__init__(f"expected is {expected}")
        self.value = value
        self.expected = expected


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What a function of the notebook and the reference said to one call, each None where it said nothing usable.

    The reference says nothing where it was not asked: the notebook's value is there, and nobody compares.
    """

    mine: T | None
    reference: T | None
    given: bool = False  # a value of a control, which no function computes

    @property
    def value(self) -> T | None:
        """The notebook's value, or the reference's where there is none."""
        return self.reference if self.mine is None else self.mine

    @property
    def whose(self) -> str:
        """Whose value it is: `yours`, `the reference` or `given`."""
        if self.given:
            return "given"
        return "the reference" if self.mine is None else "yours"

    def to(self, change: Callable[[T], U]) -> Answer[U]:
        """Return the answer with both values changed."""
        mine, reference = (None if one is None else change(one) for one in (self.mine, self.reference))
        return Answer(mine, reference, self.given)


@dataclass(frozen=True)
class Functions:
    """The functions of a topic: those of the notebook, and those of the reference where it is installed."""

    names: tuple[str, ...]
    notebook: Mapping[str, Any]
    reference: Mapping[str, Callable[..., Any]]
    seconds: float = SECONDS_A_REDRAW
    hung: dict[str, Any] = field(default_factory=dict)  # by name, the function that took too long

    def redraw(self, *, overlay: bool = False) -> Redraw:
        """Return the calls of one redraw, a context; with `overlay`, the reference is shown beside the notebook."""
        return Redraw(self, overlay=overlay and bool(self.reference))


class Redraw:
    """The calls of one redraw, which share a time that begins with its context.

    By function, `facts` hold what its value means (`tell`), and `problems` what went wrong. `differing` are those whose
    value means something else than the reference's.
    """

    def __init__(self, functions: Functions, *, overlay: bool) -> None:
        self._functions = functions
        self.overlay = overlay
        self._limit = TimeLimit(functions.seconds)
        self.problems: dict[str, Problem] = {}
        self.facts: dict[str, str] = {}
        self.differing: set[str] = set()

    def __enter__(self) -> Redraw:
        self._limit.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._limit.__exit__(*raised)

    def call(self, name: str, read: Callable[[Any], T], *args: Any, **kwargs: Any) -> Answer[T]:
        """Return what the notebook's function of that name says to a call, and the reference where that is needed.

        It is where the notebook's says nothing usable, and where the two are compared. `read` makes of a value what the
        drawing needs; its `WrongFormError` says what was expected instead. The notebook's gets arguments of its own, so
        that one that changes them changes nothing else.
        """
        mine = self._mine(name, read, Call(_fresh(args), _fresh(kwargs)))
        return Answer(mine, self._theirs(name, read, Call(args, kwargs)) if self.overlay or mine is None else None)

    def tell(self, name: str, answer: Answer[T], text: Callable[[T], str]) -> None:
        """Note what a function's value means, and what the reference says where the two are compared."""
        if answer.value is None:
            return
        self.facts[name] = text(answer.value)
        if self.overlay and answer.mine is not None and answer.reference is not None:
            theirs = text(answer.reference)
            if theirs == text(answer.mine):
                self.facts[name] += "; the reference agrees"
            else:
                self.facts[name] += f"; the reference: {theirs}"
                self.differing.add(name)

    def _theirs(self, name: str, read: Callable[[Any], T], call: Call) -> T | None:
        """Return what the reference says: nothing, where another function's value leads it beyond all sense."""
        reference = self._functions.reference.get(name)
        if reference is None:
            return None
        try:
            return read(observe(reference, call).value)
        except WrongFormError:
            return None

    def _mine(self, name: str, read: Callable[[Any], T], call: Call) -> T | None:
        """Return what the notebook's function says; its problem is told once, and it is called no more this time."""
        if name in self.problems:
            return None
        try:
            return read(self._said(name, call))
        except _UnusableError as unusable:
            self.problems[name] = unusable.problem
        except WrongFormError as wrong:
            self.problems[name] = Problem(f"returns {show_value(wrong.value)}; expected is {wrong.expected}")
        return None

    def _said(self, name: str, call: Call) -> Any:
        """Return what the notebook's function returns, or raise `_UnusableError` that says why there is nothing."""
        notebook, hung = self._functions.notebook, self._functions.hung
        if name not in notebook:
            raise _UnusableError("is not there yet: run its cell", unwritten=True)
        function = notebook[name]
        if not callable(function):
            raise _UnusableError(f"is not a function: the name stands for {show_value(function)}")
        if hung.get(name) is function:
            raise _UnusableError("ran too long, and is not called again until its cell is run anew")
        if self._limit.left <= 0:
            raise _UnusableError("is not called: the others took all the time of this redraw")
        observation = self._limit.run(partial(observe, function, call))
        if still_running(observation):
            hung[name] = function
            raise _UnusableError(f"is still running after {self._functions.seconds:g} s: stopped")
        if says_unwritten(observation):
            raise _UnusableError("is not written yet", unwritten=True)
        if observation.raised is not None:
            raise _UnusableError(f"raises {raised_text(observation)}")
        return observation.value


def _fresh(value: Any) -> Any:
    """Return a copy of lists and dictionaries, however deep, and anything else as it is."""
    kind = type(value)
    if kind is dict:
        return {key: _fresh(item) if type(item) in _COPIED else item for key, item in value.items()}
    return kind(_fresh(item) if type(item) in _COPIED else item for item in value) if kind in _COPIED else value
