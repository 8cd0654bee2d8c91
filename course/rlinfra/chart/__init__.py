"""Charts that move: one widget draws a Vega-Lite spec, and new data moves what is there.

`chart` returns the widget. Its JavaScript comes with the package and is loaded once a page, never from elsewhere. The
package needs no widget library until a chart is made: it is imported here, where it is used.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Spec = Mapping[str, Any]
    Data = Mapping[str, Sequence[Mapping[str, Any]]]

__all__ = ["bundle", "chart"]
_HERE = Path(__file__).parent


def chart(spec: Spec, data: Data, *, title: str, details: str = "") -> Any:
    """Return a widget that draws a Vega-Lite spec.

    `spec` is a plain dictionary without data: each of its `{"data": {"name": …}}` names a list of rows of `data`.
    `title` says in a sentence, with its number, what the chart shows now; it stands above the picture. `details` are
    the other numbers, for those who do not see it. Both together are the widget's text, also where no widget is drawn.
    `widget.show(data=…, title=…, details=…, spec=…)` changes what is given, and nothing else, in one message.
    Raises `ImportError` where anywidget is missing, `FileNotFoundError` where the JavaScript is.
    """
    return _chart_class()(spec=dict(spec), data=dict(data), title=title, details=details)


def bundle() -> Path:
    """Return the file of the chart's JavaScript; raise `FileNotFoundError` that says what to do where there is none."""
    found = sorted((_HERE / "static").glob("chart-*.js"))
    if not found:
        raise FileNotFoundError(
            f"the chart's JavaScript is not in {_HERE / 'static'}: install the package again (pip install builds it)"
        )
    return found[-1]


def _to_text(value: Mapping[str, Any], _widget: object) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _from_text(text: str, _widget: object) -> Any:
    return json.loads(text)


# In messages a spec and its data are JSON text: ipywidgets looks through every part of anything else for buffers.
_AS_TEXT = {"to_json": _to_text, "from_json": _from_text}


@cache
def _chart_class() -> type:
    """Return the widget's class; made when the first chart is, since its base is no part of the package."""
    import traitlets  # noqa: PLC0415
    from anywidget import AnyWidget  # noqa: PLC0415

    script = bundle()

    class Chart(AnyWidget):
        """A picture of a Vega-Lite spec; `text` says what it shows now."""

        _esm = (_HERE / "stub.js").read_text(encoding="utf-8").replace("__NAME__", script.name)
        spec = traitlets.Dict().tag(sync=True, **_AS_TEXT)
        data = traitlets.Dict().tag(sync=True, **_AS_TEXT)
        title = traitlets.Unicode().tag(sync=True)
        details = traitlets.Unicode().tag(sync=True)

        def __init__(self, **parts: Any) -> None:
            super().__init__(**parts)
            self.on_msg(self._answer)

        @property
        def text(self) -> str:
            """What the chart shows now, as text."""
            return f"{self.title}. {self.details}".strip()

        def show(self, **parts: Any) -> None:
            """Change the parts that are given (`data`, `title`, `details`, `spec`) in one message."""
            with self.hold_sync():
                for name, value in parts.items():
                    setattr(self, name, value)

        def _answer(self, _widget: Any, content: Any, _buffers: Any) -> None:
            """Send the JavaScript to a page that did not get it from its server."""
            if isinstance(content, dict) and content.get("wanted") == script.name:
                self.send({"bundle": script.name}, buffers=[script.read_bytes()])

        def _repr_mimebundle_(self, **options: Any) -> Any:
            data, metadata = super()._repr_mimebundle_(**options)
            return {**data, "text/plain": self.text}, metadata

    return Chart
