"""What a worker of a batch does with one submission: intake, grade, and tell; whatever it is, it comes to something."""

from __future__ import annotations

import time
import traceback
from functools import cache
from typing import TYPE_CHECKING, Any

import nbformat

from .course import notebook_path
from .entries import FAILED, GRADED, UNGRADED, Entry
from .grade import METADATA_KEY, grade, probe_task
from .hidden import hidden_set
from .intake import Refused, take_in
from .jobs import Job, Outcome, Settings
from .observations import pack
from .runners import verified_runner
from .tasks import FunctionTask, find_task, load_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def work(settings: Settings, jobs: list[Job]) -> list[Outcome]:
    """Return what each of a few submissions came to."""
    return [_one(settings, job) for job in jobs]


def get_ready(settings: Settings, topics: Iterable[str]) -> None:
    """Do beforehand what the first submission of each topic would have to wait for."""
    for topic in topics:
        _released(settings.root, topic)
        for task in load_tasks(topic):
            if isinstance(task, FunctionTask):
                hidden_set(task.name, settings.seed).misconceptions  # noqa: B018 - computed once, and kept
    verified_runner(settings.root, settings.python, settings.confined)


def forget_releases() -> None:
    """Read released notebooks anew: for a worker that outlives a batch."""
    _released.cache_clear()


def _one(settings: Settings, job: Job) -> Outcome:
    begun = time.perf_counter()
    try:
        return _graded(settings, job, begun)
    except Exception as error:  # the grader's own fault: the student loses nothing, and the batch goes on
        reason = f"the grader itself failed ({type(error).__name__}: {error})"
        return Outcome(_entry(job, FAILED, begun, reason), log=traceback.format_exc())


def _graded(settings: Settings, job: Job, begun: float) -> Outcome:
    submission = job.submission
    taken = take_in(submission.folder, submission.topic, _released(settings.root, submission.topic))
    if isinstance(taken, Refused):
        return Outcome(_entry(job, UNGRADED, begun, taken.reason))
    runner, environment = verified_runner(settings.root, settings.python, settings.confined)
    if job.task:
        _, task = find_task(job.task)
        probed = probe_task(taken.notebook, task, runner=runner, seed=settings.seed, root=settings.root)
        return Outcome(_entry(job, GRADED, begun), observations=pack({task.name: probed}, [task], settings.seed))
    graded = grade(
        taken.notebook,
        topic=submission.topic,
        student_id=submission.student,
        runner=runner,
        seed=settings.seed,
        environment=environment,
        repairs=taken.repairs,
        root=settings.root,
    )
    details = graded.notebook.metadata[METADATA_KEY]
    packed = pack(graded.probed, load_tasks(submission.topic), settings.seed)
    entry = _entry(job, GRADED, begun, details=details)
    return Outcome(entry, graded.notebook, submission.handed_in(), observations=packed)


@cache
def _released(root: Path, topic: str) -> Any:
    """Return the released notebook, read once a worker; intake leaves it as it is."""
    return nbformat.read(notebook_path(root / "release", topic), as_version=4)


def _entry(job: Job, status: str, begun: float, reason: str = "", details: dict[str, Any] | None = None) -> Entry:
    seconds = round(time.perf_counter() - begun, 3)
    return Entry(job.submission.student, job.submission.topic, job.fingerprint, status, reason, seconds, details or {})
