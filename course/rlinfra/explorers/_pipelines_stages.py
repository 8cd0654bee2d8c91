"""The pictures of stages: in turn and overlapped on a timeline, how busy each is, and cards divided between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._functions import WrongFormError
from ._pipelines_form import IDLE, ROLLING, TRAINING, VERIFYING, rows
from ._pipelines_parts import Bars, in_seconds, mark, missing, take
from ._reading import number, report
from ._words import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._functions import Redraw
    from ._model import Values
    from ._pipelines_parts import Drawn, Report

DRAWN_BATCHES = 20  # of a longer run the first ones are drawn: more are too narrow to see
WAYS = {"in turn": "sequential_total", "overlapped": "pipeline_total"}

_SECONDS = number("a number of seconds, 0 or more")
_SHARE = number("a share from 0 to 1", 0, 1 + 1e-9)
_TIMES = number("a factor, 0 or more")
_OVERLAP = report(
    sequential_total=_SECONDS, pipeline_total=_SECONDS, period=_SECONDS, speedup=_TIMES, asymptotic_speedup=_TIMES
)


def timeline(values: Values, redraw: Redraw) -> Drawn:
    """Draw the same batches in turn and overlapped: the report on the first k batches says where the k-th ends."""
    rollout, training, batches = values["rollout"], values["training"], values["batches"]

    def asked(count: int) -> Report:
        return redraw.call("pipeline_report", _OVERLAP, rollout_seconds=rollout, train_seconds=training, batches=count)

    drawn = min(batches, DRAWN_BATCHES)
    reports = [asked(count) for count in range(1, drawn + 1)]
    whole = reports[-1] if drawn == batches else asked(batches)
    redraw.tell(
        "pipeline_report", whole, lambda its: f"{its['speedup']:.3f} times as fast, a batch every {_period(its)}"
    )
    bars = Bars(redraw)
    for way, total in WAYS.items():
        rolling, training_row = f"{way}: {ROLLING}", f"{way}: {TRAINING}"
        known = [(place, one, one.value[total]) for place, one in enumerate(reports, 1) if one.value is not None]
        for place, one, end in known:
            start = end - training
            # overlapped, the engine goes on to the next batch at once: what is finished waits for the trainer
            ready = start if way == "in turn" else place * rollout
            look = {"shade": 1 if place % 2 else 0.6}  # neighbours differ, and a batch is the same in both rows
            for row, stage, ends in (
                (rolling, ROLLING, (ready - rollout, ready)),
                (training_row, TRAINING, (start, end)),
            ):
                tip = f"batch {place}, {stage}: {in_seconds(ends[0])} to {in_seconds(ends[1])}"
                bars.bar(row, stage, ends, one, tip=tip, **look)
        for one in reports:
            bars.compare(training_row, one.reference[total] if one.reference else None)
        if known:
            bars.label(training_row, known[-1][2], in_seconds(known[-1][2]))
    order = tuple(f"{way}: {stage}" for way in WAYS for stage in (ROLLING, TRAINING))
    first_ones = f" (the first {drawn} of {batches} batches)" if drawn < batches else ""
    chart = rows((ROLLING, TRAINING), order, f"seconds since the start{first_ones}", mark(redraw))
    setting = f"{counted(batches, 'batch', 'es')} of {rollout} s of rollout and {training} s of training."
    its = whole.value
    if its is None:
        return chart, bars.data(room=rollout + training), missing(redraw, "pipeline_report", "the timeline"), setting
    overlapped, in_turn = in_seconds(its["pipeline_total"]), in_seconds(its["sequential_total"])
    title = (
        f"Overlapped, {take(batches)} {overlapped} in place of {in_turn}: {its['speedup']:.3f} times as fast, and "
        f"{its['asymptotic_speedup']:.3f} times in a run without end"
    )
    details = f"{setting} In turn: {in_turn}. Overlapped: {overlapped}, after the first a batch every {_period(its)}."
    return chart, bars.data(), title, details


def balance(values: Values, redraw: Redraw) -> Drawn:
    """Draw how busy each stage is, and tell what half of each would bring."""
    batches = values["batches"]
    stages = _stages(values, values["rollout"], values["training"])
    names = tuple(stages)
    answer = _ask(redraw, stages, batches)
    _tell(redraw, answer, names)
    setting = ", ".join(f"{name} {seconds} s a batch" for name, seconds in stages.items()).capitalize()
    chart = rows((*names, IDLE), names, "busy share of the run, %", mark(redraw), 46, percent=True)
    bars = Bars(redraw)
    its = answer.value
    if its is None:
        title = missing(redraw, "pipeline_makespan", "the busy share of each stage")
        return chart, bars.data(room=100), title, f"{setting}."
    total, bounding = in_seconds(its["makespan_seconds"]), names[its["bounding_stage"]]
    shares = dict(zip(names, its["busy_fractions"], strict=True))
    for place, (name, share) in enumerate(shares.items()):
        bars.bar(name, name, (0, 100 * share), answer, tip=f"{name}: busy for {share:.1%} of {total}")
        bars.bar(name, IDLE, (100 * share, 100), answer, tip=f"{name}: idle for {1 - share:.1%}", shade=0.35)
        bars.label(name, 100, f"{share:.0%}{', bounds' if name == bounding else ''}")
        if answer.reference is not None:
            bars.compare(name, 100 * answer.reference["busy_fractions"][place], "%")
    halves = {name: _ask(redraw, {**stages, name: seconds / 2}, batches).value for name, seconds in stages.items()}
    halved = {name: in_seconds(one["makespan_seconds"]) for name, one in halves.items() if one is not None}
    title = f"{bounding.capitalize()} bounds the run: {take(batches)} {total}"
    if bounding in halved:
        title += f", and {halved[bounding]} with half of it"
    busy = ", ".join(f"{name} {share:.1%}" for name, share in shares.items())
    told = "".join(f" With half of {name}: {seconds}." for name, seconds in halved.items())
    return chart, bars.data(room=128), title, f"{setting}. Busy: {busy}.{told}"


def split(values: Values, redraw: Redraw) -> Drawn:
    """Draw the run for every division of the cards between rollout and training."""
    cards, batches, rollout, training = (values[name] for name in ("cards", "batches", "rollout", "training"))
    names = tuple(_stages(values, rollout, training))
    divisions = {f"{count} + {cards - count}": count for count in range(1, cards)}
    answers = {
        row: _ask(redraw, _stages(values, rollout * cards / count, training * cards / (cards - count)), batches)
        for row, count in divisions.items()
    }
    # all cards do first the one and then the other: a single stage
    in_turn = _ask(redraw, {"all": sum(_stages(values, rollout, training).values())}, batches).value
    turn = None if in_turn is None else in_turn["makespan_seconds"]
    known = {row: answer.value for row, answer in answers.items() if answer.value is not None}
    bars = Bars(redraw)
    for row, its in known.items():
        bounding, seconds = names[its["bounding_stage"]], its["makespan_seconds"]
        bars.bar(row, bounding, (0, seconds), answers[row], tip=f"{row}: {in_seconds(seconds)}, bounded by {bounding}")
        bars.label(row, seconds, in_seconds(seconds))
    for row, answer in answers.items():
        bars.compare(row, answer.reference["makespan_seconds"] if answer.reference else None)
    if turn is not None and not redraw.overlay:
        bars.marks += [{"row": row, "at": turn, "tip": f"all cards in turn: {in_seconds(turn)}"} for row in known]
    axis = f"seconds for {counted(batches, 'batch', 'es')}, by cards for rollout + training"
    chart = rows(names, tuple(divisions), axis, mark(redraw) or "all cards in turn", 26 if cards <= 10 else 20)
    setting = f"With all {cards} cards a batch takes {rollout} s of rollout and {training} s of training."
    if not known:
        return (
            chart,
            bars.data(room=rollout + training),
            missing(redraw, "pipeline_makespan", "the run of each division"),
            setting,
        )
    best = min(known, key=lambda row: known[row]["makespan_seconds"])
    _tell(redraw, answers[best], names)
    so_far = "" if len(known) == len(answers) else "As far as it is written, "
    compared = "" if turn is None else f", and {in_seconds(turn)} with all {cards} in turn"
    quickest = in_seconds(known[best]["makespan_seconds"])
    title = f"{so_far}{best} cards for rollout + training are quickest: {take(batches)} {quickest}{compared}"
    each = ", ".join(f"{row}: {in_seconds(its['makespan_seconds'])}" for row, its in known.items())
    return chart, bars.data(), title, f"{setting} By cards for rollout + training: {each}."


def _stages(values: Values, rollout: float, training: float) -> dict[str, float]:
    """Return the seconds of each stage; verification is one where it takes any."""
    verification = {VERIFYING: values["verification"]} if values["verification"] else {}
    return {ROLLING: rollout, **verification, TRAINING: training}


def _ask(redraw: Redraw, stages: dict[str, float], batches: int) -> Report:
    return redraw.call("pipeline_makespan", _makespan(len(stages)), list(stages.values()), batches)


def _tell(redraw: Redraw, answer: Report, names: tuple[str, ...]) -> None:
    def told(its: dict[str, Any]) -> str:
        return f"{in_seconds(its['makespan_seconds'])}, bounded by {names[its['bounding_stage']]}"

    redraw.tell("pipeline_makespan", answer, told)


def _makespan(stages: int) -> Callable[[Any], dict[str, Any]]:
    """Return what reads the report on so many stages."""

    def place(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < stages:
            raise WrongFormError(value, f"a place from 0 to {stages - 1}")
        return value

    def shares(value: Any) -> list[float]:
        if not isinstance(value, list | tuple) or len(value) != stages:
            raise WrongFormError(value, f"a list of {stages} shares")
        return [_SHARE(share) for share in value]

    return report(makespan_seconds=_SECONDS, bounding_stage=place, busy_fractions=shares)


def _period(its: dict[str, Any]) -> str:
    return in_seconds(its["period"])
