"""What the pictures of the importance-weights explorer share: asking the functions, reading them, and the toy loop."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from ..given.ess import toy_batch
from ._ess_form import LAG, MASKED, MISMATCH
from ._functions import Answer, WrongFormError
from ._reading import LARGEST, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ._functions import Redraw
    from ._model import Values

    Chart = tuple[Mapping[str, Any], dict[str, list[dict[str, Any]]]]
    Logs = Answer[list[float]]

T = TypeVar("T")
U = TypeVar("U")
TOTAL = "total"
NOT_KNOWN: Answer[Any] = Answer(None, None)
LARGEST_LOG = 300.0  # nats; the square of such a weight is still a float
TOY_MISMATCH, TOY_DRIFT = 0.02, 0.03  # nats a token, in the toy loop of the notebook
LOWER = 9.0  # nats by which all its tokens are less probable, so that none comes above 0 at any setting


class Work:
    """Asks the functions of one redraw; `heard` is whether any had something to say.

    `needs` says what the picture waits for while none has.
    """

    needs = ""

    def __init__(self, values: Values, redraw: Redraw) -> None:
        self.values = values
        self.redraw = redraw
        self.heard = False

    def chart(self) -> Chart:
        """Return the spec and its data."""
        raise NotImplementedError

    def title(self) -> str:
        """Return the sentence with the current number, of a picture of which something is known."""
        raise NotImplementedError

    def details(self) -> str:
        """Return the other numbers in words."""
        raise NotImplementedError

    def ask(self, name: str, read: Callable[[Any], T], *args: Any, **kwargs: Any) -> Answer[T]:
        """Return what is said to a call."""
        answer = self.redraw.call(name, read, *args, **kwargs)
        self.heard = self.heard or answer.value is not None
        return answer

    def after(self, answer: Answer[U], ask: Callable[[U], Answer[T]], tell: Callable[[Answer[T]], None]) -> Answer[T]:
        """Return what is said to what was answered before, and tell it.

        Where it is drawn beside, the reference's answer follows from the reference's own: else a mistake in the first
        function would move both.
        """
        if answer.value is None:
            return NOT_KNOWN
        said = ask(answer.value)
        tell(said)
        if self.redraw.overlay and answer.reference is not None and answer.reference != answer.value:
            return Answer(said.mine, ask(answer.reference).reference)
        return said

    def weights(self, logs: Logs) -> Logs:
        """Return the weight of each completion: its log-ratio is asked of as one entry, in place of its tokens."""

        def ask(values: list[float]) -> Logs:
            rows, mask = [[value] for value in values], [[1]] * len(values)
            return self.ask("importance_weights", _weights_of(len(values)), rows, mask, level="sequence")

        def text(weights: list[float]) -> str:
            return f"weights from {plain(min(weights))} to {plain(max(weights))}"

        return self.after(logs, ask, lambda said: self.redraw.tell("importance_weights", said, text))

    def share(self, logs: Logs, *, told: bool = True) -> Answer[float]:
        """Return the normalised ESS; nothing where no weight is above 0."""

        def ask(values: list[float]) -> Answer[float]:
            if max(values) == -math.inf:
                return NOT_KNOWN
            return self.ask("normalized_ess", number("a number above 0 and at most 1", 1e-9, 1 + 1e-9), values)

        def tell(said: Answer[float]) -> None:
            if told:
                self.redraw.tell("normalized_ess", said, lambda share: f"{share:.3f} of the completions")

        return self.after(logs, ask, tell)

    def clipped(self, logs: Logs, *, told: bool = True) -> Logs:
        """Return the log-ratios after truncation or masking at the cap."""
        cap = math.log(self.values["cap"])
        masked = self.values["beyond"] == MASKED
        name, bounds = ("mask_log_ratios", (-cap, cap)) if masked else ("clip_log_ratios", (cap,))

        def ask(values: list[float]) -> Logs:
            return self.ask(name, logs_of(len(values)), values, *bounds)

        def text(after: list[float]) -> str:
            moved = sum(one != other for one, other in zip(logs.value or [], after, strict=True))
            return f"{moved} of {len(after)} log-ratios {'left out' if masked else 'set to the cap'}"

        return self.after(logs, ask, lambda said: self.redraw.tell(name, said, text) if told else None)

    @property
    def remedy(self) -> str:
        """What is done beyond the cap, in words."""
        cap = self.values["cap"]
        return (
            f"masked outside {1 / cap:.3g} to {cap:g}" if self.values["beyond"] == MASKED else f"truncated at {cap:g}"
        )


# --- the toy loop --------------------------------------------------------------------------------------------------


def toy_loop(values: Values) -> tuple[list[list[float]], list[list[float]], list[list[float]], list[list[int]]]:
    """Return the notebook's toy loop at a setting: the engine's record, two scores of the trainer, and the mask.

    At a mismatch of 0.02 and a drift of 0.03 a token it differs from `toy_batch` in what stands at padding alone, and
    in how probable all tokens are. Padding is NaN: what counts it is told so.
    """
    apart, moved = values["mismatch"] / TOY_MISMATCH, values["versions"] * values["drift"] / TOY_DRIFT
    behavior, same, now, mask = [], [], [], []
    for sampled, mismatch, lag, padding in _noise():
        scored = [logp + apart * delta for logp, delta in zip(sampled, mismatch, strict=True)]
        nothing = [math.nan] * padding
        behavior.append([*sampled, *nothing])
        same.append([*scored, *nothing])
        now.append([*(logp + moved * delta for logp, delta in zip(scored, lag, strict=True)), *nothing])
        mask.append([1] * len(sampled) + [0] * padding)
    return behavior, same, now, mask


@cache
def _noise() -> tuple[tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], int], ...]:
    """Return the counted tokens of each completion, what mismatch and one version did to them, and the padding."""
    batch = toy_batch(1)
    rows = []
    for sampled, same, now, mask in zip(
        batch.behavior, batch.trainer_same_version, batch.trainer_now, batch.mask, strict=True
    ):
        tokens = range(sum(mask))
        rows.append(
            (
                tuple(sampled[token] - LOWER for token in tokens),
                tuple(same[token] - sampled[token] for token in tokens),
                tuple(now[token] - same[token] for token in tokens),
                len(mask) - len(tokens),
            )
        )
    return tuple(rows)


def toy_names(mask: Sequence[Sequence[int]]) -> list[str]:
    """Return how each completion is called."""
    return [f"{place}, {sum(row)} tokens" for place, row in enumerate(mask, start=1)]


# --- what functions return -----------------------------------------------------------------------------------------


def logs_of(count: int) -> Callable[[Any], list[float]]:
    """Return what reads so many log-ratios; −inf is one."""
    expected = f"a list of {count} log-ratios, none above {LARGEST_LOG:g} nats"

    def read(value: Any) -> list[float]:
        if _length(value) != count:
            raise WrongFormError(value, expected)
        _require(value, expected, (one for one in value if one != -math.inf), -LARGEST_LOG, LARGEST_LOG)
        return list(value)

    return read


def _weights_of(count: int) -> Callable[[Any], list[float]]:
    """Return what reads the weights of so many sequences of one entry."""
    expected = f"{count} lists of one weight, 0 or more"

    def read(value: Any) -> list[float]:
        if _length(value) != count or [_length(row) for row in value] != [1] * count:
            raise WrongFormError(value, expected)
        weights = [row[0] for row in value]
        _require(value, expected, weights, 0, 1e140)
        return weights

    return read


def split_of(count: int) -> Callable[[Any], dict[str, list[float]]]:
    """Return what reads the parts of the log-ratios of so many sequences."""
    names = (MISMATCH, LAG, TOTAL)
    expected = f"a dictionary of mismatch, lag and total, each a list of {count} log-ratios in nats"

    def read(value: Any) -> dict[str, list[float]]:
        if not isinstance(value, dict) or [_length(value.get(name)) for name in names] != [count] * 3:
            raise WrongFormError(value, expected)
        _require(value, expected, (one for name in names for one in value[name]), -LARGEST_LOG, LARGEST_LOG)
        return {name: value[name] for name in names}

    return read


def report(value: Any) -> dict[str, float]:
    """Read the three numbers of a zero-lag comparison; rounding may leave k3 a little below 0."""
    names = ("mean_abs_delta", "max_abs_delta", "k3")
    expected = f"a dictionary of {', '.join(names)}, none below 0"
    if not isinstance(value, dict) or not set(names) <= set(value):
        raise WrongFormError(value, expected)
    _require(value, expected, (value[name] for name in names), -1e-9, LARGEST)
    return {name: max(value[name], 0.0) for name in names}


def _require(value: Any, expected: str, numbers: Iterable[Any], least: float, most: float) -> None:
    """Raise `WrongFormError`, which shows the whole value, where one of its numbers is none between the bounds."""
    read = number(expected, least, most)
    try:
        for one in numbers:
            read(one)
    except WrongFormError:
        raise WrongFormError(value, expected) from None


def _length(row: Any) -> int | None:
    return len(row) if isinstance(row, list) else None


# --- numbers for reading -------------------------------------------------------------------------------------------


def plain(value: float) -> str:
    """Return a number of 0 or more: three places, or a power of ten where that says nothing."""
    if value == 0 or 0.001 <= value < 1e6:
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3f}"
    digits, _, exponent = f"{value:.1e}".partition("e")
    return f"{digits} × 10^{int(exponent)}".replace("-", "−")


def signed(value: float, places: int = 3) -> str:
    """Return a number with a true minus."""
    return f"{value + 0.0:.{places}f}".replace("-", "−")


def percent(share: float, places: int = 0) -> str:
    """Return a share in percent."""
    return f"{100 * share:.{places}f} %"


def sentence(text: str) -> str:
    """Return a text that begins like a sentence."""
    return text[:1].upper() + text[1:]
