"""Student HTML, cleaned by nh3 (ammonia), and TeX without the macros that do more than typeset."""

from __future__ import annotations

import re
from functools import lru_cache

import nh3

BOX = '<div style="contain:paint;overflow:auto">'  # what is inside can't draw outside
BOX_END = "</div>"

_MOST_TAGS = 10_000  # nh3 takes time with the square of the depth; the tables that pandas shows have a third of this
_MOST_DEPTH = 100
_MOST_ROUNDS = 5
_MOST_KEPT = 20_000  # characters of a text that is kept when it is cleaned

# No wbr: MathJax reads over it, so that \hr<wbr>ef is a macro. No tag whose content isn't parsed as HTML.
_TAG_NAMES = """
    a abbr b blockquote br caption cite code col colgroup dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4
    h5 h6 hr i img ins kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr
    tt u ul var
"""
_END_BY_THEMSELVES = "br col dd dt hr img li p tbody td tfoot th thead tr"
_TAGS = frozenset(_TAG_NAMES.split())
_NEST = _TAGS - set(_END_BY_THEMSELVES.split())
_NUMBER = re.compile(r"\d{1,4}%?", re.ASCII)
_WORD = re.compile(r"[a-z]{0,12}", re.ASCII)
_PROSE = re.compile(r"(?s).*")
LINK = re.compile(r"(?:https?://|mailto:|#)[^\x00-\x20\x7f]*")  # a relative one may lead to the hub that shows the page
PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=]*")
_ATTRIBUTES = {
    "*": {"title": _PROSE, "align": _WORD, "valign": _WORD},
    "a": {"href": LINK},
    "img": {"src": PICTURE, "alt": _PROSE, "width": _NUMBER, "height": _NUMBER},
    "table": {"border": _NUMBER},
    "td": {"colspan": _NUMBER, "rowspan": _NUMBER},
    "th": {"colspan": _NUMBER, "rowspan": _NUMBER, "scope": _WORD},
    "ol": {"start": _NUMBER},
    "details": {"open": _WORD},
}

_SIDES = ("", "-top", "-right", "-bottom", "-left")
_PROPERTY_NAMES = """
    color background-color font-family font-size font-style font-weight text-align text-decoration vertical-align
    white-space width height min-width max-width border-collapse border-spacing border-radius
"""
_PROPERTIES = frozenset(
    _PROPERTY_NAMES.split()
    + [f"padding{side}" for side in _SIDES]
    + [f"border{side}{what}" for side in _SIDES for what in ("", "-width", "-style", "-color")]
)
# nh3 looks at the names of properties only and lets `color:url(…)` through, so values have an allow list of their own:
# words, lengths that aren't negative, colours. No quotes, escapes, variables, or functions that load or compute.
_VALUE = r"(?:[a-z-]+|#[0-9a-f]{3,8}|[\d.]+(?:px|em|rem|ex|ch|pt|%)?|(?:rgb|hsl)a?\([\d\s.,%]*\))"
_VALUES = re.compile(rf"{_VALUE}(?:(?: |, ?){_VALUE})*", re.ASCII)


def _style(value: str) -> str | None:
    kept = []
    for declaration in value.lower().split(";"):
        name, _, given = (part.strip() for part in declaration.partition(":"))
        if name in _PROPERTIES and len(given) < 100 and _VALUES.fullmatch(given):
            kept.append(f"{name}:{given}")
    return ";".join(kept) or None


def _attribute(tag: str, name: str, value: str) -> str | None:
    """Return the value that an attribute may have, or None where it may not stand."""
    if name == "style":
        return _style(value)
    if (tag, name) == ("a", "rel"):  # nh3's own
        return value
    if name == "src":
        value = "".join(value.split())
    pattern = _ATTRIBUTES.get(tag, {}).get(name) or _ATTRIBUTES["*"].get(name)
    return value if pattern and pattern.fullmatch(value) else None


_CLEANER = nh3.Cleaner(
    tags=_TAGS,
    clean_content_tags={"script", "style", "template", "title", "iframe", "noscript", "object", "svg", "math"},
    attributes={tag: {*names, "style"} if tag == "*" else set(names) for tag, names in _ATTRIBUTES.items()},
    attribute_filter=_attribute,
    filter_style_properties=_PROPERTIES,
    url_schemes={"http", "https", "mailto", "data"},  # data only where _attribute lets it: in the src of a picture
    link_rel="noopener noreferrer",
)
_PRE = re.compile(r"(<pre[^>]*>)(?=\n)")
_TAG_NAME = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")


def clean_html(html: str) -> str | None:
    """Return HTML without script, handlers, ids, classes, anything from outside, or dangerous TeX, its tags balanced.

    None where `clean_tags` returns None.
    """
    cleaned = clean_tags(html)
    return None if cleaned is None else defanged(cleaned)


def clean_tags(html: str) -> str | None:
    """Return what `clean_html` does, with its TeX as it is.

    None where it is too deep, too long, or comes out differently each time: a parser that is fooled could be a browser.
    """
    return _kept(html) if len(html) <= _MOST_KEPT else _cleaned(html)


def _cleaned(html: str) -> str | None:
    if html.count("<") > _MOST_TAGS or _depth(html) > _MOST_DEPTH:
        return None
    for _ in range(_MOST_ROUNDS):
        # a parser skips the first newline in a pre, so one that is meant is written twice
        cleaned = _PRE.sub("\\1\n", _CLEANER.clean(html))
        if cleaned == html:
            return cleaned
        html = cleaned
    return None


_kept = lru_cache(1_000)(_cleaned)  # right solutions show the same tables, and cards say the same


def _depth(html: str) -> int:
    """Return about how deep the tags nest that only an end tag ends."""
    deepest, open_tags = 0, []
    for end, tag in _TAG_NAME.findall(html):
        name = tag.lower()
        if name not in _NEST:
            continue
        if not end:
            open_tags.append(name)
            deepest = max(deepest, len(open_tags))
            if deepest > _MOST_DEPTH:
                break
        elif name in open_tags:
            while open_tags.pop() != name:
                pass
    return deepest


def boxed(html: str) -> str:
    """Return HTML in a box that it can't draw out of."""
    return f"{BOX}{html}{BOX_END}"


def unboxed(html: str) -> str:
    """Return what is in the box, where there is one; cleaning twice doesn't box twice."""
    return html[len(BOX) : -len(BOX_END)] if html.startswith(BOX) and html.endswith(BOX_END) else html


# MathJax reads all text of a page that isn't in pre or code. Not for students: macros that link, style, load, or act;
# those that define, since a definition holds for the whole page, the course's own formulas too; \csname and \ce, which
# make names from text. MathJax puts a space between a macro and the argument after it, so nothing else makes a name: an
# alias (\let\x\href) needs the literal name somewhere, and replacing literal names suffices.
MACRO = re.compile(
    r"\\(?=(?:href|url|unicode|style|class|cssId|data|html[a-zA-Z]*|require|autoload|includegraphics|mmlToken|toggle"
    r"|endtoggle|action|mathtip|texttip|bbox|enclose|csname|ce|cee|cf|pu"
    r"|[egx]?def|global|(?:future)?let|(?:re)?newcommand|(?:re)?newenvironment|providecommand"
    r"|Declare[a-zA-Z]+|New[a-zA-Z]+)(?![a-zA-Z]))"
)
# Macros and negative lengths that put ink where no space is kept for it: over the cell above.
_LENGTH = r"-\s*[\d.]+\s*(?:em|ex|px|pt|pc|in|cm|mm|mu)"
MOVE = re.compile(
    r"\\(?=(?:raise|lower|raisebox|moveleft|moveright|smash[a-z]*|(?:math|text)?[lrc]lap|uproot|leftroot|[rR]ule"
    r"|Space|above|abovewithdelims|genfrac|neg(?:thin|med|thick)space)(?![a-zA-Z])"
    rf"|(?:[hmv]space|m?kern|[hmv]skip)\*?\s*\{{?\s*{_LENGTH}"
    rf"|\\\*?\s*\[\s*{_LENGTH}|(?:!\s*\\){{4}})"
)


def defanged(text: str) -> str:
    """Return text whose dangerous TeX macros have a full-width backslash: to be read, not to be run."""
    return MACRO.sub("＼", text)


def defanged_tex(text: str) -> str:
    """Return TeX that isn't in a box: also without what moves ink out of its place."""
    return MOVE.sub("＼", defanged(text))
