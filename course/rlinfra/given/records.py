"""What the records topic hands out: a toy loop and its traces, a record, an agent's episode, the variant problem.

A trace is a list of events. An event is a dictionary with its `kind`, its `start` and `end` in seconds, `where` it
happened, and the `batch` and the policy `version` that it concerns, where it concerns one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..variants import Variant
from .tables import DASH, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..draws import Draws

Event = dict[str, Any]

EVENT_KINDS = ("prepared", "produced", "consumed", "published")

REQUIRED_FIELDS = (
    "sample_id",
    "prompt_id",
    "policy_version",
    "prompt_tokens",
    "response_tokens",
    "behavior_logprobs",
    "decoding",
    "reward",
    "stop_reason",
    "verifier_version",
)


# --- traces ------------------------------------------------------------------------------------------------------


def prepared(batch: int, start: float, end: float, where: str = "cpu") -> Event:
    """Return the event that the prompts of a batch were prepared; no policy takes part in it."""
    return {"kind": "prepared", "batch": batch, "start": start, "end": end, "where": where}


def produced(batch: int, version: int, start: float, end: float, where: str) -> Event:
    """Return the event that completions of a batch were rolled out, by the policy version that the engine held."""
    return {"kind": "produced", "batch": batch, "version": version, "start": start, "end": end, "where": where}


def consumed(batch: int, version: int, start: float, end: float, where: str) -> Event:
    """Return the event that the trainer updated on a batch, and so made the policy version of that number."""
    return {"kind": "consumed", "batch": batch, "version": version, "start": start, "end": end, "where": where}


def published(version: int, start: float, end: float, where: str) -> Event:
    """Return the event that the weights of a version were loaded into the rollout engine."""
    return {"kind": "published", "version": version, "start": start, "end": end, "where": where}


def toy_trace(
    *,
    batches: int,
    rollout_seconds: float = 6,
    update_seconds: float = 2,
    publish_seconds: float = 1,
    pause_seconds: float = 0,
    ahead: int = 0,
    publish_every: int = 1,
    rollout_on: str = "gpu-0",
    trainer_on: str = "gpu-0",
) -> list[Event]:
    """Return the trace of a toy loop, in seconds; the same name for both places means one shared device.

    The loop holds back the update by `ahead` batches: with 0, a rollout waits for everything that the update on the
    batch before does; with 1, one batch more is rolled out in the meantime. Weights are published after every
    `publish_every` updates, and after each update the loop pauses for `pause_seconds`. The prompts of the next batch
    are prepared on the CPU while a batch is rolled out.
    """
    trace: list[Event] = []
    free: dict[str, float] = {rollout_on: 0, trainer_on: 0}
    rolled_out: list[float] = []
    ready: list[float] = []
    loaded = [(0.0, 0)]
    for step in range(batches + ahead):
        if step < batches:
            waits_for = ready[step - 1 - ahead] if step > ahead else 0
            start = max(free[rollout_on], waits_for)
            version = max(number for since, number in loaded if since <= start)
            free[rollout_on] = start + rollout_seconds
            rolled_out.append(free[rollout_on])
            trace.append(produced(step, version, start, free[rollout_on], rollout_on))
            if step + 1 < batches:
                trace.append(prepared(step + 1, start, start + 1))
        batch = step - ahead
        if batch >= 0:
            start = max(free[trainer_on], rolled_out[batch])
            end = start + update_seconds
            trace.append(consumed(batch, batch + 1, start, end, trainer_on))
            if (batch + 1) % publish_every == 0:
                trace.append(published(batch + 1, end, end + publish_seconds, rollout_on))
                end += publish_seconds
                loaded.append((end, batch + 1))
            free[trainer_on] = end + pause_seconds
            ready.append(free[trainer_on])
    return trace


# The seven loops of the notebook, by name. Each log is in the order in which it came in, not always that of time.
TRACES: Mapping[str, Sequence[Event]] = {
    "server, barrier": [
        produced(1, 1, 9, 15, "server"),
        prepared(1, 0, 1),
        published(1, 8, 9, "server"),
        consumed(0, 1, 6, 8, "gpu-0"),
        produced(0, 0, 0, 6, "server"),
    ],
    "one GPU, two batches buffered": [
        produced(0, 0, 0, 6, "gpu-0"),
        produced(1, 0, 6, 12, "gpu-0"),
        consumed(0, 1, 12, 14, "gpu-0"),
        consumed(1, 2, 14, 16, "gpu-0"),
    ],
    "one GPU, prompts ahead": [  # trainer and engine share the weights, so nothing is published
        produced(0, 0, 0, 6, "gpu-0"),
        prepared(1, 2, 3),
        consumed(0, 1, 6, 8, "gpu-0"),
        produced(1, 1, 9, 15, "gpu-0"),
    ],
    "server, every 2nd update": [
        produced(0, 0, 0, 6, "server"),
        consumed(0, 1, 6, 8, "gpu-0"),
        produced(1, 0, 9, 15, "server"),
        consumed(1, 2, 15, 17, "gpu-0"),
        published(2, 17, 18, "server"),
    ],
    "server, trainer starts early": [
        produced(0, 0, 0, 6, "server"),
        consumed(0, 1, 4, 8, "gpu-0"),
        published(1, 8, 8, "server"),
        produced(1, 1, 8, 14, "server"),
    ],
    "server, during the second step": [
        produced(0, 0, 0, 6, "server"),
        consumed(0, 1, 6, 8, "gpu-0"),
        consumed(0, 2, 8, 10, "gpu-0"),
        produced(1, 1, 9, 15, "server"),
    ],
    "two workers, one runs ahead": [
        produced(0, 0, 0, 6, "server-a"),
        consumed(0, 1, 6, 8, "gpu-0"),
        produced(1, 0, 7, 13, "server-b"),
        produced(1, 1, 9, 15, "server-a"),
    ],
}


def timeline(trace: Sequence[Event]) -> Table:
    """Return the events of a trace as a table, in the order in which they start."""
    heads = {
        "kind": "kind",
        "start": "start, s",
        "end": "end, s",
        "batch": "batch",
        "version": "version",
        "where": "where",
    }
    in_time = sorted(trace, key=lambda event: (event["start"], event["end"]))
    return Table(list(heads.values()), [[event.get(name, DASH) for name in heads] for event in in_time])


# --- a record and an episode -------------------------------------------------------------------------------------


def example_record(**changes: object) -> dict[str, Any]:
    """Return a fresh record that keeps the contract, with the given fields changed."""
    record: dict[str, Any] = {
        "sample_id": "p3-r1",
        "prompt_id": "p3",
        "policy_version": 17,
        "prompt_tokens": [101, 42],
        "response_tokens": [314, 2],
        "behavior_logprobs": [-0.31, -1.07],
        "decoding": {"temperature": 0.8, "top_p": 1.0},
        "reward": 1.0,
        "stop_reason": "eos",
        "verifier_version": "v4",
    }
    return {**record, **changes}


# An agent's episode of two turns, as the agent's own log holds it, and the registry of the run's policy versions.
EPISODE: Mapping[str, Any] = {
    "token_ids": [101, 42, 17, 314, 159, 9, 77, 78, 265, 2],
    "policy_mask": [0, 0, 0, 1, 1, 0, 0, 0, 1, 1],
    "turn_ids": [0, 0, 0, 0, 0, 0, 1, 1, 1, 1],
    "behavior_logprobs": [0.0, 0.0, 0.0, -0.31, -1.07, 0.0, 0.0, 0.0, -0.22, -0.05],
    "policy_versions": ["v12", "v12-fix"],
    "rewards": [0.25, 0.5],
    "stop_reasons": ["tool_call", "eos"],
    "outcome": 1.0,
}
REGISTRY: Mapping[str, int] = {"v11": 16, "v12": 17, "v12-fix": 18}


# --- the variant -------------------------------------------------------------------------------------------------

TURNS = 5


def variant_story(draws: Draws) -> Variant:
    """Draw the lengths of an agent's episode and one of its turns, and tell their story."""
    opening = draws.integer(500, 9_500)
    completions = [draws.integer(40, 1_800) for _ in range(TURNS)]
    observations = [draws.integer(30, 2_500) for _ in range(TURNS - 1)]
    turn = draws.integer(2, TURNS - 1)
    last = TURNS - 1
    story = (
        f"An agent's episode has {TURNS} turns, numbered 0 to {last}. It opens with a system prompt and a question of "
        f"{opening:,} tokens together. The completions of turns 0 to {last} have {_listed(completions)} tokens. After "
        f"each completion but the last, a tool answers: with {_listed(observations)} tokens, which open turns 1 to "
        f"{last}. There are no other tokens. Turn {turn} is projected to a rollout record."
    )
    numbers = {"opening_tokens": opening, "turn": turn}
    numbers |= {f"completion_{place}_tokens": length for place, length in enumerate(completions)}
    numbers |= {f"tool_{place}_tokens": length for place, length in enumerate(observations, start=1)}
    return Variant(story, numbers)


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(f"{number:,}" for number in numbers[:-1]) + f" and {numbers[-1]:,}"
