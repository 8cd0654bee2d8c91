"""Attempts at `rollout_contract_errors`, in a module of their own, since each walks all ten fields of a record.

Each mistake is `contract_by_table` with one rule left out or overdone.
"""


def bools_pass(record):
    """Your list lets True and False pass as numbers. To isinstance a bool is an int: how do you tell them apart?"""
    from math import isfinite

    def number(*values):
        return all(isinstance(x, (int, float)) and isfinite(x) for x in values)

    def count(*values):
        return all(isinstance(x, int) and x >= 0 for x in values)

    if not isinstance(record, dict):
        return ["record: is no dictionary"]
    reward, response, logps = (record.get(name) for name in ("reward", "response_tokens", "behavior_logprobs"))
    parts = list(reward.values()) if isinstance(reward, dict) else [reward]
    decoding = record.get("decoding") if isinstance(record.get("decoding"), dict) else {}
    temperature, top_p = decoding.get("temperature"), decoding.get("top_p")
    right = {
        "policy_version": count(record.get("policy_version")),
        "behavior_logprobs": isinstance(logps, list) and number(*logps) and all(x <= 0 for x in logps),
        "decoding": number(temperature, top_p) and temperature >= 0 and 0 < top_p <= 1,
        "reward": parts != [] and number(*parts),
    }
    for name in ("sample_id", "prompt_id", "stop_reason", "verifier_version"):
        right[name] = isinstance(record.get(name), str) and record[name] != ""
    for name in ("prompt_tokens", "response_tokens"):
        right[name] = isinstance(record.get(name), list) and record[name] != [] and count(*record[name])
    if right["behavior_logprobs"] and isinstance(response, list):
        right["behavior_logprobs"] = len(logps) == len(response)
    return [f"{name}: is missing or wrong" for name, fits in right.items() if not fits]


def nan_passes(record):
    """Your list lets NaN or infinity pass. Which comparison is true of NaN, and which numbers are finite?"""

    def number(*values):
        return all(type(x) in (int, float) for x in values)

    def count(*values):
        return all(type(x) is int and x >= 0 for x in values)

    if not isinstance(record, dict):
        return ["record: is no dictionary"]
    reward, response, logps = (record.get(name) for name in ("reward", "response_tokens", "behavior_logprobs"))
    parts = list(reward.values()) if isinstance(reward, dict) else [reward]
    decoding = record.get("decoding") if isinstance(record.get("decoding"), dict) else {}
    temperature, top_p = decoding.get("temperature"), decoding.get("top_p")
    right = {
        "policy_version": count(record.get("policy_version")),
        "behavior_logprobs": isinstance(logps, list) and number(*logps) and not any(x > 0 for x in logps),
        "decoding": number(temperature, top_p) and temperature >= 0 and 0 < top_p <= 1,
        "reward": parts != [] and number(*parts),
    }
    for name in ("sample_id", "prompt_id", "stop_reason", "verifier_version"):
        right[name] = isinstance(record.get(name), str) and record[name] != ""
    for name in ("prompt_tokens", "response_tokens"):
        right[name] = isinstance(record.get(name), list) and record[name] != [] and count(*record[name])
    if right["behavior_logprobs"] and isinstance(response, list):
        right["behavior_logprobs"] = len(logps) == len(response)
    return [f"{name}: is missing or wrong" for name, fits in right.items() if not fits]


def positive_logprob_passes(record):
    """Your list lets a log-probability above 0 pass. Which probability would that be?"""
    from math import isfinite

    def number(*values):
        return all(type(x) in (int, float) and isfinite(x) for x in values)

    def count(*values):
        return all(type(x) is int and x >= 0 for x in values)

    if not isinstance(record, dict):
        return ["record: is no dictionary"]
    reward, response, logps = (record.get(name) for name in ("reward", "response_tokens", "behavior_logprobs"))
    parts = list(reward.values()) if isinstance(reward, dict) else [reward]
    decoding = record.get("decoding") if isinstance(record.get("decoding"), dict) else {}
    temperature, top_p = decoding.get("temperature"), decoding.get("top_p")
    right = {
        "policy_version": count(record.get("policy_version")),
        "behavior_logprobs": isinstance(logps, list) and number(*logps),
        "decoding": number(temperature, top_p) and temperature >= 0 and 0 < top_p <= 1,
        "reward": parts != [] and number(*parts),
    }
    for name in ("sample_id", "prompt_id", "stop_reason", "verifier_version"):
        right[name] = isinstance(record.get(name), str) and record[name] != ""
    for name in ("prompt_tokens", "response_tokens"):
        right[name] = isinstance(record.get(name), list) and record[name] != [] and count(*record[name])
    if right["behavior_logprobs"] and isinstance(response, list):
        right["behavior_logprobs"] = len(logps) == len(response)
    return [f"{name}: is missing or wrong" for name, fits in right.items() if not fits]


def misalignment_unnoticed(record):
    """Your list does not notice two lists of different lengths. Which token does a log-probability belong to then?"""
    from math import isfinite

    def number(*values):
        return all(type(x) in (int, float) and isfinite(x) for x in values)

    def count(*values):
        return all(type(x) is int and x >= 0 for x in values)

    if not isinstance(record, dict):
        return ["record: is no dictionary"]
    reward, logps = record.get("reward"), record.get("behavior_logprobs")
    parts = list(reward.values()) if isinstance(reward, dict) else [reward]
    decoding = record.get("decoding") if isinstance(record.get("decoding"), dict) else {}
    temperature, top_p = decoding.get("temperature"), decoding.get("top_p")
    right = {
        "policy_version": count(record.get("policy_version")),
        "behavior_logprobs": isinstance(logps, list) and number(*logps) and all(x <= 0 for x in logps),
        "decoding": number(temperature, top_p) and temperature >= 0 and 0 < top_p <= 1,
        "reward": parts != [] and number(*parts),
    }
    for name in ("sample_id", "prompt_id", "stop_reason", "verifier_version"):
        right[name] = isinstance(record.get(name), str) and record[name] != ""
    for name in ("prompt_tokens", "response_tokens"):
        right[name] = isinstance(record.get(name), list) and record[name] != [] and count(*record[name])

    return [f"{name}: is missing or wrong" for name, fits in right.items() if not fits]


def misalignment_blamed_on_both(record):
    """Your list blames two fields for one misalignment. Which of the two does the notebook ask for?"""
    from math import isfinite

    def number(*values):
        return all(type(x) in (int, float) and isfinite(x) for x in values)

    def count(*values):
        return all(type(x) is int and x >= 0 for x in values)

    if not isinstance(record, dict):
        return ["record: is no dictionary"]
    reward, response, logps = (record.get(name) for name in ("reward", "response_tokens", "behavior_logprobs"))
    parts = list(reward.values()) if isinstance(reward, dict) else [reward]
    decoding = record.get("decoding") if isinstance(record.get("decoding"), dict) else {}
    temperature, top_p = decoding.get("temperature"), decoding.get("top_p")
    right = {
        "policy_version": count(record.get("policy_version")),
        "behavior_logprobs": isinstance(logps, list) and number(*logps) and all(x <= 0 for x in logps),
        "decoding": number(temperature, top_p) and temperature >= 0 and 0 < top_p <= 1,
        "reward": parts != [] and number(*parts),
    }
    for name in ("sample_id", "prompt_id", "stop_reason", "verifier_version"):
        right[name] = isinstance(record.get(name), str) and record[name] != ""
    for name in ("prompt_tokens", "response_tokens"):
        right[name] = isinstance(record.get(name), list) and record[name] != [] and count(*record[name])
    if right["behavior_logprobs"] and isinstance(response, list) and len(logps) != len(response):
        right["behavior_logprobs"] = right["response_tokens"] = False
    return [f"{name}: is missing or wrong" for name, fits in right.items() if not fits]


def missing_named_twice(record):
    """Your list names a missing field twice: as missing and as wrong. How often may a faulty field stand there?"""
    from math import isfinite

    def number(*values):
        return all(type(x) in (int, float) and isfinite(x) for x in values)

    def count(*values):
        return all(type(x) is int and x >= 0 for x in values)

    if not isinstance(record, dict):
        return ["record: is no dictionary"]
    reward, response, logps = (record.get(name) for name in ("reward", "response_tokens", "behavior_logprobs"))
    parts = list(reward.values()) if isinstance(reward, dict) else [reward]
    decoding = record.get("decoding") if isinstance(record.get("decoding"), dict) else {}
    temperature, top_p = decoding.get("temperature"), decoding.get("top_p")
    right = {
        "policy_version": count(record.get("policy_version")),
        "behavior_logprobs": isinstance(logps, list) and number(*logps) and all(x <= 0 for x in logps),
        "decoding": number(temperature, top_p) and temperature >= 0 and 0 < top_p <= 1,
        "reward": parts != [] and number(*parts),
    }
    for name in ("sample_id", "prompt_id", "stop_reason", "verifier_version"):
        right[name] = isinstance(record.get(name), str) and record[name] != ""
    for name in ("prompt_tokens", "response_tokens"):
        right[name] = isinstance(record.get(name), list) and record[name] != [] and count(*record[name])
    if right["behavior_logprobs"] and isinstance(response, list):
        right["behavior_logprobs"] = len(logps) == len(response)
    missing = [f"{name}: is missing" for name in right if name not in record]
    return missing + [f"{name}: is wrong" for name, fits in right.items() if not fits]


def first_fault_only(record):
    """Your list ends with the first fault. Who repairs a record should see all of them: do you return too early?"""
    from math import isfinite

    def number(*values):
        return all(type(x) in (int, float) and isfinite(x) for x in values)

    def count(*values):
        return all(type(x) is int and x >= 0 for x in values)

    if not isinstance(record, dict):
        return ["record: is no dictionary"]
    reward, response, logps = (record.get(name) for name in ("reward", "response_tokens", "behavior_logprobs"))
    parts = list(reward.values()) if isinstance(reward, dict) else [reward]
    decoding = record.get("decoding") if isinstance(record.get("decoding"), dict) else {}
    temperature, top_p = decoding.get("temperature"), decoding.get("top_p")
    right = {
        "policy_version": count(record.get("policy_version")),
        "behavior_logprobs": isinstance(logps, list) and number(*logps) and all(x <= 0 for x in logps),
        "decoding": number(temperature, top_p) and temperature >= 0 and 0 < top_p <= 1,
        "reward": parts != [] and number(*parts),
    }
    for name in ("sample_id", "prompt_id", "stop_reason", "verifier_version"):
        right[name] = isinstance(record.get(name), str) and record[name] != ""
    for name in ("prompt_tokens", "response_tokens"):
        right[name] = isinstance(record.get(name), list) and record[name] != [] and count(*record[name])
    if right["behavior_logprobs"] and isinstance(response, list):
        right["behavior_logprobs"] = len(logps) == len(response)
    return next(([f"{name}: is missing or wrong"] for name, fits in right.items() if not fits), [])


def empty_tokens_pass(record):
    """Your list lets a list without a token pass. What would the policy have read, or chosen, in such a record?"""
    from math import isfinite

    def number(*values):
        return all(type(x) in (int, float) and isfinite(x) for x in values)

    def count(*values):
        return all(type(x) is int and x >= 0 for x in values)

    if not isinstance(record, dict):
        return ["record: is no dictionary"]
    reward, response, logps = (record.get(name) for name in ("reward", "response_tokens", "behavior_logprobs"))
    parts = list(reward.values()) if isinstance(reward, dict) else [reward]
    decoding = record.get("decoding") if isinstance(record.get("decoding"), dict) else {}
    temperature, top_p = decoding.get("temperature"), decoding.get("top_p")
    right = {
        "policy_version": count(record.get("policy_version")),
        "behavior_logprobs": isinstance(logps, list) and number(*logps) and all(x <= 0 for x in logps),
        "decoding": number(temperature, top_p) and temperature >= 0 and 0 < top_p <= 1,
        "reward": parts != [] and number(*parts),
    }
    for name in ("sample_id", "prompt_id", "stop_reason", "verifier_version"):
        right[name] = isinstance(record.get(name), str) and record[name] != ""
    for name in ("prompt_tokens", "response_tokens"):
        right[name] = isinstance(record.get(name), list) and count(*record[name])
    if right["behavior_logprobs"] and isinstance(response, list):
        right["behavior_logprobs"] = len(logps) == len(response)
    return [f"{name}: is missing or wrong" for name, fits in right.items() if not fits]


def zero_taken_for_missing(record):
    """Your list takes a 0 for a missing value. How do you tell “not there” from “there, and 0”?"""
    from math import isfinite

    def number(*values):
        return all(type(x) in (int, float) and isfinite(x) for x in values)

    def count(*values):
        return all(type(x) is int and x >= 0 for x in values)

    if not isinstance(record, dict):
        return ["record: is no dictionary"]
    reward, response, logps = (record.get(name) for name in ("reward", "response_tokens", "behavior_logprobs"))
    parts = list(reward.values()) if isinstance(reward, dict) else [reward]
    decoding = record.get("decoding") if isinstance(record.get("decoding"), dict) else {}
    temperature, top_p = decoding.get("temperature"), decoding.get("top_p")
    right = {
        "policy_version": count(record.get("policy_version")),
        "behavior_logprobs": isinstance(logps, list) and number(*logps) and all(x <= 0 for x in logps),
        "decoding": number(temperature, top_p) and temperature >= 0 and 0 < top_p <= 1,
        "reward": parts != [] and number(*parts),
    }
    for name in ("sample_id", "prompt_id", "stop_reason", "verifier_version"):
        right[name] = isinstance(record.get(name), str) and record[name] != ""
    for name in ("prompt_tokens", "response_tokens"):
        right[name] = isinstance(record.get(name), list) and record[name] != [] and count(*record[name])
    if right["behavior_logprobs"] and isinstance(response, list):
        right["behavior_logprobs"] = len(logps) == len(response)
    return [f"{name}: is missing or wrong" for name, fits in right.items() if not (record.get(name) and fits)]


def any_decoding_passes(record):
    """Your list accepts any dictionary for decoding. Could you recompute a behaviour probability from it?"""
    from math import isfinite

    def number(*values):
        return all(type(x) in (int, float) and isfinite(x) for x in values)

    def count(*values):
        return all(type(x) is int and x >= 0 for x in values)

    if not isinstance(record, dict):
        return ["record: is no dictionary"]
    reward, response, logps = (record.get(name) for name in ("reward", "response_tokens", "behavior_logprobs"))
    parts = list(reward.values()) if isinstance(reward, dict) else [reward]
    right = {
        "policy_version": count(record.get("policy_version")),
        "behavior_logprobs": isinstance(logps, list) and number(*logps) and all(x <= 0 for x in logps),
        "decoding": isinstance(record.get("decoding"), dict),
        "reward": parts != [] and number(*parts),
    }
    for name in ("sample_id", "prompt_id", "stop_reason", "verifier_version"):
        right[name] = isinstance(record.get(name), str) and record[name] != ""
    for name in ("prompt_tokens", "response_tokens"):
        right[name] = isinstance(record.get(name), list) and record[name] != [] and count(*record[name])
    if right["behavior_logprobs"] and isinstance(response, list):
        right["behavior_logprobs"] = len(logps) == len(response)
    return [f"{name}: is missing or wrong" for name, fits in right.items() if not fits]


def reward_parts_refused(record):
    """Your list refuses a reward that is given in parts. Which two forms of a reward does the contract allow?"""
    from math import isfinite

    def number(*values):
        return all(type(x) in (int, float) and isfinite(x) for x in values)

    def count(*values):
        return all(type(x) is int and x >= 0 for x in values)

    if not isinstance(record, dict):
        return ["record: is no dictionary"]
    reward, response, logps = (record.get(name) for name in ("reward", "response_tokens", "behavior_logprobs"))

    decoding = record.get("decoding") if isinstance(record.get("decoding"), dict) else {}
    temperature, top_p = decoding.get("temperature"), decoding.get("top_p")
    right = {
        "policy_version": count(record.get("policy_version")),
        "behavior_logprobs": isinstance(logps, list) and number(*logps) and all(x <= 0 for x in logps),
        "decoding": number(temperature, top_p) and temperature >= 0 and 0 < top_p <= 1,
        "reward": number(reward),
    }
    for name in ("sample_id", "prompt_id", "stop_reason", "verifier_version"):
        right[name] = isinstance(record.get(name), str) and record[name] != ""
    for name in ("prompt_tokens", "response_tokens"):
        right[name] = isinstance(record.get(name), list) and record[name] != [] and count(*record[name])
    if right["behavior_logprobs"] and isinstance(response, list):
        right["behavior_logprobs"] = len(logps) == len(response)
    return [f"{name}: is missing or wrong" for name, fits in right.items() if not fits]


def contract_by_table(record):
    from math import isfinite

    def number(*values):
        return all(type(x) in (int, float) and isfinite(x) for x in values)

    def count(*values):
        return all(type(x) is int and x >= 0 for x in values)

    if not isinstance(record, dict):
        return ["record: is no dictionary"]
    reward, response, logps = (record.get(name) for name in ("reward", "response_tokens", "behavior_logprobs"))
    parts = list(reward.values()) if isinstance(reward, dict) else [reward]
    decoding = record.get("decoding") if isinstance(record.get("decoding"), dict) else {}
    temperature, top_p = decoding.get("temperature"), decoding.get("top_p")
    right = {
        "policy_version": count(record.get("policy_version")),
        "behavior_logprobs": isinstance(logps, list) and number(*logps) and all(x <= 0 for x in logps),
        "decoding": number(temperature, top_p) and temperature >= 0 and 0 < top_p <= 1,
        "reward": parts != [] and number(*parts),
    }
    for name in ("sample_id", "prompt_id", "stop_reason", "verifier_version"):
        right[name] = isinstance(record.get(name), str) and record[name] != ""
    for name in ("prompt_tokens", "response_tokens"):
        right[name] = isinstance(record.get(name), list) and record[name] != [] and count(*record[name])
    if right["behavior_logprobs"] and isinstance(response, list):
        right["behavior_logprobs"] = len(logps) == len(response)
    return [f"{name}: is missing or wrong" for name, fits in right.items() if not fits]


def contract_step_by_step(record):  # noqa: PLR0912 - a student's chain of conditions
    from math import isfinite

    if type(record) is not dict:
        return ("record: a dictionary is wanted",)
    faults = {}
    for field in ("verifier_version", "stop_reason", "prompt_id", "sample_id"):
        if not isinstance(record.get(field), str) or not record[field]:
            faults[field] = "text is wanted"
    version = record.get("policy_version", -1)
    if isinstance(version, bool) or not isinstance(version, int) or version < 0:
        faults["policy_version"] = "a count is wanted"
    for field in ("prompt_tokens", "response_tokens"):
        tokens = record.get(field)
        if not isinstance(tokens, list) or not tokens:
            faults[field] = "tokens are wanted"
            continue
        for token in tokens:
            if isinstance(token, bool) or not isinstance(token, int) or token < 0:
                faults[field] = f"{token!r} is no token"
    logps = record.get("behavior_logprobs")
    if isinstance(logps, list):
        for logp in logps:
            if isinstance(logp, bool) or not isinstance(logp, (int, float)) or not isfinite(logp) or logp > 0:
                faults["behavior_logprobs"] = f"{logp!r} is no log-probability"
        if isinstance(record.get("response_tokens"), list) and len(record["response_tokens"]) - len(logps):
            faults["behavior_logprobs"] = "not one a response token"
    else:
        faults["behavior_logprobs"] = "a list is wanted"
    decoding = record.get("decoding")
    if isinstance(decoding, dict) and {"temperature", "top_p"} <= set(decoding):
        for knob in ("temperature", "top_p"):
            size = decoding[knob]
            if isinstance(size, bool) or not isinstance(size, (int, float)) or not isfinite(size):
                faults["decoding"] = f"{knob} is no number"
        if "decoding" not in faults and (decoding["temperature"] < 0 or not 0 < decoding["top_p"] <= 1):
            faults["decoding"] = "out of range"
    else:
        faults["decoding"] = "temperature and top_p are wanted"
    reward = record.get("reward")
    parts = list(reward.values()) if isinstance(reward, dict) else [reward]
    for part in parts or [None]:
        if isinstance(part, bool) or not isinstance(part, (int, float)) or not isfinite(part):
            faults["reward"] = "finite numbers are wanted"
    return [f"{field}: {fault}" for field, fault in faults.items()]


def contract_with_validators(record):
    from rlinfra.given import require_count, require_fraction, require_nonnegative
    from rlinfra.given.records import REQUIRED_FIELDS

    def judge_field(field, value):  # noqa: PLR0912 - likewise
        if field == "policy_version":
            require_count(field, value)
        elif field in ("prompt_tokens", "response_tokens"):
            if not isinstance(value, list) or not value:
                raise ValueError
            for token in value:
                require_count(field, token)
        elif field == "behavior_logprobs":
            if not isinstance(value, list):
                raise TypeError
            for logp in value:
                if isinstance(logp, bool):
                    raise TypeError
                require_nonnegative(field, -logp)
            response = record.get("response_tokens")
            if isinstance(response, list) and len(response) != len(value):
                raise ValueError
        elif field == "decoding":
            require_nonnegative(field, value["temperature"])
            if require_fraction(field, value["top_p"]) == 0:
                raise ValueError
        elif field == "reward":
            parts = list(value.values()) if isinstance(value, dict) else [value]
            if not parts:
                raise ValueError
            for part in parts:
                if isinstance(part, bool):
                    raise TypeError
                require_nonnegative(field, abs(part))
        elif not isinstance(value, str) or not value:
            raise ValueError

    if not isinstance(record, dict):
        return ["record : is not a dictionary"]
    errors = []
    for field in REQUIRED_FIELDS:
        try:
            judge_field(field, record[field])
        except (KeyError, TypeError, ValueError) as error:
            errors.append(f"{field}: {type(error).__name__}")
    return errors


def contract_numpy(record):
    import numpy as np

    if not isinstance(record, dict):
        return ["record: is no dictionary"]

    def finite(values):
        plain = isinstance(values, list) and all(type(value) in (int, float) for value in values)
        return plain and bool(np.isfinite(np.array(values, dtype=float)).all())

    def ids(values):
        return bool(values) and finite(values) and all(type(value) is int and value >= 0 for value in values)

    response, logps, reward = (record.get(name) for name in ("response_tokens", "behavior_logprobs", "reward"))
    decoding = record.get("decoding") if isinstance(record.get("decoding"), dict) else {}
    knobs = [decoding.get("temperature"), decoding.get("top_p")]
    fits = {
        "policy_version": ids([record.get("policy_version")]),
        "prompt_tokens": ids(record.get("prompt_tokens")),
        "response_tokens": ids(response),
        "behavior_logprobs": finite(logps)
        and not (np.array(logps, dtype=float) > 0).any()
        and (not isinstance(response, list) or len(logps) == len(response)),
        "decoding": finite(knobs) and knobs[0] >= 0 and 0 < knobs[1] <= 1,
        "reward": finite(list(reward.values())) and reward != {} if isinstance(reward, dict) else finite([reward]),
    }
    for name in ("sample_id", "prompt_id", "stop_reason", "verifier_version"):
        fits[name] = type(record.get(name)) is str and len(record[name]) > 0
    return [name + ": does not fit" for name, fit in fits.items() if not fit]
