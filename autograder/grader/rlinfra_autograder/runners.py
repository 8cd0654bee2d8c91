"""The runners of a process, each verified before its first notebook: student code cannot reach the answers from it."""

from __future__ import annotations

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


def verified_environment(root: Path, python: Path, confined: bool) -> Mapping[str, str]:
    """Return the versions in the student's environment, for a process that runs no notebook itself.

    Raises `RunnerError` where student code could reach the answers. Nothing is left running.
    """
    with _runner(root, ChildSettings(python, confined=confined, warm=False)) as runner:
        return runner.verify()


def _runner(root: Path, settings: ChildSettings) -> ZygoteRunner:
    packages = [Path(module.__file__ or "").parent for module in (rlinfra_autograder, rlinfra_reference)]
    secret = ("autograder", "source", "submitted", SEED_FILE, "gradebook.db", BEST_KNOWN)
    course = [root / name for name in secret]
    return ZygoteRunner(settings, (*packages, *course))


def let_go_of_runners(root: Path | None = None) -> None:
    """End the runners of a course root, or of all, with what they have running; who asks again gets new ones."""
    with _ONE_AT_A_TIME:
        keys = [key for key in _RUNNERS if root in (None, key[0])]
        found = [_RUNNERS.pop(key)[0] for key in keys]
    for runner in found:
        runner.close()
