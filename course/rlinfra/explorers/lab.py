"""The explorer of `lab`: the simulated loop as a dashboard, two configurations side by side.

The runs are the simulator's, which is given. What they give rise to is what `diagnose_pipeline` says, and one of the
configurations that may stand beside the settings is what `tune` chooses for the same loop.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

from ..given.lab_tune import broken_bounds, require_choice
from ..simulator import PipelineConfig, PipelineResult, pipeline_metrics, simulate_pipeline
from ..simulator.workload import mean_completion_tokens
from ._functions import Answer, WrongFormError
from ._lab_form import (
    ALL_FOUR,
    BESIDE,
    BY_TURNS,
    CHOICE,
    CONTROLS,
    ESS,
    FIXED,
    HYPOTHESES,
    LAG,
    ONE_BATCH,
    OTHERS,
    PRESETS,
    QUEUE,
    ROWS,
    SECONDS,
    SET,
    THEIRS,
    THROUGHPUT,
    TUNED,
    WORLD,
    dashboard,
    over_time,
)
from ._lab_words import Run, codes_in, details, measures, sentence_on, settings
from ._model import Explored, Picture

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ._functions import Redraw
    from ._model import Values

    Rows = list[dict[str, Any]]
    Codes = tuple[str, ...]

_EVERY = 4  # of the timeline's steps one is drawn: a second apart
_MOST_CODES, _LONGEST_CODE = 12, 40
_GAP = 0.13  # between two labels of two lines, as a share of the axis


def _draw(values: Values, redraw: Redraw) -> Picture:
    """Return both runs as bars or over time, and what the functions say of them."""
    work = _Work(values, redraw)
    runs, refusal = work.runs()
    codes = work.diagnose(runs)
    shown = values["shown"]
    if shown == ALL_FOUR:
        data = _bars(runs, codes, overlay=redraw.overlay)
        chart = dashboard()
    else:
        data = _lines(shown, runs, work.limit(shown))
        chart = over_time(shown)
    two = [run for run in runs if run.part != THEIRS]
    title = work.so_far(refusal or sentence_on(shown, two))
    return Picture(chart, data, title, details(runs, codes, work.supply()), redraw.facts)


TOPIC = Explored("lab", ("diagnose_pipeline", "tune"), CONTROLS, PRESETS, _draw)


@lru_cache(maxsize=32)
def _simulated(config: PipelineConfig) -> PipelineResult:
    """Return the run of a configuration: what a control leaves as it is, is not simulated again."""
    return simulate_pipeline(config, trace=True)


class _Work:
    """Simulates for one redraw, asks the functions, and tells what their values mean."""

    def __init__(self, values: Values, redraw: Redraw) -> None:
        self._values = values
        self._redraw = redraw
        self._world = {**FIXED, **{name: values[name] for name in WORLD}}
        self._choice = {name: values[name] for name in CHOICE}
        self._unsaid: list[str] = []  # the functions that were asked and said nothing

    def runs(self) -> tuple[list[Run], str]:
        """Return the runs, the one of the settings first, and why that one cannot be, if it cannot."""
        runs, refusal = [], ""
        try:
            runs.append(self._run(SET, "these settings", self._choice))
        except ValueError as error:
            refusal = f"These settings cannot run: {error}"
        beside = self._values["beside"]
        if beside == TUNED:
            runs += self._tuned()
        else:
            with suppress(ValueError):  # it has what is at fault with the settings, and the sentence says that
                runs.append(self._run(BESIDE, beside, {**self._choice, **self._other(beside)}))
        return runs, refusal

    def _other(self, name: str) -> Mapping[str, Any]:
        """Return the settings that what stands beside has of its own."""
        return {"max_queue_tokens": self._choice["batch_tokens"]} if name == ONE_BATCH else OTHERS[name]

    def _run(self, part: str, name: str, choice: Mapping[str, Any], whose: str = "given") -> Run:
        """Return the run of a choice; raise `ValueError` where the loop could not run with it."""
        config = PipelineConfig.from_data({**self._world, **choice})
        within = {BY_TURNS: name, ONE_BATCH: f"with a {name}"}.get(name, f"with {name}")
        return Run(part, name, within, whose, _simulated(config))

    def _tuned(self) -> list[Run]:
        """Return the run of the choice of `tune`; where it is compared and differs, that of the reference as well."""
        bounds = {name: self._values[name] for name in ("largest_lag", "smallest_ess")}
        answer = self._redraw.call("tune", _choice, {**self._world, **bounds})
        self._note("tune", answer)

        def text(choice: Mapping[str, Any]) -> str:
            result = self._run(BESIDE, TUNED, choice).result
            row = {"max_lag": result.max_lag, "mean_normalized_ess": result.mean_normalized_ess or 0.0}
            broken = [name.replace("_", " ") for name in broken_bounds(bounds, row)]
            held = f"not held: {', '.join(broken)}" if broken else "both bounds hold"
            return f"{settings(choice)}; {result.trained_tokens_per_second:,.0f} trained tokens/s, {held}"

        self._redraw.tell("tune", answer, text)
        found = [] if answer.value is None else [self._run(BESIDE, TUNED, answer.value, answer.whose)]
        if self._redraw.overlay and answer.reference is not None and answer.value != answer.reference:
            found.append(self._run(THEIRS, "the reference's choice", answer.reference))
        return found

    def diagnose(self, runs: Sequence[Run]) -> dict[str, Answer[Codes]]:
        """Return by a run's name the codes that fire in it; one that trained nothing has no metrics."""
        answers = {
            run.name: self._redraw.call("diagnose_pipeline", _codes, pipeline_metrics(run.result))
            for run in runs
            if run.part != THEIRS and run.result.batches
        }
        for answer in answers.values():
            self._note("diagnose_pipeline", answer)
        both: Answer[dict[str, Codes]] = Answer(
            _all_of({name: answer.mine for name, answer in answers.items()}),
            _all_of({name: answer.reference for name, answer in answers.items()}),
        )
        self._redraw.tell("diagnose_pipeline", both, lambda codes: "; ".join(codes_in(*one) for one in codes.items()))
        return answers

    def _note(self, name: str, answer: Answer[Any]) -> None:
        if answer.value is None:
            self._unsaid.append(name)

    def so_far(self, sentence: str) -> str:
        """Return the sentence, and before it what is missing."""
        if not self._unsaid:
            return sentence
        small = sentence[0].lower() + sentence[1:]
        problems = self._redraw.problems.values()
        if not self._redraw.facts and all(problem.unwritten for problem in problems):
            return f"Nothing is written yet; what the simulator says alone: {small}"
        return f"As far as it is written, {small}"

    def supply(self) -> str:
        """Return what workers and trainer can do, as a sentence."""
        return (
            f"{self._values['workers']} workers generate {self._generated():,.0f} tokens/s if they never wait, "
            f"and the trainer takes {self._world['trainer_tokens_per_second']:,} tokens/s."
        )

    def _generated(self) -> float:
        config = PipelineConfig.from_data(self._world)
        mean = mean_completion_tokens(config)
        return config.workers * mean / config.rollout_seconds(mean)

    def limit(self, measure: str) -> Rows:
        """Return the line that the settings draw in the picture of a measure, if there is one."""
        values = self._values
        if measure == THROUGHPUT:
            generated, trainer = self._generated(), self._world["trainer_tokens_per_second"]
            whose, most = ("trainer", trainer) if trainer < generated else ("workers", generated)
            return [{"value": most, "text": f"the {whose} at most: {most:,.0f} tokens/s"}]
        if measure == QUEUE and values["mode"] == "bounded_async":
            return [{"value": values["max_queue_tokens"], "text": f"no rollout starts: {values['max_queue_tokens']:,}"}]
        if measure == LAG:
            return [{"value": values["max_policy_lag"], "text": f"discarded above {values['max_policy_lag']}"}]
        if measure == ESS and values["beside"] == TUNED:
            return [{"value": values["smallest_ess"], "text": f"bound of tune: {values['smallest_ess']}"}]
        return []


# --- reading what the functions return ---------------------------------------------------------------------------


def _codes(value: Any) -> Codes:
    """Read the codes of a diagnosis, whose order does not matter and which a measurement may follow."""
    if (
        not isinstance(value, list | tuple)
        or len(value) > _MOST_CODES
        or not all(isinstance(one, str) for one in value)
    ):
        raise WrongFormError(value, "the list of the codes that fire, such as ['overload']")
    return tuple(sorted({code.partition(":")[0].strip()[:_LONGEST_CODE] for code in value}))


def _choice(value: Any) -> dict[str, Any]:
    """Read a choice of the five settings."""
    try:
        return require_choice(value)
    except ValueError as error:
        raise WrongFormError(value, "a dictionary with the five settings, each in its range") from error


def _all_of(parts: Mapping[str, Codes | None]) -> dict[str, Codes] | None:
    """Return all parts, or None where one is missing or there is none at all."""
    known = {name: part for name, part in parts.items() if part is not None}
    return known if known and len(known) == len(parts) else None


# --- the pictures ------------------------------------------------------------------------------------------------


def _bars(runs: Sequence[Run], codes: Mapping[str, Answer[Codes]], *, overlay: bool) -> dict[str, Rows]:
    """Return the data of the dashboard: of each measure a bar a run, and the hypotheses as text below."""
    bars: Rows = []
    labels: Rows = []
    measured = {run.name: measures(run) for run in runs}
    for measure, row in ROWS.items():
        largest = max((found[measure][0] for found in measured.values() if measure in found), default=0.0)
        for run in runs:
            if measure in measured[run.name]:
                number, text = measured[run.name][measure]
                place = {"row": row, "part": run.part, "percent": 100 * number / largest if largest else 0.0}
                bars.append({**place, "said": text, "name": run.name, "whose": run.whose})
                labels.append({**place, "text": f"{text}, {run.name}"})
    theirs = {}
    for run in runs:
        answer = codes.get(run.name, Answer(None, None))
        if answer.value is not None:
            text = codes_in(run.name, answer.value)
            labels.append({"row": HYPOTHESES, "part": run.part, "percent": 0.0, "text": text})
            if overlay and answer.reference is not None and answer.reference != answer.value:
                theirs[run.name] = answer.reference
    if theirs:
        text = "the reference: " + "; ".join(codes_in(*one) for one in theirs.items())
        labels.append({"row": HYPOTHESES, "part": THEIRS, "percent": 0.0, "text": text})
    return {"bars": bars, "labels": labels}


def _lines(measure: str, runs: Sequence[Run], limit: Rows) -> dict[str, Rows]:
    """Return the data of a measure over time."""
    lines: Rows = []
    ends: list[tuple[float, str]] = []
    for run in runs:
        points = _points(measure, run.result)
        lines += [
            {"seconds": seconds, "value": value, "said": text, "part": run.part, "name": run.name, "whose": run.whose}
            for seconds, value, text in points
        ]
        if points and measure in (measured := measures(run)):
            number, text = measured[measure]
            kind = {QUEUE: "up to ", LAG: "mean ", ESS: "mean "}.get(measure, "")
            ends.append((points[-1][1] if measure == QUEUE else number, f"{run.name}:\n{kind}{text}"))
    most = 1.0 if measure == ESS else max((row["value"] for row in [*lines, *limit]), default=1.0) or 1.0
    places = _apart([at for at, _ in sorted(ends)], most, [row["value"] for row in limit])
    labels = [
        {"seconds": SECONDS, "value": place, "text": text}
        for place, (_, text) in zip(places, sorted(ends), strict=True)
    ]
    return {"lines": lines, "ends": labels, "limit": limit}


def _apart(values: Sequence[float], most: float, limits: Sequence[float]) -> Sequence[float]:
    """Return a place for the label of each rising value, in this order, near it, and off its neighbours and a limit's.

    Places are on an axis from 0 to `most`.
    """
    gap = _GAP * most
    steps = [step * gap / 4 for step in range(1, int(4 / _GAP) + 1)]
    free = [place for place in steps if all(abs(place - at - gap / 4) >= gap for at in limits)]
    rows = (row for row in combinations(free, len(values)) if all(b - a >= 0.99 * gap for a, b in pairwise(row)))
    return min(rows, key=lambda row: sum(abs(place - at) for place, at in zip(row, values, strict=True)))


def _points(measure: str, result: PipelineResult) -> list[tuple[float, float, str]]:
    """Return a measure over time: seconds, value, and the value for reading."""
    if measure == QUEUE:
        return [(float(second), deepest, f"{deepest:,} tokens") for second, deepest in enumerate(_deepest(result))]
    if measure == THROUGHPUT:
        steps = result.timeline[1:]
        means = [(step["time"], step["trained_tokens"] / step["time"]) for step in steps[::_EVERY]]
        return [(seconds, mean, f"{mean:,.0f} tokens/s") for seconds, mean in means]
    if measure == LAG:
        return [(batch.end_seconds, batch.mean_lag, f"{batch.mean_lag:.2f} versions") for batch in result.batches]
    return [(batch.end_seconds, batch.normalized_ess, f"{batch.normalized_ess:.3f}") for batch in result.batches]


def _deepest(result: PipelineResult) -> list[int]:
    """Return the most tokens in the queue in each second: a moment's peak counts, which a batch takes away at once."""
    signs = {"finish": 1, "discard": -1, "train": -1}
    events = [event for event in result.events if event.kind in signs]
    deepest = [0] * SECONDS
    level = last = 0
    for place, event in enumerate(events):
        second = int(event.time)
        deepest[last + 1 : second + 1] = [level] * (second - last)
        level += signs[event.kind] * event.tokens
        after = events[place + 1] if place + 1 < len(events) else event
        if (after.kind, after.time) != ("discard", event.time):  # what comes too late is never queued
            deepest[second] = max(deepest[second], level)
        last = second
    deepest[last + 1 :] = [level] * (SECONDS - last - 1)
    return deepest
