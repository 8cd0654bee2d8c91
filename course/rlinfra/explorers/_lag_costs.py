"""Two pictures of the lag explorer: what a cadence costs an update, and what a publication takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._functions import Answer
from ._lag_form import (
    CALLS,
    CONTROLS,
    COSTS,
    LAG,
    PUBLICATION,
    SET_UP,
    THE_TRANSFER,
    TRANSFER,
    WIRE,
    every,
)
from ._lag_functions import buckets, cheapest, run_of, sent, spelled
from ._lag_specs import spec
from ._model import Picture
from ._words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._functions import Redraw
    from ._model import Values

LABELLED = 8  # bars beside each other have room for so many numbers


def costs(values: Values, redraw: Redraw) -> Picture:
    """Return what an update pays for publishing and for lag, by candidate, and the cheapest."""
    price, candidates = values["lag_cost"], values["candidates"]
    stall = _stall(values, redraw)

    def cost(among: Sequence[int], sync_seconds: float | None, lag_cost: float) -> Answer[tuple[int, float]]:
        if sync_seconds is None:
            return Answer(None, None)
        return redraw.call("best_cadence", cheapest(among), [*among], sync_seconds=sync_seconds, lag_cost=lag_cost)

    best = cost(candidates, stall, price)
    redraw.tell("best_cadence", best, lambda pair: f"K = {pair[0]} at {spelled(pair[1])} an update")
    bars = {
        candidate: {PUBLICATION: cost([candidate], stall, 0), LAG: cost([candidate], 0, price)}
        for candidate in candidates
    }
    totals = {candidate: cost([candidate], stall, price) for candidate in {*candidates, values["every"]}}
    at_best = [] if best.value is None else [{"every": best.value[0], "seconds": best.value[1]}]
    data = {
        "parts": [
            {"every": candidate, "part": part, "order": place, "seconds": answer.value[1], "whose": answer.whose}
            for candidate, parts in bars.items()
            for place, (part, answer) in enumerate(parts.items())
            if answer.value is not None
        ],
        "marks": [
            {"every": candidate, "kind": "the reference's cost", "seconds": theirs[1]}
            for candidate in candidates
            if redraw.overlay and (theirs := totals[candidate].reference)
        ],
        "totals": [
            {"every": candidate, "seconds": pair[1], "text": spelled(pair[1])}
            for candidate in (candidates if len(candidates) <= LABELLED else ())
            if (pair := totals[candidate].value) and pair[0] != (best.value or pair)[0]
        ],
        "least": [{**row, "text": f"least: {spelled(row['seconds'])}"} for row in at_best],
    }
    title = _which_is_cheapest(values, best, written=bool(data["parts"]))
    details = [
        f"K = {candidate}: "
        + ", ".join(
            f"{part} {'unknown' if one.value is None else spelled(one.value[1])}" for part, one in parts.items()
        )
        for candidate, parts in bars.items()
    ]
    if chosen := totals[values["every"]].value:
        details.append(f"The cadence that is chosen, K = {chosen[0]}, costs {spelled(chosen[1])} an update")
    if stall is not None:
        details.append(f"A publication stalls for {spelled(stall)}")
        if price > 0:  # the worked problem's formula
            details.append(f"√(2 S / λ) is {(2 * stall / price) ** 0.5:,.3g}")
    chart = spec(COSTS, "the reference" if redraw.overlay else "")
    return Picture(chart, data, title, f"{'. '.join(details)}.", redraw.facts)


def _stall(values: Values, redraw: Redraw) -> float | None:
    """Return what a publication stalls the loop, in seconds: given, or the transfer in buckets."""
    if values["stall"] != THE_TRANSFER:
        return float(values["stall"])
    transfer = sent(values, redraw, values["payload"], buckets(values), values["setup"])
    redraw.tell("synchronization_transfer_time", transfer, lambda value: f"{spelled(value)} in buckets")
    return transfer.value


def _which_is_cheapest(values: Values, best: Answer[tuple[int, float]], *, written: bool) -> str:
    if not written:
        return "Nothing is written yet: the costs are what best_cadence says"
    if best.value is None:
        return "As far as it is written, only one of the two costs is known: no cadence is the cheapest"
    cadence, cost = best.value
    among = next(control for control in CONTROLS if control.name == "candidates").text(values["candidates"])
    return f"Of {among}, publishing after {every(cadence)} costs least: {spelled(cost)} an update"


def transfer(values: Values, redraw: Redraw) -> Picture:
    """Return the wire, the calls and the set-up of one publication, by the way it is sent."""
    count, tensors, payload = buckets(values), values["tensors"], values["payload"]
    in_buckets = f"{counted(count, 'bucket')} of {values['bucket']:g} GB"
    one_by_one = f"{counted(tensors, 'tensor')} one by one"
    ways = {"all in one call": 1, in_buckets: count, one_by_one: tensors}
    set_up, wire = sent(values, redraw, 0, 0, values["setup"]), sent(values, redraw, payload, 0, 0)
    bars = {way: {SET_UP: set_up, CALLS: sent(values, redraw, 0, calls, 0), WIRE: wire} for way, calls in ways.items()}
    whole = {way: sent(values, redraw, payload, calls, values["setup"]) for way, calls in ways.items()}
    redraw.tell("synchronization_transfer_time", whole[in_buckets], lambda value: f"{spelled(value)} in {in_buckets}")
    run = run_of(values, redraw)
    calls, together = bars[one_by_one][CALLS].value, whole[in_buckets].value
    if calls is None or together is None or wire.value is None:
        missing = "Nothing is written yet" if run.value is None else "As far as it is written, no seconds are known"
        title = f"{missing}: they are what synchronization_transfer_time says"
    else:
        title = (
            f"Sent one by one, {counted(tensors, 'tensor')} take {spelled(calls)} of calls and "
            f"{spelled(wire.value)} of wire; in {counted(count, 'bucket')} all of it takes {spelled(together)}"
        )
    details = [
        f"{way}: "
        + ", ".join(f"{part} {'unknown' if one.value is None else spelled(one.value)}" for part, one in parts.items())
        + ("" if (seconds := whole[way].value) is None else f", in all {spelled(seconds)}")
        for way, parts in bars.items()
    ]
    if run.value is not None:
        times = f"A run of {counted(values['updates'], 'update')} makes {counted(run.value.count, 'publication')}"
        details.append(times if together is None else f"{times}: {spelled(run.value.count * together)} in buckets")
    data = {
        "parts": [
            {"way": way, "part": part, "order": place, "seconds": answer.value, "whose": answer.whose}
            for way, parts in bars.items()
            for place, (part, answer) in enumerate(parts.items())
            if answer.value is not None
        ],
        "marks": [
            {"way": way, "kind": "the reference's time", "seconds": answer.reference}
            for way, answer in whole.items()
            if redraw.overlay and answer.reference is not None
        ],
        "totals": [
            {"way": way, "seconds": answer.value, "text": spelled(answer.value)}
            for way, answer in whole.items()
            if answer.value is not None
        ],
    }
    chart = spec(TRANSFER, "the reference" if redraw.overlay else "")
    return Picture(chart, data, title, f"{'. '.join(details)}.", redraw.facts)
