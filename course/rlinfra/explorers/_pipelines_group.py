"""The pictures of a synchronous group: which cards wait for the slowest rollout, and whom a limit cuts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..given.pipelines import Rollout
from ._pipelines_form import (
    CUT,
    CUT_OFF,
    EASY,
    FINISHED,
    GROUPS,
    HARD,
    IDLE,
    NO_LIMIT,
    ROLLING,
    RUNS,
    WHOLE,
    lengths,
    rows,
)
from ._pipelines_parts import GIVEN, Bars, in_seconds, mark, missing, whose
from ._reading import number, report
from ._words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._functions import Redraw
    from ._model import Values
    from ._pipelines_parts import Drawn, Report

_SHARE = number("a share from 0 to 1", 0, 1 + 1e-9)
_CARD_SECONDS = number("a number of card-seconds, 0 or more")
_STRAGGLERS = report(
    work=_CARD_SECONDS,
    wall=number("a number of seconds, 0 or more"),
    capacity=_CARD_SECONDS,
    utilization=_SHARE,
    idle_fraction=_SHARE,
    truncated=number("a number of rollouts, 0 or more"),
)


class _Group:
    """A group without a limit, cut at the limit, and rollout by rollout: a group of one says how long it runs."""

    def __init__(self, values: Values, redraw: Redraw) -> None:
        self._redraw = redraw
        self._limited = {} if values["limit"] == NO_LIMIT else {"truncate_at": values["limit"]}
        self.limit = values["limit"]
        self.rollouts = GROUPS[values["group"]]
        self.size = len(self.rollouts)
        self.longest = max(rollout.seconds for rollout in self.rollouts)
        self.has_kinds = bool(self.rollouts[0].task)
        seconds = [rollout.seconds for rollout in self.rollouts]
        self.whole = redraw.call("straggler_report", _STRAGGLERS, [*seconds])
        self.cut = self._cut(seconds)
        self.each = [(rollout, self._cut([rollout.seconds])) for rollout in self.rollouts]
        redraw.tell("straggler_report", self.cut, _used)

    def _cut(self, seconds: Sequence[float]) -> Report:
        return self._redraw.call("straggler_report", _STRAGGLERS, [*seconds], **self._limited)

    @property
    def answered(self) -> bool:
        """Whether every question has an answer."""
        return all(one.value is not None for one in (self.whole, self.cut, *(one for _, one in self.each)))

    @property
    def finished(self) -> list[Rollout]:
        """The rollouts that the limit does not cut."""
        return [rollout for rollout, one in self.each if one.value is not None and not one.value["truncated"]]

    def line(self) -> list[dict[str, Any]]:
        """Return the line of the limit."""
        return [] if self.limit == NO_LIMIT else [{"at": self.limit, "text": f"limit: {self.limit} s"}]


def group(values: Values, redraw: Redraw) -> Drawn:
    """Draw for each card how long it works, how long it waits for the last one, and what the limit takes off."""
    it = _Group(values, redraw)
    bars = Bars(redraw)
    order = []
    end = it.cut.value["wall"] if it.cut.value else 0
    for place, (rollout, one) in enumerate(it.each, 1):
        row = f"{rollout.task or ROLLING} {place}"
        order.append(row)
        if one.value is None:
            tip = f"{row} takes {in_seconds(rollout.seconds)}"
            bars.bar(row, WHOLE, (0, rollout.seconds), GIVEN, tip=tip, shade=0.5)
            continue
        ran = one.value["wall"]
        bars.bar(row, RUNS, (0, ran), one, tip=f"{row} runs for {in_seconds(ran)}")
        if end > ran:
            tip = f"the card of {row} waits for {in_seconds(end - ran)}"
            bars.bar(row, IDLE, (ran, end), it.cut, tip=tip, shade=0.35)
        if one.value["truncated"]:
            tip = f"{row} is cut: it would run for {in_seconds(rollout.seconds)}"
            bars.bar(row, CUT_OFF, (ran, rollout.seconds), one, tip=tip, shade=0.45)
        bars.compare(row, one.reference["wall"] if one.reference else None)
    parts = (RUNS, IDLE, CUT_OFF) if any(one.value for _, one in it.each) else (WHOLE,)
    height = 30 if it.size <= 8 else 20 if it.size <= 16 else 6
    chart = rows(parts, tuple(order), "seconds since the group began", mark(redraw), height)
    title, details = missing(redraw, "straggler_report", "what a group costs"), ""
    if it.cut.value is not None and it.whole.value is not None:
        title, details = _told_of_group(it, it.cut.value, it.whole.value)
    longest = f"{it.size} rollouts on {it.size} cards; the longest would take {in_seconds(it.longest)}."
    return chart, bars.data(it.line()), title, longest + details


def _told_of_group(it: _Group, cut: dict[str, Any], whole: dict[str, Any]) -> tuple[str, str]:
    """Return title and details of a group."""
    ends, used = (
        f"the group ends after {in_seconds(cut['wall'])}",
        f"its cards work {cut['utilization']:.1%} of the time",
    )
    if it.limit == NO_LIMIT:
        title = f"{ends.capitalize()}, with its slowest rollout: {used}"
    elif not cut["truncated"]:
        title = f"A limit of {it.limit} s cuts nothing: {ends}, and {used}"
    else:
        before = f"in place of {whole['utilization']:.1%}"
        title = f"Cut at {it.limit} s, {ends} in place of {in_seconds(whole['wall'])}: {used} {before}"
    states = {"Without a limit": whole} if it.limit == NO_LIMIT else {"Without a limit": whole, "With it": cut}
    told = "".join(
        f" {name}: {its['work']:,.1f} card-seconds of work, {its['capacity']:,.1f} held, "
        f"{its['idle_fraction']:.1%} idle, {its['truncated']:g} of {it.size} cut."
        for name, its in states.items()
    )
    return (
        title,
        f"{told} If no card had to wait (partial rollouts): {in_seconds(whole['work'] / it.size)} without a limit.",
    )


def truncation(values: Values, redraw: Redraw) -> Drawn:
    """Draw how many rollouts are how long with the limit, over the outline of those without it."""
    it = _Group(values, redraw)
    parts = (EASY, HARD, CUT) if it.has_kinds else (FINISHED, CUT)
    columns = _Columns(2 if it.longest <= 20 else 4)
    for rollout, one in it.each:
        columns.add(rollout.seconds, "without a limit")
        if one.value is not None:
            finished = {"easy": EASY, "hard": HARD}.get(rollout.task, FINISHED)
            columns.add(one.value["wall"], CUT if one.value["truncated"] else finished)
        if redraw.overlay and one.reference is not None:
            columns.add(one.reference["wall"], "the reference")
    look = whose(it.cut, 0.85)
    data = {
        "bars": [{**column, **look} for column in columns.stacked(parts)],
        "whole": columns.stacked(("without a limit",)),
        "marks": columns.stacked(("the reference",)),
        "limit": it.line(),
    }
    chart = lengths(parts, mark(redraw))
    without = columns.words(("without a limit",))
    if it.cut.value is None or it.whole.value is None or not it.answered:
        return chart, data, missing(redraw, "straggler_report", "what a limit cuts"), f"{without}."
    means = [f"{its['work'] / it.size:.1f} s" for its in (it.whole.value, it.cut.value)]
    details = f"Mean length {means[1]}, {means[0]} without a limit. {columns.words(parts)}. {without}.{_rewards(it)}"
    return chart, data, _told_of_lengths(it, it.cut.value["truncated"], means), details


def _told_of_lengths(it: _Group, cut: float, means: list[str]) -> str:
    """Return the title of the lengths: what the limit does to the mean, or to the tasks where there are two kinds."""
    if not cut:
        return (
            f"Nothing is cut: {it.size} rollouts take {means[0]} in the mean, and the longest {in_seconds(it.longest)}"
        )
    title = f"The limit of {it.limit} s cuts {cut:g} of {it.size} rollouts"
    if not it.finished:
        return f"{title}: none is left that finishes"
    if it.has_kinds:
        return f"{title}: {_hard(it.finished)} of what finishes are hard tasks, and {_hard(it.rollouts)} without it"
    return f"{title}: the mean length falls from {means[0]} to {means[1]}"


def _rewards(it: _Group) -> str:
    """Return what a mean reward of the same policy is, by what is done with what was cut."""
    if not it.has_kinds:
        return ""
    earned = sum(rollout.reward for rollout in it.finished)
    before = sum(rollout.reward for rollout in it.rollouts) / it.size
    finished = f"{earned / len(it.finished):.2f} over what finishes" if it.finished else "none over what finishes"
    return f" Mean reward: {before:.2f} without a limit, {finished}, {earned / it.size:.2f} with 0 for what is cut."


class _Columns:
    """Counts of rollouts by length; a column holds its upper end, where the limit may lie, and not its lower one."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._counts: dict[str, dict[int, int]] = {}

    def add(self, seconds: float, part: str) -> None:
        place = max(math.ceil(seconds / self._width) - 1, 0)
        counts = self._counts.setdefault(part, {})
        counts[place] = counts.get(place, 0) + 1

    def stacked(self, parts: Sequence[str]) -> list[dict[str, Any]]:
        """Return the columns of these parts, one part upon the other."""
        tops: dict[int, int] = {}
        stacked = []
        for part in parts:
            for place, count in sorted(self._counts.get(part, {}).items()):
                low = tops.get(place, 0)
                tops[place] = low + count
                ends = {"from": place * self._width, "to": (place + 1) * self._width, "low": low, "high": low + count}
                tip = f"{self._between(place)}: {counted(count, 'rollout')}, {part}"
                stacked.append({**ends, "part": part, "tip": tip, **whose(GIVEN)})
        return stacked

    def words(self, parts: Sequence[str]) -> str:
        """Return the counts of these parts in words."""
        told = {
            part: ", ".join(f"{count} of {self._between(place)}" for place, count in sorted(self._counts[part].items()))
            for part in parts
            if part in self._counts
        }
        return ". ".join(f"{part.capitalize()}: {counts}" for part, counts in told.items())

    def _between(self, place: int) -> str:
        return f"{place * self._width} to {(place + 1) * self._width} s"


def _used(its: dict[str, Any]) -> str:
    return f"{its['utilization']:.1%} of {its['capacity']:,.1f} card-seconds used, {its['truncated']:g} cut"


def _hard(rollouts: Sequence[Rollout]) -> str:
    return f"{sum(rollout.task == 'hard' for rollout in rollouts) / len(rollouts):.0%}"
