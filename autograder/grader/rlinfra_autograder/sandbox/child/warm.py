"""Warming the zygote up: what notebooks import, the first figure and the first traceback are paid for once.

What a cell imports on the quiet (a widget's front end, a lexer for tracebacks) is learned, not listed: a throw-away
fork runs a few cells and says which modules it ended up with.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import seccomp
from shell import Shell

import rlinfra.explorers
import rlinfra.given
from rlinfra.checks.data import all_tasks

if TYPE_CHECKING:
    from collections.abc import Callable

_TYPICAL_CELLS = (
    "import numpy as np, math, json, dataclasses, collections, itertools, random, asyncio, time, pathlib",
    "from rlinfra import check\n[1, {'a': 2.5}]",
    "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.title('$x$'); plt.show()",
    "from IPython.display import HTML, display\ndisplay(HTML('<b>a</b>'))",
    "import ipywidgets\nipywidgets.IntSlider()",
    "await asyncio.sleep(0)",
    "1 / 0",
    "def f(:",
)


def warm_up() -> Shell:
    """Return the shell that children find ready; afterwards this process holds all that they commonly need."""
    for package in (rlinfra.given, rlinfra.explorers):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    all_tasks()
    with suppress(seccomp.SeccompError):  # the child that cannot be confined says so
        seccomp.common()
    shell = Shell.make()
    with suppress(ImportError):
        _draw()
    with suppress(ImportError):
        _let_widgets_keep_outputs(shell)
    for name in _learned(shell):
        with suppress(Exception):
            importlib.import_module(name)
    _raise(shell)
    _seed()
    gc.collect()
    gc.freeze()  # so that a child's collector leaves the pages that it shares with the zygote alone
    return shell


def _learned(shell: Shell) -> list[str]:
    """Return the modules that typical cells import, by running them in a fork."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        before = set(sys.modules)
        shell.send = _nowhere
        for place, source in enumerate(_TYPICAL_CELLS):
            shell.run(source, place)
        with os.fdopen(write, "w") as pipe:
            # in the order of their import: a module in C may break when it comes before its package (_asyncio does)
            json.dump([name for name in sys.modules if name not in before], pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    names: list[str] = json.loads(text) if text else []
    return names


def _raise(shell: Shell) -> None:
    """Format a traceback: the lexer that colours it is then ready."""
    try:
        exec(compile("1 / 0", "<warm>", "exec"), {})  # noqa: S102 - a line of our own
    except ZeroDivisionError:
        shell.InteractiveTB.structured_traceback(*sys.exc_info())


def _nowhere(**_: Any) -> None:
    """Drop an output."""


def _draw() -> None:
    """Draw a figure as the inline backend does: what is slow about the first one is then done.

    The files of the fonts that it used are closed again. A child closes all descriptors, and were such a file closed
    in it later, that would close what has its number by then: the channel, or a file of the student's.
    """
    import matplotlib_inline.backend_inline  # noqa: F401
    from IPython.core.pylabtools import print_figure
    from matplotlib import font_manager, mathtext, pyplot

    pyplot.plot([0, 1], label="a")
    pyplot.title("$x$")
    pyplot.legend()
    print_figure(pyplot.gcf(), fmt="png", bbox_inches="tight")
    pyplot.close("all")
    mathtext.MathTextParser._parse_cached.cache_clear()  # type: ignore[attr-defined]  # there is no public way
    font_manager._get_font.cache_clear()  # type: ignore[attr-defined]


def _let_widgets_keep_outputs(shell: Shell) -> None:
    """Let an Output widget keep what is printed inside of it: with a kernel, the front end does that."""
    from ipywidgets import Output

    leave: Callable[..., Any] = Output.__exit__

    def enter(_: Any) -> None:
        shell.mute()

    def exit_(self: Any, kind: Any, error: Any, trace: Any) -> Any:
        try:
            return leave(self, kind, error, trace)
        finally:
            shell.unmute()

    Output.__enter__, Output.__exit__ = enter, exit_


def _seed() -> None:
    """Give NumPy's random numbers a known start; Python's own get theirs in each child."""
    with suppress(ImportError):
        import numpy

        numpy.random.seed(0)
