"""`rlinfra-grade batch`: from a folder of submissions to the gradebook, with a progress display and a summary."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from .batch import Pool, Tally, get_ready, keep_log, open_jobs
from .course import course_config
from .database import GradebookError, database_url
from .entries import FAILED, GRADED, UNGRADED
from .fitness import ClusterError, Terms
from .hidden import DEMO_SEED, DEMO_SEED_ADVICE, course_seed
from .jobs import Job, Settings
from .ledger import entries_at
from .progress import run_pool
from .runners import STUDENT_PYTHON, Nursery
from .sandbox.limits import Limits
from .sandbox.zygote import RunnerError
from .submissions import Fingerprints, find_submissions
from .text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from .cluster import Cluster
    from .gradebook import GradebookWriter
    from .jobs import Outcome

LOG = Path("build") / "batch.log"


class BatchError(RuntimeError):
    """A batch cannot begin, and what to do."""


def run_batch(
    root: Path,
    topics: Sequence[str],
    console: Console,
    *,
    submissions: Path | None = None,
    workers: int = 1,
    students: str = "*",
    db_url: str | None = None,
    dask: str | None = None,
    force: bool = False,
    confined: bool = True,
    nursery: Nursery | None = None,
) -> Tally:
    """Grade what is new or changed, and return what it came to. Raises `BatchError` where it cannot begin.

    `nursery` is one that is getting ready already; without, there is one of this batch's own.
    """
    folder = submissions or root / "submitted"
    if not folder.is_dir():
        raise BatchError(f"there is no folder {folder}: submissions lie in STUDENT/TOPIC/ below it (--submissions DIR)")
    found = find_submissions(folder, topics, students)
    if not found:
        raise BatchError(f"{folder} holds no submission of {', '.join(topics)} (it should lie in STUDENT/TOPIC/)")
    settings = Settings(root, root / STUDENT_PYTHON, confined, course_seed(root))
    tally = Tally()
    try:
        with ExitStack() as stack:
            cluster = stack.enter_context(_cluster(dask)) if dask else None
            nursery = nursery or stack.enter_context(Nursery(root, settings.python, confined))
            made_with = {"limits": Limits().to_data(), "confined": confined, **nursery.verified_environment()}
            if cluster is not None:
                cluster.agree(settings, Terms.of(settings, topics, made_with))
            fingerprints = Fingerprints(root, settings.seed, made_with)
            jobs = [Job(submission, fingerprints.of(submission)) for submission in found]
            known = entries_at(database_url(root, course_config(root), db_url))
            todo, tally.known = open_jobs(jobs, known, force=force)
            if todo:
                if cluster is None:
                    pool, chunk = Pool(min(workers, len(todo)), nursery=nursery), 1
                    pool.prepare(get_ready, settings, sorted({job.submission.topic for job in todo}))
                else:
                    pool, chunk = Pool(cluster.workers, cluster.start, cluster.look), cluster.chunk(len(todo))
                stack.callback(pool.close)  # also where the gradebook cannot be opened
                from .gradebook import GradebookWriter  # noqa: PLC0415 - imports nbgrader, while the workers get ready

                gradebook = stack.enter_context(GradebookWriter(root, db_url))
                for topic in topics:
                    gradebook.require(topic)
                todo, tally.known = open_jobs(jobs, gradebook.entries(), force=force)  # now that nobody else writes
                _grade(pool, settings, todo, gradebook, tally, console=console, chunk=chunk)
    except (RunnerError, GradebookError, ClusterError) as error:
        raise BatchError(str(error)) from error
    _summarise(tally, topics, console)
    if settings.seed == DEMO_SEED:
        console.print(DEMO_SEED_ADVICE)
    return tally


def _cluster(address: str) -> Cluster:
    from .cluster import Cluster  # noqa: PLC0415 - what it imports takes a second

    return Cluster(address)


def _grade(
    pool: Pool,
    settings: Settings,
    todo: Sequence[Job],
    gradebook: GradebookWriter,
    tally: Tally,
    *,
    console: Console,
    chunk: int = 1,
) -> None:
    """Grade the jobs and write each outcome as it comes. An interrupt ends the batch; what is written stays."""

    def take(outcome: Outcome) -> bool:
        gradebook.write(outcome.entry, outcome.notebook, outcome.handed_in, outcome.observations)
        tally.done.append(outcome.entry)
        if outcome.log:
            keep_log(settings.root / LOG, outcome.entry, outcome.log)
        return outcome.entry.status == GRADED

    ended = run_pool(pool, settings, todo, take, console=console, doing="grading", not_done="not graded", chunk=chunk)
    tally.interrupted = not ended


def _summarise(tally: Tally, topics: Sequence[str], console: Console) -> None:
    """Print a row a topic, then every submission that was not graded, with its reason."""
    table = Table(title="Submissions", title_justify="left")
    for column in ("topic", GRADED, UNGRADED, FAILED, "repaired", "with faults"):
        table.add_column(column, justify="left" if column == "topic" else "right")
    for topic in topics:
        entries = [entry for entry in tally.entries if entry.topic == topic]
        status = Counter(entry.status for entry in entries)
        counts = (
            *(status[kind] for kind in (GRADED, UNGRADED, FAILED)),
            sum(bool(entry.details.get("repairs")) for entry in entries),
            sum(bool(entry.details.get("faults")) for entry in entries),
        )
        table.add_row(topic, *(str(count or "") for count in counts))
    console.print(table)
    for entry in tally.entries:
        if entry.status != GRADED:
            line = f"{one_line(entry.student)} {entry.topic}: {entry.status}: {entry.reason}"
            console.print(line, markup=False, highlight=False)
    end = "Interrupted: what is graded is kept, and the same command goes on." if tally.interrupted else ""
    console.print(f"{len(tally.done)} graded now, {len(tally.known)} unchanged since they were. {end}".strip())
