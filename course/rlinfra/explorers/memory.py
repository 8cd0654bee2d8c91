"""The explorer of `memory`: what is resident on one card in each phase of the loop, or at each ZeRO stage.

Every number of bytes but the given ones (KV cache, activations) is a value of a function of the notebook. What is
computed here is what they are asked, the sums of the bars as drawn, and units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..given.units import BYTES_PER_GIB
from ._functions import Answer, WrongFormError
from ._memory_form import (
    ACTIVATIONS,
    BY_PHASE,
    CACHE,
    CONTROLS,
    COPY,
    GRADIENTS,
    LOGITS,
    OPTIMIZER,
    PARTS,
    PHASES,
    PRESETS,
    STAGES,
    STATE,
    WEIGHTS,
    spec,
)
from ._model import Explored, Picture
from ._reading import LARGEST, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ._functions import Redraw
    from ._model import Values

    Bars = Mapping[str, Mapping[str, Answer[float]]]  # by row and part, in bytes


def _draw(values: Values, redraw: Redraw) -> Picture:
    """Return the bars of the phases or of the stages, from what the functions say to this setting."""
    work = _Work(values, redraw)
    by_phase = values["rows"] == BY_PHASE
    bars = work.phases() if by_phase else work.stages()
    title = work.peak(bars) if by_phase else work.at_stage(bars)
    work.prices()
    shares = work.even_share()
    if redraw.overlay:
        mark, marks = "the reference", _reference_totals(bars)
    else:
        mark, marks = ("", []) if by_phase else ("divided evenly", shares)
    data = {
        "parts": [
            {"row": row, "part": part, "order": PARTS.index(part), "gib": _gib(answer.value), "whose": answer.whose}
            for row, parts in bars.items()
            for part, answer in parts.items()
            if answer.value is not None
        ],
        "totals": [
            {"row": row, "gib": _gib(_sum(parts.values())), "text": _total(parts)} for row, parts in bars.items()
        ],
        "marks": marks,
        "card": [{"gib": values["card"], "text": f"card: {values['card']} GiB"}],
    }
    chart = spec(PARTS if by_phase else (WEIGHTS, GRADIENTS, OPTIMIZER), mark)
    return Picture(chart, data, title, _details(bars, values), redraw.facts)


TOPIC = Explored(
    "memory",
    (
        "bytes_per_parameter",
        "model_state_bytes",
        "lora_state_bytes",
        "ideal_sharded_memory",
        "sharded_state_bytes",
        "peak_memory",
        "logits_bytes",
    ),
    CONTROLS,
    PRESETS,
    _draw,
)


class _Work:
    """Asks the functions of one redraw, and tells what their values mean."""

    def __init__(self, values: Values, redraw: Redraw) -> None:
        self._values = values
        self._redraw = redraw
        base, share = values["parameters"], values["trained"]
        self._all_trained = share == 1
        self._adapter = 0 if self._all_trained else round(base * share)
        self._trained = base if self._all_trained else self._adapter
        self._parameters = base + self._adapter
        self._bytes = {name: values[name] for name in STATE}
        self._state = self._whole_state()

    def _whole_state(self) -> Answer[dict[str, float]]:
        """Return the bytes of each component before anything is divided."""
        state = self._redraw.call(
            "model_state_bytes",
            _components,
            self._parameters,
            trainable_parameters=None if self._all_trained else self._trained,
            **self._bytes,
        )
        self._tell("model_state_bytes", state.to(lambda parts: sum(parts.values())), "of state, before it is divided")
        return state

    def phases(self) -> Bars:
        """Return what is resident in each phase, on one rank."""
        values = self._values
        state = self._whole() if values["stage"] == 0 else self._divided(values["stage"])
        logits = self._redraw.call(
            "logits_bytes",
            size,
            values["sequences"],
            values["tokens"],
            values["vocabulary"],
            element_bytes=values["logit_bytes"],
            copies=values["copies"],
        )
        self._tell("logits_bytes", logits, "of logits")
        weights = state[WEIGHTS]
        return {
            "rollout": {WEIGHTS: weights, CACHE: _given(values["cache"])},
            "scoring": {WEIGHTS: weights, LOGITS: logits},
            "training": {**state, ACTIVATIONS: _given(values["activations"])},
            "publication": {WEIGHTS: weights, COPY: weights if self._all_trained else self._copy_of_the_adapter()},
        }

    def stages(self) -> Bars:
        """Return what one rank holds of the model's state, stage by stage."""
        return {row: self._divided(stage) for stage, row in enumerate(STAGES)}

    def _whole(self) -> dict[str, Answer[float]]:
        moments, master = STATE[2:]
        return {
            WEIGHTS: self._state.to(lambda parts: parts["parameter_bytes"]),
            GRADIENTS: self._state.to(lambda parts: parts["gradient_bytes"]),
            OPTIMIZER: self._state.to(lambda parts: parts[moments] + parts[master]),
        }

    def _divided(self, stage: int) -> dict[str, Answer[float]]:
        """Return what a rank holds at a stage: the function is asked for one part at a time."""
        weight, gradient, moments, master = self._bytes.values()
        parts = {
            WEIGHTS: self._on_a_rank(stage, self._parameters, parameter_bytes=weight),
            GRADIENTS: self._on_a_rank(stage, self._trained, gradient_bytes=gradient),
            OPTIMIZER: self._on_a_rank(stage, self._trained, optimizer_bytes=moments + master),
        }
        if stage == self._values["stage"]:
            # where the notebook's function fails at one part, the reference's total is of what is drawn
            mine = _sum_of(part.mine for part in parts.values())
            theirs = _sum_of(part.reference if self._redraw.overlay else part.value for part in parts.values())
            total: Answer[float] = Answer(mine, theirs)
            self._tell("sharded_state_bytes", total, f"a rank at stage {stage}")
        return parts

    def _on_a_rank(self, stage: int, parameters: int, **price: float) -> Answer[float]:
        prices = {"parameter_bytes": 0, "gradient_bytes": 0, "optimizer_bytes": 0, **price}
        return self._redraw.call(
            "sharded_state_bytes", size, stage, self._values["ranks"], parameters=parameters, **prices
        )

    def _copy_of_the_adapter(self) -> Answer[float]:
        price = self._bytes["parameter_bytes"]
        if self._values["stage"] > 0:
            return self._on_a_rank(self._values["stage"], self._adapter, parameter_bytes=price)
        copy = self._redraw.call("model_state_bytes", _components, self._adapter, trainable_parameters=0, **self._bytes)
        return copy.to(lambda parts: parts["parameter_bytes"])

    def peak(self, bars: Bars) -> str:
        """Return the sentence on the phase that needs most."""
        resident = {
            phase: [answer.value for answer in parts.values() if answer.value is not None]
            for phase, parts in bars.items()
        }
        peak = self._redraw.call("peak_memory", _peak, resident)
        self._tell("peak_memory", peak.to(lambda found: found[1]), "in the phase that needs most")
        if _nothing_of(bars):
            return "Nothing is written yet: the bars grow with each function that you write"
        if peak.value is None:
            return "No phase is named as the one that needs most: that is what peak_memory tells"
        phase, most = peak.value
        card = self._values["card"]
        over = _gib(most) - card
        verdict = (
            f"{over:,.1f} GiB too much for this card of {card} GiB"
            if over > 0
            else f"it fits on this card of {card} GiB, with {-over:,.1f} GiB to spare"
        )
        missing = any(answer.value is None for parts in bars.values() for answer in parts.values())
        so_far = "As far as it is written, " if missing else ""
        sentence = f"{so_far}{phase} needs most, {_gib(most):,.1f} GiB: {verdict}"
        return sentence[0].upper() + sentence[1:]

    def at_stage(self, bars: Bars) -> str:
        """Return the sentence on what a rank holds at the stage that is chosen."""
        if _nothing_of(bars):
            return "Nothing is written yet: the bars are what sharded_state_bytes says"
        stage, ranks = self._values["stage"], self._values["ranks"]
        total = _sum(bars[STAGES[stage]].values())
        each = f"each of {ranks} ranks holds" if ranks > 1 else "the one rank holds"
        return f"At stage {stage} {each} {_gib(total):,.1f} GiB: {total / self._parameters:.2g} bytes a parameter"

    def prices(self) -> None:
        """Ask what one parameter and an adapter on its base take."""
        price = self._redraw.call("bytes_per_parameter", _price, **self._bytes)
        self._redraw.tell("bytes_per_parameter", price, lambda value: f"{value:,g} bytes a trained parameter")
        if not self._all_trained and price.value is not None:
            both = self._redraw.call(
                "lora_state_bytes",
                size,
                self._values["parameters"],
                self._adapter,
                base_parameter_bytes=self._bytes["parameter_bytes"],
                bytes_per_trainable_parameter=price.value,
            )
            self._tell("lora_state_bytes", both, "for base and adapter")

    def even_share(self) -> list[dict[str, Any]]:
        """Return a mark on each stage: the state divided evenly, which no stage can go below."""
        if self._state.value is None:
            return []
        total = sum(self._state.value.values())
        share = self._redraw.call("ideal_sharded_memory", _combined, total, self._values["ranks"])
        self._tell("ideal_sharded_memory", share, "a rank at best")
        if share.value is None:
            return []
        return [{"row": row, "kind": "divided evenly", "gib": _gib(share.value)} for row in STAGES]

    def _tell(self, name: str, answer: Answer[float], meaning: str) -> None:
        self._redraw.tell(name, answer, lambda value: f"{_gib(value):,.2f} GiB {meaning}")


def _price(value: Any) -> float:
    """Read the bytes of one parameter: beyond all sense, they would make nonsense of what a right function says."""
    return size(value, 1e6)


def _combined(value: Any) -> float:
    """Read the bytes of several parts together, each of which may be as large as `size` allows."""
    return size(value, 10 * LARGEST)


def _components(value: Any) -> dict[str, float]:
    """Read the components of a model's state; their sum, which comes with them, is drawn and not read."""
    if not isinstance(value, dict) or not set(STATE) <= set(value):
        raise WrongFormError(value, f"a dictionary with {', '.join(STATE)} and total_bytes")
    return {name: size(value[name]) for name in STATE}


def _peak(value: Any) -> tuple[str, float]:
    """Read a phase and its bytes: a pair, or the reference's own form."""
    if isinstance(value, dict) and "peak_bytes" in value:
        value = [value.get("phase"), value["peak_bytes"]]
    if not isinstance(value, list | tuple) or len(value) != 2 or value[0] not in PHASES:
        raise WrongFormError(value, "a pair: the name of a phase, and its bytes")
    return value[0], _combined(value[1])


def _given(gib: float) -> Answer[float]:
    return Answer(gib * BYTES_PER_GIB, gib * BYTES_PER_GIB, given=True)


def _nothing_of(bars: Bars) -> bool:
    return all(answer.given or answer.value is None for parts in bars.values() for answer in parts.values())


def _reference_totals(bars: Bars) -> list[dict[str, Any]]:
    """Return a mark on each bar of which the reference knows all parts."""
    return [
        {"row": row, "kind": "the reference's total", "gib": _gib(_sum(parts.values(), reference=True))}
        for row, parts in bars.items()
        if all(part.reference is not None for part in parts.values())
    ]


def _sum(answers: Iterable[Answer[float]], *, reference: bool = False) -> float:
    """Return the sum of what is known."""
    values = (answer.reference if reference else answer.value for answer in answers)
    return sum(value for value in values if value is not None)


def _sum_of(values: Iterable[float | None]) -> float | None:
    """Return the sum, or None where one is missing."""
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def _gib(value: float | None) -> float:
    return (value or 0) / BYTES_PER_GIB


def _total(parts: Mapping[str, Answer[float]]) -> str:
    """Return the sum of a bar for reading, and that there is more where a part is unknown."""
    known = _sum(parts.values())
    if all(answer.value is not None for answer in parts.values()):
        return f"{_gib(known):,.1f} GiB"
    return f"{_gib(known):,.1f} GiB and more" if known else "not known yet"


def _details(bars: Bars, values: Values) -> str:
    """Return every bar in words."""
    rows = [
        f"{row.capitalize()}: "
        + ", ".join(
            f"{part} {'unknown' if answer.value is None else f'{_gib(answer.value):,.2f} GiB'}"
            for part, answer in parts.items()
        )
        for row, parts in bars.items()
    ]
    return ". ".join([*rows, f"The card holds {values['card']} GiB."])
