"""The words of the lab explorer: the sentence over its picture, every number of a run, a diagnosis and a choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._lab_form import ALL_FOUR, ESS, LAG, QUEUE, SECONDS, THROUGHPUT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..simulator import PipelineResult
    from ._functions import Answer

    Codes = tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """A simulated run: its part in the picture, its name, how a sentence says "in it", and whose its settings are."""

    part: str
    name: str
    within: str
    whose: str
    result: PipelineResult


def measures(run: Run) -> dict[str, tuple[float, str]]:
    """Return each measure of a run, as a number and for reading; without a batch there is neither lag nor ESS."""
    result = run.result
    found = {
        THROUGHPUT: (result.trained_tokens_per_second, f"{result.trained_tokens_per_second:,.0f} tokens/s"),
        QUEUE: (float(result.max_queue_tokens_observed), f"{result.max_queue_tokens_observed:,} tokens"),
    }
    if result.mean_normalized_ess is not None:
        found[LAG] = (result.mean_lag, f"{result.mean_lag:.1f} versions")
        found[ESS] = (result.mean_normalized_ess, f"{result.mean_normalized_ess:.2f}")
    return found


def codes_in(name: str, codes: Codes) -> str:
    """Return the codes that fire in the run of that name, as a text."""
    return f"{', '.join(codes) or 'no code'} ({name})"


def settings(choice: Mapping[str, Any]) -> str:
    """Return the five settings of a choice as a text."""
    every = choice["sync_every_updates"]
    return (
        f"{'by turns' if choice['mode'] == 'sequential' else 'all at once'}, batches of {choice['batch_tokens']:,} "
        f"tokens, a queue of {choice['max_queue_tokens']:,}, lag up to {choice['max_policy_lag']}, "
        f"published every {f'{every} updates' if every > 1 else 'update'}"
    )


def sentence_on(shown: str, runs: Sequence[Run]) -> str:
    """Return what the picture shows, with the numbers of both runs; the first is that of the settings."""
    first = runs[0].result
    other = runs[1] if len(runs) > 1 else None
    second = (other or runs[0]).result
    if not first.batches:
        return f"These settings train nothing in {SECONDS} s: no batch of {first.config.batch_tokens:,} tokens is done"
    if shown == QUEUE:
        also = f"; {other.within}, {second.max_queue_tokens_observed:,} and {_speed(second)}" if other else ""
        most = f"{first.max_queue_tokens_observed:,} tokens"
        return f"With these settings the queue holds up to {most} and {_speed(first)} tokens/s are trained{also}"
    if shown == LAG:
        also = f"; {other.within}, {_discarded(second)} and {_lag(second)}" if other else ""
        lag = _lag(first, " versions")
        return f"These settings discard {_discarded(first)} of the rollouts and train at a mean lag of {lag}{also}"
    if shown == ESS:
        also = f", and {_ess(second)} {other.within}" if other else ""
        return f"A batch's normalised ESS is {_ess(first)} on average with these settings{also}"
    sentence = f"These settings train {_speed(first)} tokens/s"
    if other and second.batches:
        times = first.trained_tokens_per_second / second.trained_tokens_per_second
        sentence += f", {times:.2f} times as many as {other.within} ({_speed(second)})"
    elif other:
        sentence += f", and {other.within} nothing"
    if shown == ALL_FOUR:
        same = "the same" if other and _ess(first) == _ess(second) else "a"
        sentence += f", at {same} normalised ESS of {_ess(first)}"
        sentence += f" in place of {_ess(second)}" if same == "a" and other and second.batches else ""
    return sentence


def _lag(result: PipelineResult, unit: str = "") -> str:
    return f"{result.mean_lag:.1f}{unit} (at most {result.max_lag})"


def _speed(result: PipelineResult) -> str:
    return f"{result.trained_tokens_per_second:,.0f}"


def _discarded(result: PipelineResult) -> str:
    return f"{result.discarded_rollouts / result.finished_rollouts if result.finished_rollouts else 0.0:.0%}"


def _ess(result: PipelineResult) -> str:
    return "unknown" if result.mean_normalized_ess is None else f"{result.mean_normalized_ess:.2f}"


def details(runs: Sequence[Run], codes: Mapping[str, Answer[Codes]], supply: str) -> str:
    """Return every run in words, and what the machines can do."""
    return " ".join([*(_in_words(run, codes.get(run.name)) for run in runs), supply])


def _in_words(run: Run, codes: Answer[Codes] | None) -> str:
    result = run.result
    parts = [
        f"{_speed(result)} trained tokens/s",
        f"queue up to {result.max_queue_tokens_observed:,} tokens",
    ]
    if result.batches:
        parts += [
            f"lag {result.mean_lag:.1f} versions on average and {result.max_lag} at most",
            f"normalised ESS {_ess(result)} on average and {result.min_normalized_ess:.2f} at least",
        ]
    parts += [
        f"trainer waits {result.trainer_idle_fraction:.0%} of the time",
        f"workers wait {result.rollout_idle_fraction:.0%}",
        f"{_discarded(result)} of the rollouts discarded",
    ]
    if codes is not None and codes.value is not None:
        parts.append(f"hypotheses {', '.join(codes.value) or 'none'}")
    name = run.name[0].upper() + run.name[1:]
    return f"{name}: {', '.join(parts)}."
