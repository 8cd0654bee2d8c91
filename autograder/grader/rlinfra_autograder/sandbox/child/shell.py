"""An IPython shell without a kernel, whose outputs go to the parent as they come.

It shows what a kernel would show: the same streams, results, displays and tracebacks in the same order. It is made
once, in the zygote, and every child finds it ready.
"""

from __future__ import annotations

import base64
import builtins
import getpass
import io
import os
import re
import sys
import zlib
from typing import Any

from IPython.core.async_helpers import get_asyncio_loop
from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import StdinNotImplementedError
from IPython.core.history import HistoryManager
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell

_PIECE = 1 << 16  # characters of a stream that go into one message
_MAYBE_MAGIC = re.compile(r"[%!?]|^[ \t]*[,;/]", re.MULTILINE)  # what every token transformer of IPython looks for
_MOST_FRAMES = 100  # of a traceback: to show the thousands of an endless recursion takes longer than a cell may


class _Stream(io.TextIOBase):
    """Standard output or error: text is kept until the other stream is written to, or a cell ends."""

    encoding = "UTF-8"
    errors = "strict"

    def __init__(self, name: str, descriptor: int, shell: Shell) -> None:
        super().__init__()
        self.name = name
        self._descriptor = descriptor
        self._shell = shell
        self._parts: list[str] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, text: str, /) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text)}")
        if not text:
            return 0
        self._shell.flush_streams(but=self)
        self._parts.append(text)
        self._size += len(text)
        if self._size > 8192:
            self.flush()
        return len(text)

    def flush(self) -> None:
        if self._parts:
            text = "".join(self._parts)
            self._parts.clear()
            self._size = 0
            for begin in range(0, len(text), _PIECE):
                self._shell.emit(output_type="stream", name=self.name, text=text[begin : begin + _PIECE])


class _Publisher(DisplayPublisher):
    """Sends what is displayed to the parent."""

    def publish(
        self, data: Any, metadata: Any = None, *, transient: Any = None, update: bool = False, **_: Any
    ) -> None:
        kind = "update_display_data" if update else "display_data"
        self.shell.flush_streams()
        self.shell.emit(
            output_type=kind, data=_plain(data), metadata=metadata or {}, display_id=(transient or {}).get("display_id")
        )

    def clear_output(self, wait: bool = False) -> None:
        self.shell.flush_streams()
        self.shell.emit(output_type="clear_output", wait=bool(wait))


class _Hook(DisplayHook):
    """Sends the value of a cell's last expression to the parent."""

    @staticmethod
    def semicolon_at_end_of_expression(expression: str) -> bool:
        """Return whether a cell ends in a semicolon; IPython takes its tokens to find out."""
        return ";" in expression and bool(DisplayHook.semicolon_at_end_of_expression(expression))

    def start_displayhook(self) -> None:
        self.shell.flush_streams()
        self._result: tuple[Any, Any] = ({}, {})

    def write_output_prompt(self) -> None:
        """Write nothing: the notebook shows its own prompt."""

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        self._result = (_plain(format_dict), md_dict or {})

    def finish_displayhook(self) -> None:
        data, metadata = self._result
        if data:  # none where a value displays itself, or cannot be shown
            self.shell.emit(output_type="execute_result", data=data, metadata=metadata)


class _Compiler(CachingCompiler):
    """Gives cells the file names that a kernel gives them: IPython shows the tracebacks of such ones its own way."""

    def get_code_name(self, raw_code: str, *_: object) -> str:
        """Return the name of a file that does not exist, one for each source."""
        return f"/tmp/ipykernel_{os.getpid()}/{zlib.crc32(raw_code.encode(errors='replace'))}.py"  # noqa: S108


class _Transformers(TransformerManager):
    """Looks for magics and `?` in the tokens of a cell that has such a character: that takes longer than to run it."""

    def do_token_transforms(self, lines: list[str]) -> list[str]:
        if not _MAYBE_MAGIC.search("".join(lines)):
            return lines
        transformed: list[str] = super().do_token_transforms(lines)
        return transformed


class Shell(InteractiveShell):
    """The shell. `send` is how it reaches the parent: a child sets it; `muted` counts widgets that keep outputs."""

    send: Any = None
    muted = 0
    compiler_class = _Compiler
    db: Any = None

    @classmethod
    def make(cls) -> Shell:
        """Make the one shell of this process and put its streams and its display hook in place."""
        shell: Shell = cls.instance(
            display_pub_class=_Publisher,
            displayhook_class=_Hook,
            input_transformer_manager=_Transformers(),
            colors="neutral",
        )
        shell.db = {}  # a kernel keeps a file in its profile, for the next session
        shell.set_hook("show_in_pager", _no_pager)
        shell.streams = (_Stream("stdout", 1, shell), _Stream("stderr", 2, shell))
        sys.stdout, sys.stderr = shell.streams
        sys.displayhook = shell.displayhook
        builtins.input = getpass.getpass = _no_input
        return shell

    def run(self, source: str, place: int) -> None:
        """Run a cell as a kernel does: inside a running event loop, so that a cell may await or start tasks."""
        loop = get_asyncio_loop()
        if self._awaits(source):
            self.run_cell(source, store_history=True, cell_id=str(place))  # runs it on that loop
        else:
            loop.run_until_complete(self._run_inside(source, place))
        self.flush_streams()

    def should_run_async(self, raw_cell: str, **known: Any) -> bool:
        """Return whether a cell awaits at its top level; IPython compiles each one to find out."""
        return ("await" in raw_cell or "async" in raw_cell) and bool(super().should_run_async(raw_cell, **known))

    def _awaits(self, source: str) -> bool:
        """Return whether the cell awaits at its top level; False for what cannot be transformed."""
        if "await" not in source and "async" not in source:
            return False
        try:
            return bool(self.should_run_async(source, transformed_cell=self.transform_cell(source)))
        except Exception:  # what cannot be transformed is told when it runs
            return False

    async def _run_inside(self, source: str, place: int) -> None:
        self.run_cell(source, store_history=True, cell_id=str(place))

    def emit(self, **output: Any) -> None:
        """Send an output; one that is no JSON is told instead of sent."""
        if self.muted:
            return
        try:
            self.send(output=output)
        except (TypeError, ValueError) as error:
            self.send(output={"output_type": "stream", "name": "stderr", "text": f"output dropped: {error}\n"})

    def flush_streams(self, but: Any = None) -> None:
        """Send what is kept of both streams, so that outputs stay in order."""
        for stream in self.streams:
            if stream is not but:
                stream.flush()

    def mute(self) -> None:
        """Drop outputs from here on: a widget keeps them."""
        self.flush_streams()
        self.muted += 1

    def unmute(self) -> None:
        """Send outputs again."""
        self.flush_streams()
        self.muted -= 1

    def show_nothing(self) -> None:
        """Drop outputs for good, and before they are formed: to draw a figure that nobody sees takes long."""
        self.mute()
        self.display_formatter.format = _nothing

    def enable_gui(self, gui: Any = None) -> None:
        """Do nothing: there is no screen."""

    def ask_exit(self) -> None:
        """Do nothing: `exit` in a notebook ends its kernel after the cell, and here the next cells are run."""

    def init_io(self) -> None:
        """Leave the streams alone until `make` puts ours in place."""

    def init_history(self) -> None:
        """Keep no history file."""
        self.history_manager = HistoryManager(shell=self, parent=self, enabled=False)
        self.configurables.append(self.history_manager)

    def system(self, cmd: str) -> None:
        """Say that there are no other programs, where a kernel would start one."""
        program = cmd.strip().partition(" ")[0]
        raise PermissionError(f"{program}: no other program can be started while a notebook is graded")

    getoutput = system

    def _get_exc_info(self, exc_tuple: Any = None) -> Any:
        """Return the exception to show, of a very long traceback only both ends."""
        kind, error, trace = super()._get_exc_info(exc_tuple)
        frames = []
        while trace is not None:
            frames.append(trace)
            trace = trace.tb_next
        if len(frames) > _MOST_FRAMES:
            frames[_MOST_FRAMES // 2].tb_next = frames[-_MOST_FRAMES // 2]
        return kind, error, frames[0] if frames else None

    def _showtraceback(self, etype: Any, evalue: Any, stb: Any) -> None:
        self.flush_streams()
        try:
            text = str(evalue)
        except Exception:
            text = "(its text cannot be read)"
        self.emit(output_type="error", ename=etype.__name__, evalue=text, traceback=[str(line) for line in stb])


def _nothing(*_: object, **__: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return no form of an object and nothing on it, as the formatter does of one that displayed itself."""
    return {}, {}


def _no_pager(*_: object, **__: object) -> None:
    """Show no help page: it is no output of a cell, in a notebook that is executed."""


def _no_input(*_: Any, **__: Any) -> str:
    raise StdinNotImplementedError("while a notebook is graded there is nobody to answer what it asks.")


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    return {
        kind: base64.b64encode(value).decode() if isinstance(value, bytes) else value for kind, value in data.items()
    }
