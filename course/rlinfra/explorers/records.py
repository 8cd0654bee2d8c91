"""The explorer of `records`: a completion as a strip of tokens, a record at the border, loops on a timeline.

What is in the loss, what a record holds, what is wrong with it and what a loop's protocol is: that is what the
notebook's functions say. What is made here is what they are asked, and counts of what they answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from ..given.records import REQUIRED_FIELDS, TRACES, example_record, toy_trace
from ._functions import Answer, WrongFormError
from ._model import Explored, Picture
from ._records_form import (
    AHEAD,
    BORDER,
    CONTROLS,
    CUT,
    EMPTY,
    EVERYTHING,
    FAULTS,
    FOUR_LOOPS,
    KINDS,
    MISSING,
    NAMED,
    NAN,
    NEGATIVE,
    NOTHING,
    OTHER,
    PRESETS,
    SIGNS,
    STRIP,
    THROUGH,
    TRUE,
    UNKNOWN,
    WAITS,
    border_spec,
    timeline_spec,
)
from ._records_strip import errors_of, strip, together
from ._words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._functions import Redraw
    from ._model import Values
    from ._records_strip import Errors, Rows

BATCHES = 6  # of the toy loops
ORDER_ALONE = "events are drawn in their order, and protocol tells what that makes of a loop"
ODD = {NAN: math.nan, TRUE: True, NEGATIVE: -1}


def _draw(values: Values, redraw: Redraw) -> Picture:
    """Return the picture that is chosen, from what the functions say to this setting."""
    if values["picture"] == STRIP:
        return strip(values, redraw)
    return _border(values, redraw) if values["picture"] == BORDER else _timeline(values, redraw)


TOPIC = Explored(
    "records",
    ("protocol", "completion_token_mask", "rollout_contract_errors", "project_completion"),
    CONTROLS,
    PRESETS,
    _draw,
)


# --- a record at the border ------------------------------------------------------------------------------------------


def _broken(value: Any, fault: str) -> Any:
    """Return a field's value with a fault in it, of which a number, a text or a last part is struck."""
    holds = isinstance(value, str | list | dict)
    if fault == EMPTY:
        return type(value)() if holds else None
    if fault == CUT:
        return dict([*value.items()][:-1]) if isinstance(value, dict) else value[:-1] if holds else value // 10
    if isinstance(value, dict):
        return {**value, [*value][-1]: ODD[fault]}
    return [*value[:-1], ODD[fault]] if isinstance(value, list) else ODD[fault]


def _record(fields: Sequence[str], fault: str) -> dict[str, Any]:
    """Return the sound record with a fault in some of its fields."""
    record = example_record()
    for name in fields:
        if fault == MISSING:
            del record[name]
        else:
            record[name] = _broken(record[name], fault)
    return record


@cache
def _every_fault() -> tuple[tuple[str, str, dict[str, Any], str], ...]:
    """Return each field with each fault, the record that has it, and the field's value as text."""
    return tuple(
        (field, fault, record, f"{record[field]!r:.60}" if field in record else "missing")
        for field in REQUIRED_FIELDS
        for fault in FAULTS
        for record in [_record((field,), fault)]
    )


def _says(field: str, errors: Errors) -> str:
    """Return what it is to find these errors in a record of which that field is broken."""
    if not errors:
        return THROUGH
    return NAMED if any(name == field for name, _ in errors) else OTHER


def _border(values: Values, redraw: Redraw) -> Picture:
    """Return the table of what the validator says of every fault of every field, and of the one that is chosen."""
    chosen, chosen_fault = values["field"], values["fault"]
    fields = {NOTHING: (), EVERYTHING: REQUIRED_FIELDS}.get(chosen, (chosen,))
    record = _record(fields, chosen_fault)
    now = redraw.call("rollout_contract_errors", errors_of, record)
    cells: Rows = []
    theirs: Rows = []
    verdicts = []
    for field, fault, faulty, value in _every_fault():
        answer = redraw.call("rollout_contract_errors", errors_of, faulty)
        verdict = answer.to(partial(_says, field))
        verdicts.append(verdict)
        place = {"field": field, "fault": fault}
        says = verdict.value or UNKNOWN
        cells.append(
            {
                **place,
                "value": value,
                "says": says,
                "text": SIGNS[says],
                "errors": SIGNS[UNKNOWN] if answer.value is None else _listed(answer.value),
                "chosen": field in fields and fault == chosen_fault,
                "whose": answer.whose,
            }
        )
        if redraw.overlay and verdict.reference is not None:
            theirs.append({**place, "says": verdict.reference, "text": SIGNS[verdict.reference]})
    table = together(verdicts)
    redraw.tell("rollout_contract_errors", table, _table_text)
    shown = ", ".join(
        f"{name} {record[name]!r:.60}" if name in record else f"{name} missing" for name in REQUIRED_FIELDS
    )
    found = "nothing, for it says nothing" if now.value is None else _listed(now.value)
    details = [f"The record: {shown}", f"The validator finds: {found}"]
    if table.value is not None:
        details.append(f"In the table, {_table_text(table.value)}")
    title = _border_title(values, now.value, table.value, redraw)
    data = {"faults": cells, "reference": theirs}
    return Picture(border_spec(overlay=redraw.overlay), data, title, ". ".join(details) + ".", redraw.facts)


def _border_title(values: Values, now: Errors | None, table: list[str] | None, redraw: Redraw) -> str:
    """Return the sentence on the record as it is broken, and on how many faults get through."""
    if now is None:
        return _nothing(redraw, "rollout_contract_errors", "the table is what it says of each fault")
    field, fault = values["field"], values["fault"]
    what = {NOTHING: "As it is, the record has", EVERYTHING: f"With all ten fields broken ({fault}), the record has"}
    names = list(dict.fromkeys(name for name, _ in now))
    whose = f", in {names[0]}" if len(names) == 1 else ""
    sentence = (
        f"{what.get(field, f'With {field} broken ({fault}), the record has')} {counted(len(now), 'error')}{whose}"
    )
    if table is None:
        return f"As far as the validator gets, {sentence[0].lower()}{sentence[1:]}; it fails at other faults"
    return f"{sentence}; of {len(table)} such faults {table.count(THROUGH)} get through"


def _listed(errors: Errors) -> str:
    return ", ".join(f"{name}: {problem}".strip() for name, problem in errors) or "no error"


def _table_text(table: list[str]) -> str:
    named, other, through = (table.count(verdict) for verdict in (NAMED, OTHER, THROUGH))
    return f"of {len(table)} faults {named} are named, at {other} another field is named, {through} get through"


def _nothing(redraw: Redraw, name: str, what: str) -> str:
    """Return the sentence of a picture whose one function says nothing."""
    if redraw.problems[name].unwritten:
        return f"Nothing is written yet: {what}"
    return f"Nothing is known of {name}, whose fault is told below: {what}"


# --- loops on a timeline ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Loop:
    """One loop: its events, each with the lane that it is drawn in, and what its protocol is said to be."""

    name: str
    trace: Sequence[dict[str, Any]]
    lanes: dict[str, str]  # by place; what happens elsewhere is not drawn
    protocol: Answer[str]

    @property
    def seconds(self) -> float:
        """When the last event has ended."""
        return float(max(event["end"] for event in self.trace))

    @property
    def first_start(self) -> float:
        """When the first rollout of batch 1 starts, in s."""
        return self._times("start", "produced", 1)[0]

    @property
    def update_end(self) -> float:
        """When the last step of the update on batch 0 has ended, in s."""
        return self._times("end", "consumed", 0)[-1]

    def _times(self, when: str, kind: str, batch: int) -> list[float]:
        return sorted(event[when] for event in self.trace if (event["kind"], event.get("batch")) == (kind, batch))

    @property
    def summary(self) -> str:
        """How long it takes, and how old its policy gets."""
        rolled_out = [event for event in self.trace if event["kind"] == "produced"]
        behind = max(event["batch"] - event["version"] for event in rolled_out)
        batches = len({event["batch"] for event in rolled_out})
        return f"{batches} batches in {self.seconds:g} s, at most {counted(behind, 'version')} behind"


def _said(value: Any) -> str:
    """Read a protocol."""
    if value not in ("synchronous", "asynchronous"):
        raise WrongFormError(value, '"synchronous" or "asynchronous"')
    return str(value)


def _loops(values: Values, redraw: Redraw) -> list[_Loop]:
    """Return the loop that is chosen, or four: in both places, one that waits and one that runs ahead."""
    if values["loop"] != FOUR_LOOPS:
        trace = TRACES[values["loop"]]
        lanes = {event["where"]: event["where"] for event in trace}
        return [_Loop(values["loop"], trace, lanes, redraw.call("protocol", _said, trace))]
    seconds = {name: values[name] for name in ("rollout_seconds", "update_seconds", "publish_seconds", "publish_every")}
    loops = []
    for place, rollout_on in (("one GPU", "gpu-0"), ("server", "server")):
        for way, ahead in ((WAITS, 0), (AHEAD, values["ahead"])):
            trace = toy_trace(batches=BATCHES, ahead=ahead, rollout_on=rollout_on, **seconds)
            lanes = {"gpu-0": f"trainer, {way}", rollout_on: f"{place}, {way}"}
            protocol = redraw.call("protocol", _said, trace)
            loops.append(_Loop(f"{place}, {way}", trace, lanes, protocol))
    return loops


def _timeline(values: Values, redraw: Redraw) -> Picture:
    """Return the timelines of the loops that are chosen, with the protocol that the function reads out of each."""
    loops = _loops(values, redraw)
    redraw.tell(
        "protocol",
        together(loop.protocol for loop in loops),
        lambda said: "; ".join(f"{loop.name}: {one}" for loop, one in zip(loops, said, strict=True)),
    )
    data: dict[str, Rows] = {name: [] for name in ("events", "loadings", "batches", "moments", "verdicts", "reference")}
    for loop in loops:
        _add(data, loop, overlay=redraw.overlay)
    alone = len(loops) == 1
    if alone:
        data["moments"] = [
            {"kind": KINDS["produced"], "text": "batch 1 starts", "at": loops[0].first_start},
            {"kind": KINDS["consumed"], "text": "the update on batch 0 has ended", "at": loops[0].update_end},
        ]
    kinds = [KINDS[event["kind"]] for loop in loops for event in loop.trace if event["where"] in loop.lanes]
    chart = timeline_spec(tuple(dict.fromkeys(kind for kind in KINDS.values() if kind in kinds)), moments=alone)
    title = _alone_title(loops[0], redraw) if alone else _places_title(loops, values["ahead"], redraw)
    details = [
        f"{loop.name[0].upper()}{loop.name[1:]}: {loop.protocol.value or 'protocol unknown'}, {loop.summary}; "
        f"batch 1 starts at {loop.first_start:g} s, the update on batch 0 has ended at {loop.update_end:g} s"
        for loop in loops
    ]
    return Picture(chart, data, title, ". ".join(details) + ".", redraw.facts)


def _add(data: dict[str, Rows], loop: _Loop, *, overlay: bool) -> None:
    """Draw one loop's events in its lanes, and its protocol above the first."""
    drawn = [event for event in loop.trace if event["where"] in loop.lanes]
    for event in drawn:
        lane, kind = loop.lanes[event["where"]], KINDS[event["kind"]]
        row = {"lane": lane, "kind": kind, "start": event["start"], "end": event["end"]}
        row |= {name: str(event.get(name, "none")) for name in ("batch", "version")}
        data["loadings" if event["kind"] == "published" else "events"].append(row)
        if event["kind"] in ("produced", "consumed"):
            middle = (event["start"] + event["end"]) / 2
            data["batches"].append({"lane": lane, "kind": kind, "at": middle, "text": row["batch"]})
    first = next(loop.lanes[event["where"]] for event in drawn if event["kind"] == "produced" and event["batch"] == 0)
    said = f"{loop.protocol.value}: " if loop.protocol.value else ""
    data["verdicts"].append({"lane": first, "text": f"{said}{loop.summary}"})
    if overlay and loop.protocol.reference is not None:
        data["reference"].append({"lane": first, "text": f"the reference: {loop.protocol.reference}"})


def _alone_title(loop: _Loop, redraw: Redraw) -> str:
    """Return the sentence on one loop, with the two times that its protocol hangs on."""
    if loop.protocol.value is None:
        return _nothing(redraw, "protocol", ORDER_ALONE)
    return (
        f"“{loop.name}” is {loop.protocol.value}: batch 1 starts at {loop.first_start:g} s, and the update on batch 0 "
        f"has ended at {loop.update_end:g} s"
    )


def _places_title(loops: list[_Loop], ahead: int, redraw: Redraw) -> str:
    """Return the sentence on the protocol of both orders in both places, and on what it changes in time."""
    said = [loop.protocol.value for loop in loops]
    if None in said:
        return _nothing(redraw, "protocol", ORDER_ALONE)
    runs = counted(ahead, "batch", "es")
    one_gpu, server = (f"waiting is {waits}, {runs} ahead {runs_ahead}" for waits, runs_ahead in (said[:2], said[2:]))
    alike = f"On one GPU and on a server alike, {one_gpu}"
    sentence = alike if one_gpu == server else f"On one GPU, {one_gpu}; on a server, {server}"
    return f"{sentence}; the server's {loops[2].seconds:g} s become {loops[3].seconds:g} s"
