"""Words that the sentences of all explorers are made of."""

from __future__ import annotations


def counted(count: int, noun: str, ending: str = "s") -> str:
    """Return a count with its noun, which has that ending unless it is one: `1 batch`, `2,048 batches`."""
    return f"{count:,} {noun}{'' if count == 1 else ending}"
