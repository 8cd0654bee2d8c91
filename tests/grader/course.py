"""The committed course, and how a copy of it is spoilt."""

from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
SOURCE, RELEASED = "source/memory/memory.ipynb", "release/memory/memory.ipynb"
DATA = "course/rlinfra/checks/data/memory.json"
ADVICE = "rlinfra-grade release writes check data and releases anew"


def edit(path, old, new):
    """Exchange the first place of a text in a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def spoil(root):
    """Edit a release and its check data by hand."""
    edit(root / RELEASED, "Bytes per parameter", "Bites per parameter")
    edit(root / DATA, '"expected": 16', '"expected": 17')


def break_headings(root):
    """Make a source break a rule of the lint."""
    edit(root / SOURCE, "## What to keep", "#### What to keep")
