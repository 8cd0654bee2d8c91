"""Student text where no markup is read: for a `pre` with terminal colours, for one line of a log, for a spreadsheet."""

from __future__ import annotations

import re
from typing import Any

# One parameter of a colour sequence. 38 and 48 only with a colour after them: nbconvert raises IndexError without one.
_PARAMETER = r"(?:[34]8;(?:5;\d{1,3}|2;\d{1,3};\d{1,3};\d{1,3})|(?!0*[34]8(?!\d))\d{0,3})"
_COLOUR = re.compile(rf"\x1b\[{_PARAMETER}(?:;{_PARAMETER})*m", re.ASCII)
_CONTROL = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # title, link, other strings
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colour, cursor, erase
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]"  # all but \b \t \n \r
)
_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
STACK = re.compile(f"({_MARK}{{4}}){_MARK}+")  # more accents on a letter than any script has: they reach lines above
_FORMULA = tuple("=+-@＝＋－＠")  # what a spreadsheet takes for a formula, some of them also in full width


def joined(value: Any) -> str | None:
    """Return the text of a value that a notebook may hold as one string or as lines, or None where it holds neither.

    Half a surrogate pair can't be written to a file and becomes U+FFFD.
    """
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        value = "".join(value)
    if not isinstance(value, str):
        return None
    return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def terminal_text(text: str) -> str:
    r"""Return text for a `pre`: with `\b`, `\t`, `\n`, `\r` and colours, and no other control or sequence."""
    return STACK.sub(r"\1", _CONTROL.sub(lambda m: m[0] if _COLOUR.fullmatch(m[0]) else "", text))


def one_line(text: str, most: int = 80) -> str:
    """Return student text as one line of at most `most` characters, for a log, a terminal, a table or a CSV field.

    Without control and format characters; what a spreadsheet would take for a formula starts with an apostrophe.
    """
    seen = _CONTROL.sub("", (joined(text) or "")[: 100 * max(most, 1)])
    line = " ".join("".join(c for c in seen if c.isprintable() or c.isspace()).split())
    if line.startswith(_FORMULA):
        line = f"'{line}"
    return line if len(line) <= most else f"{line[: max(most - 1, 0)]}…"[: max(most, 0)]
