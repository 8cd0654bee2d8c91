"""One output of a student's cell, built anew from what may be shown of it."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from nbformat import NotebookNode, from_dict

from ..text import joined, one_line, terminal_text
from .markdown import clean_markdown
from .markup import boxed, clean_html, defanged_tex, unboxed

_MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8"}


def clean_output(output: Any) -> NotebookNode | None:
    """Return one output of a student's cell as it may be shown, or None where nothing of it may."""
    match output:
        case {"output_type": "stream", "name": "stdout" | "stderr" as name, "text": text}:
            shown = terminal_text(joined(text) or "")
            return from_dict({"output_type": "stream", "name": name, "text": shown}) if shown else None
        case {"output_type": "error"}:
            lines = output.get("traceback")
            traceback = [joined(line) or "" for line in lines] if isinstance(lines, list) else []
            said = {name: terminal_text(joined(output.get(name)) or "") for name in ("ename", "evalue")}
            return from_dict({"output_type": "error", **said, "traceback": [terminal_text(line) for line in traceback]})
        case {"output_type": "display_data" | "execute_result" as kind, "data": dict(data)}:
            shown_data = _bundle(data)
            if not shown_data:
                return None
            node = {"output_type": kind, "data": shown_data, "metadata": _sizes(output.get("metadata"), shown_data)}
            if kind == "execute_result":
                node["execution_count"] = count(output.get("execution_count"))
            return from_dict(node)
    return None


def _bundle(data: dict[Any, Any]) -> dict[str, str]:
    """Return what may be shown of a bundle, in its order; where nothing is left, a text that says what was there."""
    kept: dict[str, str] = {}
    for mime, value in data.items():
        cleaned = _content(mime, value)
        name = "text/html" if mime == "image/svg+xml" else mime
        if cleaned is not None and not (mime == "image/svg+xml" and "text/html" in data):
            kept[name] = cleaned
    if data and not kept:
        names = ", ".join(one_line(str(mime)) for mime in list(data)[:3])
        kept["text/plain"] = f"[an output that is not shown here: {names}]"
    return kept


def _content(mime: Any, value: Any) -> str | None:
    """Return the content of one mime type as it may be shown, or None."""
    text = joined(value)
    if text is None:
        return None
    match mime:
        case "text/plain":
            return terminal_text(text)
        case "text/html":
            cleaned = clean_html(unboxed(text))
            return None if cleaned is None else boxed(cleaned)
        case "text/markdown":
            return clean_markdown(text)
        case "text/latex":
            return defanged_tex(terminal_text(text))
        case "image/svg+xml":  # as a picture: a browser runs no script in it, and loads nothing for it
            svg = base64.b64encode(text.encode()).decode()
            cleaned = clean_html(f'<img src="data:image/svg+xml;base64,{svg}" alt="a drawing (SVG)">')
            return None if cleaned is None else boxed(cleaned)
        case "image/png" | "image/jpeg" | "image/gif":
            return picture(mime, text)
    return None


def picture(mime: str, value: Any) -> str | None:
    """Return the base64 of a raster picture, written anew, or None where it is none of its type."""
    try:
        raw = base64.b64decode("".join((joined(value) or "").split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    magic = _MAGIC.get(mime)
    return base64.b64encode(raw).decode() if magic and raw.startswith(magic) else None


def count(value: Any) -> int | None:
    """Return an execution count, or None where it is none."""
    return value if type(value) is int and 0 <= value < 1 << 31 else None


def _sizes(metadata: Any, data: dict[str, str]) -> dict[str, dict[str, int]]:
    """Return the width and height in pixels that the pictures of a bundle are to be shown with."""
    given = metadata if isinstance(metadata, dict) else {}
    found = {mime: given[mime] for mime in _MAGIC if mime in data and isinstance(given.get(mime), dict)}
    sizes = {
        mime: {name: size for name in ("width", "height") if type(size := of.get(name)) is int and 0 < size <= 10_000}
        for mime, of in found.items()
    }
    return {mime: size for mime, size in sizes.items() if size}
