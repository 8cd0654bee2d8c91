"""The explorer of `lag`: how old the tokens of an update are, and what it costs to keep them young, in five pictures.

Lags, costs, seconds, verdicts and versions are values of the notebook's functions. What is computed here is what they
are asked, sums of what they said, and what is given: how long completions are in flight, and how many batches wait.
"""

from __future__ import annotations

from itertools import groupby
from math import ceil
from typing import TYPE_CHECKING, Any

from ._lag_ages import ages
from ._lag_costs import costs, transfer
from ._lag_form import AGES, CONTROLS, COSTS, CYCLE, NOW, PRESETS, TRANSFER, VERSIONS, every
from ._lag_functions import run_of, versions
from ._lag_specs import spec
from ._model import Explored, Picture
from ._words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._functions import Redraw
    from ._lag_functions import Schedule
    from ._model import Values

    Row = dict[str, Any]


def _draw(values: Values, redraw: Redraw) -> Picture:
    """Return the picture that is chosen."""
    return _PICTURES[values["picture"]](values, redraw)


# --- the lag cycle -------------------------------------------------------------------------------------------------


def _cycle(values: Values, redraw: Redraw) -> Picture:
    """Return the lag of each update of a run."""
    run = run_of(values, redraw)
    found = run.value
    if found is None:
        title, details = "Nothing is written yet: the lags are what synchronization_schedule says", "No lag is known."
    else:
        title = (
            f"Published after {every(values['every'])}, a run of {counted(values['updates'], 'update')} lags by "
            f"{found.mean:,.3g} versions on average and by {found.most:,} at most"
        )
        details = f"{counted(found.count, 'publication')}. Lags: {', '.join(map(str, found.lags))}."
    data = {
        "publications": [] if found is None else _publications(found),
        "marks": _lags(run.reference) if redraw.overlay and run.reference else [],
        "lags": [] if found is None else [{**row, "whose": run.whose} for row in _lags(found)],
        "mean": [] if found is None else [{"lag": found.mean, "text": f"mean {found.mean:,.3g}"}],
    }
    return Picture(spec(CYCLE, "the reference" if redraw.overlay else ""), data, title, details, redraw.facts)


def _lags(found: Schedule) -> list[Row]:
    return [{"update": update, "lag": lag} for update, lag in enumerate(found.lags)]


def _publications(found: Schedule) -> list[Row]:
    """Return where a run published by its own lags: before each that is 0 again, and after the last if one is left."""
    after = [update - 1 for update, lag in enumerate(found.lags) if lag == 0 and update > 0]
    if found.count > len(after):
        after.append(len(found.lags) - 1)
    return [{"update": update + 0.5, "text": f"publication after update {update}"} for update in after]


# --- versions in a completion --------------------------------------------------------------------------------------


def _versions(values: Values, redraw: Redraw) -> Picture:
    """Return which version sampled each token of a completion, and how old it is when the last one is sampled."""
    tokens, rate, bound = values["tokens"], values["rate"], values["bound"]
    publications, newest = _loaded(values)
    # Weights change where a publication is: of the others, a token is sampled by the version of those around it.
    switches = {int(moment * rate) + step for moment, _ in publications for step in (0, 1)}
    asked = sorted({1, tokens, *(token for token in switches if 1 < token < tokens)})
    said = redraw.call("token_versions", versions(len(asked), newest), [token / rate for token in asked], publications)
    answer = said.to(lambda found: _runs(asked, found, newest))
    redraw.tell(
        "token_versions",
        said,
        lambda found: f"{counted(len({*found}), 'version')} in one completion, from {found[0]} to {found[-1]}",
    )
    runs = answer.value or []
    if redraw.overlay:
        grey, marks = "the reference", answer.reference or []
    else:
        kept = [{**runs[0], "last": tokens}] if runs else []
        grey, marks = "had it kept its first weights", kept
    data = {
        "runs": [{**run, "odd": place % 2 == 1, "whose": answer.whose} for place, run in enumerate(runs)],
        "marks": [{**mark, "kind": grey} for mark in marks],
        "bound": [{"lag": bound, "text": f"bound: {counted(bound, 'version')}"}] if runs else [],
    }
    return Picture(spec(VERSIONS, grey), data, *_old(runs, values), redraw.facts)


def _loaded(values: Values) -> tuple[list[tuple[float, int]], int]:
    """Return the publications up to the next after a completion, which begins at 0 s, and the trainer's last version.

    It begins in the middle between two updates. The trainer's last version is that before its last token is sampled.
    """
    pace, cadence = values["update_seconds"], values["every"]
    finished = values["tokens"] / values["rate"]
    cycles = ceil(finished / pace / cadence) + 1
    publications = [(pace * (cadence * place - 0.5), NOW + cadence * place) for place in range(cycles + 1)]
    return publications, NOW + ceil(finished / pace + 0.5) - 1


def _runs(asked: Sequence[int], found: Sequence[int], newest: int) -> list[Row]:
    """Return the runs of tokens of one version: its first and last token, and its lag behind the newest version."""
    runs: list[Row] = []
    for version, group in groupby(zip(asked, found, strict=True), key=lambda pair: pair[1]):
        first = next(group)[0]
        runs.append({"version": version, "first": first, "lag": newest - version})
    ends = [*(run["first"] - 1 for run in runs[1:]), asked[-1]]
    return [{**run, "before": run["first"] - 1, "last": last} for run, last in zip(runs, ends, strict=True)]


def _old(runs: Sequence[Row], values: Values) -> tuple[str, str]:
    """Return the sentence on how old the tokens are, and every run in words."""
    if not runs:
        return "Nothing is written yet: the versions are what token_versions says", "No version is known."
    tokens, bound = values["tokens"], values["bound"]
    mean = sum((run["last"] - run["before"]) * run["lag"] for run in runs) / tokens
    beyond = sum(run["last"] - run["before"] for run in runs if run["lag"] > bound)
    sampled = counted(len({run["version"] for run in runs}), "version")
    title = (
        f"By the end {sampled} sampled the {tokens:,} tokens: they lag by {mean:,.1f} versions on average, "
        f"and by {max(run['lag'] for run in runs):,} at most"
    )
    details = [
        f"Version {run['version']}: {counted(run['last'] - run['before'], 'token')}, lag {run['lag']}" for run in runs
    ]
    details.append(f"Had it kept its first weights, each token would lag by {runs[0]['lag']:,}")
    details.append(f"{counted(beyond, 'token')} of {tokens:,} lag by more than {counted(bound, 'version')}")
    return title, f"{'. '.join(details)}."


_PICTURES = {CYCLE: _cycle, AGES: ages, COSTS: costs, TRANSFER: transfer, VERSIONS: _versions}

TOPIC = Explored(
    "lag",
    ("synchronization_schedule", "synchronization_transfer_time", "best_cadence", "admit", "token_versions"),
    CONTROLS,
    PRESETS,
    _draw,
)
