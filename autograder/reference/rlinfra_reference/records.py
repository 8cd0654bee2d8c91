"""Roles, protocols and the rollout record: what happened in which order, and what a record must say of it.

A loop's protocol is read from the order of its events alone. A record is checked and an episode is projected as they
stand in a log: dictionaries of plain numbers, text and lists.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlinfra.given import require_count, require_nonnegative
from rlinfra.given.records import EVENT_KINDS, REQUIRED_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "Completion",
    "completion_mask_rows",
    "completion_token_mask",
    "project_completion",
    "protocol",
    "rollout_contract_errors",
]


@dataclass(frozen=True)
class Completion:
    """One completion out of a trajectory: the fields of a rollout record that the trajectory determines."""

    policy_version: int
    prompt_tokens: list[int]
    response_tokens: list[int]
    behavior_logprobs: list[float]
    reward: float
    stop_reason: str


# --- the protocol ------------------------------------------------------------------------------------------------


def protocol(trace: Sequence[Mapping[str, Any]]) -> str:
    """Return "asynchronous" where a rollout of a batch starts before the update on the batch before it has ended.

    Else "synchronous". An update ends with its last `consumed` event, and has not ended where there is none. Events
    may be listed in any order; their places and versions do not matter. Raises `ValueError` where the trace is empty,
    a kind is unknown, a time is negative or not finite or an end before its start, or a number is no count.
    """
    _require_trace(trace)
    updates = [event for event in trace if event["kind"] == "consumed"]
    rollouts = [event for event in trace if event["kind"] == "produced" and event["batch"] > 0]
    for rollout in rollouts:
        ends = [update["end"] for update in updates if update["batch"] == rollout["batch"] - 1]
        if rollout["start"] < max(ends, default=math.inf):
            return "asynchronous"
    return "synchronous"


def _require_trace(trace: Sequence[Mapping[str, Any]]) -> None:
    """Raise `ValueError` that names `trace` where an event makes no sense, or there is none."""
    if len(trace) == 0:
        raise ValueError("trace must hold at least one event")
    for event in trace:
        if event["kind"] not in EVENT_KINDS:
            raise ValueError(f"trace holds an event of the unknown kind {event['kind']!r}")
        require_nonnegative("a start in trace", event["start"])
        require_nonnegative("an end in trace", event["end"])
        if event["end"] < event["start"]:
            raise ValueError(f"trace holds an event that ends at {event['end']}, before it starts")
        if "batch" in event:
            require_count("a batch in trace", event["batch"])
        if "version" in event:
            require_count("a version in trace", event["version"])


# --- the mask ----------------------------------------------------------------------------------------------------


def completion_token_mask(tokens: Any, eos_ids: Sequence[int]) -> Any:
    """Return which tokens of a batch of padded completions the policy chose: all through the first EOS, inclusive.

    `tokens` is 2-D, a row a completion: a list of lists gives a list of lists of bools, a NumPy array an array of
    bools of the same shape. Raises `ValueError` where `tokens` is not 2-D or ragged, or an id is no count.
    """
    if not isinstance(eos_ids, (list, tuple, set, frozenset)) and not hasattr(eos_ids, "tolist"):
        raise ValueError(f"eos_ids must be a list of token ids, not {eos_ids!r}")
    if hasattr(tokens, "tolist"):
        import numpy as np  # noqa: PLC0415 - needed only by who hands in an array, and so has it

        if np.ndim(tokens) != 2:
            raise ValueError(f"tokens must have 2 dimensions, not {np.ndim(tokens)}")
        rows = completion_mask_rows(tokens.tolist(), list(eos_ids))
        return np.array(rows, dtype=bool).reshape(np.shape(tokens))
    if not isinstance(tokens, (list, tuple)) or not all(hasattr(row, "__len__") for row in tokens):
        raise ValueError("tokens must be a list of rows")
    return completion_mask_rows(tokens, list(eos_ids))


def completion_mask_rows(tokens: Sequence[Sequence[int]], eos_ids: Sequence[int]) -> list[list[bool]]:
    """Return the mask of `completion_token_mask` for a list of rows; raises as it does."""
    if len({len(row) for row in tokens}) > 1:
        raise ValueError("tokens must have rows of one length: pad them first")
    for row in tokens:
        for token in row:
            require_count("tokens", token)
    for eos_id in eos_ids:
        require_count("eos_ids", eos_id)
    mask = []
    for row in tokens:
        ends = [place for place, token in enumerate(row) if token in eos_ids]
        length = ends[0] + 1 if ends else len(row)
        mask.append([place < length for place in range(len(row))])
    return mask


# --- the contract ------------------------------------------------------------------------------------------------


def rollout_contract_errors(record: object) -> list[str]:
    """Return what is wrong with a rollout record, as "field: problem", each faulty field once; [] where nothing is.

    Never raises. The ten fields of `rlinfra.given.records.REQUIRED_FIELDS` are required; others are let be. No bool
    passes as a number. Log-probabilities are of response tokens, so that a misalignment is theirs.
    """
    if not isinstance(record, dict):
        return ["record: must be a dictionary"]
    problems = {field: _problem(field, record) for field in REQUIRED_FIELDS}
    return [f"{field}: {problem}" for field, problem in problems.items() if problem]


def _problem(field: str, record: dict[str, Any]) -> str:
    """Return what is wrong with a field, or ""."""
    if field not in record:
        return "is missing"
    value = record[field]
    match field:
        case "policy_version":
            return "" if _is_count(value) else "must be an integer, 0 or more"
        case "prompt_tokens" | "response_tokens":
            return "" if _are_tokens(value) else "must be a list of token ids, and hold at least one"
        case "behavior_logprobs":
            return _logprob_problem(value, record.get("response_tokens"))
        case "decoding":
            return "" if _is_decoding(value) else "must hold a temperature, 0 or more, and a top_p above 0, at most 1"
        case "reward":
            return "" if _is_reward(value) else "must be a finite number, or a dictionary of them that is not empty"
    return "" if isinstance(value, str) and len(value) > 0 else "must be text, and not empty"


def _is_count(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 0


def _is_finite_number(value: Any) -> bool:
    """Tell whether a value is a number other than NaN and infinity; an integer too large for a float is one."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_number and -math.inf < value < math.inf


def _are_tokens(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(_is_count(token) for token in value)


def _logprob_problem(value: Any, response_tokens: Any) -> str:
    if not isinstance(value, list) or not all(_is_finite_number(logp) and logp <= 0 for logp in value):
        return "must be a list of finite numbers, 0 or less"
    if isinstance(response_tokens, list) and len(value) != len(response_tokens):
        return f"holds {len(value)} for {len(response_tokens)} response tokens"
    return ""


def _is_decoding(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    temperature: Any = value.get("temperature")
    top_p: Any = value.get("top_p")
    return _is_finite_number(temperature) and temperature >= 0 and _is_finite_number(top_p) and 0 < top_p <= 1


def _is_reward(value: Any) -> bool:
    if isinstance(value, dict):
        return len(value) > 0 and all(_is_finite_number(part) for part in value.values())
    return _is_finite_number(value)


# --- the projection ----------------------------------------------------------------------------------------------


def project_completion(trajectory: Mapping[str, Any], turn: int, registry: Mapping[str, int]) -> Completion:
    """Return the completion of one turn of a trajectory.

    The prompt is everything before the turn's first sampled token, the response the turn's sampled tokens. The
    version is the number that the registry gives the turn's label; reward and stop reason are the turn's own. Raises
    `ValueError` that names `trajectory` where its lists do not align, `turn` where it is no count or has no sampled
    token or no label, and `registry` where it does not know the label or gives it no count.
    """
    per_token = ("token_ids", "policy_mask", "turn_ids", "behavior_logprobs")
    if len({len(trajectory[name]) for name in per_token}) > 1:
        raise ValueError(f"trajectory must have lists of one length: {', '.join(per_token)}")
    per_turn = ("policy_versions", "rewards", "stop_reasons")
    if len({len(trajectory[name]) for name in per_turn}) > 1:
        raise ValueError(f"trajectory must have lists of one length: {', '.join(per_turn)}")
    require_count("turn", turn)
    if turn >= len(trajectory["policy_versions"]):
        raise ValueError(f"turn {turn} has no policy version, reward and stop reason")
    mask = trajectory["policy_mask"]
    actions = [place for place, owner in enumerate(trajectory["turn_ids"]) if owner == turn and mask[place]]
    if not actions:
        raise ValueError(f"turn {turn} has no token that the policy sampled")
    label = trajectory["policy_versions"][turn]
    if label not in registry:
        raise ValueError(f"registry does not know the policy version {label!r}")
    require_count("registry", registry[label])
    return Completion(
        policy_version=registry[label],
        prompt_tokens=list(trajectory["token_ids"][: actions[0]]),
        response_tokens=[trajectory["token_ids"][place] for place in actions],
        behavior_logprobs=[trajectory["behavior_logprobs"][place] for place in actions],
        reward=trajectory["rewards"][turn],
        stop_reason=trajectory["stop_reasons"][turn],
    )
