"""A picture of the lag explorer: where the lag of eight completions arises, and which of them a bound keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..given.lag import finished_records
from ._functions import Answer
from ._lag_form import AGES, AT_QUEUE, AT_START, CADENCE, FLIGHT, LENGTHS, NOW, QUEUE
from ._lag_functions import admission, schedule
from ._lag_specs import spec
from ._model import Picture
from ._words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ._functions import Redraw
    from ._lag_functions import Admission
    from ._model import Values

    Parts = Mapping[str, Answer[int]]  # of one completion's lag, in versions

_UNSEEN = {AT_QUEUE: QUEUE, AT_START: FLIGHT}  # what a bound does not look at, by the moment at which it is enforced


def ages(values: Values, redraw: Redraw) -> Picture:
    """Return the picture. All completions finish at the same moment, and then wait for their batch."""
    waiting, bound, unseen = values["queue"], values["bound"], _UNSEEN.get(values["enforced"])
    records = finished_records(
        sorted([*LENGTHS, values["tokens"]]),
        tokens_per_second=values["rate"],
        update_seconds=values["update_seconds"],
        trainer_version=NOW,
    )
    lags = _lags([record["version"] for record in records], values, redraw)
    known = all(parts[CADENCE].value is not None for parts in lags)
    offered = [  # each with the lag that it has, or seems to have, when somebody looks
        {**record, "version": max(0, NOW + waiting - _lag({**parts, unseen: _NOTHING}))}
        for record, parts in zip(records, lags, strict=True)
    ]
    verdict = redraw.call("admit", admission([record["id"] for record in records]), offered, NOW + waiting, bound)
    redraw.tell(
        "admit",
        verdict,
        lambda said: (
            f"keeps {len(said.kept)} of {len(records)}; mean length offered {said.offered_tokens:,.0f} tokens, "
            f"kept {said.kept_tokens:,.0f} tokens"
        ),
    )
    names = [f"{record['tokens']:,} tokens" for record in records]
    fates = [_fate(record["id"], verdict) for record in records]
    others = [_reference_differs(record["id"], verdict) if redraw.overlay else "" for record in records]
    data = {
        "parts": [
            {"completion": name, "part": part, "order": place, "lag": answer.value, "seen": part != unseen}
            | {"whose": answer.whose}
            for name, parts in zip(names, lags, strict=True)
            for place, (part, answer) in enumerate(parts.items())
            if answer.value is not None
        ],
        "bound": [{"lag": bound, "text": f"bound: {counted(bound, 'version')}"}],
        "marks": [
            {"completion": name, "kind": "the reference's lag", "lag": _lag(parts, reference=True)}
            for name, parts in zip(names, lags, strict=True)
            if redraw.overlay and parts[CADENCE].reference is not None
        ],
        "totals": [
            {
                "completion": name,
                "lag": _lag(parts),
                "text": f"{_lag(parts)}{'' if known else ' and more'}{fate}{other}",
            }
            for name, parts, fate, other in zip(names, lags, fates, others, strict=True)
        ],
    }
    total = {record["id"]: _lag(parts) for record, parts in zip(records, lags, strict=True)}
    details = [
        f"{name}: " + ", ".join(f"{part} {_known(answer)}" for part, answer in parts.items()) + fate.replace(":", ",")
        for name, parts, fate in zip(names, lags, fates, strict=True)
    ]
    if verdict.value:
        lengths = verdict.value.offered_tokens, verdict.value.kept_tokens
        details.append("Mean length offered {:,.0f} tokens, kept {:,.0f} tokens".format(*lengths))
    chart = spec(AGES, "the reference" if redraw.overlay else "")
    title = _title(values, total, verdict.value, known=known)
    return Picture(chart, data, title, f"{'. '.join(details)}.", redraw.facts)


_NOTHING: Answer[int] = Answer(0, 0, given=True)


def _lags(begun: Sequence[int], values: Values, redraw: Redraw) -> list[Parts]:
    """Return the parts of the lag of each completion, by the trainer's version when it began.

    What a bound does not look at comes last. The weights that a completion begins with may be old by then.
    """
    behind = redraw.call("synchronization_schedule", schedule(NOW + 1), sync_every=values["every"], updates=NOW + 1)
    redraw.tell(
        "synchronization_schedule",
        behind,
        lambda found: f"the engine is behind by at most {counted(found.most, 'version')}",
    )
    waiting: Answer[int] = Answer(values["queue"], values["queue"], given=True)
    lags: list[Parts] = []
    for version in begun:
        parts = {
            CADENCE: behind.to(lambda found, version=version: found.lags[version]),  # type: ignore[misc]
            FLIGHT: Answer(NOW - version, NOW - version, given=True),
            QUEUE: waiting,
        }
        lags.append(dict(sorted(parts.items(), key=lambda item: item[0] == _UNSEEN.get(values["enforced"]))))
    return lags


def _lag(parts: Mapping[Any, Answer[int]], *, reference: bool = False) -> int:
    """Return the sum of what is known."""
    known = (answer.reference if reference else answer.value for answer in parts.values())
    return sum(lag for lag in known if lag is not None)


def _known(answer: Answer[int]) -> str:
    return "unknown" if answer.value is None else f"{answer.value:,}"


def _fate(name: str, verdict: Answer[Admission]) -> str:
    """Return what becomes of a completion."""
    return "" if verdict.value is None else f": {verdict.value.of(name)}"


def _reference_differs(name: str, verdict: Answer[Admission]) -> str:
    """Return what the reference says of a completion, where it differs."""
    mine, theirs = verdict.mine, verdict.reference
    if mine is None or theirs is None or mine.of(name) == theirs.of(name):
        return ""
    return f" (the reference: {theirs.of(name)})"


def _title(values: Values, total: Mapping[str, int], verdict: Admission | None, *, known: bool) -> str:
    """Return the sentence on the lags that get through; `known` is whether that of the cadence is."""
    if verdict is None and not known:
        return "Nothing is written yet: admit says who is kept, and synchronization_schedule how old the weights are"
    if verdict is None:
        oldest = counted(max(total.values()), "version")
        return f"As far as it is written, the oldest completion lags by {oldest}, and nobody says who is kept"
    sentence = f"enforced {values['enforced']}, a bound of {counted(values['bound'], 'version')} "
    if verdict.kept:
        through = counted(max(total[name] for name in verdict.kept), "version")
        sentence += f"lets a lag of {through} through, and keeps {len(verdict.kept)} of {len(total)} completions"
    else:
        sentence += f"keeps none of {len(total)} completions"
    sentence = sentence if known else f"as far as it is written, {sentence}"
    return sentence[0].upper() + sentence[1:]
