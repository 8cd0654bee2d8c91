"""What a worker does for one page: the exporter is made once a process, since that takes longer than several pages."""

from __future__ import annotations

import os
import stat
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import nbformat
from nbgrader.api import Gradebook
from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import getgrades

from ..course import course_config, notebook_path
from ..entries import FAILED, GRADED, Entry
from ..gradebook import write_whole
from ..shortcuts import instead
from . import grades
from .grades import Top, refusal_of, title_of
from .sources import stamped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_OF_THE_EXCHANGE = ("timestamp.txt", "submission_secret.txt")  # `nbgrader release_feedback` reads them beside the page
_MOST_BYTES = 1_000


@dataclass(frozen=True)
class Place:
    """The course and its database; plain data for a worker process."""

    root: Path
    db_url: str


@dataclass(frozen=True)
class Page:
    """A page to write: what the submission came to, whether there is a grade to show, and what the page is made of."""

    entry: Entry
    has_grade: bool
    made_of: str


@dataclass(frozen=True)
class Written:
    """A page that was written; the entry says `failed` where it could not be, and `log` why."""

    entry: Entry
    log: str = ""


def page_path(root: Path, student: str, topic: str) -> Path:
    """Return where nbgrader puts a student's page."""
    return root / "feedback" / student / topic / f"{topic}.html"


def write_pages(place: Place, pages: list[Page]) -> list[Written]:
    """Write a few pages, and say what became of each."""
    return [_one(place, page) for page in pages]


def _one(place: Place, page: Page) -> Written:
    entry = page.entry
    if entry.status == GRADED and not page.has_grade:
        reason = f"its graded notebook is missing: rlinfra-grade batch --force {entry.topic}"
        return Written(Entry(entry.student, entry.topic, entry.fingerprint, FAILED, reason))
    try:
        path = page_path(place.root, entry.student, entry.topic)
        write_whole(path, stamped(_html(place, page), page.made_of))
        _put_beside(path.parent, place.root / "submitted" / entry.student / entry.topic)
    except Exception as error:  # the page of one costs nobody else theirs
        reason = f"its page cannot be written ({type(error).__name__}: {error})"
        return Written(Entry(entry.student, entry.topic, entry.fingerprint, FAILED, reason), traceback.format_exc())
    return Written(entry)


def _html(place: Place, page: Page) -> str:
    student, topic = page.entry.student, page.entry.topic
    exporter = _exporter(place, page.has_grade)
    resources: dict[str, Any] = {
        "nbgrader": {"student": student, "assignment": topic, "notebook": topic, "db_url": place.db_url}
    }
    if page.has_grade:
        notebook = nbformat.read(notebook_path(place.root / "autograded" / student, topic), as_version=4)
    else:
        notebook = nbformat.v4.new_notebook()
        resources["rlinfra"] = Top(title_of(topic), refusal=refusal_of(page.entry))
    with _one_gradebook(place):
        html, _ = exporter.from_notebook_node(notebook, resources)
    return str(html)


@contextmanager
def _one_gradebook(place: Place) -> Iterator[None]:
    """Let nbgrader's preprocessor and ours use this process's gradebook: opening one costs as much as a page."""
    gradebook = _gradebook(place)
    try:
        with (
            instead(gradebook, "close", lambda: None),
            instead(getgrades, "Gradebook", lambda _: gradebook),
            instead(grades, "Gradebook", lambda _: gradebook),
        ):
            yield
    finally:
        gradebook.db.remove()


@cache
def _gradebook(place: Place) -> Any:
    return Gradebook(place.db_url, str(course_config(place.root).CourseDirectory.course_id))


@cache
def _exporter(place: Place, has_grade: bool) -> Any:
    """Return the exporter that `nbgrader generate_feedback` would make; without a grade there are no marks to get."""
    config = course_config(place.root)
    converter = GenerateFeedback(coursedir=CourseDirectory(config=config), config=config)
    exporter = converter.exporter_class(parent=converter, config=converter.config)
    for preprocessor in converter.preprocessors if has_grade else converter.preprocessors[-1:]:
        exporter.register_preprocessor(preprocessor)
    return exporter


def _put_beside(folder: Path, submission: Path) -> None:
    """Put beside a page what the exchange wants there, where the submission has it as a small file of its own."""
    for name in _OF_THE_EXCHANGE:
        try:
            descriptor = os.open(submission / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        with open(descriptor, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                write_whole(folder / name, file.read(_MOST_BYTES))
