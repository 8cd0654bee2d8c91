"""`rlinfra-grade report`: one page on a class, for those who teach it. It loads nothing and runs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..feedback import points_text
from ..gradebook import write_whole
from ..standings import StandingsError, by_topic, read_standings
from ..text import one_line
from .chart import histogram
from .figures import figures_of, median_sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

_PAGE = "page.html.jinja"


class ReportError(RuntimeError):
    """The report cannot be written, and what to do."""


def write_report(
    root: Path, topics: Sequence[str] | None = None, *, to: Path | None = None, db_url: str | None = None
) -> Path:
    """Write the page and return where it is. The same gradebook gives the same page.

    Raises `ReportError` where the gradebook cannot be read or the page not be written.
    """
    path = to or root / "build" / "report.html"
    if path.is_dir():
        path = path / "report.html"
    try:
        standings = read_standings(root, topics, db_url)
    except StandingsError as error:
        raise ReportError(str(error)) from error
    figures = [figures_of(root, topic, found) for topic, found in by_topic(standings).items()]
    try:
        write_whole(path, _environment().get_template(_PAGE).render(topics=figures))
    except OSError as error:
        raise ReportError(f"{path} cannot be written: {error.strerror}") from error
    return path


def _environment() -> Environment:
    """Return the template's environment: everything is escaped but the charts, which hold numbers of ours alone."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(line=lambda text: one_line(text, 400).removeprefix("'"), points=points_text)
    environment.filters["percent"] = lambda share: f"{100 * share:.0f} %"
    environment.globals.update(histogram=histogram, sentence=median_sentence)
    return environment
