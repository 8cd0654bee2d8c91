"""Many submissions: a shared queue over worker processes, one writer to the gradebook, and nothing that ends the rest.

What is done is known from the database (`ledger`): only new or changed work is graded. Killed at any moment, a batch
loses nothing, and repeats at most what was in flight.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .entries import FAILED, UNGRADED, Entry
from .jobs import Job, Outcome, Settings
from .runners import Nursery, fork_runners_from, let_go_of_runners

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

ALL_GRADED, SOME_UNGRADED, SOME_FAILED, INTERRUPTED = 0, 3, 1, 130
_AHEAD = 2  # jobs a worker has waiting: enough that none idles, few enough that a long list costs no memory
_LOOK_SECONDS = 5.0
_COMMAND, _GRADES = "rlinfra_autograder.cli", "rlinfra_autograder.worker"  # the first is what our script imports


@dataclass
class Tally:
    """What the submissions of a batch came to so far: `done` in this run, `known` from runs before."""

    known: list[Entry] = field(default_factory=list)
    done: list[Entry] = field(default_factory=list)
    interrupted: bool = False

    @property
    def entries(self) -> list[Entry]:
        """All of them, by topic and student."""
        return sorted([*self.known, *self.done], key=lambda entry: (entry.topic, entry.student))

    @property
    def exit_code(self) -> int:
        """The exit code of the command: all graded, some ungraded, some failed, or interrupted."""
        if self.interrupted:
            return INTERRUPTED
        found = {entry.status for entry in self.entries}
        return SOME_FAILED if FAILED in found else SOME_UNGRADED if UNGRADED in found else ALL_GRADED


def open_jobs(
    jobs: Iterable[Job], done: Mapping[tuple[str, str], Entry], *, force: bool
) -> tuple[list[Job], list[Entry]]:
    """Return the jobs to do, and the entries of those that are done. What failed is tried again."""
    todo, known = [], []
    for job in jobs:
        entry = done.get((job.submission.student, job.submission.topic))
        if force or entry is None or entry.fingerprint != job.fingerprint or entry.status == FAILED:
            todo.append(job)
        else:
            known.append(entry)
    return todo, known


class Pool:
    """Worker processes, started anew where one of them was killed; or another executor, which `start` returns.

    `work` is what they do with settings and a few jobs, which they grade by default; `given_up` tells of a job that
    kills them. `look` is called while nothing comes, every few seconds; it raises where nothing will come any more.
    Processes that run notebooks share a `nursery`.
    """

    def __init__(
        self,
        workers: int,
        start: Callable[[], Executor] | None = None,
        look: Callable[[], None] = lambda: None,
        *,
        work: Callable[[Any, list[Any]], list[Any]] | None = None,
        given_up: Callable[[Any], Any] | None = None,
        nursery: Nursery | None = None,
    ) -> None:
        self._work, self._given_up = work or grade_jobs, given_up or _given_up
        self._module = work.__module__ if work else _GRADES
        self._forks = False
        self._workers = workers
        self._start = start or self._processes
        self._look = look
        self._nursery = nursery
        self._executor = self._start()

    def _processes(self) -> Executor:
        first = self._nursery.open() if self._nursery else None
        # A fork has all that is imported here. Beside another thread, such as that of a progress display, it could
        # inherit a lock that nobody opens: a process of its own then forks.
        self._forks = sys.platform == "linux" and threading.active_count() == 1
        if self._forks:
            import_module(self._module)
        context = multiprocessing.get_context("fork" if self._forks else "forkserver")
        if not self._forks:
            context.set_forkserver_preload([_COMMAND, self._module])
        return ProcessPoolExecutor(self._workers, mp_context=context, initializer=_begin_work, initargs=(first,))

    def prepare(self, get_ready: Callable[..., None], *arguments: Any) -> None:
        """Start the workers, and let each of them get ready; this process does not wait for it."""

        def start() -> None:
            with suppress(RuntimeError):  # closed or broken meanwhile, as whoever has work for them will see
                for _ in range(self._workers):
                    self._executor.submit(get_ready, *arguments)

        if self._forks:
            start()
        else:
            threading.Thread(target=start, daemon=True).start()

    def run(self, settings: Any, jobs: Sequence[Any], take: Callable[[Any], None], chunk: int = 1) -> None:
        """Do the jobs and hand out each outcome as it comes.

        When a worker is killed, what it lost is repeated, one job at a time; one that kills its worker again while it
        is alone is given up, and told.
        """
        queue = deque(list(jobs[begin : begin + chunk]) for begin in range(0, len(jobs), chunk))
        suspects: deque[list[Any]] = deque()
        flying: dict[Future[list[Any]], list[Any]] = {}
        alone = broken = False
        while queue or suspects or flying:
            if not flying:
                alone = bool(suspects)
                if broken:
                    self._restart()
                    broken = False
            source, most = (suspects, 1) if suspects else (queue, self._workers * _AHEAD)
            try:
                while source and len(flying) < most and not broken:
                    flying[self._executor.submit(self._work, settings, source[0])] = source[0]
                    source.popleft()
            except BrokenExecutor:
                if not flying:  # with nothing to do already broken: no worker can be started
                    raise
                broken = True
            done = wait(flying, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED).done
            if not done:
                self._look()
            for future in done:
                its = flying.pop(future)
                try:
                    outcomes = future.result()
                except BrokenExecutor:
                    broken = True
                    outcomes = [self._given_up(job) for job in its] if alone else []
                    suspects.extend([job] for job in its if not alone)
                for outcome in outcomes:
                    take(outcome)

    def _restart(self) -> None:
        self._executor.shutdown(wait=False)
        self._executor = self._start()

    def close(self) -> None:
        """End the workers, also those that are at work."""
        for process in list((getattr(self._executor, "_processes", None) or {}).values()):
            process.terminate()
        self._executor.shutdown(wait=True, cancel_futures=True)


def keep_log(path: Path, entry: Entry, log: str) -> None:
    """Keep the traceback of the grader's own failure where its author can find it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{entry.student} {entry.topic}\n{log}\n")


def grade_jobs(settings: Settings, jobs: list[Job]) -> list[Outcome]:
    """Return what each of a few submissions came to."""
    from .worker import work  # noqa: PLC0415 - takes a second, which the process that only hands out work has no use for

    return work(settings, jobs)


def get_ready(settings: Settings, topics: Iterable[str]) -> None:
    """Let a worker do beforehand what the first submissions would have to wait for."""
    from .worker import get_ready as worker_ready  # noqa: PLC0415 - as above

    worker_ready(settings, topics)


def _begin_work(first: socket.socket | None) -> None:
    """Leave an interrupt to the parent, and end with it: a worker whose parent was killed would wait for ever."""
    fork_runners_from(first)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        with suppress(Exception):
            let_go_of_runners()  # their folders would stay
        os._exit(1)


def _given_up(job: Job) -> Outcome:
    submission = job.submission
    reason = "the process that graded it was killed, twice: is there memory enough?"
    return Outcome(Entry(submission.student, submission.topic, job.fingerprint, FAILED, reason))
