"""What several pictures of the lag explorer ask of the notebook's functions, and how what they say is read."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

from ..given.units import BYTES_PER_GB
from ._functions import WrongFormError
from ._reading import number
from ._words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._functions import Answer, Redraw
    from ._model import Values

_REASONS = ("unknown", "ahead", "stale")
seconds = number("seconds, 0 or more")


@dataclass(frozen=True)
class Schedule:
    """The lags of a run, how often it publishes, and the mean and the largest of the lags."""

    lags: list[int]
    count: int
    mean: float
    most: int


@dataclass(frozen=True)
class Admission:
    """Who is kept, why the others are not, and the mean length of those offered and of those kept, in tokens."""

    kept: list[str]
    discarded: dict[str, str]
    offered_tokens: float
    kept_tokens: float

    def of(self, name: str) -> str:
        """Return what becomes of a completion."""
        return "kept" if name in self.kept else self.discarded.get(name, "not mentioned")


def whole(value: Any, most: int) -> int:
    """Return a whole number from 0 to `most`; raise `WrongFormError` where it is none."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise WrongFormError(value, f"a whole number from 0 to {most:,}")
    return value


def schedule(updates: int) -> Callable[[Any], Schedule]:
    """Return what reads the schedule of a run: no lag is longer than the run."""
    expected = (
        f'a dictionary with "lags" ({counted(updates, "whole number")}, none above {updates}), '
        '"synchronization_count", "mean_lag" and "max_lag"'
    )

    def read(value: Any) -> Schedule:
        try:
            lags = [whole(lag, updates) for lag in _sequence(value["lags"], updates)]
            count, most = (whole(value[name], updates) for name in ("synchronization_count", "max_lag"))
            mean = number("a mean", 0, updates)(value["mean_lag"])
        except (TypeError, LookupError, WrongFormError):
            raise WrongFormError(value, expected) from None
        return Schedule(lags, count, mean, most)

    return read


def admission(names: Sequence[str]) -> Callable[[Any], Admission]:
    """Return what reads who of these completions is kept."""
    expected = (
        '"kept" (ids that were offered), "discarded" (pairs of such an id and unknown, ahead or stale), '
        '"mean_tokens_offered" and "mean_tokens_kept" in a dictionary'
    )

    def read(value: Any) -> Admission:
        try:
            kept = [*_sequence(value["kept"])]
            discarded = dict(_sequence(value["discarded"]))
            means = [number("a mean")(value[f"mean_tokens_{name}"]) for name in ("offered", "kept")]
        except (TypeError, ValueError, LookupError, WrongFormError):
            raise WrongFormError(value, expected) from None
        if not {*map(repr, kept), *map(repr, discarded)} <= {*map(repr, names)} or len(kept) > len(names):
            raise WrongFormError(value, expected)
        if not all(reason in _REASONS for reason in discarded.values()):
            raise WrongFormError(value, expected)
        return Admission(kept, discarded, *means)

    return read


def cheapest(candidates: Sequence[int]) -> Callable[[Any], tuple[int, float]]:
    """Return what reads one of these cadences with its cost: a pair, or the reference's own form."""

    def read(value: Any) -> tuple[int, float]:
        if isinstance(value, dict):
            value = [value.get("sync_every"), value.get("cost_seconds")]
        try:
            cadence, cost = _sequence(value, 2)
            found = whole(cadence, max(candidates)), seconds(cost)
        except WrongFormError:
            found = None
        if found is None or found[0] not in candidates:
            raise WrongFormError(value, "a pair: one of the candidates, and its cost in seconds")
        return found

    return read


def versions(tokens: int, newest: int) -> Callable[[Any], list[int]]:
    """Return what reads the versions of so many tokens."""

    def read(value: Any) -> list[int]:
        try:
            return [whole(version, newest) for version in _sequence(value, tokens)]
        except WrongFormError:
            meaning = "the trainer's when the last token is sampled"
            raise WrongFormError(value, f"a list of {tokens} versions from 0 to {newest}, {meaning}") from None

    return read


def _sequence(value: Any, length: int | None = None) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, list | tuple) or length not in (None, len(value)):
        raise WrongFormError(value, "a list")
    return value


def run_of(values: Values, redraw: Redraw) -> Answer[Schedule]:
    """Return the lags of the run that is chosen."""
    updates = values["updates"]
    run = redraw.call("synchronization_schedule", schedule(updates), sync_every=values["every"], updates=updates)
    redraw.tell(
        "synchronization_schedule",
        run,
        lambda found: f"{counted(found.count, 'publication')}, mean lag {found.mean:,.3g}, maximum {found.most:,}",
    )
    return run


def sent(values: Values, redraw: Redraw, payload: float, calls: int, set_up: float) -> Answer[float]:
    """Return the seconds of a publication of so many bytes in so many calls, over the link that is chosen."""
    return redraw.call(
        "synchronization_transfer_time",
        seconds,
        payload,
        values["bandwidth"],
        setup_seconds=set_up + calls * values["call_ms"] / 1000,
        efficiency=values["efficiency"],
    )


def buckets(values: Values) -> int:
    """Return how many buckets the payload fills."""
    bytes_in_buckets: float = values["payload"] / values["bucket"]
    return ceil(bytes_in_buckets / BYTES_PER_GB)


def spelled(value: float) -> str:
    """Return seconds for reading, with their unit."""
    if 0 < value < 0.01:
        return f"{value * 1000:.3g} ms"
    return f"{value:,.0f} s" if value >= 1000 else f"{value:.3g} s"
