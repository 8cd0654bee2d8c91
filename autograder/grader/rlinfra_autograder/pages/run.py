"""`rlinfra-grade feedback`: the pages that are missing or stale, with a progress display and a summary."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from ..batch import Pool, Tally, keep_log
from ..database import GradebookError
from ..entries import FAILED, GRADED, UNGRADED, Entry
from ..gradebook import existing_gradebook
from ..progress import run_pool
from ..text import one_line
from .sources import Sources, stamp_of
from .worker import Page, Place, Written, page_path, write_pages

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console
    from sqlalchemy.orm import Session

LOG = Path("build") / "feedback.log"


class FeedbackError(RuntimeError):
    """No page can be written, and what to do."""


def run_feedback(
    root: Path,
    topics: Sequence[str],
    console: Console,
    *,
    workers: int = 1,
    students: str = "*",
    db_url: str | None = None,
    force: bool = False,
    all_topics: bool = False,
) -> Tally:
    """Write the pages that are stale, and return what their submissions came to.

    Raises `FeedbackError` where a topic has nothing graded; with `all_topics`, where none has.
    """
    try:
        with existing_gradebook(root, db_url) as gradebook:
            place = Place(root, gradebook.db_url)
            known = gradebook.entries()
            pages = {topic: list(_pages(root, topic, students, gradebook.session(), known)) for topic in topics}
    except GradebookError as error:
        raise FeedbackError(str(error)) from error
    bare = [topic for topic, found in pages.items() if not found]
    if bare and (len(bare) == len(topics) or not all_topics):
        whose = "" if students == "*" else f" of a student whose id matches {one_line(students)}"
        raise FeedbackError(f"nothing{whose} is graded in {', '.join(bare)}: rlinfra-grade batch {' '.join(bare)}")
    todo, tally = [], Tally()
    for page in (page for found in pages.values() for page in found):
        entry = page.entry
        if force or stamp_of(page_path(root, entry.student, entry.topic)) != page.made_of:
            todo.append(page)
        else:
            tally.known.append(entry)
    _write(place, todo, tally, workers, console)
    _summarise(tally, console)
    return tally


def _pages(
    root: Path, topic: str, students: str, session: Session, known: Mapping[tuple[str, str], Entry]
) -> Iterator[Page]:
    """Yield a page for everybody who has a grade in a topic, or handed in what was not graded."""
    entries = {student: entry for (student, of), entry in known.items() if of == topic}
    sources = Sources(root, topic, session)
    for student in sorted({*sources.students, *entries}):
        if not fnmatch.fnmatchcase(student, students):
            continue
        entry = entries.get(student) or Entry(student, topic, "", GRADED)  # by `nbgrader autograde`
        yield Page(entry, sources.has_grade(student), sources.made_of(student, entries.get(student)))


def _write(place: Place, todo: Sequence[Page], tally: Tally, workers: int, console: Console) -> None:
    """Write the pages and count each as it comes. An interrupt ends it; what is written stays."""
    if not todo:
        return

    def take(written: Written) -> bool:
        tally.done.append(written.entry)
        if written.log:
            keep_log(place.root / LOG, written.entry, written.log)
        return written.entry.status != FAILED

    pool = Pool(min(workers, len(todo)), work=write_pages, given_up=_given_up)
    ended = run_pool(pool, place, todo, take, console=console, doing="writing feedback", not_done="failed")
    tally.interrupted = not ended


def _given_up(page: Page) -> Written:
    entry = page.entry
    reason = "the process that wrote its page was killed, twice: is there memory enough?"
    return Written(Entry(entry.student, entry.topic, entry.fingerprint, FAILED, reason))


def _summarise(tally: Tally, console: Console) -> None:
    """Print who has a page that says why nothing was graded, or none at all; then one line that counts."""
    for entry in tally.entries:
        if entry.status != GRADED:
            line = f"{one_line(entry.student)} {entry.topic}: {entry.status}: {one_line(entry.reason, 300)}"
            console.print(line, markup=False, highlight=False)
    refused = sum(entry.status == UNGRADED for entry in tally.entries)
    told = f" {refused} of them say why a submission is ungraded." if refused else ""
    end = " Interrupted: the same command goes on." if tally.interrupted else ""
    console.print(f"{len(tally.done)} pages written, {len(tally.known)} unchanged since they were.{told}{end}")
