"""Student Markdown: unchanged where it is harmless, else what nbconvert renders from it, cleaned and in a box.

It is rendered by nbconvert's own renderer, so that what is judged here is what a page shows. JupyterLab reads Markdown
by another parser, so what could load or draw there is looked for in the source as well, whatever it stands in.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

from mistune.util import striptags
from nbconvert.filters.markdown_mistune import InvalidNotebook, IPythonRenderer, MarkdownWithMath

from ..text import STACK, joined
from .markup import BOX, LINK, MACRO, MOVE, PICTURE, boxed, clean_html, clean_tags, defanged, unboxed

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_CHARACTERS = 20_000  # the course's longest cell has 4,100; mistune's time is quadratic in what is left open
_MOST_MATHS = 300
_MATHS = re.compile(r"\\begin\{|\\\\[\[(]|\$\$")

# JupyterLab's sanitiser lets pictures from outside, CSS and links to commands through
_LOADS = re.compile(
    r"<(?:img|image|picture|source|video|audio|track|i?frame|frameset|embed|object|svg|math|link|meta|style|script|base"
    r"|form|input|button|select|textarea|body)\b|\bstyle\s*=|commandlinker",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"!\[[^\[\]\n]*\]\((?:attachment:[\w.%-]+|data:image/(?:png|jpeg|gif|webp);base64,[\w+/=]+)\)")
_LONG_LINE = re.compile(r"([^\n]{500})(?=[^\n])")  # nbconvert's time is quadratic in the brackets of a line
_TAG = re.compile(r"<[^<>]*>")
_EMPTY_ELEMENT = re.compile(r"<\w[^<>]*></")


class _Careful(IPythonRenderer):  # type: ignore[misc]
    """nbconvert's renderer without what loads or runs; notes whether it left something out, and whether it met HTML."""

    def __init__(self, attachments: Mapping[str, Any]) -> None:
        super().__init__(escape=False, attachments=dict(attachments), exclude_anchor_links=True)
        self.left_out = False
        self.met_html = False

    def link(self, text: str, url: str, title: str | None = None) -> str:
        if LINK.fullmatch(url):
            return str(super().link(text, url, title))
        self.left_out = True
        return text

    def image(self, text: str, url: str, title: str | None = None) -> str:
        try:
            if PICTURE.fullmatch(self._embed_image_or_attachment(url)):
                return str(super().image(text, url, title))
        except InvalidNotebook:  # no such attachment, over which nbconvert would fail
            pass
        self.left_out = True
        return escape(striptags(text))

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        # nbconvert writes headings as XML: <b></b> becomes <b/>, which in HTML opens a <b> for the rest of the page
        self.left_out |= bool(_EMPTY_ELEMENT.search(text))
        return str(super().heading(text, level, **attrs))

    def block_mermaidjs(self, code: str) -> str:
        self.left_out = True  # nbconvert doesn't escape it
        return f"<pre><code>{escape(code)}</code></pre>\n"

    def inline_html(self, html: str) -> str:
        self.met_html = True
        return html

    def block_html(self, html: str) -> str:
        self.met_html = True
        return f"{html}\n"


class _Skeleton(IPythonRenderer):  # type: ignore[misc]
    """The structure of a page: every text an x, of raw HTML the tags, all in the form that a cleaner writes HTML.

    If cleaning leaves it as it is, its raw HTML is allowed, balanced and rightly nested. Tags that come through whole
    hold no `<` or `>` elsewhere, so texts without `<` between them change nothing.
    """

    def _x(self, *_: Any, **__: Any) -> str:
        return "x"

    text = codespan = image = inline_math = block_math = latex_environment = linebreak = _x

    def block_code(self, code: str, info: str | None = None) -> str:  # noqa: ARG002
        return "<pre>x</pre>\n"

    def link(self, text: str, url: str, title: str | None = None) -> str:  # noqa: ARG002
        return text

    def heading(self, text: str, level: int, **_: Any) -> str:
        return f"<h{level}>{text}</h{level}>\n"

    def thematic_break(self) -> str:
        return "<hr>\n"

    def table_cell(self, text: str, align: str | None = None, head: bool = False) -> str:  # noqa: ARG002
        return f"<th>{text}</th>" if head else f"<td>{text}</td>"

    def task_list_item(self, text: str, checked: bool = False) -> str:  # noqa: ARG002
        return f"<li>{text}</li>\n"

    def inline_html(self, html: str) -> str:
        tags = "".join(_TAG.findall(html)) + ("<" if "<" in _TAG.sub("", html) else "")
        return tags.replace("<br/>", "<br>").replace("<br />", "<br>")

    def block_html(self, html: str) -> str:
        return f"{self.inline_html(html)}\n"


def clean_markdown(source: str) -> str:
    """Return the source of a student's Markdown: unchanged where it is harmless, else safe HTML in a box.

    What is too long to render comes back as a block of code. Attachments count as missing.
    """
    return markdown_with(source, {})


def markdown_with(source: Any, attachments: Mapping[str, Any]) -> str:
    """Return the source of a Markdown cell that has these attachments, as `clean_markdown` does."""
    text = joined(source)
    if text is None:
        return ""
    if _is_ours(text):
        return text
    if len(text) > _MOST_CHARACTERS or len(_MATHS.findall(text)) > _MOST_MATHS:
        return fenced(text)
    return _markdown(text, attachments) if attachments else _without_attachments(text)


@lru_cache(maxsize=1024)
def _without_attachments(source: str) -> str:
    """Return what `_markdown` does; most cells of a class are those of the release, over and over."""
    return _markdown(source, {})


def _markdown(source: str, attachments: Mapping[str, Any]) -> str:
    try:
        return _rendered(source, attachments)
    except Exception:  # whatever a parser stumbles over is shown as it was typed
        return fenced(source)


def _rendered(source: str, attachments: Mapping[str, Any]) -> str:
    page = _Careful(attachments)
    cleaned = clean_tags(MarkdownWithMath(renderer=page).render(source))
    if cleaned is None:
        return fenced(source)
    draws = any(pattern.search(text) for pattern in (MACRO, MOVE, STACK) for text in (source, cleaned))
    elsewhere = bool(_LOADS.search(source)) or source.count("![") != len(_IMAGE.findall(source))
    if page.left_out or draws or elsewhere or (page.met_html and not _keeps_its_html(source)):
        return _in_one_line(defanged(cleaned))
    return source


def _keeps_its_html(source: str) -> bool:
    skeleton = MarkdownWithMath(renderer=_Skeleton(escape=False)).render(source)
    return bool(clean_tags(skeleton) == skeleton)


def _in_one_line(cleaned: str) -> str:
    """Return cleaned HTML as Markdown: a block of HTML ends at a blank line, so it has no line break at all."""
    return boxed(cleaned.replace("\r", "\n").strip("\n").replace("\n", "&#10;"))


def fenced(text: str) -> str:
    """Return Markdown that shows a text as code, whatever backticks are in it."""
    text = _LONG_LINE.sub("\\1\n", text)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _is_ours(text: str) -> bool:
    """Return whether a source has the very form that this module gives, so that cleaning it again changes nothing."""
    if text.startswith(BOX):
        cleaned = clean_html(unboxed(text))
        return cleaned is not None and _in_one_line(cleaned) == text
    fence = re.match(r"(`{3,})\n", text)
    return fence is not None and fenced(text[fence.end() : -len(fence[1]) - 1]) == text
