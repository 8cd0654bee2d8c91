"""Running the cells of a notebook in an IPython shell, without a kernel: outputs go to the parent as they come."""

from __future__ import annotations

import base64
import builtins
import io
import random
import sys
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import StdinNotImplementedError
from IPython.core.history import HistoryManager
from IPython.core.interactiveshell import InteractiveShell

from rlinfra.checks import set_probe
from rlinfra.observe import Call, Observation, Raised, observe
from rlinfra.wire import encode


def run_cells(order: dict[str, Any], pipes: Any) -> None:
    """Run `order["cells"]`, pairs of a place and a source; with `order["judged"]`, every check asks the parent."""
    shell = _Shell.create(pipes)
    random.seed(0)
    if order["judged"]:
        set_probe(_Probe(pipes))
    for place, source in order["cells"]:
        pipes.send(begin=place)
        try:
            shell.run_cell(source, store_history=True, cell_id=str(place))
        except KeyboardInterrupt:  # an interrupt that came between two statements
            pipes.send(output={"output_type": "error", "ename": "KeyboardInterrupt", "evalue": "", "traceback": []})
        shell.flush_streams()
        pipes.send(end=place, count=shell.execution_count - 1)


class _Probe:
    """Stands in the place of `check`: tells the parent its name, then does what it asks, one thing a message."""

    def __init__(self, pipes: Any) -> None:
        self._pipes = pipes

    def __call__(self, name: str, namespace: Any) -> None:
        self._pipes.send(probe=str(name)[:200])
        while not (asked := self._pipes.receive()).get("enough"):
            if "read" in asked:
                value = namespace.get(asked["read"])
                missing = asked["read"] not in namespace
                self._pipes.send(**({"status": "missing"} if missing else {"observed": {"value": encode(value)}}))
            elif name not in namespace:
                self._pipes.send(status="missing")
            elif not callable(namespace[name]):
                self._pipes.send(status="not callable")
            else:
                self._pipes.send(observed=_observation(name, namespace, asked["call"]))


def _observation(name: str, namespace: Any, data: Any) -> Any:
    call = Call.from_data(data)
    try:
        return observe(call.function(name, namespace), call).to_data()
    except KeyboardInterrupt:  # the parent's way to say that the time is over
        return Observation(raised=Raised("KeyboardInterrupt")).to_data()


class _Stream(io.TextIOBase):
    """Standard output or error: text is kept until the other stream is written to, or a cell ends."""

    encoding = "utf-8"
    errors = "strict"

    def __init__(self, name: str, shell: _Shell) -> None:
        super().__init__()
        self._name = name
        self._shell = shell
        self._parts: list[str] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
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
            self._shell.emit(output_type="stream", name=self._name, text=text)


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

    def start_displayhook(self) -> None:
        self.shell.flush_streams()
        self._result: tuple[Any, Any] = ({}, {})

    def write_output_prompt(self) -> None:
        """Write nothing: the notebook shows its own prompt."""

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        self._result = (_plain(format_dict), md_dict or {})

    def finish_displayhook(self) -> None:
        data, metadata = self._result
        self.shell.emit(output_type="execute_result", data=data, metadata=metadata)


class _Shell(InteractiveShell):
    """An IPython shell whose outputs go to the parent."""

    @classmethod
    def create(cls, pipes: Any) -> _Shell:
        shell: _Shell = cls.instance(display_pub_class=_Publisher, displayhook_class=_Hook, colors="neutral")
        shell.pipes = pipes
        shell.streams = (_Stream("stdout", shell), _Stream("stderr", shell))
        sys.stdout, sys.stderr = shell.streams
        sys.displayhook = shell.displayhook
        builtins.input = _no_input
        return shell

    def emit(self, **output: Any) -> None:
        """Send an output; one that is no JSON is told instead of sent."""
        try:
            self.pipes.send(output=output)
        except (TypeError, ValueError) as error:
            self.pipes.send(output={"output_type": "stream", "name": "stderr", "text": f"output dropped: {error}\n"})

    def flush_streams(self, but: Any = None) -> None:
        """Send what is kept of both streams, so that outputs stay in order."""
        for stream in self.streams:
            if stream is not but:
                stream.flush()

    def enable_gui(self, gui: Any = None) -> None:
        """Do nothing: there is no screen."""

    def init_io(self) -> None:
        """Leave the streams alone until `create` puts ours in place."""

    def init_history(self) -> None:
        """Keep no history file."""
        self.history_manager = HistoryManager(shell=self, parent=self, enabled=False)
        self.configurables.append(self.history_manager)

    def _showtraceback(self, etype: Any, evalue: Any, stb: Any) -> None:
        self.flush_streams()
        try:
            text = str(evalue)
        except Exception:
            text = "(its text cannot be read)"
        self.emit(output_type="error", ename=etype.__name__, evalue=text, traceback=[str(line) for line in stb])


def _no_input(*_: object) -> str:
    raise StdinNotImplementedError("input() was called, and while a notebook is graded there is nobody to answer.")


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    return {
        kind: base64.b64encode(value).decode() if isinstance(value, bytes) else value for kind, value in data.items()
    }
