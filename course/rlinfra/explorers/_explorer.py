"""An explorer as an object: the setting of its controls, what it shows for it, and its text without widgets."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ._model import Asked

if TYPE_CHECKING:
    from ._functions import Functions, Problem
    from ._model import Explored, Picture, Values


class Explorer:
    """The explorer of one topic. In a notebook it shows itself; elsewhere its text says what it would show.

    Nothing is computed before it is shown: in a run that is only judged, nobody looks.
    """

    def __init__(self, topic: Explored, functions: Functions) -> None:
        self.topic = topic
        self._functions = functions
        first = topic.presets[0]
        self._values = topic.setting(first.values)
        self._overlay = False
        self.said = first.answer  # what changed last, and why
        self.used: frozenset[str] = frozenset()  # the controls that what was drawn last depends on
        self._differing: frozenset[str] = frozenset()  # the functions that differed from the reference in it

    @property
    def values(self) -> Values:
        """The value of each control, by its name."""
        return dict(self._values)

    def set(self, **values: Any) -> None:
        """Set controls by name; raises `LookupError` for an unknown one, `ValueError` for a value not offered."""
        self._values = self.topic.setting({**self._values, **values})

    def preset(self, question: str) -> None:
        """Set all controls as a preset has them; raises `LookupError` where no preset asks that."""
        for preset in self.topic.presets:
            if preset.question == question:
                self._values, self.said = self.topic.setting(preset.values), preset.answer
                return
        asked = " ".join(preset.question for preset in self.topic.presets)
        raise LookupError(f"no preset asks {question!r}; they ask: {asked}")

    @property
    def overlay(self) -> bool:
        """Whether the reference's values are shown beside the notebook's; False where it is not installed."""
        return self._overlay and self.has_reference

    @overlay.setter
    def overlay(self, wanted: bool) -> None:
        self._overlay = wanted

    @property
    def has_reference(self) -> bool:
        """Whether the reference is installed."""
        return bool(self._functions.reference)

    def draw(self) -> tuple[Picture, dict[str, Problem]]:
        """Return what is shown for the setting, and what is wrong with each function that failed."""
        values = Asked(self._values)
        with self._functions.redraw(overlay=self._overlay) as redraw:
            self._drawn = self.topic.draw(values, redraw), redraw.problems
        self.used, self._differing = frozenset(values.names), frozenset(redraw.differing)
        return self._drawn

    def lines(self, picture: Picture, problems: dict[str, Problem]) -> list[tuple[str, str, str]]:
        """Return for each function a sign, its name, and what it said or what is wrong with it."""
        lines = []
        for name in self.topic.functions:
            said = picture.facts.get(name)
            if problem := problems.get(name):
                stands_in = f" The reference stands in: {said}." if said else ""
                lines.append(("○" if problem.unwritten else "✗", name, f"{problem.text}.{stands_in}"))
            else:
                sign = "≠" if name in self._differing else "✓" if said else "·"
                lines.append((sign, name, said or "is not asked in this picture"))
        return lines

    @property
    def text(self) -> str:
        """What is shown now, as text: the sentence, the numbers, and each function."""
        return self._in_words(*self.draw())

    def _in_words(self, picture: Picture, problems: dict[str, Problem]) -> str:
        functions = [f"{sign} {name}: {text}" for sign, name, text in self.lines(picture, problems)]
        return "\n".join([f"{picture.title}.", picture.details, *functions])

    def __repr__(self) -> str:
        return self.text

    @cached_property
    def widget(self) -> Any:
        """The explorer as a widget, made once; raises `ImportError` where the widget libraries are missing."""
        from ._frame import Frame  # noqa: PLC0415

        return Frame(self).widget

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return the widget where there is a front end to draw it, and the text in any case."""
        if not _has_front_end():
            return {"text/plain": self.text}
        try:
            bundle: dict[str, Any] = self.widget._repr_mimebundle_()
        except ImportError as error:
            needs = f"{error.name} is missing, so this is the explorer's text alone: pip install 'rlinfra[lab]'"
            return {"text/plain": f"{self.text}\n{needs}"}
        return {**bundle, "text/plain": self._in_words(*self._drawn)}


def _has_front_end() -> bool:
    """Return whether this runs in a kernel: only there can a widget reach a page."""
    if "IPython" not in sys.modules:
        return False
    return getattr(sys.modules["IPython"].get_ipython(), "kernel", None) is not None
