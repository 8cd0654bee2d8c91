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

    For a process that runs no notebook itself. Used as a context.
    """

    def __init__(self, root: Path, python: Path, confined: bool) -> None:
        self._runner = _runner(root, ChildSettings(python, confined=confined))

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()

    def verified_environment(self) -> Mapping[str, str]:
        """Return the versions in the student's environment; raise `RunnerError` where code in it can reach answers."""
        return self._runner.verify()

    def open(self) -> socket.socket:
        """Let the zygote get ready, and return the socket by which a worker asks for a twin."""
        zygote = self._runner.zygote()
        zygote.warm_up()
        return zygote.control


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
