"""Running the cells of a notebook in the shell that the zygote made, and the probe that stands in for `check`."""

from __future__ import annotations

import os
from time import monotonic
from typing import TYPE_CHECKING, Any

from rlinfra.checks import set_probe
from rlinfra.observe import Call, Observation, Raised, observe
from rlinfra.wire import encode

if TYPE_CHECKING:
    from channel import Channel
    from interrupts import Interrupts
    from shell import Shell

_GATHER_SECONDS = 0.005


def run_cells(order: dict[str, Any], shell: Shell, channel: Channel, interrupts: Interrupts) -> None:
    """Run `order["cells"]`, pairs of a place and a source; with `order["judged"]`, every check asks the parent.

    After each cell the parent looks at what the child has become, and then sends word to go on.
    """
    shell.send = channel.send
    shell.user_ns["_dh"][:] = [os.getcwd()]  # noqa: PTH109 - where `%cd` comes from
    if order["judged"]:
        set_probe(_Probe(channel, interrupts))
        shell.show_nothing()
    channel.send(ready=True)
    for place, source in order["cells"]:
        try:
            with interrupts.heard():
                shell.run(source, place)
        except BaseException as error:  # an interrupt between two statements, or a cell that cancelled what runs it
            shell.emit(output_type="error", ename=type(error).__name__, evalue="", traceback=[])
        channel.send(end=place, count=shell.execution_count - 1)
        channel.receive()


class _Probe:
    """Stands in the place of `check`: tells the parent its name, then does what it asks, and answers.

    Answers are gathered for some milliseconds, since each that is sent makes two processes wait for one another. Where
    a child before this one ended in the middle, the parent wants them one by one, to know at which it was.
    """

    def __init__(self, channel: Channel, interrupts: Interrupts) -> None:
        self._channel = channel
        self._interrupts = interrupts
        self._gathered: list[Any] = []
        self._gather_seconds = 0.0
        self._told = 0.0

    def __call__(self, name: str, namespace: Any) -> None:
        with self._interrupts.heard(False):
            self._channel.send(probe=str(name)[:200])
            while not (message := self._channel.receive()).get("enough"):
                self._gather_seconds = 0.0 if message["one by one"] else _GATHER_SECONDS
                self._told = monotonic()
                for asked in message["asked"]:
                    if not self._answer(name, namespace, asked):
                        break  # the parent asks for the rest again, or for none of it
                self._tell()

    def _answer(self, name: str, namespace: Any, asked: dict[str, Any]) -> bool:
        """Answer one thing that was asked; return whether to go on with the next."""
        if asked.get("read", name) not in namespace:
            return self._nothing("missing")
        if "read" in asked:
            return self._observed({"value": encode(namespace[asked["read"]])})
        if not callable(namespace[name]):
            return self._nothing("not callable")
        return self._call(name, namespace, Call.from_data(asked["call"]))

    def _call(self, name: str, namespace: Any, call: Call) -> bool:
        try:
            with self._interrupts.heard():
                observation = observe(call.function(name, namespace), call)
        except KeyboardInterrupt:  # the parent's way to say that the time is over
            self._gathered.append(Observation(raised=Raised("KeyboardInterrupt")).to_data())
            self._tell(stopped=True)
            return False
        return self._observed(observation.to_data())

    def _observed(self, observation: Any) -> bool:
        self._gathered.append(observation)
        if monotonic() - self._told >= self._gather_seconds:
            self._tell()
        return True

    def _nothing(self, status: str) -> bool:
        self._tell()
        self._channel.send(status=status)
        return False

    def _tell(self, **more: Any) -> None:
        """Send what was gathered."""
        gathered, self._gathered, self._told = self._gathered, [], monotonic()
        if gathered:
            self._send(gathered, **more)

    def _send(self, observations: list[Any], **more: Any) -> None:
        """Send observations: in one message, or each by itself where that would be too long."""
        try:
            self._channel.send(observed=observations, **more)
        except ValueError as error:
            if len(observations) == 1:
                self._channel.send(observed=[{"value": {"$other": f"a value that is too large: {error}"}}], **more)
                return
            *others, last = observations
            for observation in others:
                self._send([observation])
            self._send([last], **more)
