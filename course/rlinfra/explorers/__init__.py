"""Explorers: a topic's worked problem comes alive, computed by the functions of the notebook that it stands in.

`explore("memory", globals())` opens the explorer of a topic. It looks each function up when it draws, so a cell that
is run anew counts from the next move on. Importing it needs no other package; widgets are made where they are shown.
"""

from __future__ import annotations

from collections import ChainMap
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..topics import TOPICS, Topic, find_topic
from ._explorer import Explorer
from ._functions import Functions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Explorer", "explore"]


def explore(topic: str, namespace: Mapping[str, Any] | None = None, /, **functions: Callable[..., Any]) -> Explorer:
    """Return the explorer of a topic, which shows itself in a notebook.

    Its functions are those named by keyword, and for the rest what `namespace` (a notebook's `globals()`) has under
    their names when the explorer draws. One that is missing, unwritten, raises, hangs or returns nonsense is told of
    in the explorer, and costs only what it would have computed. Raises `LookupError` where there is no such topic or
    no explorer for it, `TypeError` where a keyword is no function of the topic, or `namespace` is no mapping.
    """
    found = find_topic(topic)
    if not _has_explorer(found):
        others = ", ".join(one.name for one in TOPICS if _has_explorer(one))
        raise LookupError(f"there is no explorer for {topic!r} yet; there are: {others}")
    module = import_module(f"{__name__}.{found.module}")
    foreign = sorted(set(functions) - set(module.TOPIC.functions))
    if foreign:
        known = ", ".join(module.TOPIC.functions)
        raise TypeError(f"{foreign[0]} is no function of the topic {topic!r}; its functions are {known}")
    variables = {} if namespace is None else namespace
    if not hasattr(variables, "keys"):
        raise TypeError(f'a notebook\'s variables are given as explore("{topic}", globals()), not {variables!r:.80}')
    lookup = ChainMap(dict(functions), variables)  # type: ignore[arg-type]  # it is only read
    reference = _reference(found)
    renamed = {name: reference[theirs] for name, theirs in module.TOPIC.reference_names.items() if theirs in reference}
    return Explorer(module.TOPIC, Functions(module.TOPIC.functions, lookup, {**reference, **renamed}))


def _has_explorer(topic: Topic) -> bool:
    return find_spec(f"{__name__}.{topic.module}") is not None


def _reference(topic: Topic) -> dict[str, Callable[..., Any]]:
    """Return the reference's functions of a topic by name: none, where the package is not installed."""
    if find_spec("rlinfra_reference") is None:
        return {}
    module = import_module(f"rlinfra_reference.{topic.module}")
    return {name: getattr(module, name) for name in module.__all__}
