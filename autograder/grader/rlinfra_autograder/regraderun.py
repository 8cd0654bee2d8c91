"""`rlinfra-grade regrade`: one task for everyone who was graded in its topic; shown first, written with `--apply`.

Where the hidden inputs are those that the recorded observations answer, nothing is run.
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import track
from rich.table import Table
from rich.text import Text

from .batch import ALL_GRADED, INTERRUPTED, SOME_UNGRADED, Pool
from .course import notebook_path
from .database import GradebookError
from .entries import GRADED
from .feedback import points_text
from .grade import METADATA_KEY as KEY
from .grade import grader_versions, now, with_verdict
from .gradebook import GradebookWriter, existing_gradebook
from .hidden import course_seed, seed_fingerprint
from .jobs import Job, Settings
from .judge import judge
from .observations import inputs_hash, merged, unpack
from .progress import run_pool
from .regrade import RECORDED, RUN, GradeBefore, Regraded, confined, judged_with
from .runners import STUDENT_PYTHON, Nursery
from .sandbox.limits import Limits
from .sandbox.zygote import RunnerError
from .submissions import Submission, files_hash, task_parts
from .tasks import find_task
from .text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from .entries import Entry
    from .jobs import Outcome
    from .probes import Probed
    from .tasks.model import Task


class RegradeError(RuntimeError):
    """A regrade cannot begin, and what to do."""


@dataclass
class Report:
    """What a regrade came to: those judged again, by student why others were not, and what else has changed since."""

    regraded: list[Regraded] = field(default_factory=list)
    ungraded: dict[str, str] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    other_tasks: set[str] = field(default_factory=set)
    written: int = 0
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        """The exit code of the command: all judged again, some not, or interrupted."""
        return INTERRUPTED if self.interrupted else SOME_UNGRADED if self.ungraded or self.left else ALL_GRADED


def run_regrade(
    root: Path,
    task_name: str,
    console: Console,
    *,
    apply: bool = False,
    submissions: Path | None = None,
    workers: int = 1,
    students: str = "*",
    db_url: str | None = None,
    confined: bool = True,
) -> Report:
    """Judge one task again, show what changes and, with `apply`, write it. Raises `RegradeError` where it cannot."""
    try:
        topic, task = find_task(task_name)
        if not notebook_path(root / "release", topic).is_file():
            raise RegradeError(f"there is no release of {topic} in {root / 'release'}: rlinfra-grade release {topic}")
        settings = Settings(root, root / STUDENT_PYTHON, confined, course_seed(root))
        with existing_gradebook(root, db_url, writes=apply) as gradebook:
            gradebook.require_points(topic, task.name, task.points)
            regrade = _Regrade(
                settings, topic, task, gradebook, submissions=submissions or root / "submitted", students=students
            )
            regrade.judge(workers, console)
            if apply and not regrade.report.interrupted:
                regrade.write(console)
    except (LookupError, ValueError, RunnerError, GradebookError) as error:
        raise RegradeError(str(error)) from error
    _show(regrade.report, topic, task, console, applied=apply)
    return regrade.report


class _Regrade:
    """The steps of a regrade, over one open gradebook."""

    def __init__(
        self,
        settings: Settings,
        topic: str,
        task: Task,
        gradebook: GradebookWriter,
        *,
        submissions: Path,
        students: str,
    ) -> None:
        self.report = Report()
        self._settings, self._gradebook, self._folder, self._students = settings, gradebook, submissions, students
        self._topic, self._task = topic, task
        self._parts = task_parts(settings.root, topic)
        self._part = self._parts[task.name]
        self._inputs = inputs_hash(task, settings.seed)
        self._environment: Mapping[str, Any] = {}

    def judge(self, workers: int, console: Console) -> None:
        """Judge the task of everyone who was graded: from what was recorded where it will do, else from a run."""
        to_run: dict[str, GradeBefore] = {}
        for standing in self._standings():
            made = standing.fingerprint()
            before = made.tasks if made else {}
            changed = {task for task, part in before.items() if self._parts.get(task) != part}
            self.report.other_tasks |= changed - {self._task.name}
            packed = self._gradebook.observations(standing.student, self._topic) if standing.entry else b""
            recorded = unpack(packed).get(self._task.name)
            if recorded is not None and recorded.inputs == self._inputs:
                self._take(standing, RECORDED, packed, recorded.probed)
            elif self._submission(standing.student).folder.is_dir():
                to_run[standing.student] = standing
            else:
                self.report.left[standing.student] = f"it would have to be run, and is not in {self._folder}"
        if to_run:
            self._run(to_run, workers, console)
        self.report.regraded.sort(key=lambda one: one.standing.student)

    def _submission(self, student: str) -> Submission:
        return Submission(student, self._topic, self._folder / student / self._topic)

    def _standings(self) -> list[GradeBefore]:
        """Return where those stand who can be judged again, and note of the others why they cannot."""
        found = self._gradebook.entries().items()
        entries = {student: entry for (student, topic), entry in found if topic == self._topic}
        scores = self._gradebook.scores(self._topic, self._task.name)
        names = sorted({*entries, *(name for name, (score, _) in scores.items() if score is not None)})
        standings = []
        for student in names:
            if not fnmatch.fnmatchcase(student, self._students):
                continue
            entry = entries.get(student)
            if entry is not None and entry.status != GRADED:
                self.report.ungraded[student] = f"{entry.status}: {entry.reason}"
                continue
            standing = self._standing(student, entry, *scores.get(student, (None, None)))
            if isinstance(standing, str):
                self.report.left[student] = standing
            else:
                standings.append(standing)
        return standings

    def _standing(
        self, student: str, entry: Entry | None, score: float | None, by_hand: float | None
    ) -> GradeBefore | str:
        """Return where a student stands, or why this grade cannot be changed in one task alone."""
        path = notebook_path(self._settings.root / "autograded" / student, self._topic)
        if score is None or not path.is_file():
            return f"the gradebook has no grade of it, or {path} is gone"
        details = (
            entry.details if entry else self._gradebook.graded_notebook(student, self._topic).metadata.get(KEY, {})
        )
        if "provenance" not in details:
            return f"{path} does not say how it was graded"
        standing = GradeBefore(student, score, by_hand, details, entry)
        submission, made = self._submission(student), standing.fingerprint()
        if made and submission.folder.is_dir() and files_hash(submission) != made.submission:
            return "it was handed in anew since it was graded"
        if details["provenance"]["course_seed"] != seed_fingerprint(self._settings.seed):
            return "it was graded under another course seed, which is another exam"
        if standing.verdict(self._task.name) is None:
            return f"it was graded when there was no {self._task.name}"
        return standing

    def _run(self, standings: Mapping[str, GradeBefore], workers: int, console: Console) -> None:
        """Run the notebooks of which there is no fitting record, each for this one task."""
        settings = self._settings
        jobs = [Job(self._submission(student), "", self._task.name) for student in standings]

        def take(outcome: Outcome) -> bool:
            self._observed(standings[outcome.entry.student], outcome)
            return outcome.entry.status == GRADED

        with Nursery(settings.root, settings.python, settings.confined) as nursery:
            self._environment = {
                "limits": Limits().to_data(),
                "confined": settings.confined,
                "student_environment": dict(nursery.verified_environment()),
            }
            pool = Pool(min(workers, len(jobs)), nursery=nursery)
            ended = run_pool(pool, settings, jobs, take, console=console, doing="running", not_done="not observed")
        self.report.interrupted = not ended

    def _observed(self, standing: GradeBefore, outcome: Outcome) -> None:
        recorded = unpack(outcome.observations).get(self._task.name)
        if outcome.entry.status != GRADED:
            self.report.left[standing.student] = outcome.entry.reason
        elif recorded is None:
            self.report.left[standing.student] = "what its code returns is too large to keep"
        else:
            self._take(standing, RUN, outcome.observations, recorded.probed)

    def _take(self, standing: GradeBefore, how: str, packed: bytes, probed: Probed) -> None:
        verdict = judge(self._task, probed, seed=self._settings.seed, student_id=standing.student)
        self.report.regraded.append(Regraded(standing, verdict, how, packed))

    def write(self, console: Console) -> None:
        """Write what is another grade, or the same one made with another state of the task."""
        try:
            for one in track(list(self.report.regraded), "writing", console=console, transient=True):
                made = one.standing.fingerprint()
                if not one.same_verdict or (made and made.tasks.get(self._task.name) != self._part):
                    self._write(one)
            for (student, topic), entry in self._gradebook.entries().items():
                if topic == self._topic and student in self.report.ungraded:
                    self._gradebook.write(judged_with(entry, self._task.name, self._part))  # it depends on no task
        except KeyboardInterrupt:
            self.report.interrupted = True

    def _write(self, one: Regraded) -> None:
        standing = one.standing
        details = one.details(
            {
                "regraded_at": now(),
                "task_sha256": self._part,
                "inputs_sha256": self._inputs,
                "course_seed": seed_fingerprint(self._settings.seed),
                "grader": grader_versions(),
                **(self._environment if one.how == RUN else {}),
            }
        )
        try:
            graded = self._gradebook.graded_notebook(standing.student, self._topic)
            notebook = with_verdict(graded, one.verdict, details, confined=confined(details))
        except (GradebookError, ValueError) as error:
            self.report.left[standing.student] = f"its graded notebook cannot be changed: {error}"
            self.report.regraded.remove(one)
            return
        entry, packed = standing.entry, one.packed
        if entry is not None:
            entry = replace(judged_with(entry, self._task.name, self._part), details=details)
            packed = merged(self._gradebook.observations(entry.student, entry.topic), packed)
        self._gradebook.write_task(
            standing.student, self._topic, self._task.name, notebook, entry=entry, observations=packed
        )
        self.report.written += 1


def _show(report: Report, topic: str, task: Task, console: Console, *, applied: bool) -> None:
    """Print those whose points or criteria change, then the counts, then those who were not judged again."""
    changed = [one for one in report.regraded if one.moves]
    if changed:
        table = Table(title=f"{task.name}: {'before and after' if applied else 'what would change'}")
        for column in ("student", "before", "after", "what changes"):
            table.add_column(column, justify="right" if column in ("before", "after") else "left")
        for one in changed:
            by_hand = one.standing.by_hand
            manual = [] if by_hand is None else [f"{points_text(by_hand)} given by hand stay and count"]
            why = "\n".join([*one.differences(), *manual])
            texts = (one_line(one.standing.student), points_text(one.before), points_text(one.after), why)
            table.add_row(*(Text(text) for text in texts))
        console.print(table)
    moved = Counter((one.after > one.before) - (one.after < one.before) for one in report.regraded)
    words = sum(not one.moves and not one.same_verdict for one in report.regraded)
    hints = f" ({words} with other points of a criterion, notes or hints)" if words else ""
    how = Counter(one.how for one in report.regraded)
    lines = [
        f"{len(report.regraded)} judged again: {moved[1]} up, {moved[-1]} down, {moved[0]} at the same points{hints}.",
        f"From {RECORDED}: {how[RECORDED]}; from {RUN}: {how[RUN]}.",
    ]
    lines += [f"{one_line(student)}: not judged again: {why}" for student, why in sorted(report.left.items())]
    lines += [f"{one_line(student)}: {why}" for student, why in sorted(report.ungraded.items())]
    if report.other_tasks:
        others = ", ".join(sorted(report.other_tasks))
        lines.append(f"Changed since as well: {others}. Regrade these too, or the next batch grades {topic} anew.")
    if report.left:
        lines.append(f"What was not judged again, this grades anew: rlinfra-grade batch {topic}")
    if report.interrupted:
        lines.append(f"Interrupted after {report.written} were written; the same command goes on.")
    elif applied:
        lines.append(f"Written for {report.written}. Then, for the students' pages: feedback of {topic} again.")
    else:
        lines.append(f"Nothing is written yet: rlinfra-grade regrade {task.name} --apply")
    for line in lines:
        console.print(one_line(line, 2_000), markup=False, highlight=False)
