"""Cells and notebooks of a submission, built anew as they may stand in a graded notebook."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from nbformat import NotebookNode, from_dict

from ..text import joined
from .markdown import fenced, markdown_with
from .outputs import clean_output, count, picture

_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_METADATA = {  # of the course, and nothing of the student's: kernels, titles and widgets are read when a page is made
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "language_info": {"name": "python"},
}


def clean_notebook(notebook: Any) -> NotebookNode:
    """Return a submission as it may stand in a graded notebook: its cells, cleaned, each under an id of its own."""
    given = notebook.get("cells") if isinstance(notebook, dict) else None
    cells = [clean_cell(cell) for cell in given] if isinstance(given, list) else []
    seen: set[str] = set()
    for place, cell in enumerate(cells):
        while cell.id in seen:
            cell["id"] = _derived_id(f"{place}/{cell.id}")
        seen.add(cell.id)
    clean = from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": _METADATA, "cells": []})
    clean["cells"] = cells
    return clean


def clean_cell(cell: Any) -> NotebookNode:
    """Return a cell of a submission as it may stand in a graded notebook.

    Code stays as it is, since it is shown as text. A raw cell, or one of an unknown type, becomes Markdown that shows
    it as code: nbconvert takes a raw cell for HTML.
    """
    given = cell if isinstance(cell, dict) else {}
    source = joined(given.get("source")) or ""
    name = given.get("id")
    valid = isinstance(name, str) and _ID.fullmatch(name)
    clean: dict[str, Any] = {
        "id": name if valid else _derived_id(source),
        "cell_type": "markdown",
        "metadata": _metadata(given.get("metadata")),
        "source": source,
    }
    if given.get("cell_type") == "code":
        outputs = given.get("outputs")
        shown = [clean_output(output) for output in outputs] if isinstance(outputs, list) else []
        clean |= {"cell_type": "code", "execution_count": count(given.get("execution_count"))}
        clean["outputs"] = [output for output in shown if output is not None]
    elif given.get("cell_type") == "markdown":
        attachments = _attachments(given.get("attachments"))
        clean["source"] = markdown_with(source, attachments)
        if attachments:
            clean["attachments"] = attachments
    elif source:
        clean["source"] = fenced(source)
    return from_dict(clean)


def _derived_id(text: str) -> str:
    return f"cell-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _metadata(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        return {}
    kept: dict[str, Any] = {name: given[name] for name in ("deletable", "editable") if type(given.get(name)) is bool}
    if ours := _nbgrader(given.get("nbgrader")):
        kept["nbgrader"] = ours
    return kept


def _nbgrader(given: Any) -> dict[str, Any]:
    """Return nbgrader's metadata by its schema: its pages write ids, points and comments without escaping them."""
    if not isinstance(given, dict):
        return {}
    kept = {name: given[name] for name in ("grade", "locked", "solution", "task") if type(given.get(name)) is bool}
    for name, pattern in (("grade_id", _ID), ("checksum", _ID), ("cell_type", re.compile("raw|code|markdown"))):
        if isinstance(value := given.get(name), str) and pattern.fullmatch(value):
            kept[name] = value
    for name, most in (("points", 1_000_000), ("schema_version", 100)):
        value = given.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most:
            kept[name] = value
    return kept if "grade_id" in kept else {}


def _attachments(given: Any) -> dict[str, dict[str, str]]:
    """Return the raster pictures among the attachments of a Markdown cell."""
    kept: dict[str, dict[str, str]] = {}
    for name, bundle in given.items() if isinstance(given, dict) else ():
        pictures = bundle.items() if isinstance(bundle, dict) else ()
        checked = {mime: content for mime, value in pictures if (content := picture(mime, value)) is not None}
        if isinstance(name, str) and joined(name) == name and checked:
            kept[name] = checked
    return kept
