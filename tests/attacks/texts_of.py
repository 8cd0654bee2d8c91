"""What people read of a graded notebook: all but the student's own sources, and the lines of text by themselves."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator

from rlinfra_autograder.grade import METADATA_KEY, Graded


def said_by(graded: Graded) -> str:
    """Return outputs, cards and metadata as one text; what a student wrote in a cell is known to him anyway."""
    notebook = graded.notebook
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    cards = [cell.source for cell in notebook.cells if cell.get("id", "").startswith("rlinfra-result")]
    metadata = notebook.metadata.get(METADATA_KEY, {})
    return json.dumps([outputs, cards, metadata], ensure_ascii=False) + "".join(graded.faults)


def dangerous_lines(graded: Graded) -> list[str]:
    """Return the lines for logs, terminals and tables that would do something there: move, recolour, compute."""
    return [ascii(line[:60]) for line in _lines(graded) if _is_dangerous(line)]


def _lines(graded: Graded) -> Iterator[str]:
    yield from graded.faults
    for verdict in graded.verdicts:
        yield from (verdict.remark, verdict.hint, *(criterion.note for criterion in verdict.criteria))


def _is_dangerous(line: str) -> bool:
    hidden = any(unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") for letter in line)
    return hidden or line.startswith(("=", "+", "-", "@"))
