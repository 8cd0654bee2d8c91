"""Attempts at the tasks of the topic `records`, but for the contract's, which are in `records_contract`."""

# --- protocol ----------------------------------------------------------------------------------------------------


def ties_overlap(trace):
    """Your answer counts a rollout that starts just when the update ends. Has the update ended at that moment?"""
    import math

    ends = {}
    for event in trace:
        if event["kind"] == "consumed":
            ends[event["batch"]] = max(ends.get(event["batch"], 0), event["end"])
    for event in trace:
        if event["kind"] == "produced" and event["batch"] > 0:
            if event["start"] <= ends.get(event["batch"] - 1, math.inf):
                return "asynchronous"
    return "synchronous"


def unfinished_update_ignored(trace):
    """Your answer passes over a batch whose update is not in the trace. Has that update ended before the next batch?"""
    ends = {}
    for event in trace:
        if event["kind"] == "consumed":
            ends[event["batch"]] = max(ends.get(event["batch"], 0), event["end"])
    for event in trace:
        if event["kind"] == "produced" and event["start"] < ends.get(event["batch"] - 1, 0):
            return "asynchronous"
    return "synchronous"


def last_event_of_a_batch(trace):
    """Your answer looks at one rollout a batch. May one of several workers start before the others?"""
    import math

    starts, ends = {}, {}
    for event in trace:
        if event["kind"] == "produced":
            starts[event["batch"]] = event["start"]
        if event["kind"] == "consumed":
            ends[event["batch"]] = max(ends.get(event["batch"], 0), event["end"])
    early = any(start < ends.get(batch - 1, math.inf) for batch, start in starts.items() if batch > 0)
    return "asynchronous" if early else "synchronous"


def first_update_of_a_batch(trace):
    """Your answer takes an update on a batch for the whole. What if the trainer goes over a batch in several steps?"""
    import math

    for event in trace:
        if event["kind"] == "produced" and event["batch"] > 0:
            before = [e["end"] for e in trace if e["kind"] == "consumed" and e["batch"] == event["batch"] - 1]
            if event["start"] < min(before, default=math.inf):
                return "asynchronous"
    return "synchronous"


def update_start_compared(trace):
    """Your answer compares with the start of the update. Are the new weights there before it ends?"""
    import math

    for event in trace:
        if event["kind"] == "produced" and event["batch"] > 0:
            before = [e["start"] for e in trace if e["kind"] == "consumed" and e["batch"] == event["batch"] - 1]
            if event["start"] < max(before, default=math.inf):
                return "asynchronous"
    return "synchronous"


def prompts_taken_for_rollouts(trace):
    """Your answer counts prompts that are prepared ahead. Does a policy take part in preparing a prompt?"""
    import math

    for event in trace:
        if event["kind"] in ("prepared", "produced") and event["batch"] > 0:
            before = [e["end"] for e in trace if e["kind"] == "consumed" and e["batch"] == event["batch"] - 1]
            if event["start"] < max(before, default=math.inf):
                return "asynchronous"
    return "synchronous"


def list_order_decides(trace):
    """Your answer follows the order in the list. Which entries tell when something happened?"""
    updated = set()
    for event in trace:
        if event["kind"] == "consumed":
            updated.add(event["batch"])
        if event["kind"] == "produced" and event["batch"] > 0 and event["batch"] - 1 not in updated:
            return "asynchronous"
    return "synchronous"


def any_overlap(trace):
    """Your answer looks for rollouts and updates that run at the same time. Of which two batches must they be?"""
    rollouts = [event for event in trace if event["kind"] == "produced"]
    updates = [event for event in trace if event["kind"] == "consumed"]
    overlap = any(r["start"] < u["end"] and u["start"] < r["end"] for r in rollouts for u in updates)
    return "asynchronous" if overlap else "synchronous"


def publication_awaited(trace):
    """Your answer waits for a publication after each update. Must new weights be published before a batch may start?"""
    import math

    loaded = {event["version"]: event["end"] for event in trace if event["kind"] == "published"}
    updates = [event for event in trace if event["kind"] == "consumed"]
    for event in trace:
        if event["kind"] == "produced" and event["batch"] > 0:
            versions = [u["version"] for u in updates if u["batch"] == event["batch"] - 1]
            if event["start"] < loaded.get(max(versions, default=None), math.inf):
                return "asynchronous"
    return "synchronous"


def version_gap(trace):
    """Your answer compares version numbers. Can a rollout use old weights although no update is running?"""
    old = any(event["kind"] == "produced" and event["version"] < event["batch"] for event in trace)
    return "asynchronous" if old else "synchronous"


def placement_decides(trace):
    """Your answer follows where the roles run. Would it change if the same events happened on one card?"""
    rollouts = {event["where"] for event in trace if event["kind"] == "produced"}
    updates = {event["where"] for event in trace if event["kind"] == "consumed"}
    return "asynchronous" if rollouts - updates else "synchronous"


def protocol_by_hand(trace):
    import math

    if len(trace) < 1:
        raise ValueError("an empty trace")
    ends = {}
    for event in trace:
        if event["kind"] not in ("prepared", "produced", "consumed", "published"):
            raise ValueError("unknown kind in trace")
        for name in ("start", "end"):
            time = event[name]
            if isinstance(time, bool) or not math.isfinite(time) or time < 0:
                raise ValueError(f"trace: {name} {time}")
        if event["start"] > event["end"]:
            raise ValueError("trace: an event ends before it starts")
        for name in ("batch", "version"):
            number = event.get(name, 0)
            if type(number) is not int or number < 0:
                raise ValueError(f"trace: {name} {number}")
        if event["kind"] == "consumed":
            ends[event["batch"]] = max(ends.get(event["batch"], 0), event["end"])
    for event in trace:
        if event["kind"] != "produced" or event["batch"] == 0:
            continue
        if event["batch"] - 1 not in ends or event["start"] < ends[event["batch"] - 1]:
            return "asynchronous"
    return "synchronous"


def protocol_by_earliest_start(trace):
    from rlinfra.given import require_count, require_nonnegative
    from rlinfra.given.records import EVENT_KINDS

    if not trace:
        raise ValueError("trace is empty")
    starts, ends = {}, {}
    for event in trace:
        if event["kind"] not in EVENT_KINDS:
            raise ValueError(f"trace: {event['kind']}")
        length = require_nonnegative("trace", event["end"]) - require_nonnegative("trace", event["start"])
        require_nonnegative("trace", length)
        for name in {"batch", "version"} & set(event):
            require_count("trace", event[name])
        if event["kind"] == "produced":
            starts.setdefault(event["batch"], []).append(event["start"])
        elif event["kind"] == "consumed":
            ends.setdefault(event["batch"], []).append(event["end"])
    waits = [batch - 1 in ends and max(ends[batch - 1]) <= min(starts[batch]) for batch in starts if batch >= 1]
    return "synchronous" if all(waits) else "asynchronous"


def protocol_numpy(trace):
    import numpy as np

    from rlinfra.given import require_count, require_nonnegative

    if not trace:
        raise ValueError("no trace")
    for event in trace:
        require_nonnegative("trace", event["start"])
        require_nonnegative("trace", event["end"])
        for name in ("batch", "version"):
            if name in event:
                require_count("trace", event[name])
        if event["kind"] not in ("prepared", "produced", "consumed", "published") or event["start"] > event["end"]:
            raise ValueError("trace")
    batches = 2 + max((event["batch"] for event in trace if "batch" in event), default=0)
    first, last = np.full(batches, np.inf), np.full(batches, -np.inf)
    for event in trace:
        if event["kind"] == "produced":
            first[event["batch"]] = min(first[event["batch"]], event["start"])
        if event["kind"] == "consumed":
            last[event["batch"]] = max(last[event["batch"]], event["end"])
    last[np.isneginf(last)] = np.inf
    early = (first[1:] < last[:-1]) & np.isfinite(first[1:])
    return str(np.where(early.any(), "asynchronous", "synchronous"))


# --- completion_token_mask ---------------------------------------------------------------------------------------


def eos_excluded(tokens, eos_ids):
    """Your mask stops before the EOS. Did the policy choose to stop, or did someone else?"""
    mask = []
    for row in tokens:
        ends = [place for place, token in enumerate(row) if token in eos_ids]
        length = ends[0] if ends else len(row)
        mask.append([place < length for place in range(len(row))])
    return mask


def through_the_last_eos(tokens, eos_ids):
    """Your mask runs through the last EOS of a row. If padding is the EOS token too, where did the completion end?"""
    mask = []
    for row in tokens:
        ends = [place for place, token in enumerate(row) if token in eos_ids]
        length = ends[-1] + 1 if ends else len(row)
        mask.append([place < length for place in range(len(row))])
    return mask


def one_eos_id_only(tokens, eos_ids):
    """Your mask knows only the first of the EOS ids. What ends a completion where a model has several?"""
    mask = []
    for row in tokens:
        length = row.index(eos_ids[0]) + 1 if eos_ids and eos_ids[0] in row else len(row)
        mask.append([place < length for place in range(len(row))])
    return mask


def eos_tokens_left_out(tokens, eos_ids):
    """Your mask leaves out EOS tokens and nothing else. What of the first EOS, and of other tokens after it?"""
    return [[token not in eos_ids for token in row] for row in tokens]


def no_eos_no_tokens(tokens, eos_ids):
    """Your mask is empty where a row has no EOS. Who chose the tokens of a completion that was cut at the limit?"""
    mask = []
    for row in tokens:
        ends = [place for place, token in enumerate(row) if token in eos_ids]
        length = ends[0] + 1 if ends else 0
        mask.append([place < length for place in range(len(row))])
    return mask


def cut_one_token_short(tokens, eos_ids):
    """Your mask drops the last token of a row without EOS. Is that token less chosen than the others?"""
    mask = []
    for row in tokens:
        length = len(row) - 1
        for place, token in enumerate(row):
            if token in eos_ids:
                length = place
                break
        mask.append([place <= length if length < len(row) - 1 else place < length for place in range(len(row))])
    return mask


def mask_loop(tokens, eos_ids):
    from rlinfra.given import require_count

    for eos_id in eos_ids:
        require_count("eos_ids", eos_id)
    mask = []
    for row in tokens:
        if len(row) != len(tokens[0]):
            raise ValueError("tokens: rows of different lengths")
        alive, flags = True, []
        for token in row:
            require_count("tokens", token)
            flags.append(alive)
            alive = alive and token not in eos_ids
        mask.append(flags)
    return mask


def mask_numpy(tokens, eos_ids):
    import numpy as np

    from rlinfra.given import require_count

    if any(len(row) != len(tokens[0]) for row in tokens):
        raise ValueError("tokens is ragged")
    for row in tokens:
        [require_count("tokens", token) for token in row]
    [require_count("eos_ids", eos_id) for eos_id in eos_ids]
    if not tokens:
        return []
    ended = np.isin(np.array(tokens, dtype=np.int64), np.array(eos_ids, dtype=np.int64))
    return (np.cumsum(ended, axis=1) - ended) == 0


def mask_of_ones(tokens, eos_ids):
    def bad(number):
        return type(number) is not int or number < 0

    if any(bad(token) for row in tokens for token in row) or len(set(map(len, tokens))) > 1:
        raise ValueError("tokens must be a full table of ids")
    if any(map(bad, eos_ids)):
        raise ValueError("eos_ids must be ids")
    lengths = [min((row.index(eos_id) + 1 for eos_id in eos_ids if eos_id in row), default=len(row)) for row in tokens]
    return tuple((1,) * length + (0,) * (len(row) - length) for row, length in zip(tokens, lengths, strict=True))


# --- project_completion ------------------------------------------------------------------------------------------


def episode_outcome_copied(trajectory, turn, registry):
    """Your reward is the outcome of the whole episode. What did the verifier give this turn?"""
    places = [p for p, t in enumerate(trajectory["turn_ids"]) if t == turn and trajectory["policy_mask"][p]]
    return {
        "policy_version": registry[trajectory["policy_versions"][turn]],
        "prompt_tokens": trajectory["token_ids"][: places[0]],
        "response_tokens": [trajectory["token_ids"][p] for p in places],
        "behavior_logprobs": [trajectory["behavior_logprobs"][p] for p in places],
        "reward": trajectory["outcome"],
        "stop_reason": trajectory["stop_reasons"][turn],
    }


def last_stop_reason(trajectory, turn, registry):
    """Your stop reason is the last turn's. Why did the completion of this turn end?"""
    places = [p for p, t in enumerate(trajectory["turn_ids"]) if t == turn and trajectory["policy_mask"][p]]
    return {
        "policy_version": registry[trajectory["policy_versions"][turn]],
        "prompt_tokens": trajectory["token_ids"][: places[0]],
        "response_tokens": [trajectory["token_ids"][p] for p in places],
        "behavior_logprobs": [trajectory["behavior_logprobs"][p] for p in places],
        "reward": trajectory["rewards"][turn],
        "stop_reason": trajectory["stop_reasons"][-1],
    }


def version_coerced(trajectory, turn, registry):
    """Your version is made of the digits in its label. Which number did the run give to these weights?"""
    places = [p for p, t in enumerate(trajectory["turn_ids"]) if t == turn and trajectory["policy_mask"][p]]
    digits = "".join(letter for letter in trajectory["policy_versions"][turn] if letter.isdigit())
    return {
        "policy_version": int(digits or 0),
        "prompt_tokens": trajectory["token_ids"][: places[0]],
        "response_tokens": [trajectory["token_ids"][p] for p in places],
        "behavior_logprobs": [trajectory["behavior_logprobs"][p] for p in places],
        "reward": trajectory["rewards"][turn],
        "stop_reason": trajectory["stop_reasons"][turn],
    }


def version_by_place(trajectory, turn, registry):
    """Your version is a place in a list and not the registry's number. What does the registry say of this label?"""
    places = [p for p, t in enumerate(trajectory["turn_ids"]) if t == turn and trajectory["policy_mask"][p]]
    return {
        "policy_version": list(registry).index(trajectory["policy_versions"][turn]),
        "prompt_tokens": trajectory["token_ids"][: places[0]],
        "response_tokens": [trajectory["token_ids"][p] for p in places],
        "behavior_logprobs": [trajectory["behavior_logprobs"][p] for p in places],
        "reward": trajectory["rewards"][turn],
        "stop_reason": trajectory["stop_reasons"][turn],
    }


def context_taken_for_actions(trajectory, turn, registry):
    """Your response holds tokens that the policy did not choose. Which list tells who wrote a token?"""
    places = [p for p, t in enumerate(trajectory["turn_ids"]) if t == turn]
    return {
        "policy_version": registry[trajectory["policy_versions"][turn]],
        "prompt_tokens": trajectory["token_ids"][: places[0]],
        "response_tokens": [trajectory["token_ids"][p] for p in places],
        "behavior_logprobs": [trajectory["behavior_logprobs"][p] for p in places],
        "reward": trajectory["rewards"][turn],
        "stop_reason": trajectory["stop_reasons"][turn],
    }


def prompt_of_this_turn_only(trajectory, turn, registry):
    """Your prompt begins with this turn. What else did the policy have before it when it wrote the completion?"""
    owned = [p for p, t in enumerate(trajectory["turn_ids"]) if t == turn]
    places = [p for p in owned if trajectory["policy_mask"][p]]
    return {
        "policy_version": registry[trajectory["policy_versions"][turn]],
        "prompt_tokens": trajectory["token_ids"][owned[0] : places[0]],
        "response_tokens": [trajectory["token_ids"][p] for p in places],
        "behavior_logprobs": [trajectory["behavior_logprobs"][p] for p in places],
        "reward": trajectory["rewards"][turn],
        "stop_reason": trajectory["stop_reasons"][turn],
    }


def prompt_of_earlier_turns_only(trajectory, turn, registry):
    """Your prompt ends with the turn before. Did this turn bring tokens of its own before the policy wrote?"""
    owned = [p for p, t in enumerate(trajectory["turn_ids"]) if t == turn]
    places = [p for p in owned if trajectory["policy_mask"][p]]
    return {
        "policy_version": registry[trajectory["policy_versions"][turn]],
        "prompt_tokens": trajectory["token_ids"][: owned[0]],
        "response_tokens": [trajectory["token_ids"][p] for p in places],
        "behavior_logprobs": [trajectory["behavior_logprobs"][p] for p in places],
        "reward": trajectory["rewards"][turn],
        "stop_reason": trajectory["stop_reasons"][turn],
    }


def own_words_left_out_of_the_prompt(trajectory, turn, registry):
    """Your prompt lacks what the policy wrote in earlier turns. Did it read those tokens again in this turn?"""
    places = [p for p, t in enumerate(trajectory["turn_ids"]) if t == turn and trajectory["policy_mask"][p]]
    return {
        "policy_version": registry[trajectory["policy_versions"][turn]],
        "prompt_tokens": [trajectory["token_ids"][p] for p in range(places[0]) if not trajectory["policy_mask"][p]],
        "response_tokens": [trajectory["token_ids"][p] for p in places],
        "behavior_logprobs": [trajectory["behavior_logprobs"][p] for p in places],
        "reward": trajectory["rewards"][turn],
        "stop_reason": trajectory["stop_reasons"][turn],
    }


def projection_with_validators(trajectory, turn, registry):
    from rlinfra.given import require_count

    for names in (
        ("token_ids", "policy_mask", "turn_ids", "behavior_logprobs"),
        ("policy_versions", "rewards", "stop_reasons"),
    ):
        if len({len(trajectory[name]) for name in names}) != 1:
            raise ValueError("trajectory: lists of different lengths")
    require_count("turn", turn)
    prompt, response, logps = [], [], []
    for token, mine, owner, logp in zip(
        trajectory["token_ids"],
        trajectory["policy_mask"],
        trajectory["turn_ids"],
        trajectory["behavior_logprobs"],
        strict=True,
    ):
        if owner == turn and mine == 1:
            response.append(token)
            logps.append(logp)
        elif not response:
            prompt.append(token)
    if not response or turn >= len(trajectory["rewards"]):
        raise ValueError(f"there is no turn {turn}")
    label = trajectory["policy_versions"][turn]
    if label not in registry:
        raise ValueError(f"{label} is not in the registry")
    return {
        "policy_version": require_count("registry", registry[label]),
        "prompt_tokens": prompt,
        "response_tokens": response,
        "behavior_logprobs": logps,
        "reward": trajectory["rewards"][turn],
        "stop_reason": trajectory["stop_reasons"][turn],
    }


def projection_by_slices(trajectory, turn, registry):
    tokens, mask = trajectory["token_ids"], trajectory["policy_mask"]
    turns, logps = trajectory["turn_ids"], trajectory["behavior_logprobs"]
    labels, rewards, reasons = trajectory["policy_versions"], trajectory["rewards"], trajectory["stop_reasons"]
    if not len(tokens) == len(mask) == len(turns) == len(logps) or not len(labels) == len(rewards) == len(reasons):
        raise ValueError("the trajectory does not align")
    if type(turn) is not int or not 0 <= turn < len(labels) or (turn, 1) not in list(zip(turns, mask, strict=True)):
        raise ValueError("turn is not there")
    version = registry.get(labels[turn])
    if type(version) is not int or version < 0:
        raise ValueError("registry has no number for this version")
    first = list(zip(turns, mask, strict=True)).index((turn, 1))
    last = first
    while last < len(tokens) and (turns[last], mask[last]) == (turn, 1):
        last += 1
    return {
        "policy_version": float(version),
        "prompt_tokens": tuple(tokens[:first]),
        "response_tokens": tuple(tokens[first:last]),
        "behavior_logprobs": tuple(logps[first:last]),
        "reward": rewards[turn],
        "stop_reason": reasons[turn],
    }


def projection_numpy(trajectory, turn, registry):
    import numpy as np

    from rlinfra.given import require_count

    tokens = np.array(trajectory["token_ids"])
    for name in ("policy_mask", "turn_ids", "behavior_logprobs"):
        if len(trajectory[name]) != tokens.size:
            raise ValueError(f"trajectory: {name}")
    if len({len(trajectory[name]) for name in ("policy_versions", "rewards", "stop_reasons")}) > 1:
        raise ValueError("trajectory: turns")
    require_count("turn", turn)
    chosen = (np.array(trajectory["turn_ids"]) == turn) & np.array(trajectory["policy_mask"], dtype=bool)
    if not chosen.any() or turn >= len(trajectory["policy_versions"]):
        raise ValueError(f"turn {turn}")
    try:
        version = require_count("registry", registry[trajectory["policy_versions"][turn]])
    except KeyError as error:
        raise ValueError(f"registry lacks {error}") from error
    return {
        "policy_version": np.int64(version),
        "prompt_tokens": tokens[: chosen.argmax()],
        "response_tokens": tokens[chosen],
        "behavior_logprobs": np.array(trajectory["behavior_logprobs"], dtype=float)[chosen],
        "reward": trajectory["rewards"][turn],
        "stop_reason": trajectory["stop_reasons"][turn],
        "turn": turn,
    }
