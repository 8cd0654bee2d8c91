"""What a recovery drill hands from one process to the next: JSON text, and nothing else.

The drivers of the drills use it. A student's function that is missing, or gives what cannot be handed over, is a
sentence that names it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

L = TypeVar("L")

MOST_CHARACTERS = 400_000
_PIECE = 4_000  # what a single text may take on the wire


def saved(namespace: Mapping[str, Any], name: str, loop: object) -> str:
    """Return what the notebook's function of that name saves of a loop, as JSON text.

    Raises `TypeError` where JSON cannot hold it, `ValueError` where it is too long, `NotImplementedError` where there
    is none.
    """
    state = _function(namespace, name)(loop)
    if state is None:
        raise NotImplementedError(f"{name} returns nothing: is it written yet?")
    try:
        text = json.dumps(state, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{name} must return what JSON can hold: {error}") from error
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"{name} must take at most {MOST_CHARACTERS:,} characters of JSON, not {len(text):,}")
    return text


def in_pieces(text: str) -> list[str]:
    """Return the text cut into pieces that the wire carries whole."""
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


def loaded(namespace: Mapping[str, Any], name: str, pieces: Sequence[str], kind: type[L]) -> L:
    """Return the loop that the notebook's function of that name makes of what was handed over.

    Raises `TypeError` where what comes back is no loop of this kind, `NotImplementedError` where nothing does.
    """
    loop = _function(namespace, name)(json.loads("".join(pieces)))
    if loop is None:
        raise NotImplementedError(f"{name} returns nothing: is it written yet?")
    if not isinstance(loop, kind):
        raise TypeError(f"{name} must return a {kind.__name__}, not a value of type {type(loop).__name__}")
    return loop


def _function(namespace: Mapping[str, Any], name: str) -> Callable[..., Any]:
    if name not in namespace:
        raise NameError(f"the notebook has no function {name} at this point")
    function: Callable[..., Any] = namespace[name]
    return function
