"""Each student's own story problem: numbers drawn from the id, the same on every machine.

Ids are compared without case and blanks, so that ` Ada-L ` and `ada-l` get the same numbers.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from .draws import Draws
from .topics import find_topic

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Variant:
    """A story with the numbers in it; `numbers` holds the same numbers by name."""

    story: str
    numbers: Mapping[str, int | float]

    def __getitem__(self, name: str) -> int | float:
        return self.numbers[name]

    def __repr__(self) -> str:
        table = "\n".join(f"  {name} = {value!r}" for name, value in self.numbers.items())
        return f"{self.story}\n\n{table}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'><code>{html.escape(name)}</code></td><td>{value!r}</td></tr>"
            for name, value in self.numbers.items()
        )
        return f"<p style='max-width:44em'>{html.escape(self.story)}</p><table>{rows}</table>"


class Story(Protocol):
    """What a topic's module in `rlinfra.given` holds for its variant problem."""

    def variant_story(self, draws: Draws) -> Variant:
        """Draw the numbers and tell the story."""


def normalised_id(student: object) -> str:
    """Return an id as it is compared: without case and blanks; raise `ValueError` where nothing is left."""
    text = "".join(str(student).split()).casefold() if isinstance(student, (str, int)) else ""
    if not text:
        raise ValueError(f'STUDENT must be your id, as text such as "ada-l", not {student!r}')
    return text


def variant(topic: str, student: object) -> Variant:
    """Return the student's own problem of a topic.

    Raises `LookupError` for a topic that is not there, `ValueError` for an empty id.
    """
    module: Story = import_module(f"rlinfra.given.{find_topic(topic).module}")
    return module.variant_story(Draws("variant", topic, normalised_id(student)))
