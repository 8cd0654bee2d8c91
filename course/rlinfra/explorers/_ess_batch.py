"""Two pictures of a batch: its weights as bars with what they are worth, and its log-ratios in their two parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ._ess_form import FOUR, LAG, MASKED, MISMATCH, NO_CAP, parts_spec, weights_spec
from ._ess_work import (
    NOT_KNOWN,
    TOTAL,
    Work,
    logs_of,
    percent,
    plain,
    report,
    sentence,
    signed,
    split_of,
    toy_loop,
    toy_names,
)
from ._functions import Answer
from ._reading import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._ess_work import Chart, Logs

WEIGHTS, REWARDS = (1.0, 2.0, 2.0, 8.0), (0, 1, 1, 0)  # the worked problem's four completions


class Weights(Work):
    """Weights as bars, and what they are worth: of the worked problem's four completions, or of the toy loop's."""

    needs = "importance_weights draws the bars, and normalized_ess tells what they are worth"

    def chart(self) -> Chart:
        """Return the bars, with those before clipping behind them, and the cap."""
        self._four = self.values["picture"] == FOUR
        self._capped = self.values["cap"] != NO_CAP
        logs = self._of_the_four() if self._four else self._of_the_loop()
        self._before = self._given if self._four else self.weights(logs) if self._capped else NOT_KNOWN
        self._logs = self.clipped(logs) if self._capped else logs
        self._weights = self.weights(self._logs)
        self._size = self._worth(self._weights)
        self._was = self._worth(self._before, told=False) if self._capped else NOT_KNOWN
        self._share = self.share(self._logs)
        overlay = self.redraw.overlay
        notes = [*(["pale: unclipped"] if self._capped else []), *(["grey line: the reference"] if overlay else [])]
        data = {
            "before": self._rows(self._before.value, self._before.whose),
            "weights": self._rows(self._weights.value, self._weights.whose),
            "labels": self._labels(),
            "cap": self._cap() if self._capped else [],
            "marks": self._rows(self._weights.reference, "the reference") if overlay else [],
        }
        return weights_spec(44 if self._four else 24, f" ({', '.join(notes)})" if notes else ""), data

    def _of_the_four(self) -> Logs:
        self._names = [f"{place}, reward {reward}" for place, reward in enumerate(REWARDS, start=1)]
        self._given: Logs = Answer([*WEIGHTS], [*WEIGHTS], given=True)
        return self._given.to(lambda weights: [math.log(weight) for weight in weights])

    def _of_the_loop(self) -> Logs:
        behavior, _, now, mask = toy_loop(self.values)
        self._names = toy_names(mask)
        logs = self.ask("sequence_log_ratios", logs_of(len(mask)), now, behavior, mask)
        text = "log-ratios from {} to {} nats"
        self.redraw.tell("sequence_log_ratios", logs, lambda found: text.format(signed(min(found)), signed(max(found))))
        return logs

    def _worth(self, weights: Logs, *, told: bool = True) -> Answer[float]:
        """Return how many samples weights are worth; nothing where none is above 0."""
        count = len(self._names)

        def ask(weights: list[float]) -> Answer[float]:
            if not any(weights):
                return NOT_KNOWN
            read = number(f"a number from 1 to {count}", 1 - 1e-9, count + 1e-9)
            return self.ask("effective_sample_size", read, weights)

        def tell(said: Answer[float]) -> None:
            if told:
                self.redraw.tell("effective_sample_size", said, lambda size: f"{size:.2f} of {count} samples")

        return self.after(weights, ask, tell)

    def _rows(self, weights: list[float] | None, whose: str) -> list[dict[str, Any]]:
        pairs = zip(self._names, weights or [], strict=False)
        return [{"row": name, "weight": weight, "told": plain(weight), "whose": whose} for name, weight in pairs]

    def _labels(self) -> list[dict[str, Any]]:
        told = map(self._told, self._weights.value or [])
        return [{"row": name, "text": text} for name, text in zip(self._names, told, strict=False)]

    def _told(self, weight: float) -> str:
        total = sum(self._weights.value or [])
        return f"{plain(weight)}, {percent(weight / total)} of the sum" if total else plain(weight)

    def _cap(self) -> list[dict[str, Any]]:
        cap = self.values["cap"]
        if self.values["beyond"] != MASKED:
            return [{"weight": cap, "text": f"cap: {cap:g}"}]
        # One label for both: the ends of a narrow band would have theirs on top of each other.
        return [{"weight": 1 / cap, "text": ""}, {"weight": cap, "text": f"band: {1 / cap:.3g} to {cap:g}"}]

    def title(self) -> str:
        """Return what the batch is worth."""
        batch = "the four completions" if self._four else f"the 12 completions at lag {self.values['versions']}"
        if self._capped:
            batch = f"{self.remedy}, {batch}"
        size, share = self._size.value, self._share.value
        if self._logs.value is not None and max(self._logs.value) == -math.inf:
            return sentence(f"{batch} are worth nothing: no weight is above 0")
        if size is not None and share is not None:
            was = f" in place of {self._was.value:.2f}" if self._was.value is not None else ""
            return sentence(f"{batch} are worth {size:.2f} samples{was}: a normalised ESS of {share:.3f}")
        if self._logs.value is None:
            missing = "clipped" if self._capped else "summed"
            return f"As far as it is written, log-ratios are not {missing}, so what the batch is worth is not known"
        if size is not None:
            return f"As far as it is written, {batch} are worth {size:.2f} samples"
        if share is not None:
            return f"As far as it is written, {batch} have a normalised ESS of {share:.3f}"
        return f"As far as it is written, {batch} have weights, and what they are worth is not known"

    def details(self) -> str:
        """Return every weight, and what the four completions earn."""
        weights, before = self._weights.value, self._before.value
        if weights is None:
            return f"The weights {'after clipping ' if self._capped else ''}are not known yet."
        told = (f"{name}: {self._told(weight)}" for name, weight in zip(self._names, weights, strict=True))
        said = [f"Weights by completion: {'; '.join(told)}"]
        if self._capped and before is not None:
            said.append(f"Before clipping: {', '.join(map(plain, before))}")
        if self._four and any(weights):
            earned = sum(weight * reward for weight, reward in zip(weights, REWARDS, strict=True))
            plainly = sum(REWARDS) / len(REWARDS)
            said.append(f"Weighted mean reward {earned / sum(weights):.3f}, unweighted {plainly:.3f}")
        return f"{'. '.join(said)}."


class Parts(Work):
    """Mismatch and lag of each completion of the toy loop: the second begins where the first ends."""

    needs = "split_drift tells mismatch and lag apart"

    def chart(self) -> Chart:
        """Return the parts, and a mark at each total."""
        behavior, same, now, mask = toy_loop(self.values)
        self._names = toy_names(mask)
        self._split = self.ask("split_drift", split_of(len(mask)), behavior, same, now, mask)
        self.redraw.tell("split_drift", self._split, _sizes)
        self._report = self.ask("zero_lag_report", report, behavior, same, mask)
        self.redraw.tell("zero_lag_report", self._report, _gaps)
        self._shares = {name: self._share_of(name) for name in (MISMATCH, LAG, TOTAL)}
        self.redraw.tell("normalized_ess", self._shares[TOTAL], lambda share: f"{share:.3f} of the completions")
        split = self._split.value or {MISMATCH: [], LAG: [], TOTAL: []}
        parts = []
        for name, mismatch, lag in zip(self._names, split[MISMATCH], split[LAG], strict=False):
            row = {"row": name, "whose": self._split.whose}
            parts.append({**row, "part": MISMATCH, "from": 0.0, "to": mismatch, "told": signed(mismatch)})
            parts.append({**row, "part": LAG, "from": mismatch, "to": mismatch + lag, "told": signed(lag)})
        overlay = self.redraw.overlay
        marked = (self._split.reference or {TOTAL: []}) if overlay else split
        totals = [
            {"row": name, "part": LAG, "total": total, "told": signed(total)}
            for name, total in zip(self._names, marked[TOTAL], strict=False)
        ]
        return parts_spec("the reference's total" if overlay else "total"), {"parts": parts, "totals": totals}

    def _share_of(self, name: str) -> Answer[float]:
        return self.share(self._split.to(lambda split: list(split[name])), told=False)

    def title(self) -> str:
        """Return how large each part is, or that they are no parts."""
        split = self._split.value
        if split is None:
            return "As far as it is written, mismatch and lag are not told apart: split_drift does that"
        parts = zip(split[MISMATCH], split[LAG], split[TOTAL], strict=True)
        off = [abs(mismatch + lag - total) for mismatch, lag, total in parts]
        if max(off) > 1e-6:
            place = off.index(max(off)) + 1
            return f"The parts do not add up: those of completion {place} miss its total by {plain(max(off))} nats"
        return f"At lag {self.values['versions']} a completion has, in mean size, {_sizes(split)}"

    def details(self) -> str:
        """Return every part, the same as ratios for the largest total, and what is left at lag 0."""
        said = []
        if split := self._split.value:
            rows = zip(self._names, split[MISMATCH], split[LAG], split[TOTAL], strict=True)
            sums = (f"{row}: {signed(one)} + {signed(other)} = {signed(total)}" for row, one, other, total in rows)
            said.append(f"Mismatch + lag = total, in nats: {'; '.join(sums).replace('+ −', '− ')}")
            sizes = [abs(total) for total in split[TOTAL]]
            most = sizes.index(max(sizes))
            ratios = self.weights(self._split.to(lambda one: [one[name][most] for name in (MISMATCH, LAG, TOTAL)]))
            if ratios.value is not None:
                one, other, whole = map(plain, ratios.value)
                said.append(f"As ratios the parts multiply: {one} × {other} = {whole} for completion {most + 1}")
        shares = [f"{name} {answer.value:.3f}" for name, answer in self._shares.items() if answer.value is not None]
        if shares:
            said.append(f"Normalised ESS, which does not add up: {', '.join(shares)}")
        if self._report.value is not None:
            said.append(f"Zero lag: {_gaps(self._report.value)}")
        return f"{'. '.join(said) or 'The parts are not known yet'}."


def _sizes(split: Mapping[str, list[float]]) -> str:
    mismatch, lag = (sum(map(abs, split[part])) / len(split[part]) for part in (MISMATCH, LAG))
    return f"{mismatch:.2f} nats of mismatch and {lag:.2f} nats of lag"


def _gaps(found: Mapping[str, float]) -> str:
    mean, most, divergence = map(plain, found.values())
    return f"mean |Δ| {mean}, largest {most}, k3 {divergence} nats a token"
