"""From source to release: check data, the students' notebooks and nbgrader's database; and whether all is fresh."""

from __future__ import annotations

import filecmp
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbgrader.apps.api import NbGraderAPI

from rlinfra.topics import find_topic

from .best_known import hidden_marks
from .course import course_config, data_path, notebook_path, with_staff_programs
from .database import GradebookError, OnlyWriter, database_url
from .hidden import course_seed
from .lint import lint_topic
from .public import check_data
from .tasks import ChoiceTask, load_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable


class ReleaseError(RuntimeError):
    """A topic cannot be released, and why."""


def nbgrader_api(config: Any) -> NbGraderAPI:
    """Return nbgrader's programming interface for a configuration."""
    with_staff_programs()
    return NbGraderAPI(config=config)


def write_release(root: Path, topics: Iterable[str], db_url: str | None = None) -> None:
    """Write the check data and the release of each topic, enter it in nbgrader's database, search the best choices.

    Raises `ReleaseError` where a source does not pass the lint, or nbgrader refuses it, or the database cannot be had.
    """
    names = list(topics)
    problems = [problem for topic in names for problem in lint_topic(root, find_topic(topic).name)]
    if problems:
        raise ReleaseError("the sources do not pass the lint:\n" + "\n".join(problems))
    config = course_config(root)
    api = nbgrader_api(course_config(root, db_url=_reachable(database_url(root, config, db_url))))
    for topic in names:
        path = data_path(root, topic)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(check_data(topic), encoding="utf-8")
        _generate(api, topic)
        for task in load_tasks(topic):
            if isinstance(task, ChoiceTask):
                hidden_marks(task, course_seed(root), root)


def _reachable(url: str) -> str:
    """Return a database's address that can be written to; nbgrader would show it whole where it cannot."""
    try:
        OnlyWriter(url).close()
    except GradebookError as error:
        raise ReleaseError(str(error)) from error
    return url


def stale(root: Path, topics: Iterable[str]) -> list[str]:
    """Return what is wrong with what is committed: lint, stale check data, a stale release."""
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        api = nbgrader_api(course_config(root, release_directory=folder, db_url=f"sqlite:///{folder}/gradebook.db"))
        for topic in topics:
            problems += lint_topic(root, topic)
            path = data_path(root, topic)
            if not path.is_file() or path.read_text(encoding="utf-8") != check_data(topic):
                problems.append(f"{path.relative_to(root)} is stale")
            _generate(api, topic)
            fresh, committed = notebook_path(Path(folder), topic), notebook_path(root / "release", topic)
            if not committed.is_file() or not filecmp.cmp(fresh, committed, shallow=False):
                problems.append(f"{committed.relative_to(root)} is stale")
    if problems:
        problems.append("rlinfra-grade release writes check data and releases anew")
    return problems


def _generate(api: NbGraderAPI, topic: str) -> None:
    result = api.generate_assignment(topic, force=True)
    if not result["success"]:
        raise ReleaseError(f"nbgrader cannot release {topic}: {_reason(str(result.get('log')))}")


def _reason(log: str) -> str:
    """Return the sentence of the exception that stands in nbgrader's log, or the log where there is none."""
    reasons = re.findall(r"^\s*\w+(?:Error|Exception): (.+)$", log, re.MULTILINE)
    return reasons[0] if reasons else log
