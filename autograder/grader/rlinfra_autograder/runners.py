"""The runners of a process, each verified before its first notebook: student code cannot reach the answers from it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from pathlib import Path

import rlinfra_autograder
import rlinfra_reference

from .best_known import FOLDER as BEST_KNOWN
from .hidden import SEED_FILE
from .sandbox.runner import ZygoteRunner
from .sandbox.zygote import ChildSettings

STUDENT_PYTHON = Path(".venv-student/bin/python")

_RUNNERS: dict[tuple[Path, Path, bool], tuple[ZygoteRunner, Mapping[str, str]]] = {}
_ONE_AT_A_TIME = threading.Lock()
_FIRST: list[socket.socket] = []  # the control of the zygote that those of this process are twins of


def verified_runner(root: Path, python: Path, confined: bool) -> tuple[ZygoteRunner, Mapping[str, str]]:
    """Return a runner that student code cannot reach the answers from, and the versions of its environment.

    Raises `RunnerError` where it could. Verified once a process, since every notebook asks for it; threads share it.
    """
    with _ONE_AT_A_TIME:
        key = root, python, confined
        if key not in _RUNNERS:
            runner = _runner(root, ChildSettings(python, confined=confined))
            _RUNNERS[key] = runner, runner.verify()
        return _RUNNERS[key]


class Nursery:
    """What a batch starts once for all of its workers: a zygote, of which each of them gets a twin.

    For a process that runs no notebook itself. Used as a context. It is verified and warms up, which takes seconds,
    while this process does something else, such as importing what a batch needs; one that was never needed is killed.
    """

    def __init__(self, root: Path, python: Path, confined: bool) -> None:
        self._runner = _runner(root, ChildSettings(python, confined=confined))
        self._environment: Mapping[str, str] | Exception = {}
        self._needed = False
        self._begun = threading.Thread(target=self._begin, daemon=True)
        self._begun.start()

    def _begin(self) -> None:
        try:
            self._environment = self._runner.verify()
            self._runner.zygote().warm_up()
        except Exception as error:  # for whoever asks
            self._environment = error

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_: object) -> None:
        self._begun.join()
        if not self._needed and not isinstance(self._environment, Exception):
            self._runner.zygote().kill()
        self._runner.close()

    def verified_environment(self) -> Mapping[str, str]:
        """Return the versions in the student's environment; raise `RunnerError` where code in it can reach answers."""
        self._begun.join()
        if isinstance(self._environment, Exception):
            raise self._environment
        return self._environment

    def open(self) -> socket.socket:
        """Return the socket by which a worker asks for a twin."""
        self.verified_environment()
        self._needed = True
        return self._runner.zygote().control


def fork_runners_from(first: socket.socket | None) -> None:
    """Let the runners of this process be made of twins of that zygote."""
    _FIRST[:] = [] if first is None else [first]


def _runner(root: Path, settings: ChildSettings) -> ZygoteRunner:
    packages = [Path(module.__file__ or "").parent for module in (rlinfra_autograder, rlinfra_reference)]
    secret = ("autograder", "source", "submitted", SEED_FILE, "gradebook.db", BEST_KNOWN)
    course = [root / name for name in secret]
    return ZygoteRunner(settings, (*packages, *course), _FIRST[0] if _FIRST else None)


def let_go_of_runners(root: Path | None = None) -> None:
    """End the runners of a course root, or of all, with what they have running; who asks again gets new ones."""
    with _ONE_AT_A_TIME:
        keys = [key for key in _RUNNERS if root in (None, key[0])]
        found = [_RUNNERS.pop(key)[0] for key in keys]
    for runner in found:
        runner.close()
