"""What a task is: the one place where a graded item is defined.

From a task come the instant checks that students get (its public examples), the hidden cases that it is graded on
(drawn from the course seed, in criteria), the points in the notebook, and the hints. There are four kinds: a function
to write, a variant problem with each student's own numbers, statements to sort into classes, and a function that makes
choices, which are worth what a simulation makes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rlinfra.checks.compare import Accept, Fields, Integer, Text
from rlinfra.draws import Draws
from rlinfra.observe import Call, Drill, Observation, observe


@dataclass(frozen=True)
class Case:
    """One call; with `names`, a senseless one that must raise a `ValueError` naming that argument."""

    call: Call
    names: str | None = None


def case(*args: object, **kwargs: object) -> Case:
    """Return a case with these arguments."""
    return Case(Call(args, kwargs))


def refused(names: str, *args: object, **kwargs: object) -> Case:
    """Return a case that must raise a `ValueError` naming the argument `names`."""
    return Case(Call(args, kwargs), names)


@dataclass(frozen=True)
class Criterion:
    """A named group of hidden cases, worth its points only if every case is right.

    With `needs`, it counts only where the criterion of that name is met too: so that a constant, or a function that
    always raises, earns nothing.
    """

    name: str
    title: str
    points: float
    draw: Callable[[Draws], list[Case]]
    needs: str | None = None


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class FunctionTask:
    """A function to write.

    `answer` turns the reference's result into the form that the notebook asks for. A misconception is a wrong
    function: its name names the mistake and its docstring is the hint for a student who made it. A correct variant is
    a right function written in another way. Both are self-contained, so that the synthetic class can submit them.
    `equivalent_mutants` maps the description of a mutant of the reference to the reason why no case can kill it.

    With `drill`, several functions are judged together, in two processes. A case then has two positional arguments,
    one for each process, and the reference gets both. A misconception or a correct variant is a function without
    arguments that returns the drill's functions.
    """

    kind: ClassVar[str] = "function"
    name: str
    reference: Callable[..., Any]
    accept: Accept
    examples: tuple[Case, ...]
    criteria: tuple[Criterion, ...]
    misconceptions: tuple[Callable[..., Any], ...]
    correct: tuple[Callable[..., Any], ...]
    answer: Callable[[Any], Any] = _same
    equivalent_mutants: Mapping[str, str] = field(default_factory=dict)
    drill: Drill | None = None

    @property
    def points(self) -> float:
        """The sum of the criteria's points."""
        return sum(criterion.points for criterion in self.criteria)

    def attempt(self, attempt: Callable[..., Any], call: Call) -> Observation:
        """Return what an attempt of ours (a misconception, a correct variant) does in a call, in this process."""
        fresh = Call.from_data(call.to_data())
        if self.drill is None:
            return observe(attempt, fresh)
        return self.drill.observe(dict(zip(self.drill.functions, attempt(), strict=True)), fresh)

    def hidden_cases(self, seed: str) -> list[tuple[Criterion, Case]]:
        """Return the hidden cases of every criterion, drawn from the course seed."""
        return [
            (criterion, drawn)
            for criterion in self.criteria
            for drawn in criterion.draw(Draws("hidden", seed, self.name, criterion.name))
        ]


@dataclass(frozen=True)
class VariantField:
    """One number of a variant's answer: its unit, its points, and a range that covers the answers of all ids."""

    unit: str
    accept: Accept
    points: float
    low: float
    high: float


@dataclass(frozen=True)
class VariantTask:
    """A problem whose numbers are drawn from the student's id; `answer` computes the fields from those numbers."""

    kind: ClassVar[str] = "variant"
    topic: str
    name: str
    answer: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    fields: Mapping[str, VariantField]

    @property
    def points(self) -> float:
        """The sum of the fields' points."""
        return sum(part.points for part in self.fields.values())

    @property
    def accept(self) -> Accept:
        """A dictionary with each field in its form."""
        return Fields({name: part.accept for name, part in self.fields.items()})


@dataclass(frozen=True)
class SortingGroup:
    """Statements that earn their points together, all or nothing; `classes` maps a statement's key to its class."""

    title: str
    points: float
    classes: Mapping[str, str]


@dataclass(frozen=True)
class SortingTask:
    """Statements to sort into classes, in groups."""

    kind: ClassVar[str] = "sorting"
    name: str
    classes: tuple[str, ...]
    groups: tuple[SortingGroup, ...]

    @property
    def points(self) -> float:
        """The sum of the groups' points."""
        return sum(group.points for group in self.groups)

    @property
    def key(self) -> dict[str, str]:
        """The right class of every statement."""
        return {statement: name for group in self.groups for statement, name in group.classes.items()}

    @property
    def accept(self) -> Accept:
        """A dictionary that gives each statement one of the classes."""
        return Fields(dict.fromkeys(self.key, Text(self.classes)))


@dataclass(frozen=True)
class ChoiceWorkload:
    """A hidden workload: its title, its points, and the fields that are drawn for it."""

    name: str
    title: str
    points: float
    draw: Callable[[Draws], dict[str, Any]]


@dataclass(frozen=True)
class ChoiceMistake:
    """A wrong way to choose, whose docstring is its hint, and how to tell that a student went it too.

    `shows` gets a workload, the choice made for it and the row of figures that came of it.
    """

    attempt: Callable[[Mapping[str, Any]], object]
    shows: Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, float]], bool]


@dataclass(frozen=True)
class ChoiceTask:
    """A function that makes a choice for a workload; each choice is worth what a simulation makes of it.

    `bench` is a module of `rlinfra.given` with `require_choice(choice)`, `simulate_choice(workload, choice)`, which
    returns a row with `rate` among its names in `ROW`, `broken_bounds(workload, row)` and `shown_bounds`; `engine` are
    the modules and packages that a row depends on besides. The points of a workload rise from 0 at the rate of the
    choice `default` to all of them a little below the best rate known, and a broken bound gives 0. `space` has the
    values of each setting, in order, among which the best choice is searched. `examples` are the public workloads.
    Attempts are as those of a `FunctionTask`.
    """

    kind: ClassVar[str] = "choice"
    name: str
    bench: str
    engine: tuple[str, ...]
    rate: str
    reference: Callable[[Mapping[str, Any]], dict[str, Any]]
    default: Mapping[str, Any]
    space: Mapping[str, tuple[Any, ...]]
    examples: Mapping[str, Mapping[str, Any]]
    workloads: tuple[ChoiceWorkload, ...]
    mistakes: tuple[ChoiceMistake, ...]
    correct: tuple[Callable[[Mapping[str, Any]], object], ...]

    @property
    def points(self) -> float:
        """The sum of the workloads' points."""
        return sum(workload.points for workload in self.workloads)

    @property
    def accept(self) -> Accept:
        """A dictionary with each setting in its form."""
        return Fields(
            {
                name: Text(values) if all(isinstance(value, str) for value in values) else Integer()
                for name, values in self.space.items()
            }
        )

    @property
    def bench_module(self) -> str:
        """The full name of the bench."""
        return f"rlinfra.given.{self.bench}"

    @property
    def misconceptions(self) -> tuple[Callable[..., Any], ...]:
        """The wrong ways to choose."""
        return tuple(mistake.attempt for mistake in self.mistakes)

    def hidden_workloads(self, seed: str) -> tuple[dict[str, Any], ...]:
        """Return the hidden workloads, drawn from the course seed."""
        return tuple(workload.draw(Draws("hidden", seed, self.name, workload.name)) for workload in self.workloads)


Task = FunctionTask | VariantTask | SortingTask | ChoiceTask
