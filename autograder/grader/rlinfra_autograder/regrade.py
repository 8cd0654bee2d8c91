"""One task judged again for those who were graded: what it was, what it is, and what made the difference. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from .feedback import points_text
from .submissions import Fingerprint
from .verdicts import CriterionVerdict, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .entries import Entry

RECORDED, RUN = "recorded observations", "a new run"


@dataclass(frozen=True)
class GradeBefore:
    """What a student's grade of a topic is before a regrade.

    `score` is the task's automatic one in the gradebook, `by_hand` an assistant's in its place. `details` say what made
    the grade; `entry` is None where `nbgrader autograde` graded it.
    """

    student: str
    score: float
    by_hand: float | None
    details: Mapping[str, Any]
    entry: Entry | None

    def verdict(self, task: str) -> Verdict | None:
        """Return the verdict on a task that the grade was made of."""
        found = (Verdict.from_data(data) for data in self.details["verdicts"] if data["task"] == task)
        return next(found, None)

    def fingerprint(self) -> Fingerprint | None:
        """Return the fingerprint of the grade, where it has one."""
        return Fingerprint.parse(self.entry.fingerprint) if self.entry else None


@dataclass(frozen=True)
class Regraded:
    """One student's task, judged again; `how` says from what, and `packed` are the observations that were judged."""

    standing: GradeBefore
    verdict: Verdict
    how: str
    packed: bytes

    @property
    def before(self) -> float:
        """The points before, as the gradebook has them."""
        return self.standing.score

    @property
    def after(self) -> float:
        """The points after, as the gradebook would have them."""
        return round(self.verdict.earned, 2)

    @property
    def same_verdict(self) -> bool:
        """Whether nothing at all is different, also no note and no hint."""
        return self.before == self.after and self.standing.verdict(self.verdict.task) == self.verdict

    @property
    def moves(self) -> bool:
        """Whether the student gets other points, or meets a criterion that was not met before, or the other way."""
        old = self.standing.verdict(self.verdict.task)
        met = {criterion.title: criterion.met for criterion in (old.criteria if old else ())}
        return self.before != self.after or any(
            met.get(criterion.title, criterion.met) != criterion.met for criterion in self.verdict.criteria
        )

    def differences(self) -> list[str]:
        """Return a line for each criterion that is another one, or was met and is not, or the other way round."""
        before = self.standing.verdict(self.verdict.task)
        return list(_differences(before.criteria if before else (), self.verdict.criteria))

    def details(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return what made the grade after the regrade, of which `record` says what the task was judged with."""
        old = self.standing.details
        verdicts = [asdict(self.verdict) if data["task"] == self.verdict.task else data for data in old["verdicts"]]
        points = {"points_before": self.before, "points_after": self.after}
        regrade = {"task": self.verdict.task, **points, "judged": self.how, **record}
        return {**old, "verdicts": verdicts, "regrades": [*old.get("regrades", []), regrade]}


def confined(details: Mapping[str, Any]) -> bool:
    """Return whether all student code behind a grade ran confined, also in its regrades."""
    runs = [details["provenance"], *details.get("regrades", [])]
    return all(run.get("confined", True) for run in runs)


def judged_with(entry: Entry, task: str, part: str) -> Entry:
    """Return an entry that says that it was made with that state of a task."""
    return replace(entry, fingerprint=str(Fingerprint.parse(entry.fingerprint).with_task(task, part)))


def _differences(before: tuple[CriterionVerdict, ...], after: tuple[CriterionVerdict, ...]) -> Iterator[str]:
    old = {criterion.title: criterion for criterion in before}
    for criterion in after:
        was = old.pop(criterion.title, None)
        points = f"{points_text(criterion.earned)} of {points_text(criterion.points)}"
        if was is None:
            yield f"new ({points}): {criterion.title}"
        elif was.met != criterion.met:
            why = f" ({criterion.note})" if criterion.note else ""
            yield f"{'now met' if criterion.met else 'no longer met'}: {criterion.title}{why}"
        elif (was.points, was.earned) != (criterion.points, criterion.earned):
            yield f"{points}, before {points_text(was.earned)} of {points_text(was.points)}: {criterion.title}"
    for title in old:
        yield f"gone: {title}"
