"""The checkpoints topic: a training loop in miniature to save and restore, its drill, a manifest, and the variant.

The loop computes the same on every platform and Python version: of its generator it uses `random()` alone, whose
stream Python guarantees, and it adds up floats one by one, since Python 3.12 changed how `sum` rounds them.
"""

from __future__ import annotations

import math
import random
from functools import cache
from typing import TYPE_CHECKING, Any

from ..draws import Draws
from ..variants import Variant
from .handover import in_pieces, loaded, saved

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

CHECKPOINT_PARTS = (
    "weights",
    "optimizer_state",
    "lr_scheduler",
    "progress",
    "rng_states",
    "dataset_cursor",
    "curriculum",
    "reward_normalization",
    "tokenizer",
    "environment",
    "decoding",
    "rollout_schema",
    "layout",
)

_PROMPTS = ((1.0, 0.5), (0.5, -1.0), (-0.75, 0.25), (0.25, 1.25))


def example_manifest() -> dict[str, Any]:
    """Return a new manifest of a complete checkpoint."""
    return {
        "weights": {"model": "step-4000/model.safetensors", "adapter": "step-4000/adapter.safetensors"},
        "optimizer_state": "step-4000/adam.safetensors",
        "lr_scheduler": {"kind": "cosine", "last_step": 4000, "total_steps": 20_000},
        "progress": {"global_step": 4000, "policy_version": 1000},
        "rng_states": {"python": [3, 1812433255, 624], "engine": [17, 42]},
        "dataset_cursor": 128_000,
        "curriculum": {"level": 2},
        "reward_normalization": {"mean": 0.31, "std": 0.46},
        "tokenizer": {"tokenizer_revision": "9f2c1e", "chat_template_revision": "b07a44"},
        "environment": {"verifier_version": "arith-v4", "environment_version": "sandbox-2.1"},
        "decoding": {"temperature": 0.8, "top_p": 1.0},
        "rollout_schema": "record-v3",
        "layout": {"ranks": 8, "queue_recovery": "keep"},
    }


class ToyLoop:
    """A reinforcement-learning loop in miniature: four prompts, a policy with two weights, Adam, a rollout queue.

    Every attribute may be read and set. `ToyLoop(seed)` is the loop before its first event:

    - `seed`: an integer, from which the order of the prompts in each pass over the data follows;
    - `weights`: two floats, the trainer's policy;
    - `moments`: Adam's, `{"first": [float, float], "second": [float, float]}`;
    - `learning_rate`: a float, lowered by the scheduler after each reward below the mean;
    - `step`: how many optimizer steps were taken;
    - `policy_version`, `published_weights`: the policy that rollouts are made with, and its number;
    - `rng`: a `random.Random`, one draw a rollout;
    - `cursor`: how many prompts were taken from the data;
    - `success`: a running success rate for each prompt, `{0: float, 1: float, 2: float, 3: float}`;
    - `reward_mean`: the running mean that a reward is compared with;
    - `queue`: the rollouts that wait for their reward, oldest first, as
      `{"prompt": int, "version": int, "action": float}`.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.weights = [0.2, -0.1]
        self.moments = {"first": [0.0, 0.0], "second": [0.0, 0.0]}
        self.learning_rate = 0.1
        self.step = 0
        self.policy_version = 0
        self.published_weights = [0.2, -0.1]
        self.rng = random.Random(seed)  # noqa: S311 - no secret is drawn
        self.cursor = 0
        self.success = dict.fromkeys(range(len(_PROMPTS)), 0.5)
        self.reward_mean = 0.5
        self.queue: list[dict[str, Any]] = []

    def run(self, events: Iterable[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        """Run the loop through events and return what was to be seen: its rollouts and its updates, in order.

        An event is what comes from outside, `{"arrivals": int, "reward": float or None, "publish": bool}`: so many
        rollouts are started; the oldest waiting rollout gets this reward and is trained on; the weights are published.
        """
        rollouts, updates = [], []
        for event in events:
            rollouts += [self._roll_out() for _ in range(event["arrivals"])]
            if event["reward"] is not None and self.queue:
                updates.append(self._update(event["reward"]))
            if event["publish"]:
                self.policy_version += 1
                self.published_weights = list(self.weights)
        return {"rollouts": rollouts, "updates": updates}

    def _roll_out(self) -> dict[str, Any]:
        taken_passes, place = divmod(self.cursor, len(_PROMPTS))
        prompt = _order(self.seed, taken_passes)[place]
        self.cursor += 1
        action = _dot(self.published_weights, _PROMPTS[prompt]) + 2 * self.rng.random() - 1
        rollout = {"prompt": prompt, "version": self.policy_version, "action": action}
        self.queue.append(rollout)
        return dict(rollout)

    def _update(self, reward: float) -> dict[str, Any]:
        """Take one Adam step on the oldest rollout; prompts that rarely succeed and fresh rollouts count more."""
        rollout = self.queue.pop(0)
        prompt, lag = rollout["prompt"], self.policy_version - rollout["version"]
        success = self.success.get(prompt, 0.5)
        advantage = (reward - self.reward_mean) * (1.5 - success)
        error = rollout["action"] - _dot(self.weights, _PROMPTS[prompt])
        self.step += 1
        for place, feature in enumerate(_PROMPTS[prompt]):
            self._adam(place, -advantage * error * feature * 0.8**lag)
        report = {
            "step": self.step,
            "prompt": prompt,
            "lag": lag,
            "advantage": advantage,
            "learning_rate": self.learning_rate,
            "loss": advantage * error * error / 2,
            "weights": list(self.weights),
        }
        if reward < self.reward_mean:
            self.learning_rate *= 0.9
        self.reward_mean += 0.1 * (reward - self.reward_mean)
        self.success[prompt] = success + 0.2 * (reward - success)
        return report

    def _adam(self, place: int, gradient: float) -> None:
        first, second = self.moments["first"], self.moments["second"]
        first[place] = 0.9 * first[place] + 0.1 * gradient
        second[place] = 0.99 * second[place] + 0.01 * gradient * gradient
        mean, square = first[place] / (1 - 0.9**self.step), second[place] / (1 - 0.99**self.step)
        self.weights[place] -= self.learning_rate * mean / (math.sqrt(square) + 1e-8)


@cache
def _order(seed: int, taken_passes: int) -> tuple[int, ...]:
    """Return the order of the prompts in one pass over the data."""
    return tuple(Draws("toy loop", str(seed), str(taken_passes)).shuffled(range(len(_PROMPTS))))


def _dot(weights: Sequence[float], features: Sequence[float]) -> float:
    return weights[0] * features[0] + weights[1] * features[1]


# --- the recovery drill ------------------------------------------------------------------------------------------


def run_and_snapshot(namespace: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Run a new loop with `before["seed"]` through `before["events"]`; return the notebook's snapshot, in pieces."""
    loop = ToyLoop(before["seed"])
    loop.run(before["events"])
    return in_pieces(saved(namespace, "snapshot", loop))


def restore_and_run(
    namespace: Mapping[str, Any], pieces: Sequence[str], after: Sequence[Mapping[str, Any]]
) -> dict[str, list[dict[str, Any]]]:
    """Restore a loop from a snapshot with the notebook's function; return its control batch, `run(after)`."""
    return loaded(namespace, "restore", pieces, ToyLoop).run(after)


# --- the variant -------------------------------------------------------------------------------------------------


def variant_story(draws: Draws) -> Variant:
    """Draw a job's state, its storage and its machines, and tell their story."""
    state_bytes = draws.integer(600_000_000_000, 1_499_999_999_999)
    bandwidth = draws.integer(25, 50) / 10
    machines = draws.integer(64, 512)
    machine_days = draws.integer(100, 300)
    present = draws.integer(15, 240)
    story = (
        f"A training job keeps {state_bytes:,} bytes of state. It writes them to storage at {bandwidth} GB/s (decimal) "
        f"and stands still meanwhile. It runs on {machines} machines. A machine fails every {machine_days} days on "
        "average, independently of the others, and the failure of any of them stops the job. At present the team "
        f"writes a checkpoint after every {present} minutes of work."
    )
    return Variant(
        story,
        {
            "state_bytes": state_bytes,
            "bandwidth_gb_per_s": bandwidth,
            "machines": machines,
            "machine_mtbf_days": machine_days,
            "present_interval_minutes": present,
        },
    )
