"""The explorer of `ess`: what a weighted batch is worth, by token and by sequence, and where its weights come from.

Every weight, log-ratio, ESS and sampling probability is a value of a function of the notebook. What is computed here
is what they are asked, the weighted mean reward that the worked text defines, and units.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from ..given.ess import drifted_completions
from ._ess_batch import Parts, Weights
from ._ess_form import (
    BY_SEQUENCE,
    BY_TOKEN,
    CLIPPED,
    CONTROLS,
    ENGINE,
    FOUR,
    LENGTHS,
    LOOP,
    NO_CAP,
    PARTS,
    PRESETS,
    RATIO,
    SCORED,
    SHARE,
    TOKEN,
    lines_spec,
    token_spec,
)
from ._ess_work import NOT_KNOWN, Work, logs_of, percent, plain, sentence, signed
from ._functions import Answer, WrongFormError
from ._model import Explored, Picture
from ._reading import number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ._ess_work import Chart, Logs
    from ._functions import Redraw
    from ._model import Values

LOGITS = {"A": 2.0, "B": 1.0, "C": 0.0, "D": -1.0}  # the worked problem's vocabulary
BATCH = 32  # completions of each length


def _draw(values: Values, redraw: Redraw) -> Picture:
    """Return the picture that is chosen, from what the functions say to this setting."""
    pictures = {FOUR: Weights, LOOP: Weights, PARTS: Parts, RATIO: _Ratio, SHARE: _Share, TOKEN: _Token}
    work: Work = pictures[values["picture"]](values, redraw)
    spec, data = work.chart()
    title = work.title() if work.heard else f"Nothing is written yet that this picture needs: {work.needs}"
    return Picture(spec, data, title, work.details(), redraw.facts)


class _Lines(Work):
    """A line by length for each level of weights."""

    def lined(self, lines: Mapping[str, Answer[Sequence[tuple[int, float]]]]) -> Chart:
        """Return the chart of lines, each a row of lengths and values, with a label at an end of each."""
        overlay, by_ratio = self.redraw.overlay, self.values["picture"] == RATIO
        self._drawn: list[dict[str, Any]] = []
        reference: list[dict[str, Any]] = []
        labels: dict[str, list[dict[str, Any]]] = {"token": [], "sequence": [], "clipped": []}
        for (level, answer), label in zip(lines.items(), labels, strict=False):
            points = answer.value or ()
            self._drawn += [_point(level, *point, whose=answer.whose) for point in points]
            if overlay:
                reference += [_point(level, *point, whose="the reference") for point in answer.reference or ()]
            if points:
                tokens, value = points[len(points) // 2 if by_ratio else 0] if level == BY_TOKEN else points[-1]
                labels[label] = [{"tokens": tokens, "value": value, "text": self.label(level)}]
        note = "; grey dashes: the reference" if overlay else ""
        kept = {name: labels[name] for name, _ in zip(labels, lines, strict=False)}
        return lines_spec(self.values["picture"], note), {"lines": self._drawn, "reference": reference, **kept}

    def label(self, level: str) -> str:
        """Return the label of a line."""
        raise NotImplementedError

    def points(self) -> str:
        """Return what was drawn in words, a sentence a line."""
        by_level: dict[str, list[str]] = {}
        for point in self._drawn:
            by_level.setdefault(point["level"], []).append(f"{point['length']} {point['told']}")
        return " ".join(f"{sentence(level)}: {', '.join(points)}." for level, points in by_level.items())


def _point(level: str, tokens: int, value: float, whose: str) -> dict[str, Any]:
    length = f"{tokens:,} token{'' if tokens == 1 else 's'}"
    return {"level": level, "tokens": tokens, "value": value, "length": length, "told": plain(value), "whose": whose}


class _Ratio(_Lines):
    """The ratio of a token and of a whole completion, whose tokens all drift the same way, as its length grows."""

    needs = "sequence_log_ratios sums the tokens, and importance_weights makes ratios of the sums"

    def chart(self) -> Chart:
        """Return a line a level, up to the length that is chosen."""
        tokens, drift = self.values["tokens"], self.values["drift"]
        lengths = sorted({1, *(max(tokens * quarter // 4, 1) for quarter in (1, 2, 3, 4))})
        mask = [[1] * length for length in lengths]
        trainer, behavior = ([[logp] * length for length in lengths] for logp in (-1.0, -1.0 - drift))
        logs = self.ask("sequence_log_ratios", logs_of(len(lengths)), trainer, behavior, mask)
        self.redraw.tell("sequence_log_ratios", logs, lambda found: f"{signed(found[-1])} nats over {_count(tokens)}")
        whole = self.weights(logs)
        one = self._of_a_token(drift)
        self._ratios = {BY_TOKEN: one, BY_SEQUENCE: whole.to(lambda ratios: ratios[-1])}
        return self.lined(
            {
                BY_TOKEN: one.to(lambda ratio: [(length, ratio) for length in lengths]),
                BY_SEQUENCE: whole.to(  # a log axis has no place for a ratio of 0
                    lambda ratios: [point for point in zip(lengths, ratios, strict=True) if point[1] > 0]
                ),
            }
        )

    def _of_a_token(self, drift: float) -> Answer[float]:
        """Return the ratio of the first of two tokens: the other is there so that the levels differ."""

        def read(value: Any) -> float:
            expected = "a list of two weights above 0, in a list"
            if not isinstance(value, list) or len(value) != 1 or not isinstance(value[0], list) or len(value[0]) != 2:
                raise WrongFormError(value, expected)
            return number(expected, 1e-140, 1e140)(value[0][0])

        return self.ask("importance_weights", read, [[drift, drift]], [[1, 1]], level="token")

    def label(self, level: str) -> str:
        """Return whose ratio it is."""
        return f"{level}: {plain(self._ratios[level].value or 0)}"

    def title(self) -> str:
        """Return both ratios at this length."""
        one, whole = self._ratios[BY_TOKEN].value, self._ratios[BY_SEQUENCE].value
        over = f"{_count(self.values['tokens'])} of {self.values['drift']} nats each"
        if one is None or whole is None:
            known = "its ratio is not known" if whole is None else f"its ratio is {plain(whole)}"
            single = "that of a token is not known" if one is None else f"that of a token is {plain(one)}"
            return f"As far as it is written, of a completion with {over}, {known}, and {single}"
        return f"Over {over} the ratio of a completion is {plain(whole)}, that of a token {plain(one)}"

    def details(self) -> str:
        """Return what the two lines are, and their points."""
        return (
            "All tokens drift the same way here, trainer minus engine. At token level each keeps its own ratio; "
            f"at sequence level all have the ratio of their completion. {self.points()}"
        ).rstrip()


class _Share(_Lines):
    """The normalised ESS by token, by sequence, and by sequence after clipping, as completions grow longer."""

    needs = "normalized_ess tells what the completions of each length are worth"

    def chart(self) -> Chart:
        """Return a line a level over all lengths, and where the length that is chosen is."""
        tokens, drift = self.values["tokens"], self.values["drift"]
        lines: dict[str, Answer[Sequence[tuple[int, float]]]] = {}
        one = self._over((1,), drift, lambda logs: logs)
        lines[BY_TOKEN] = one.to(lambda points: [(length, points[0][1]) for length in (LENGTHS[0], LENGTHS[-1])])
        lines[BY_SEQUENCE] = self._over(LENGTHS, drift, lambda logs: logs)
        if self.values["cap"] != NO_CAP:
            lines[CLIPPED] = self._over(LENGTHS, drift, lambda logs: self.clipped(logs, told=False))
            self.clipped(_spread(tokens, drift))
        self.share(_spread(tokens, drift))
        self._at = {
            level: line.to(lambda points: dict(points).get(tokens, points[0][1])) for level, line in lines.items()
        }
        spec, data = self.lined(lines)
        return spec, {"clipped": [], **data, "at": [{"tokens": tokens, "text": _count(tokens)}]}

    def _over(
        self, lengths: Sequence[int], drift: float, change: Callable[[Logs], Logs]
    ) -> Answer[Sequence[tuple[int, float]]]:
        """Return the ESS at these lengths: nothing of whoever leaves one out."""
        shares = [self.share(change(_spread(length, drift)), told=False) for length in lengths]
        mine, reference = [one.mine for one in shares], [one.reference for one in shares]
        return Answer(_points(lengths, mine), _points(lengths, reference))

    def label(self, level: str) -> str:
        """Return whose ESS it is."""
        return self.remedy if level == CLIPPED else level

    def title(self) -> str:
        """Return the ESS at this length, before and after clipping."""
        tokens, drift = self.values["tokens"], self.values["drift"]
        share = self._at[BY_SEQUENCE].value
        if share is None:
            return "As far as it is written, what completions are worth is not known"
        title = f"At {_count(tokens)} that each drift by {drift} nats, the normalised ESS is {share:.3f}"
        if CLIPPED not in self._at:
            return title
        after = self._at[CLIPPED].value
        return f"{title}; {self.remedy}, it is {'not known' if after is None else f'{after:.3f}'}"

    def details(self) -> str:
        """Return what the lines are, and the ESS of tokens."""
        one = self._at[BY_TOKEN].value
        known = "is not known yet" if one is None else f"is {one:.4f} at any length"
        return (
            f"{BATCH} completions of each length, whose tokens drift independently. At token level the normalised ESS "
            f"{known}. {self.points()}"
        ).rstrip()


@cache
def _quantiles(tokens: int, drift: float) -> tuple[float, ...]:
    return tuple(drifted_completions(tokens, drift, BATCH))


def _spread(tokens: int, drift: float) -> Logs:
    """Return the log-ratios of completions of that many tokens, as the notebook spreads them."""
    logs = [*_quantiles(tokens, drift)]
    return Answer(logs, logs, given=True)


def _points(lengths: Sequence[int], shares: Sequence[float | None]) -> list[tuple[int, float]] | None:
    known = [share for share in shares if share is not None]
    return list(zip(lengths, known, strict=True)) if len(known) == len(lengths) else None


def _count(tokens: int) -> str:
    return f"{tokens:,} token{'' if tokens == 1 else 's'}"


class _Token(Work):
    """The probabilities of one token, as the engine samples it and as the trainer scores it with the same weights."""

    needs = "decoded_logprobs tells what a token is sampled with"

    def chart(self) -> Chart:
        """Return a pair of bars a token."""
        temperature, top_p = self.values["temperature"], self.values["top_p"]
        self._sides = {
            ENGINE: self._decoded(temperature, top_p),
            SCORED: self._decoded(1.0, 1.0),
        }
        engine, scored = self._sides.values()
        self.redraw.tell("decoded_logprobs", engine, lambda logps: f"the engine samples {_listed(logps)}")
        self._ratios = self._share_of_sampled = NOT_KNOWN
        if engine.value is not None and scored.value is not None:
            pairs = [pair for pair in zip(scored.value, engine.value, strict=True) if pair[1] > -math.inf]
            logs = self.ask(
                "sequence_log_ratios",
                logs_of(len(pairs)),
                [[trained] for trained, _ in pairs],
                [[sampled] for _, sampled in pairs],
                [[1]] * len(pairs),
            )
            self.redraw.tell("sequence_log_ratios", logs, lambda found: f"{signed(found[0])} nats for token A")
            self._ratios = self.weights(logs)
            self._share_of_sampled = self.share(logs)
        bars = [row for who, answer in self._sides.items() for row in _bars(who, answer.value, answer.whose)]
        marks = [row for who, answer in self._sides.items() for row in _bars(who, answer.reference, "the reference")]
        note = " (grey line: the reference)" if self.redraw.overlay else ""
        return token_spec(note), {"bars": bars, "labels": bars, "marks": marks if self.redraw.overlay else []}

    def _decoded(self, temperature: float, top_p: float) -> Logs:
        return self.ask("decoded_logprobs", _logps, [*LOGITS.values()], temperature=temperature, top_p=top_p)

    def title(self) -> str:
        """Return the ratio of one token, and what can never be sampled."""
        engine, scored = (answer.value for answer in self._sides.values())
        if engine is None or scored is None:
            return "As far as it is written, what a token is sampled with is not known"
        never = [name for name, logp in zip(LOGITS, engine, strict=True) if logp == -math.inf]
        lost = sum(math.exp(logp) for logp, sampled in zip(scored, engine, strict=True) if sampled == -math.inf)
        ratios, share = self._ratios.value, self._share_of_sampled.value
        said = []
        if ratios is not None:
            said.append(f"token A has the ratio {plain(ratios[0])} although the weights are the same")
        if share is not None:
            said.append(f"the normalised ESS is {share:.3f}")
        seen = f"{percent(lost, 1)} of the policy ({', '.join(never)}) can never" if never else "every token can"
        return sentence(", ".join([*said, f"{'and ' if said else ''}{seen} be sampled"]))

    def details(self) -> str:
        """Return all probabilities and ratios."""
        known = [f"{who} {_listed(answer.value)}" for who, answer in self._sides.items() if answer.value is not None]
        ratios = self._ratios.value
        if ratios is not None:
            known.append(f"ratios of the tokens that can be sampled {', '.join(map(plain, ratios))}")
            known.append("the ESS is that of a batch in which each of them stands once")
        return f"{sentence('; '.join(known)) or 'Neither side is known yet'}."


def _bars(who: str, logps: Sequence[float] | None, whose: str) -> list[dict[str, Any]]:
    pairs = zip(LOGITS, map(math.exp, logps or ()), strict=False)
    return [{"token": name, "who": who, "probability": one, "told": plain(one), "whose": whose} for name, one in pairs]


def _listed(logps: Sequence[float]) -> str:
    return ", ".join(f"{name} {plain(math.exp(logp))}" for name, logp in zip(LOGITS, logps, strict=True))


def _logps(value: Any) -> list[float]:
    """Read the log-probabilities of the vocabulary; the first token is the most probable one, and never cut off."""
    expected = "a list of 4 log-probabilities, at most 0, that of the most probable token finite"
    if not isinstance(value, list) or len(value) != len(LOGITS):
        raise WrongFormError(value, expected)
    read = number(expected, -math.inf, 1e-9)
    first = number(expected, -100, 1e-9)
    return [first(value[0]), *map(read, value[1:])]


TOPIC = Explored(
    "ess",
    (
        "sequence_log_ratios",
        "importance_weights",
        "effective_sample_size",
        "normalized_ess",
        "clip_log_ratios",
        "mask_log_ratios",
        "decoded_logprobs",
        "zero_lag_report",
        "split_drift",
    ),
    CONTROLS,
    PRESETS,
    _draw,
)
