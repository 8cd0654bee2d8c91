"""Running the cells of a notebook in the shell that the zygote made, and the probe that stands in for `check`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from rlinfra.checks import set_probe
from rlinfra.observe import Call, Observation, Raised, observe
from rlinfra.wire import encode

if TYPE_CHECKING:
    from channel import Channel
    from interrupts import Interrupts
    from shell import Shell


def run_cells(order: dict[str, Any], shell: Shell, channel: Channel, interrupts: Interrupts) -> None:
    """Run `order["cells"]`, pairs of a place and a source; with `order["judged"]`, every check asks the parent.

    After each cell the parent looks at what the child has become, and then sends word to go on.
    """
    shell.send = channel.send
    shell.user_ns["_dh"][:] = [os.getcwd()]  # noqa: PTH109 - where `%cd` comes from
    if order["judged"]:
        set_probe(_Probe(channel, interrupts))
    for place, source in order["cells"]:
        channel.send(begin=place)
        try:
            with interrupts.heard():
                shell.run(source, place)
        except BaseException as error:  # an interrupt between two statements, or a cell that cancelled what runs it
            shell.emit(output_type="error", ename=type(error).__name__, evalue="", traceback=[])
        channel.send(end=place, count=shell.execution_count - 1)
        channel.receive()


class _Probe:
    """Stands in the place of `check`: tells the parent its name, then does what it asks, one thing a message."""

    def __init__(self, channel: Channel, interrupts: Interrupts) -> None:
        self._channel = channel
        self._interrupts = interrupts

    def __call__(self, name: str, namespace: Any) -> None:
        with self._interrupts.heard(False):
            self._channel.send(probe=str(name)[:200])
            while not (asked := self._channel.receive()).get("enough"):
                if "read" in asked:
                    self._read(asked["read"], namespace)
                elif name not in namespace:
                    self._channel.send(status="missing")
                elif not callable(namespace[name]):
                    self._channel.send(status="not callable")
                else:
                    self._observed(self._observation(name, namespace, asked["call"]))

    def _read(self, name: str, namespace: Any) -> None:
        if name in namespace:
            self._observed({"value": encode(namespace[name])})
        else:
            self._channel.send(status="missing")

    def _observation(self, name: str, namespace: Any, data: Any) -> Any:
        call = Call.from_data(data)
        try:
            with self._interrupts.heard():
                return observe(call.function(name, namespace), call).to_data()
        except KeyboardInterrupt:  # the parent's way to say that the time is over
            return Observation(raised=Raised("KeyboardInterrupt")).to_data()

    def _observed(self, observation: Any) -> None:
        try:
            self._channel.send(observed=observation)
        except ValueError as error:
            self._channel.send(observed={"value": {"$other": f"a value that is too large: {error}"}})
