"""Submissions on disk: which there are, when they were handed in, and the fingerprint of what a grade depends on."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from .course import notebook_path
from .hidden import seed_fingerprint
from .tasks.sources import COMMON, source_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

_LARGEST_FILE = 256 << 20


@dataclass(frozen=True)
class Submission:
    """A folder that a student handed in for a topic."""

    student: str
    topic: str
    folder: Path

    def handed_in(self) -> datetime | None:
        """Return the time in `timestamp.txt`, where nbgrader's exchange leaves it; None where there is none to read."""
        try:
            said = (self.folder / "timestamp.txt").read_text(encoding="utf-8").strip()
            from nbgrader.utils import parse_utc  # noqa: PLC0415 - takes a second, and most have no such file

            time: datetime | None = parse_utc(said) if said else None
        except (OSError, ValueError, UnicodeError):
            return None
        return time


def find_submissions(folder: Path, topics: Iterable[str], students: str = "*") -> list[Submission]:
    """Return the submissions below `folder/<student>/<topic>/`, by topic, then by student."""
    names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith("."))
    chosen = [name for name in names if fnmatch.fnmatchcase(name, students)]
    pairs = [Submission(student, topic, folder / student / topic) for topic in topics for student in chosen]
    return [submission for submission in pairs if submission.folder.is_dir()]


@dataclass(frozen=True)
class Fingerprint:
    """What a grade depends on, as hashes: the files that were handed in, what all tasks share, and each task's own."""

    submission: str
    settings: str
    tasks: Mapping[str, str]

    def __str__(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def parse(cls, text: str) -> Fingerprint:
        """Return the fingerprint that a text says."""
        return cls(**json.loads(text))

    def with_task(self, task: str, part: str) -> Fingerprint:
        """Return the fingerprint of a grade of which that one task was judged anew."""
        return replace(self, tasks={**self.tasks, task: part})


class Fingerprints:
    """Fingerprints of submissions: files, tasks, reference, release, seed, limits, versions. Equal: the same grade."""

    def __init__(self, root: Path, seed: str, runner_settings: Mapping[str, Any]) -> None:
        self._root = root
        self._settings = {
            "seed": seed_fingerprint(seed),
            "grader": version("rlinfra-autograder"),
            **runner_settings,
        }
        self._topics: dict[str, tuple[str, dict[str, str]]] = {}

    def of(self, submission: Submission) -> str:
        """Return the fingerprint of a submission as a text."""
        topic = submission.topic
        if topic not in self._topics:
            parts = task_parts(self._root, topic)
            shared = json.dumps([self._settings, parts.pop(COMMON)], sort_keys=True)
            self._topics[topic] = sha256(shared.encode()).hexdigest(), parts
        return str(Fingerprint(files_hash(submission), *self._topics[topic]))


def task_parts(root: Path, topic: str) -> dict[str, str]:
    """Return the hash of what each task's grades depend on, by its name, and under `COMMON` what all tasks' do.

    It is made of source and of the released notebook: a task's own are its prompt and its graded cell.
    """
    sources = source_parts(topic)
    released = json.loads(notebook_path(root / "release", topic).read_text(encoding="utf-8"))
    owners = {cell: task for task in sources if task for cell in (task, f"{task}-prompt")}
    cells: dict[str, list[Any]] = {task: [] for task in sources}
    for cell in released.pop("cells"):
        cells[owners.get(cell.get("id"), COMMON)].append(cell)
    cells[COMMON].append(released)
    return {
        task: sha256(json.dumps([source, cells[task]], sort_keys=True).encode()).hexdigest()
        for task, source in sources.items()
    }


def files_hash(submission: Submission) -> str:
    """Return the hash of who handed in, and of what lies in the folder."""
    digest = sha256(json.dumps(submission.student).encode())
    for name, content in _contents(submission.folder):
        digest.update(os.fsencode(name) + b"\0" + content)
    return digest.hexdigest()


def _contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what a folder holds, in order: links by where they lead, files by their hash, others by their kind."""
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted([*files, *folders]):
            path = os.path.join(parent, name)  # noqa: PTH118 - names may be no text
            found = os.lstat(path)
            if stat.S_ISLNK(found.st_mode):
                content = os.fsencode(os.readlink(path))  # noqa: PTH115
            elif stat.S_ISREG(found.st_mode) and found.st_size <= _LARGEST_FILE:
                content = _sha256(path)
            else:
                content = f"{stat.S_IFMT(found.st_mode)} {found.st_size}".encode()
            yield os.path.relpath(path, folder), content


def _sha256(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return b"unreadable"
