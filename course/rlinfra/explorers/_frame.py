"""The frame that all explorers share: presets above, controls at the left, picture and functions at the right.

On a narrow page the controls stand above the picture. What a control's callback raises would vanish in the kernel's
log: it is shown instead. ipywidgets is imported where a frame is made.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from ..chart import chart
from ._model import MOST_VISIBLE
from ._words import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._explorer import Explorer
    from ._model import Control, Preset

_BORDER = "1px solid rgba(128, 128, 128, 0.45)"
_COLOURS = {"✓": "#009E73", "○": "#0072B2", "✗": "#D55E00", "≠": "#D55E00", "·": "inherit"}


class Frame:
    """The widgets of one explorer; `widget` holds them all."""

    def __init__(self, explorer: Explorer) -> None:
        import ipywidgets  # noqa: PLC0415

        self._make = ipywidgets
        self._explorer = explorer
        self._quiet = False  # while a preset sets many controls, nothing is drawn
        self._controls = {control.name: self._control(control) for control in explorer.topic.controls}
        picture, problems = explorer.draw()
        self._title = picture.title
        self._chart = chart(picture.spec, picture.data, title=picture.title, details=picture.details)
        self._said = ipywidgets.HTML(self._sentence(explorer.said))
        self._functions = ipywidgets.HTML(self._panel(explorer.lines(picture, problems)))
        self.widget = self._all()

    def _all(self) -> Any:
        make, layout = self._make, self._make.Layout
        topic = self._explorer.topic
        self._left = make.VBox(layout=layout(flex="1 1 300px", min_width="0"))
        self._rest = make.VBox(layout=layout(display="none"))
        self._more = make.ToggleButton(layout=layout(width="auto"))
        self._more.observe(
            lambda change: setattr(self._rest.layout, "display", "" if change["new"] else "none"), "value"
        )
        self._arrange()
        right = [self._chart, self._said, self._functions]
        if self._explorer.has_reference:
            overlay = make.Checkbox(description="compare with the reference", indent=False)
            overlay.observe(self._guarded(lambda change: self._compare(change["new"])), "value")
            right.append(overlay)
        picture = make.VBox(right, layout=layout(flex="3 1 420px", min_width="0", padding="0 0 0 0.8em"))
        questions = make.Box([self._preset(preset) for preset in topic.presets], layout=layout(flex_flow="row wrap"))
        body = make.Box([self._left, picture], layout=layout(flex_flow="row wrap", width="100%"))
        whole = make.VBox([questions, body], layout=layout(border=_BORDER, padding="0.5em 0.8em"))
        whole.add_class("rlinfra-explorer")
        return whole

    def _arrange(self) -> None:
        """Show the controls that the picture depends on: the first six of them, the others under "More"."""
        used = [
            self._controls[control.name]
            for control in self._explorer.topic.controls
            if control.name in self._explorer.used
        ]
        visible, folded = used[:MOST_VISIBLE], used[MOST_VISIBLE:]
        self._more.description = f"More: {counted(len(folded), 'control')}"
        for box, children in (
            (self._rest, folded),
            (self._left, [*visible, *([self._more, self._rest] if folded else [])]),
        ):
            if list(box.children) != children:
                box.children = children

    def _control(self, control: Control) -> Any:
        """Return the widget of a control: its label, its choices, and the value that it has."""
        kind = self._make.Dropdown if control.listed else self._make.SelectionSlider
        made = kind(
            options=control.choices,
            value=self._explorer.values[control.name],
            description=control.label,
            layout=self._make.Layout(width="calc(100% - 4px)"),  # it has a margin of 2 pixels
            tooltip=control.why,
            style={"description_width": "7em"},
        )
        made.observe(self._guarded(lambda change: self._moved(control, change["old"], change["new"])), "value")
        return made

    def _preset(self, preset: Preset) -> Any:
        button = self._make.Button(description=preset.question, layout=self._make.Layout(width="auto"))
        button.on_click(self._guarded(lambda _: self._ask(preset)))
        return button

    def _guarded(self, act: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return a callback whose exception is told in the explorer."""

        def callback(event: Any) -> None:
            try:
                act(event)
            except Exception as error:
                self._said.value = self._sentence(f"The explorer itself failed: {type(error).__name__}: {error}")

        return callback

    def _moved(self, control: Control, old: Any, new: Any) -> None:
        if self._quiet:
            return
        before = self._title
        self._explorer.set(**{control.name: new})
        self._redraw()
        effect = f"before: {before}." if self._title != before else "the sentence above stays as it is."
        self._say(f"{control.label}: {control.text(old)} → {control.text(new)}; {effect} {control.why}")

    def _ask(self, preset: Preset) -> None:
        self._explorer.preset(preset.question)
        self._quiet = True
        try:
            for name, value in self._explorer.values.items():
                self._controls[name].value = value
        finally:
            self._quiet = False
        self._redraw()
        self._say(preset.answer)

    def _compare(self, wanted: bool) -> None:
        self._explorer.overlay = wanted
        self._redraw()
        self._say("What the reference says is grey in the picture." if wanted else "The reference is hidden.")

    def _redraw(self) -> None:
        picture, problems = self._explorer.draw()
        self._title = picture.title
        self._chart.show(spec=dict(picture.spec), data=dict(picture.data), title=picture.title, details=picture.details)
        self._functions.value = self._panel(self._explorer.lines(picture, problems))
        self._arrange()

    def _say(self, sentence: str) -> None:
        self._explorer.said = sentence
        self._said.value = self._sentence(sentence)

    @staticmethod
    def _sentence(sentence: str) -> str:
        return f"<div style='line-height:1.4'>{html.escape(sentence)}</div>"

    @staticmethod
    def _panel(lines: list[tuple[str, str, str]]) -> str:
        """Return the list of the notebook's functions, with what each said or what is wrong with it."""
        items = "".join(
            f"<li><span aria-hidden='true' style='color:{_COLOURS[sign]};font-weight:700'>{sign}</span> "
            f"<code>{html.escape(name)}</code> {html.escape(text)}</li>"
            for sign, name, text in lines
        )
        return (
            f"<div style='border-top:{_BORDER};margin-top:.4em;padding-top:.3em;line-height:1.5'>"
            f"<b>Your functions at work</b><ul style='list-style:none;margin:0;padding:0'>{items}</ul></div>"
        )
