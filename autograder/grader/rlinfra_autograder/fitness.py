"""Whether a worker on another machine is fit to grade: the same course root, the same code, the same submissions.

What is here runs in the workers of a cluster, and so needs no Dask. Grades must not depend on who made them.
"""

from __future__ import annotations

import hashlib
import platform
import threading
import uuid
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rlinfra
import rlinfra_autograder
import rlinfra_reference

from .course import notebook_path
from .entries import FAILED, Entry
from .jobs import Outcome
from .runners import let_go_of_runners
from .submissions import Fingerprints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .jobs import Job, Settings

    Work = Callable[[Settings, list[Job]], list[Outcome]]

_PACKAGES = ("rlinfra", "rlinfra-reference", "rlinfra-autograder", "nbgrader", "nbformat", "nh3", "distributed")
_MISSING = "nothing"
_begun: set[str] = set()  # batches that this worker has begun with
_ended: set[str] = set()
_one_at_a_time = threading.Lock()


class ClusterError(RuntimeError):
    """A cluster cannot grade, and what to do."""


@dataclass(frozen=True)
class Terms:
    """What a batch's workers have to find: `found` as where the batch was begun, and fingerprints by these settings."""

    batch: str
    topics: tuple[str, ...]
    found: Mapping[str, str]
    runner_settings: Mapping[str, Any]

    @classmethod
    def of(cls, settings: Settings, topics: Sequence[str], runner_settings: Mapping[str, Any]) -> Terms:
        """Return the terms of a new batch: that all is as it is here."""
        return cls(uuid.uuid4().hex, tuple(topics), found_here(settings, topics), runner_settings)


def found_here(settings: Settings, topics: Sequence[str]) -> dict[str, str]:
    """Return what this process finds of all that a grade depends on, by its name: a version, a hash, or `nothing`."""
    major, minor, _ = platform.python_version_tuple()
    releases = (notebook_path(settings.root / "release", topic) for topic in topics)
    return {
        "course root": "a folder" if settings.root.is_dir() else _MISSING,
        **{str(path.relative_to(settings.root)): _hash(path) for path in releases},
        "student's Python": "a program" if settings.python.is_file() else _MISSING,
        "Python": f"{major}.{minor}",
        **{name: _version(name) for name in _PACKAGES},
        "code of the staff's packages": _code(),
    }


def unfit(settings: Settings, terms: Terms) -> str:
    """Return what this worker lacks, in words that follow its name; "" where it is fit."""
    found = found_here(settings, terms.topics)
    for name, wanted in terms.found.items():
        if found[name] != wanted:
            return f"finds {found[name]} for {name}, and here it is {wanted}: {_advice(name, settings.root)}"
    return ""


def _advice(name: str, root: Path) -> str:
    if name.startswith(("course", "release", "student")):
        return f"workers need this course root at this path, {root}, from a shared file system"
    return "install there what is installed here, and start the worker again"


def grade_as_agreed(terms: Terms, work: Work, settings: Settings, jobs: list[Job]) -> list[Outcome]:
    """Return what a chunk came to in this worker. Of a batch that has ended, no further submission is begun.

    Raises `ClusterError` where this worker is not fit.
    """
    _begin(terms, settings)
    fingerprints = Fingerprints(settings.root, settings.seed, terms.runner_settings)
    outcomes: list[Outcome] = []
    for job in jobs:
        if terms.batch in _ended:
            break
        same = fingerprints.of(job.submission) == job.fingerprint
        outcomes += work(settings, [job]) if same else [_other_files(job)]
    return outcomes


def _begin(terms: Terms, settings: Settings) -> None:
    """Let this worker begin with a batch, once: if it is fit, and with nothing of a batch before, which was killed."""
    with _one_at_a_time:
        if terms.batch in _begun:
            return
        if why := unfit(settings, terms):
            raise ClusterError(f"the Dask worker on {platform.node()} {why}")
        _let_go(settings)
        _begun.add(terms.batch)


def end_batch(batch: str, settings: Settings) -> None:
    """Let go of what a batch keeps in a worker, which outlives it."""
    _ended.add(batch)
    _let_go(settings)


def _let_go(settings: Settings) -> None:
    """Let go of releases read and runners verified: the next batch may find others."""
    from .worker import forget_releases  # noqa: PLC0415 - takes a second, which who only asks has no use for

    forget_releases()
    let_go_of_runners(settings.root)


def _other_files(job: Job) -> Outcome:
    submission = job.submission
    reason = f"the worker on {platform.node()} found other files than the batch did: handed in meanwhile? Grade again"
    return Outcome(Entry(submission.student, submission.topic, job.fingerprint, FAILED, reason))


def _hash(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    except OSError:
        return _MISSING


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return _MISSING


@cache
def _code() -> str:
    """Return the hash of the staff's code, as it was when this process first asked: what is loaded does not change."""
    digest = hashlib.sha256()
    for package in (rlinfra, rlinfra_reference, rlinfra_autograder):
        folder = Path(package.__file__ or "").parent
        for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.json")]):
            digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()[:12]
