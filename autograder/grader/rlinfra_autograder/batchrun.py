"""`rlinfra-grade batch`: from a folder of submissions to the gradebook, with a progress display and a summary."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from .batch import Pool, Tally, keep_log, open_jobs
from .cluster import Cluster
from .database import GradebookError
from .entries import FAILED, GRADED, UNGRADED
from .fitness import ClusterError, Terms
from .gradebook import GradebookWriter
from .hidden import DEMO_SEED, DEMO_SEED_ADVICE, course_seed
from .progress import run_pool
from .runners import STUDENT_PYTHON, verified_environment
from .sandbox.limits import Limits
from .sandbox.zygote import RunnerError
from .sanitise import one_line
from .submissions import Fingerprints, find_submissions
from .worker import Job, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from .worker import Outcome

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
) -> Tally:
    """Grade what is new or changed, and return what it came to. Raises `BatchError` where it cannot begin."""
    folder = submissions or root / "submitted"
    if not folder.is_dir():
        raise BatchError(f"there is no folder {folder}: submissions lie in STUDENT/TOPIC/ below it (--submissions DIR)")
    found = find_submissions(folder, topics, students)
    if not found:
        raise BatchError(f"{folder} holds no submission of {', '.join(topics)} (it should lie in STUDENT/TOPIC/)")
    settings = Settings(root, root / STUDENT_PYTHON, confined, course_seed(root))
    try:
        with ExitStack() as stack:
            cluster = stack.enter_context(Cluster(dask)) if dask else None
            environment = verified_environment(root, settings.python, confined)
            made_with = {"limits": Limits().to_data(), "confined": confined, **environment}
            if cluster is not None:
                cluster.agree(settings, Terms.of(settings, topics, made_with))
            fingerprints = Fingerprints(root, settings.seed, made_with)
            jobs = [Job(submission, fingerprints.of(submission)) for submission in found]
            gradebook = stack.enter_context(GradebookWriter(root, db_url))
            for topic in topics:
                gradebook.require(topic)
            todo, known = open_jobs(jobs, gradebook.entries(), force=force)
            tally = Tally(known)
            if cluster is None:
                pool, chunk = Pool(min(workers, max(len(todo), 1))), 1
            else:
                pool, chunk = Pool(cluster.workers, cluster.start, cluster.look), cluster.chunk(len(todo))
            _grade(pool, settings, todo, gradebook, tally, console=console, chunk=chunk)
    except (RunnerError, GradebookError, ClusterError) as error:
        raise BatchError(str(error)) from error
    _summarise(tally, topics, console)
    if settings.seed == DEMO_SEED:
        console.print(DEMO_SEED_ADVICE)
    return tally


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
