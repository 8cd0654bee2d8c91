"""From bytes to cells: encodings, what is no notebook at all, older formats, and entries of the wrong type.

nbformat's own reader refuses whatever is not valid, so cells are read here from what is there.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any

from .cells import Cell
from .outcome import HAND_IN, Notes, RefusalError, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_CELLS = 1_000
MAX_TEXT = 8 * 2**20
FORMAT, MINOR = 4, 5

_BYTE_ORDER_MARKS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8", "it begins with a byte order mark"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)
_OTHER_FILES = (
    (rb"PK\x03\x04", "a ZIP archive"),
    (rb"\x1f\x8b|7z\xbc\xaf|Rar!|BZh|\xfd7zXZ", "a compressed archive"),
    (rb"%PDF", "a PDF"),
    (rb"\x89PNG|\xff\xd8\xff|GIF8", "a picture"),
    (rb"\xd0\xcf\x11\xe0|\{\\rtf", "a word processor's document"),
    (rb"SQLite format 3", "a database"),
)
_CONFLICT = [re.compile(rf"^{mark}{{7}}(?: |\r?$)", re.MULTILINE) for mark in "<=>"]
_PAGE = re.compile(r"<(?:!doctype|html|head|body|\?xml|div|script)\b", re.IGNORECASE)
_SCRIPT = re.compile(r"^(?:#!|# %%|#%%|# -\*-|(?:def|class|import|from) \w|%|\w+ = )", re.MULTILINE)
_KINDS = {"code": "code", "markdown": "markdown", "heading": "markdown", "html": "markdown", "rst": "markdown"}


def has_merge_marks(text: str) -> bool:
    """Return whether the two sides of an unsettled merge stand in a text."""
    return all(mark.search(text) for mark in _CONFLICT)


def read_cells(data: bytes, name: str, notes: Notes) -> list[Cell]:
    """Return the cells of a notebook file; `name` is what to call it. Raises `RefusalError` where it is none."""
    if not data.strip(b"\0 \t\r\n"):
        raise RefusalError(f"{name} is empty: save the notebook again, wait until it is stored, and {HAND_IN}.")
    for magic, what in _OTHER_FILES:
        if re.match(magic, data):
            raise RefusalError(f"{name} is {what} and not a notebook: {HAND_IN}.")
    top = _parse(_decode(data, notes), name, notes)
    entries = _entries(top, name)
    _note_format(top, notes)
    cells = list(_cells(entries[: MAX_CELLS + 1], name, notes))
    if len(entries) > MAX_CELLS or sum(len(cell.source) for cell in cells) > MAX_TEXT:
        limits = f"{MAX_CELLS} cells or {MAX_TEXT // 2**20} MiB of text"
        raise RefusalError(f"{name} has more than {limits}: delete what is not part of your answers, and {HAND_IN}.")
    if not cells:
        raise RefusalError(f"{name} has no cells: save the notebook again, and {HAND_IN}.")
    return cells


def _decode(data: bytes, notes: Notes) -> str:
    text, said = _decoded(data)
    if "\0" in text:
        text, said = text.replace("\0", ""), said or "it has zero bytes"
    if said:
        notes.note("encoding", said)
    return text.strip("\ufeff \t\r\n")


def _decoded(data: bytes) -> tuple[str, str]:
    """Return the text of a file, and what is unusual about its encoding."""
    for mark, encoding, said in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), said
    for start, encoding in ((b"{\0", "utf-16-le"), (b"\0{", "utf-16-be")):
        if data.startswith(start):
            return data.decode(encoding, "replace"), "UTF-16"
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        return _lenient(data)


def _lenient(data: bytes) -> tuple[str, str]:
    """Return the text of a file with some bytes that are no UTF-8: damaged, or in an older one-byte encoding."""
    text = data.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    if sum(character > "\x7f" for character in text) > 2 * damaged:
        return text, "it has damaged characters"
    return data.decode("latin-1"), "Latin-1"


def _parse(text: str, name: str, notes: Notes) -> Mapping[str, Any]:
    """Return the outermost JSON object."""
    decoder = json.JSONDecoder(strict=False, parse_int=float)  # an int of 5,000 digits would not be read
    try:
        top, end = decoder.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise RefusalError(_why_no_json(text, name, error)) from error
    rest = text[end:].strip()
    if rest.startswith("{") or has_merge_marks(rest):
        raise RefusalError(f"{name} holds two notebooks one after the other: {HAND_IN}, with the one that counts.")
    if rest:
        notes.note("trailing", printable(rest[:200]))
    if not isinstance(top, dict):
        raise RefusalError(_no_notebook(name))
    return top


def _why_no_json(text: str, name: str, error: Exception) -> str:
    position = getattr(error, "pos", 0)
    if has_merge_marks(text):
        return (
            f"{name} has merge marks (<<<<<<<) of an unsettled Git merge: settle it, open the notebook, and {HAND_IN}."
        )
    if text.startswith("{") and (position >= len(text) - 5 or "Unterminated string" in str(error)):
        return f"{name} ends in the middle, as after a broken upload: save the notebook again, and {HAND_IN}."
    if _PAGE.match(text):
        return f"{name} is a web page and not a notebook: download the notebook, and {HAND_IN}."
    if _SCRIPT.search(text) and not text.startswith("{"):
        return f"{name} is a Python script and not a notebook: {HAND_IN}."
    return f"{name} is not a notebook that can be read (no valid JSON): save it again in Jupyter, and {HAND_IN}."


def _no_notebook(name: str) -> str:
    return f"{name} holds JSON but no notebook: {HAND_IN}."


def _entries(top: Mapping[str, Any], name: str) -> list[Any]:
    """Return what stands in the place of cells; formats 2 and 3 keep them in worksheets."""
    if isinstance(cells := top.get("cells"), list):
        return cells
    if isinstance(sheets := top.get("worksheets"), list):
        lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        return [entry for cells in lists if isinstance(cells, list) for entry in cells]
    raise RefusalError(_no_notebook(name))


def _note_format(top: Mapping[str, Any], notes: Notes) -> None:
    numbers = [top.get("nbformat"), top.get("nbformat_minor")]
    if not all(number in range(100) for number in numbers):
        notes.note("format", "it does not say which")
    elif numbers < [FORMAT, MINOR] or numbers >= [FORMAT + 1]:
        notes.note("format", ".".join(f"{number:.0f}" for number in numbers))


def _cells(entries: list[Any], name: str, notes: Notes) -> Iterator[Cell]:
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            notes.note("damaged", f"entry {number}")
            continue
        source = _clean(_joined(entry, name, notes), name, notes)
        if entry.get("cell_type") == "heading":
            level = entry.get("level")
            source = f"{'#' * int(level if isinstance(level, float) and level in range(1, 7) else 1)} {source}"
        metadata = _dict(entry.get("metadata"))
        yield Cell(
            kind=_KINDS.get(_text(entry.get("cell_type")), "raw"),
            source=source,
            id=_text(entry.get("id")),
            marks=_dict(metadata.get("nbgrader")),
            attachments=_attachments(entry.get("attachments")),
        )


def _joined(entry: Mapping[str, Any], name: str, notes: Notes) -> str:
    """Return the source of a cell, which stands there as one text or as a list of lines."""
    source = next((entry[key] for key in ("source", "input") if isinstance(entry.get(key), str | list)), "")
    if isinstance(source, str):
        return source
    lines = [line for line in source if isinstance(line, str)]
    if len(lines) > 1 and not any(line.endswith(("\n", "\r")) for line in lines):
        notes.note("line-ends", name)
        return "\n".join(lines)
    return "".join(lines)


def _clean(source: str, name: str, notes: Notes) -> str:
    """Return a source with one kind of line end, without zero bytes and halves of characters."""
    lines = source.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")
    if lines != source:
        notes.note("line-ends", name)
    whole = lines.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if whole != lines:
        notes.note("encoding", "it has damaged characters")
    return whole


def _attachments(value: Any) -> Mapping[str, Any]:
    """Return the pictures of a Markdown cell, as far as they are what the format asks for."""
    return {
        name: bundle
        for name, bundle in _dict(value).items()
        if name.isprintable() and isinstance(bundle, dict) and bundle
        if all(kind.isprintable() and isinstance(data, str) and data.isascii() for kind, data in bundle.items())
    }


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
