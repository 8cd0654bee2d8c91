"""The explorer of `checkpoints`: what an interval costs, a run with failures, a manifest, and a control batch.

Intervals, what they cost by the formula, and the verdict on a manifest are values of functions of the notebook. The
run and the control batch are given, so that one sees what the formula and the verdict are worth.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from . import _checkpoints_runs as runs
from ._checkpoints_charts import BY_REFERENCE, DALY, OVERHEAD, REWORK, YOUNG, YOURS, spec
from ._checkpoints_form import BATCH, CONTROLS, COST, HOUR, MANIFEST, PRESETS, RUN, SEEDS
from ._checkpoints_manifest import draw_batch, draw_manifest
from ._functions import Answer, WrongFormError
from ._model import Explored, Picture
from ._reading import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._functions import Redraw
    from ._model import Values

    Data = dict[str, list[dict[str, Any]]]
    Cost = Mapping[str, float]  # by part, in seconds for each second of work

_GRID = tuple(6 * 10 ** (place / 8) for place in range(41))  # seconds, from 0.1 minutes to 10,000
_MOST_CYCLES = 40  # of a run, in one row: with their writing, each is a few pixels wide
_LONGEST = 1e9  # seconds: about 30 years
_RULES = {YOUNG: "optimal_checkpoint_interval", DALY: "daly_interval"}


def _draw(values: Values, redraw: Redraw) -> Picture:
    """Return the picture that is chosen, from what the functions say to this setting."""
    if values["picture"] == MANIFEST:
        return draw_manifest(values, redraw)
    if values["picture"] == BATCH:
        return draw_batch(values, redraw)
    work = _Work(values, redraw)
    return _cost(work) if values["picture"] == COST else _run(work)


TOPIC = Explored(
    "checkpoints",
    ("optimal_checkpoint_interval", "daly_interval", "checkpoint_cadence", "checkpoint_errors"),
    CONTROLS,
    PRESETS,
    _draw,
)


class _Work:
    """Asks about intervals in one redraw, and tells what the values mean."""

    def __init__(self, values: Values, redraw: Redraw) -> None:
        self.values = values
        self.redraw = redraw
        self.own: float = values["interval"]
        self.checkpoint: float = values["checkpoint"]
        self.mtbf: float = values["mtbf"] / values["machines"]

    def rules(self) -> dict[str, Answer[float]]:
        """Return Young's and Daly's interval, in seconds."""
        found = {}
        for rule, name in _RULES.items():
            found[rule] = self.redraw.call(name, _interval, self.checkpoint, self.mtbf)
            self.redraw.tell(name, found[rule], partial(_rule, rule))
        return found

    def cost(self, interval: float) -> Answer[Cost]:
        """Return what an interval costs by the formula."""
        return self.redraw.call(
            "checkpoint_cadence", _cadence, interval, checkpoint_seconds=self.checkpoint, mtbf_seconds=self.mtbf
        )

    def own_cost(self) -> Answer[Cost]:
        """Return what the interval that is chosen costs by the formula, and tell it."""
        own = self.cost(self.own)
        self.redraw.tell("checkpoint_cadence", own, lambda parts: f"{_shares(parts)} at {_plain(self.own)}")
        return own


# --- what an interval costs ----------------------------------------------------------------------------------------


def _cost(work: _Work) -> Picture:
    rules, own = work.rules(), work.own_cost()
    places = {work.own, *_GRID}
    places |= {seconds for rule in rules.values() for seconds in (rule.mine, rule.reference) if seconds is not None}
    costs = {seconds: work.cost(seconds) for seconds in sorted(places)}
    at = {name: None if rule.value is None else costs[rule.value].value for name, rule in rules.items()}
    data = _curve(costs, own)
    data["rules"] = [
        {"minutes": seconds / 60, "text": f"{name}: {_minutes(seconds)}{whose}", "grey": bool(whose), "side": side}
        for (name, rule), side in zip(rules.items(), ("left", "right"), strict=True)
        for seconds, whose in ((rule.value, ""), (rule.reference, BY_REFERENCE))
        if seconds is not None and (not whose or (work.redraw.overlay and seconds != rule.value))
    ]
    total = own.to(lambda parts: parts[OVERHEAD]).value
    data["own"] = [
        {
            "minutes": work.own / 60,
            "percent": None if total is None else 100 * total,
            "text": f"{_plain(work.own)}: {_percent(total)}",
            "part": OVERHEAD,
            "whose": own.whose,
        }
    ]
    if not work.redraw.overlay:
        data["reference"] = []
    lines = [f"Your interval, {_plain(work.own)}: {_shares(own.value)}"]
    lines += [
        f"{name} interval, {'unknown' if rule.value is None else f'{_minutes(rule.value)}: {_shares(at[name])}'}"
        for name, rule in rules.items()
    ]
    return Picture(
        spec(COST), data, _cost_title(work, rules, own, at), _sentences(*lines, _of(work)), work.redraw.facts
    )


def _curve(costs: Mapping[float, Answer[Cost]], own: Answer[Cost]) -> Data:
    """Return the lines as far as they lie near the least overhead, and a label at the end of each."""
    known = [parts for answer in costs.values() if (parts := answer.value)]
    least = min((parts[OVERHEAD] for parts in known), default=0)
    top = max(4 * least, 1.1 * own.value[OVERHEAD] if own.value else 0)
    lines: Data = {"curve": [], "reference": [], "labels": []}
    for part in (runs.WRITING, REWORK, OVERHEAD):
        line = [
            {"minutes": seconds / 60, "percent": 100 * parts[part], "part": part, "whose": answer.whose}
            for seconds, answer in costs.items()
            if (parts := answer.value) and parts[OVERHEAD] <= top
        ]
        lines["curve"] += line
        lines["labels"] += line[-1:] if part == runs.WRITING else line[:1]
        lines["reference"] += [
            {"minutes": seconds / 60, "percent": 100 * answer.reference[part], "part": part}
            for seconds, answer in costs.items()
            if answer.reference and answer.reference[OVERHEAD] <= top
        ]
    return lines


def _cost_title(
    work: _Work, rules: Mapping[str, Answer[float]], own: Answer[Cost], at: Mapping[str, Cost | None]
) -> str:
    if own.value is None:
        known = [f"{name} interval is {_minutes(rule.value)}" for name, rule in rules.items() if rule.value is not None]
        if not known:
            return "Nothing is written yet: the curve is what checkpoint_cadence says"
        return f"As far as it is written, {known[0]}: what an interval costs is what checkpoint_cadence says"
    costs = f"saving every {_plain(work.own)} costs {_percent(own.value[OVERHEAD])} of the work"
    best, young = at[YOUNG], rules[YOUNG].value
    if best is None or young is None:
        return f"As far as it is written, {costs}: Young's interval is not known yet"
    return f"{costs[0].upper()}{costs[1:]}, against {_percent(best[OVERHEAD])} at Young's interval of {_minutes(young)}"


# --- a run with failures -------------------------------------------------------------------------------------------


def _run(work: _Work) -> Picture:
    rules, own = work.rules(), work.own_cost()
    seed, span = work.values["seed"], work.values["span"]
    rows: dict[str, tuple[float, float | None]] = {YOURS: (work.own, _overhead(own))}
    for name, rule in rules.items():
        if rule.value is not None:
            rows[name] = rule.value, _overhead(work.cost(rule.value))
        if work.redraw.overlay and rule.reference is not None:
            rows[f"{name}{BY_REFERENCE}"] = rule.reference, _overhead(work.cost(rule.reference))
    data: Data = {"stretches": [], "totals": []}
    lines = []
    drawn = {}
    for row, (interval, formula) in rows.items():
        job = runs.Job(interval, work.checkpoint, work.mtbf, work.values["restart"])
        parts = runs.totals(job, (seed,), span)
        drawn[row] = runs.cost(parts)
        data["stretches"] += [
            {
                "row": row,
                "part": stretch.part,
                "start": stretch.start / HOUR,
                "end": stretch.end / HOUR,
                "cycles": stretch.cycles,
                "grey": row.endswith(BY_REFERENCE) and stretch.part == runs.KEPT,
            }
            for stretch in runs.stretches(job, seed, span, _MOST_CYCLES)
        ]
        data["totals"].append({"row": row, "hours": span * work.mtbf / HOUR, "text": _percent(drawn[row])})
        hours = ", ".join(f"{part} {_hours(seconds, span * work.mtbf)}" for part, seconds in parts.items())
        average = runs.cost(runs.totals(job, SEEDS, span))
        lines.append(
            f"{row}, {_minutes(interval)}: {hours}; it costs {_percent(drawn[row])} of the work, "
            f"{_percent(average)} over the runs of all {len(SEEDS)} seeds, {_percent(formula)} by the formula"
        )
    ends = runs.failures(seed, span)
    data["failures"] = [{"hours": end * work.mtbf / HOUR} for end in ends]
    struck = f"in {_hours(span * work.mtbf)} with {len(ends)} failure{'' if len(ends) == 1 else 's'}"
    costs = f"saving every {_plain(work.own)} costs {_percent(drawn[YOURS])} of the work"
    formula = rows[YOURS][1]
    if formula is not None:
        title = f"{struck[0].upper()}{struck[1:]}, {costs}: the formula says {_percent(formula)}"
    elif len(rows) > 1:
        title = f"As far as it is written, {struck} {costs}: the formula's number is what checkpoint_cadence says"
    else:
        title = f"Nothing is written yet: {struck} {costs}, and checkpoint_cadence says what to expect"
    return Picture(spec(RUN), data, title, _sentences(*lines, _of(work)), work.redraw.facts)


# --- reading what functions return, and writing numbers ------------------------------------------------------------

_interval = number("a number of seconds, from 0.001 to a billion", 1e-3, _LONGEST)
_fraction = number("a dictionary of fractions, each 0 or more", 0, 1e12)


def _cadence(value: Any) -> Cost:
    """Read what an interval costs; the reference's own form has no sum."""
    names = ("writing_fraction", "rework_fraction", "total_fraction")
    if isinstance(value, dict) and "interval_seconds" in value and names[2] not in value:
        value = {**value, names[2]: sum(_fraction(value.get(name)) for name in names[:2])}
    if not isinstance(value, dict) or not set(names) <= set(value):
        raise WrongFormError(value, f"a dictionary with {', '.join(names)}")
    return {part: _fraction(value[name]) for part, name in zip((runs.WRITING, REWORK, OVERHEAD), names, strict=True)}


def _overhead(answer: Answer[Cost]) -> float | None:
    return answer.to(lambda parts: parts[OVERHEAD]).value


def _plain(seconds: float) -> str:
    return f"{seconds / 60:,g} min"


def _rule(rule: str, seconds: float) -> str:
    return f"{rule} interval is {_minutes(seconds)}"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:,.1f} min" if seconds >= 60 else f"{seconds:,.2f} s"


def _hours(seconds: float, of: float | None = None) -> str:
    """Return a time in hours, or in seconds where it, or the whole that it is a part `of`, is short."""
    whole = seconds if of is None else of
    return f"{seconds / HOUR:,.2f} h" if whole >= 360 else f"{seconds:,.2f} s"


def _percent(fraction: float | None) -> str:
    if fraction is None:
        return "an unknown share"
    return "∞ %" if fraction == math.inf else f"{100 * fraction:,.2f} %"


def _shares(parts: Cost | None) -> str:
    return "unknown" if parts is None else ", ".join(f"{part} {_percent(share)}" for part, share in parts.items())


def _of(work: _Work) -> str:
    return f"A checkpoint takes {work.checkpoint:,g} s, and a failure stops the job every {_hours(work.mtbf)}"


def _sentences(*sentences: str) -> str:
    return " ".join(f"{sentence}." for sentence in sentences)
