"""Two pictures of the checkpoints explorer: what a manifest lacks, and what a control batch shows of it.

Which parts are faulty, and what the checkpoint is good for, the notebook's function says. What the manifest holds is
chosen, and the control batch is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..checks.card import show_value
from ..given.checkpoints import CHECKPOINT_PARTS, example_manifest
from . import _checkpoints_runs as runs
from ._checkpoints_charts import RESTORED, WHOLE, spec
from ._checkpoints_form import BATCH, MANIFEST, MISSING, PARTS
from ._functions import Answer, WrongFormError
from ._model import Picture

if TYPE_CHECKING:
    from ._functions import Redraw
    from ._model import Values

    Verdict = tuple[list[str], str]  # the parts that are named as faulty, and the start


def draw_manifest(values: Values, redraw: Redraw) -> Picture:
    """Return the thirteen parts, what the manifest holds of each, and what checkpoint_errors says of it."""
    verdict, held, lacks = _asked(values, redraw), _held(values), values["lacks"]
    theirs = verdict.reference if redraw.overlay else None
    rows = []
    for part, (_, slip, without) in PARTS.items():
        lacking = f"{slip if part in held else 'missing'}: {without}"
        named = None if verdict.value is None else part in verdict.value[0]
        rows.append(
            {
                "part": part,
                "verdict": "not told" if named is None else _sign(named),
                "faulty": bool(named),
                "holds": lacking if part in lacks else _short(show_value(held[part])),
                "reference": _sign(part in theirs[0]) if theirs else "",
            }
        )
    all_parts = len(CHECKPOINT_PARTS)
    gone = all_parts - len(held)
    keys = f"{gone} of {all_parts} keys {_is(gone)} missing" if gone else f"all {all_parts} keys are there"
    if verdict.value is None:
        title = f"Nothing is written yet: {keys}, and what each must hold is what checkpoint_errors says"
    else:
        count = len(verdict.value[0])
        title = f"{_start(verdict.value[1])}: {count or 'none'} of {all_parts} parts {_is(count)} faulty, {keys}"
    details = _in_sentences(*(f"{row['part']}: {row['verdict']}, {row['holds']}" for row in rows))
    return Picture(spec(MANIFEST), {"parts": rows}, title, details, redraw.facts)


def draw_batch(values: Values, redraw: Redraw) -> Picture:
    """Return the losses of a control batch: without interruption, and from a checkpoint that lacks something."""
    verdict, lacks, seed = _asked(values, redraw), values["lacks"], values["seed"]
    goes_on = "weights" not in lacks
    lines = {WHOLE: runs.control_batch(seed)}
    if goes_on:
        lines[RESTORED] = runs.control_batch(seed, lacks)
    differs = runs.first_difference(seed, lacks) if goes_on else None
    data = {
        "losses": [
            {"run": run, "step": step, "loss": loss}
            for run, losses in lines.items()
            for step, loss in enumerate(losses, 1)
        ],
        "differs": [] if differs is None else [{"step": differs, "text": "differs from here on"}],
    }
    if not goes_on:
        seen = "without weights there is nothing to run the control batch with"
    elif differs is None:
        seen = f"all {runs.STEPS} losses of the control batch are as without interruption"
        seen = f"the control batch does not show it, {seen}" if lacks else seen
    else:
        seen = f"the losses of the control batch differ from step {differs} of {runs.STEPS} on"
    if verdict.value is None:
        title = f"Nothing is written yet: what the checkpoint is good for is what checkpoint_errors says; {seen}"
    else:
        title = f"{_start(verdict.value[1])}: {seen}"
    alone = {part: runs.first_difference(seed, (part,)) for part in CHECKPOINT_PARTS[1:]}
    shown = ", ".join(f"{part} at step {step}" for part, step in alone.items() if step)
    unseen = ", ".join(part for part, step in alone.items() if not step)
    details = _in_sentences(
        "Losses, step by step: "
        + "; ".join(
            f"{run} {', '.join(f'{round(loss, 3) + 0.0:.3f}' for loss in losses)}" for run, losses in lines.items()
        ),
        f"If one part alone begins fresh, losses differ from here on: {shown}",
        f"These never show here, though the manifest must hold them: {unseen}",
    )
    return Picture(spec(BATCH, checkpoint=goes_on), data, title, details, redraw.facts)


def _held(values: Values) -> dict[str, Any]:
    """Return a new manifest of the checkpoint that is chosen."""
    whole, lacks = example_manifest(), values["lacks"]
    if values["how"] == MISSING:
        return {part: value for part, value in whole.items() if part not in lacks}
    return {**whole, **{part: PARTS[part][0] for part in lacks}}


def _asked(values: Values, redraw: Redraw) -> Answer[Verdict]:
    """Return which parts of the manifest are named as faulty, and what it is good for, and tell it."""
    found = redraw.call("checkpoint_errors", _verdict, _held(values))
    redraw.tell(
        "checkpoint_errors", found, lambda said: f"{said[1]}; named as faulty: {', '.join(said[0]) or 'nothing'}"
    )
    return found


def _verdict(value: Any) -> Verdict:
    """Read the parts that are named as faulty, in the manifest's order, and the start."""
    if isinstance(value, dict) and value.get("start") in ("resume", "new run", "no start"):
        errors = value.get("errors")
        if isinstance(errors, list) and all(isinstance(text, str) for text in errors):
            named = {text.partition(":")[0].strip() for text in errors}
            return [part for part in CHECKPOINT_PARTS if part in named], value["start"]
    raise WrongFormError(value, 'a dictionary with "errors", a list of texts, and "start", one of its three texts')


def _start(start: str) -> str:
    return {"resume": "A resume", "new run": "A new run", "no start": "No start"}[start]


def _sign(faulty: bool) -> str:
    return "✗ faulty" if faulty else "✓ sound"


def _is(count: int) -> str:
    return "is" if count in (0, 1) else "are"


def _short(text: str, most: int = 56) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _in_sentences(*sentences: str) -> str:
    return " ".join(f"{sentence}." for sentence in sentences)
