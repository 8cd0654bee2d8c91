"""The two soaks of a batch: a large class in one go, and a smaller one that is killed at random moments."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from rlinfra_autograder.entries import FAILED, GRADED, UNGRADED
from tests.attacks.notebooks import TOPIC
from tests.e2e.course import BIN
from tests.e2e.handed import gradebook
from tests.e2e.kills import kill_batch
from tests.e2e.rows import entered, rows, what_came_of_them

from .handed import BAD, HandedIn
from .memory import ROLES, Memory

WORKERS = 2
_FLAT_MB = 25.0  # what a process may grow by in the second half


@dataclass(frozen=True)
class Finding:
    """One line of the table: what was looked at, what was found, and whether it is as it should be."""

    what: str
    found: str
    holds: bool


def soak(course: Path, handed: list[HandedIn], scratch: Path) -> list[Finding]:
    """Grade a class in one go, and look at what came of it and what is left."""
    shared = _shared_memory()
    begun = time.monotonic()
    command = [BIN / "rlinfra-grade", "batch", TOPIC, "--workers", str(WORKERS)]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    with (
        subprocess.Popen(command, cwd=course, env=environment, stdout=subprocess.DEVNULL) as process,
        Memory(process.pid) as memory,
    ):
        process.wait()
    seconds = time.monotonic() - begun
    left = psutil.wait_procs(memory.seen, timeout=10)[1]
    return [
        Finding("graded", f"{len(handed)} in {seconds:.0f} s, {60 * len(handed) / seconds:.0f} a minute", True),
        *_accounts(course, handed),
        *(
            Finding(
                f"memory of a {role}" if role != "batch" else "memory of the batch",
                f"at most {memory.most(role):.0f} MB, {memory.growth(role):+.1f} MB in the second half",
                memory.growth(role) < _FLAT_MB,
            )
            for role in ROLES
        ),
        _none("processes left", [str(one) for one in left]),
        _none("temporary folders left", [path.name for path in scratch.iterdir()]),
        _none("files begun and not ended", [str(path) for path in (course / "autograded").rglob(".*")]),
        _none("shared memory left", _left_in_shared_memory(shared)),
    ]


def _accounts(course: Path, handed: list[HandedIn]) -> list[Finding]:
    """Compare what was handed in with what came of it."""
    came = {student: status for student, status, _ in what_came_of_them(gradebook(course))}
    wanted = {one.student: UNGRADED if one.refused else GRADED for one in handed}
    points: dict[str, float] = defaultdict(float)
    for student, _, auto, *_ in rows(gradebook(course))["grade"]:
        points[student] += auto or 0.0
    by_kind = defaultdict(set)
    for one in handed:
        if not one.refused and not one.kind.startswith("broken"):
            by_kind[one.kind].add(points.get(one.student))
    bad = sum(one.kind.startswith(("hostile", "broken")) for one in handed)
    unlike = [kind for kind, found in by_kind.items() if len(found) > 1]
    gained = [kind for kind, found in by_kind.items() if kind.startswith("hostile") and found != {0.0}]
    status = Counter(came.values())
    return [
        Finding("came to", ", ".join(f"{status[one]} {one}" for one in (GRADED, UNGRADED, FAILED)), not status[FAILED]),
        Finding("hostile or broken", f"{bad}, one of {BAD}", bad > 0),
        _none("not as it should have come", [one for one in {*came, *wanted} if came.get(one) != wanted.get(one)]),
        _none("the same work with other points", unlike),
        _none("hostile with points", gained),
    ]


def kill_and_resume(course: Path, undisturbed: Path, kills: int, seed: int) -> list[Finding]:
    """Kill a batch so often at random moments, let it end, and compare its rows with those of an undisturbed one."""
    chance = random.Random(seed)
    hit = 0
    for number in range(kills):
        goal = entered(gradebook(course)) + chance.randrange(3)
        when = _Moment(course, goal, chance.uniform(0.0, 1.0 if goal else 8.0))
        hit += kill_batch(course, TOPIC, "--workers", str(WORKERS), when=when)
        print(f"  kill {number + 1} of {kills}: {entered(gradebook(course))} are graded", flush=True)
    before = entered(gradebook(course))
    subprocess.run([BIN / "rlinfra-grade", "batch", TOPIC], cwd=course, check=False, stdout=subprocess.DEVNULL)
    students = {path.name for path in (course / "submitted").iterdir()}
    wanted = {
        name: [row for row in found if row[0] in students] for name, found in rows(gradebook(undisturbed)).items()
    }
    unlike = [name for name, found in rows(gradebook(course)).items() if found != wanted[name]]
    return [
        Finding("killed at work", f"{hit} of {kills} times (seed {seed}), then {before} of {len(students)}", hit > 0),
        _none("rows unlike those of an undisturbed run", unlike),
    ]


class _Moment:
    """A moment a while after so many are graded."""

    def __init__(self, course: Path, graded: int, seconds: float) -> None:
        self._url, self._graded, self._seconds = gradebook(course), graded, seconds
        self._since: float | None = None

    def __call__(self) -> bool:
        """Return whether it has come."""
        if self._since is None and entered(self._url) >= self._graded:
            self._since = time.monotonic()
        return self._since is not None and time.monotonic() - self._since >= self._seconds


def a_part(course: Path, count: int, folder: Path) -> Path:
    """Return a copy of an ungraded course root in which only the first so many have handed in."""
    part = shutil.copytree(course, folder, symlinks=True)
    for path in sorted((part / "submitted").iterdir())[count:]:
        shutil.rmtree(path)
    return part


def _none(what: str, found: list[str]) -> Finding:
    return Finding(what, ", ".join(found[:5]) or "none", not found)


def _shared_memory() -> set[str]:
    return {path.name for path in Path("/dev/shm").iterdir()}


def _left_in_shared_memory(before: set[str]) -> list[str]:
    """Return what is new there and in nobody's use: others on this machine have shared memory of their own."""
    new = _shared_memory() - before
    maps = []
    for path in Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError):
            maps.append(path.read_text())
    in_use = "".join(maps)
    return sorted(name for name in new & _shared_memory() if name not in in_use)
