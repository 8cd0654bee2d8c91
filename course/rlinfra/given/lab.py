"""What the lab hands out: its profile, the story's numbers, a loop that hands out prompts, its drill, the variant.

All measurements are made up for the course, to show mechanisms. They are no benchmark of any framework.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..draws import Draws
from ..variants import Variant
from .arguments import require_count
from .handover import in_pieces, loaded, saved

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROFILES = ("smoke", "full", "real-model")


def run_profile() -> str:
    """Return the profile that the environment variable `RL_LLM_PROFILE` asks for, "smoke" where it is not set.

    Case and blanks around it do not matter. Raises `ValueError` that lists the three profiles where it is none of them.
    """
    profile = os.environ.get("RL_LLM_PROFILE", "smoke").strip().lower()
    if profile not in PROFILES:
        raise ValueError(f"RL_LLM_PROFILE must be smoke, full or real-model, not {profile!r}")
    return profile


# --- the story's numbers -----------------------------------------------------------------------------------------

REQUIRED_METRICS = (
    "trainer_idle_fraction",
    "rollout_idle_fraction",
    "verifier_fraction",
    "weight_sync_fraction",
    "queue_growth_per_minute",
    "normalized_ess",
    "oom_events",
)


def _metrics(*values: float) -> Mapping[str, float]:
    return dict(zip(REQUIRED_METRICS, values, strict=True))


# The metrics of the team's eight runs, in the order of REQUIRED_METRICS; growth within its noise is entered as 0.
RUNS: Mapping[str, Mapping[str, float]] = {
    "Monday": _metrics(0.75, 0.42, 0.08, 0.01, 0, 1.0, 0),
    "Tuesday": _metrics(0.67, 0.24, 0.08, 0.22, 0, 0.93, 0),
    "Wednesday": _metrics(0.03, 0.05, 0.12, 0.02, 4_000_000, 0.81, 0),
    "Thursday": _metrics(0.03, 0.28, 0.12, 0.02, 0, 0.74, 0),
    "Friday": _metrics(0.25, 0.07, 0.11, 0.01, 0, 0.41, 0),
    "Saturday": _metrics(0.31, 0.04, 0.11, 0.02, 900_000, 0.78, 0),
    "Sunday": _metrics(0.38, 0.09, 0.46, 0.02, -200_000, 0.88, 3),
    "second Monday": _metrics(0.06, 0.08, 0.14, 0.02, 0, 0.86, 0),
}

# How many of the 1,200 records of the first hour were refused at the border, by the field that was at fault.
OFFERED_RECORDS = 1_200
REFUSED_RECORDS: Mapping[str, int] = {"behavior_logprobs": 31, "policy_version": 12, "reward": 5}

# Two frameworks, tried by the team on its own cards with its own model; both names are made up.
FRAMEWORKS: Mapping[str, tuple[str, str]] = {
    "short answers, barrier: trained tokens a second": ("9,800", "8,100"),
    "agent episodes, bounded lag: trained tokens a second": ("2,900", "4,600"),
    "recovery drill": ("as declared", "queue lost"),
    "days until the first loop ran": ("2", "6"),
}


@dataclass(frozen=True)
class QueueSample:
    """The token queue at one moment of a run: its depth, and whether workers were paused in the ten seconds before."""

    minute: float
    tokens: float
    paused: bool


def recorded_queue(minutes: int) -> list[QueueSample]:
    """Return Thursday's queue, a sample every ten seconds: 14 million tokens a minute in, 10 million out, limit 40.

    Workers start no rollout while the queue holds 40 million tokens or more. What is in flight still arrives, for
    about twenty seconds. Raises `ValueError` where `minutes` is no integer or below 1.
    """
    require_count("minutes", minutes, minimum=1)
    draws = Draws("lab", "the queue")
    tokens = 0.0
    started = [True, True]
    samples = []
    for place in range(1, 6 * minutes + 1):
        started.append(tokens < 40_000_000)
        arriving = 14_000_000 / 6 * draws.uniform(0.82, 1.18) if started[-3] else 0.0
        tokens = max(tokens + arriving - 10_000_000 / 6, 0.0)
        samples.append(QueueSample(place / 6, tokens, not started[-1]))
    return samples


# --- the loop of the recovery drill ------------------------------------------------------------------------------


class DispatchLoop:
    """The orchestrator of a loop in miniature: it hands out prompts, takes in results, and makes batches of two.

    Every attribute may be read and set. `DispatchLoop()` is the loop before its first event:

    - `version`: the policy version that new rollouts are made with; every update makes and publishes the next one;
    - `next_prompt`: the number of the first prompt that was never handed out;
    - `next_ticket`: the number of the next ticket; each handing out of a prompt has a ticket of its own;
    - `in_flight`: what workers generate, `{ticket: {"prompt": int, "version": int}}`;
    - `again`: the prompts to hand out again, first in, first out;
    - `queue`: the finished records, oldest first, each `{"prompt": int, "version": int, "tokens": int}`;
    - `paused`: whether nothing is handed out, from 4,000 tokens in the queue on until there are 2,000 or fewer.
    """

    def __init__(self) -> None:
        self.version = 0
        self.next_prompt = 0
        self.next_ticket = 0
        self.in_flight: dict[int, dict[str, int]] = {}
        self.again: list[int] = []
        self.queue: list[dict[str, int]] = []
        self.paused = False

    def run(self, events: Sequence[Sequence[Any]]) -> list[str]:
        """Run the loop through events and return what it did, one line an event.

        An event is `["ask"]` (a worker asks for a prompt), `["result", ticket, tokens]`, `["lost", ticket]` (its
        worker died) or `["update"]` (the trainer asks for a batch).
        """
        handlers: dict[str, Callable[..., str]] = {
            "ask": self._ask,
            "result": self._result,
            "lost": self._lost,
            "update": self._update,
        }
        return [handlers[event[0]](*event[1:]) for event in events]

    def _ask(self) -> str:
        if self.paused:
            return "wait"
        if self.again:
            prompt = self.again.pop(0)
        else:
            prompt = self.next_prompt
            self.next_prompt += 1
        ticket = self.next_ticket
        self.next_ticket += 1
        self.in_flight[ticket] = {"prompt": prompt, "version": self.version}
        return f"ticket {ticket}: prompt {prompt}, version {self.version}"

    def _result(self, ticket: int, tokens: int) -> str:
        if ticket not in self.in_flight:
            return f"ticket {ticket}: refused"
        self.queue.append({**self.in_flight.pop(ticket), "tokens": tokens})
        self.paused = self.paused or self._waiting_tokens() >= 4_000
        return f"ticket {ticket}: kept"

    def _lost(self, ticket: int) -> str:
        if ticket not in self.in_flight:
            return f"ticket {ticket}: refused"
        self.again.append(self.in_flight.pop(ticket)["prompt"])
        return f"ticket {ticket}: lost"

    def _update(self) -> str:
        if len(self.queue) < 2:
            return "trainer waits"
        one, two = self.queue.pop(0), self.queue.pop(0)
        lags = f"{self.version - one['version']} and {self.version - two['version']}"
        self.version += 1
        self.paused = self.paused and self._waiting_tokens() > 2_000
        return f"update {self.version}: prompts {one['prompt']} and {two['prompt']}, lags {lags}"

    def _waiting_tokens(self) -> int:
        return sum(record["tokens"] for record in self.queue)


def run_and_save(namespace: Mapping[str, Any], before: Sequence[Sequence[Any]]) -> list[str]:
    """Run a new loop through events, saving with the notebook's `save_loop` at the start and after each of them.

    Return what was saved last, in pieces.
    """
    loop = DispatchLoop()
    text = saved(namespace, "save_loop", loop)
    for event in before:
        loop.run([event])
        text = saved(namespace, "save_loop", loop)
    return in_pieces(text)


def load_and_run(namespace: Mapping[str, Any], pieces: Sequence[str], after: Sequence[Sequence[Any]]) -> list[str]:
    """Load a loop from what was saved with the notebook's `load_loop`; return what it does in the events after that."""
    return loaded(namespace, "load_loop", pieces, DispatchLoop).run(after)


# --- the variant -------------------------------------------------------------------------------------------------


def variant_story(draws: Draws) -> Variant:
    """Draw a model, a batch, workers, a trainer and a link, and tell their story."""
    base = draws.integer(3_000_000_000, 13_000_000_000)
    adapter = draws.integer(20_000_000, 200_000_000)
    sequences = draws.integer(32, 96)
    tokens = draws.integer(1_500, 5_000)
    kv_bytes = draws.choice((57_344, 65_536, 114_688, 131_072))
    activations = draws.integer(8, 28)
    batch = draws.integer(1_000_000, 4_000_000)
    workers = draws.integer(4, 12)
    worker_rate = draws.integer(2_000, 6_000)
    trainer_rate = draws.integer(20_000, 120_000)
    bandwidth = draws.choice((1.25, 2.5, 5))
    setup = draws.integer(5, 20) / 10
    every = draws.integer(2, 4)
    story = (
        f"A team trains an adapter of {adapter:,} parameters on a frozen base of {base:,}. Base and adapter are held "
        "in bfloat16 (2 bytes); a parameter of the adapter needs 14 bytes more for its gradient, its moments and its "
        "master copy. All of this is resident in every phase. While it rolls out, a card also holds the KV cache of "
        f"{sequences} sequences of {tokens:,} tokens, at {kv_bytes:,} bytes a token. While it trains, it holds "
        f"{activations} GiB of activations and logits instead. "
        f"A batch has {batch:,} tokens. {workers} workers roll out {worker_rate:,} tokens a second each, the trainer "
        f"takes {trainer_rate:,} tokens a second, and the two overlap as in an ideal pipeline. After every "
        f"{every}{'nd' if every == 2 else 'rd' if every == 3 else 'th'} update both stand still while all weights, "
        f"base and adapter, are sent to the engine: {setup} s of set-up, then {bandwidth} GB/s (decimal)."
    )
    return Variant(
        story,
        {
            "base_parameters": base,
            "adapter_parameters": adapter,
            "sequences": sequences,
            "tokens_per_sequence": tokens,
            "kv_bytes_per_token": kv_bytes,
            "activation_gib": activations,
            "batch_tokens": batch,
            "workers": workers,
            "worker_tokens_per_second": worker_rate,
            "trainer_tokens_per_second": trainer_rate,
            "bandwidth_gb_per_s": bandwidth,
            "setup_seconds": setup,
            "sync_every": every,
        },
    )
