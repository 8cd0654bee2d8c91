"""A name that is not there: one line that says so, with those that were perhaps meant."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from .text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable


def unknown(kind: str, name: str, names: Iterable[str], where: str = "") -> str:
    """Return a line such as `there is no task 'kv'; did you mean kv_cache_sort?`; without a similar name, list some."""
    known = sorted(names)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    begins = [one for one in known if name and one.startswith(name) and one not in near]
    said = [one_line(one) for one in (near + begins)[:5]]
    first = ", ".join(map(one_line, known[:10])) + (f" and {len(known) - 10} more" if len(known) > 10 else "")
    advice = f"did you mean {' or '.join(said)}?" if said else f"there are {first}" if known else "there is none at all"
    return f"there is no {kind} {one_line(name)!r}{where}; {advice}"
