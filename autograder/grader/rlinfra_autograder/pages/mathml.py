"""TeX as MathML, which a browser shows as a formula without any script; where that cannot be, TeX as it was typed."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

import nh3
from math_core import LatexError, LatexToMathML

_LONGEST = 1_000  # the converter follows nested braces on its stack, which six thousand of them overflow
_CONVERTER = LatexToMathML(max_expansions=100, fancy_error=False)

_TAGS = """
    math mfrac mi mmultiscripts mn mo mover mprescripts mroot mrow mspace msqrt mstyle msub msubsup msup
    mtable mtd mtext mtr munder munderover
"""
# No length that is negative or large: what a formula draws stays in the room that is kept for it.
_ATTRIBUTE = re.compile(r"[a-z]{0,12}|\d?(?:\.\d{1,9})?(?:em|ex)?", re.ASCII)
_STYLE = re.compile(
    r"(?:(?:text-align|justify-items): ?[a-z]+|padding-(?:left|right): ?[0-2]?(?:em)?|color: ?#[\dA-Fa-f]{6}|;)*",
    re.ASCII,
)
_ATTRIBUTES = """
    accent accentunder columnalign display displaystyle fence form largeop linethickness lspace mathvariant maxsize
    minsize movablelimits rspace scriptlevel separator stretchy style symmetric width
"""


def _attribute(_tag: str, name: str, value: str) -> str | None:
    return value if (_STYLE if name == "style" else _ATTRIBUTE).fullmatch(value) else None


_CLEANER = nh3.Cleaner(
    tags=set(_TAGS.split()), attributes={"*": set(_ATTRIBUTES.split())}, attribute_filter=_attribute, link_rel=None
)


@lru_cache(maxsize=4096)  # most formulas of a page are the course's own
def mathml(tex: str, *, block: bool) -> str:
    """Return a formula as HTML: MathML, or code that shows its TeX where it is too long or not understood."""
    if len(tex) <= _LONGEST:
        try:
            return _CLEANER.clean(_CONVERTER.convert_with_local_state(tex, displaystyle=block))
        except LatexError:
            pass
    mark = "$$" if block else "$"
    return f"<code>{escape(f'{mark}{tex}{mark}')}</code>"
