"""What an explorer is made of, as plain data: its controls, its presets, and what it shows for one setting of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ._functions import Redraw

    Values = Mapping[str, Any]

MOST_VISIBLE = 6  # controls at a time; the rest is folded


@dataclass(frozen=True)
class Control:
    """One control: a row of choices, each a text with its unit and a value.

    `why` says in a sentence what a change of it does. With `listed`, it is a list and no slider, where its choices have
    no order. It is shown while the picture depends on it, and folded away where many before it are.
    """

    name: str
    label: str
    choices: tuple[tuple[str, Any], ...]
    start: Any
    why: str
    listed: bool = False

    def __post_init__(self) -> None:
        if self.start not in self.values:
            raise ValueError(f"the control {self.name!r} starts at {self.start!r}, which is none of its choices")

    @property
    def values(self) -> list[Any]:
        """The values that it can have, in order."""
        return [value for _, value in self.choices]

    def text(self, value: Any) -> str:
        """Return a value as it is shown, with its unit."""
        return self.choices[self.values.index(value)][0]


@dataclass(frozen=True)
class Preset:
    """A setting of all controls, named by the question that it answers; what it leaves out is as at the start."""

    question: str
    values: Mapping[str, Any]
    answer: str


@dataclass(frozen=True)
class Picture:
    """What an explorer shows for one setting: a chart, and what each function said.

    `title` is a sentence with the current number; `details` are the other numbers. `facts` hold what a function's
    value means, by its name.
    """

    spec: Mapping[str, Any]
    data: Mapping[str, Sequence[Mapping[str, Any]]]
    title: str
    details: str
    facts: Mapping[str, str] = field(default_factory=dict)


class Asked(Mapping[str, Any]):
    """The values of controls, and the names of those that were asked for: no other can have changed a picture."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass(frozen=True)
class Explored:
    """An explorer of a topic: the functions that it calls, its controls and presets, and how it draws.

    `reference_names` hold, by the notebook's function, the reference's of the same form where its name is another.
    """

    topic: str
    functions: tuple[str, ...]
    controls: tuple[Control, ...]
    presets: tuple[Preset, ...]
    draw: Callable[[Values, Redraw], Picture]
    reference_names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for preset in self.presets:
            self.setting(preset.values)

    def control(self, name: str) -> Control:
        """Return the control of that name; raise `LookupError` that lists those there are."""
        for control in self.controls:
            if control.name == name:
                return control
        known = ", ".join(control.name for control in self.controls)
        raise LookupError(f"the explorer of {self.topic} has no control {name!r}; it has {known}")

    def setting(self, values: Values) -> dict[str, Any]:
        """Return a value for each control: the given one, or that of the start.

        Raises `LookupError` for a control that is not there, `ValueError` for a value that it cannot have.
        """
        for name, value in values.items():
            if value not in self.control(name).values:
                texts = ", ".join(text for text, _ in self.control(name).choices)
                raise ValueError(f"{name} cannot be {value!r}; its choices are {texts}")
        return {control.name: values.get(control.name, control.start) for control in self.controls}
