"""The figures of the report: what a class came to in one topic, counted from the standings. Nothing is drawn here."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from rlinfra.topics import find_topic

from ..course import notebook_path
from ..entries import FAILED, UNGRADED
from ..feedback import points_text
from ..grade import METADATA_KEY
from ..hidden import hint_of
from ..intake.outcome import SENTENCES
from ..probes import CALL_FAULTS
from ..standings import MISSING
from ..tasks import ChoiceTask, FunctionTask, load_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from ..standings import Standing

_SLOWEST = 5
_ANOTHER = "the numbers of another id"
_ANOTHER_HINT = "The answer is right for the id in the notebook, and not for the one under which it was handed in."
_EARLIER = "a mistake that the task no longer knows"

Details = dict[str, Any]


@dataclass(frozen=True)
class Group:
    """Students that have something in common: what it is, of which task, what to say of it, and who they are."""

    name: str
    students: tuple[str, ...]
    task: str = ""
    text: str = ""


@dataclass(frozen=True)
class TaskFigures:
    """How difficult a task was: the share of students with full marks, the mean share of its points, what fails most.

    `hardest` is the title of the criterion that most students miss, "" where none is missed.
    """

    name: str
    points: float
    students: int
    full: int
    mean_share: float
    hardest: str = ""
    hardest_missed: int = 0

    @property
    def full_share(self) -> float:
        """The share of students with full marks, from 0 to 1."""
        return self.full / self.students


@dataclass(frozen=True)
class TopicFigures:
    """A class in one topic. Scores are nbgrader's, in points; `seconds` are the grader's own."""

    name: str
    title: str
    max_score: float
    students: int
    statuses: Mapping[str, int]
    scores: tuple[float, ...]
    tasks: tuple[TaskFigures, ...]
    misconceptions: tuple[Group, ...]
    repairs: tuple[Group, ...]
    refused: tuple[tuple[str, str, str], ...]
    faults: tuple[Group, ...]
    slowest: tuple[tuple[str, float], ...]
    waiting: tuple[Group, ...]
    late: tuple[tuple[str, float], ...]
    seeds: tuple[str, ...]
    unconfined: int

    @property
    def handed_in(self) -> int:
        """How many handed in."""
        return self.students - self.statuses.get(MISSING, 0)

    @property
    def median(self) -> float | None:
        """The median score, None where nothing is graded."""
        return median(self.scores) if self.scores else None

    @property
    def mean(self) -> float | None:
        """The mean score, None where nothing is graded."""
        return fmean(self.scores) if self.scores else None

    @property
    def waiting_students(self) -> int:
        """How many wait for at least one mark by hand."""
        return len({student for group in self.waiting for student in group.students})


def figures_of(root: Path, topic: str, standings: Sequence[Standing]) -> TopicFigures:
    """Return the figures of one topic."""
    graded = [standing for standing in standings if standing.marks is not None]
    details = {standing.student.id: _details(root, standing) for standing in graded}
    judged = {student: found["verdicts"] for student, found in details.items() if found.get("verdicts")}
    made = [found["provenance"] for found in details.values() if found.get("provenance")]
    timed = [(one.student.id, one.entry.seconds) for one in standings if one.entry is not None and one.entry.seconds]
    return TopicFigures(
        name=topic,
        title=find_topic(topic).title,
        max_score=standings[0].max_score if standings else 0.0,
        students=len(standings),
        statuses=Counter(standing.status for standing in standings),
        scores=tuple(sorted(standing.marks.score for standing in graded if standing.marks)),
        tasks=tuple(_tasks(judged)),
        misconceptions=_groups(_mistakes(topic, judged)),
        repairs=_groups(_repairs(details)),
        refused=tuple(
            (one.student.id, one.status, one.reason) for one in standings if one.status in (UNGRADED, FAILED)
        ),
        faults=_groups(_faults(details)),
        slowest=tuple(sorted(timed, key=lambda pair: (-pair[1], pair[0]))[:_SLOWEST]),
        waiting=_groups(((name, "", ""), one.student.id) for one in graded if one.marks for name in one.marks.waiting),
        late=tuple((one.student.id, one.marks.penalty) for one in graded if one.marks and one.marks.penalty),
        seeds=tuple(sorted({str(one.get("course_seed")) for one in made})),
        unconfined=sum(not one.get("confined", True) for one in made),
    )


def median_sentence(figures: TopicFigures) -> str:
    """Return what the chart of the scores says, in a sentence with the numbers."""
    scores, most = figures.scores, points_text(figures.max_score)
    if figures.median is None:
        return "No submission is graded yet."
    if len(scores) == 1:
        return f"The one graded submission has {points_text(scores[0])} of {most} points."
    full, nothing = sum(score >= figures.max_score for score in scores), sum(score == 0 for score in scores)
    return (
        f"The median of the {len(scores)} graded submissions is {points_text(figures.median)} of {most} points; "
        f"{full} {'has' if full == 1 else 'have'} full marks, {nothing} {'has' if nothing == 1 else 'have'} 0 points."
    )


def _details(root: Path, standing: Standing) -> Details:
    """Return verdicts, repairs, faults and provenance: our row's, else those in the notebook that nbgrader graded."""
    if standing.entry is not None:
        return standing.entry.details
    path = notebook_path(root / "autograded" / standing.student.id, standing.topic)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["metadata"][METADATA_KEY]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def _tasks(judged: Mapping[str, list[Details]]) -> Iterable[TaskFigures]:
    """Yield a task's figures each, in the order of the notebook."""
    by_task: dict[str, list[Details]] = defaultdict(list)
    for verdicts in judged.values():
        for verdict in verdicts:
            by_task[verdict["task"]].append(verdict)
    for name, verdicts in by_task.items():
        points = float(verdicts[0]["points"])
        earned = [sum(criterion["earned"] for criterion in verdict["criteria"]) for verdict in verdicts]
        missed: Counter[str] = Counter()
        for criterion in (criterion for verdict in verdicts for criterion in verdict["criteria"]):
            missed[criterion["title"]] += criterion["earned"] != criterion["points"]
        hardest, count = missed.most_common(1)[0]  # of equals the first in the notebook
        full = sum(one == points for one in earned)
        yield TaskFigures(name, points, len(verdicts), full, fmean(earned) / points, hardest if count else "", count)


def _mistakes(topic: str, judged: Mapping[str, list[Details]]) -> Iterable[tuple[tuple[str, str, str], str]]:
    tasks = {task.name: task for task in load_tasks(topic)}
    for student, verdicts in judged.items():
        for verdict in verdicts:
            if hint := verdict["hint"]:
                task = tasks.get(verdict["task"])
                yield _mistake(task, verdict["task"], hint), student


def _mistake(task: object, name: str, hint: str) -> tuple[str, str, str]:
    """Return the name of the mistake that a hint tells of, its task, and the hint."""
    if not isinstance(task, FunctionTask | ChoiceTask):
        return _ANOTHER, name, _ANOTHER_HINT
    known = {hint_of(wrong): wrong.__name__.replace("_", " ") for wrong in task.misconceptions}
    return known.get(hint, _EARLIER), name, hint


def _repairs(details: Mapping[str, Details]) -> Iterable[tuple[tuple[str, str, str], str]]:
    for student, found in details.items():
        for repair in found.get("repairs", ()):
            sentence = SENTENCES.get(repair["kind"], repair["kind"])
            yield (sentence.partition(": {}")[0].rstrip(".") + ".", "", ""), student


def _faults(details: Mapping[str, Details]) -> Iterable[tuple[tuple[str, str, str], str]]:
    """Yield cells that were stopped, by why, and calls that were, by task."""
    for student, found in details.items():
        for why in dict.fromkeys(fault.rpartition(": ")[2] for fault in found.get("faults", ())):
            yield (f"a cell {_was(why)}", "", ""), student
        for verdict in found.get("verdicts", ()):
            notes = "; ".join(criterion["note"] for criterion in verdict["criteria"]).split("; ")
            for why in CALL_FAULTS.values():
                if why in notes:
                    yield (f"a call {_was(why)}", verdict["task"], ""), student


def _was(why: str) -> str:
    return f"was {why}" if why.startswith("stopped") else why


def _groups(pairs: Iterable[tuple[tuple[str, str, str], str]]) -> tuple[Group, ...]:
    """Gather who has what, the most frequent first; a student counts once a group."""
    gathered: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
    for what, student in pairs:
        gathered[what][student] = None
    groups = [Group(name, tuple(students), task, text) for (name, task, text), students in gathered.items()]
    return tuple(sorted(groups, key=lambda group: (-len(group.students), group.task, group.name)))
