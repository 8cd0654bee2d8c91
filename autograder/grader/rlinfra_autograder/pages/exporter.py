"""nbgrader's feedback page as nbconvert writes it, with formulas as MathML and our template on top of nbgrader's.

`nbgrader_config.py` names this exporter, so that `nbgrader generate_feedback` writes the same pages.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbgrader
from jinja2 import pass_context
from nbconvert.exporters import HTMLExporter
from nbconvert.filters import DataTypeFilter, Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from traitlets.config import Config

from ..feedback import points_text
from .mathml import mathml

if TYPE_CHECKING:
    from collections.abc import Iterator

TEMPLATES = Path(__file__).parent / "templates"
_FORMGRADER = Path(nbgrader.__file__).parent / "server_extensions" / "formgrader"
_BOOTSTRAP = _FORMGRADER / "static" / "node_modules" / "bootstrap" / "dist" / "css"
_LATEX = re.compile(r"\s*(\$\$?)(.+?)\1\s*", re.DOTALL)


class FeedbackExporter(HTMLExporter):
    """Writes a graded notebook as a page that loads nothing from anywhere."""

    @property
    def default_config(self) -> Config:
        """The settings of nbconvert's own exporter, and ours, which nbgrader's for any exporter do not override."""
        theirs = _FORMGRADER / "templates"
        paths = {"extra_template_basedirs": [TEMPLATES, theirs], "extra_template_paths": [theirs, _BOOTSTRAP]}
        ours = {name: [str(path) for path in found] for name, found in paths.items()}
        config = Config({type(self).__name__: {"template_name": "rlinfra", **ours}})
        config.merge(super().default_config)
        return config

    def default_filters(self) -> Iterator[tuple[str, Any]]:
        """Yield nbconvert's filters; those that take time remember what they made, since a class shares most cells."""
        yield from super().default_filters()
        yield "markdown2html", _markdown
        yield "highlight_code", lru_cache(maxsize=512)(Highlight2HTML(pygments_lexer="python", parent=self))
        yield "latex2html", _latex
        yield "points", points_text
        yield "filter_data_type", DataTypeFilter(parent=self)

    def from_notebook_node(self, nb: Any, resources: Any = None, **options: Any) -> tuple[str, Any]:
        """Return the page. Not as `HTMLExporter` does, which parses the whole page once more, for other templates."""
        page, resources = super(HTMLExporter, self).from_notebook_node(nb, self._init_resources(resources), **options)
        return page, resources


class _Renderer(IPythonRenderer):
    """nbconvert's renderer of Markdown, with MathML in the place of the TeX that it leaves for MathJax."""

    def inline_math(self, body: str) -> str:
        return mathml(body, block=False)

    def block_math(self, body: str) -> str:
        return mathml(body, block=True)

    def latex_environment(self, name: str, body: str) -> str:
        return mathml(rf"\begin{{{name}}}{body}\end{{{name}}}", block=True)


def _render(source: str, attachments: Any) -> str:
    return str(MarkdownWithMath(renderer=_Renderer(escape=False, attachments=attachments)).render(source))


@lru_cache(maxsize=512)
def _render_plain(source: str) -> str:
    return _render(source, {})


@pass_context
def _markdown(context: Any, source: str) -> str:
    """Return Markdown as HTML: a cell's, with the pictures attached to it, or an assistant's comment."""
    attachments = context.get("cell", {}).get("attachments")
    return _render(source, attachments) if attachments else _render_plain(source)


def _latex(tex: str) -> str:
    """Return an output in LaTeX as HTML."""
    formula = _LATEX.fullmatch(tex)
    return mathml(formula[2], block=True) if formula else mathml(tex, block=True)
