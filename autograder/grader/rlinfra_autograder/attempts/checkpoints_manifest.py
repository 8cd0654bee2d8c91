"""Attempts at `checkpoint_errors`: mistakes, each with its hint, then right answers written in other ways."""


def weights_are_enough(manifest):
    """Your start is a resume whenever the weights are sound. Do Adam's next steps depend on the weights alone?"""
    import math

    def text(x):
        return isinstance(x, str) and x != ""

    def count(x):
        return isinstance(x, int) and not isinstance(x, bool) and x >= 0

    def number(x):
        return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)

    def filled(x):
        return isinstance(x, dict) and x != {}

    sound = {
        "weights": filled,
        "optimizer_state": text,
        "lr_scheduler": filled,
        "progress": lambda x: filled(x) and count(x.get("global_step")) and count(x.get("policy_version")),
        "rng_states": lambda x: filled(x) and all(isinstance(state, list) and state for state in x.values()),
        "dataset_cursor": count,
        "curriculum": lambda x: isinstance(x, dict),
        "reward_normalization": lambda x: filled(x) and number(x.get("mean")) and number(x.get("std")) and x["std"] > 0,
        "tokenizer": lambda x: (
            filled(x) and text(x.get("tokenizer_revision")) and text(x.get("chat_template_revision"))
        ),
        "environment": lambda x: filled(x) and text(x.get("verifier_version")) and text(x.get("environment_version")),
        "decoding": filled,
        "rollout_schema": text,
        "layout": lambda x: filled(x) and count(x.get("ranks")) and x["ranks"] > 0 and text(x.get("queue_recovery")),
    }
    if not isinstance(manifest, dict):
        return {"errors": ["manifest: no dictionary"], "start": "no start"}
    bad = [part for part, is_sound in sound.items() if part not in manifest or not is_sound(manifest[part])]
    start = "no start" if "weights" in bad else "resume"
    return {"errors": [f"{part}: missing or unsound" for part in bad], "start": start}


def keys_are_enough(manifest):
    """Your function is content with a key. What can the value under it be, if a save was cut short?"""
    from rlinfra.given.checkpoints import CHECKPOINT_PARTS

    if not isinstance(manifest, dict):
        return {"errors": ["manifest: no dictionary"], "start": "no start"}
    missing = [part for part in CHECKPOINT_PARTS if part not in manifest]
    start = "no start" if "weights" in missing else "new run" if missing else "resume"
    return {"errors": [f"{part}: missing" for part in missing], "start": start}


def zero_is_missing(manifest):
    """Your function takes a cursor of 0, or an empty curriculum, for a missing one. How do you tell 0 from nothing?"""
    import math

    def text(x):
        return isinstance(x, str) and x != ""

    def count(x):
        return isinstance(x, int) and not isinstance(x, bool) and x >= 0

    def number(x):
        return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)

    def filled(x):
        return isinstance(x, dict) and x != {}

    sound = {
        "weights": filled,
        "optimizer_state": text,
        "lr_scheduler": filled,
        "progress": lambda x: filled(x) and count(x.get("global_step")) and count(x.get("policy_version")),
        "rng_states": lambda x: filled(x) and all(isinstance(state, list) and state for state in x.values()),
        "dataset_cursor": count,
        "curriculum": lambda x: isinstance(x, dict),
        "reward_normalization": lambda x: filled(x) and number(x.get("mean")) and number(x.get("std")) and x["std"] > 0,
        "tokenizer": lambda x: (
            filled(x) and text(x.get("tokenizer_revision")) and text(x.get("chat_template_revision"))
        ),
        "environment": lambda x: filled(x) and text(x.get("verifier_version")) and text(x.get("environment_version")),
        "decoding": filled,
        "rollout_schema": text,
        "layout": lambda x: filled(x) and count(x.get("ranks")) and x["ranks"] > 0 and text(x.get("queue_recovery")),
    }
    if not isinstance(manifest, dict):
        return {"errors": ["manifest: no dictionary"], "start": "no start"}
    bad = [part for part, is_sound in sound.items() if not manifest.get(part) or not is_sound(manifest[part])]
    start = "no start" if "weights" in bad else "new run" if bad else "resume"
    return {"errors": [f"{part}: missing or unsound" for part in bad], "start": start}


def seed_is_a_state(manifest):
    """Your function takes a seed for the state of a generator. Does a seed say where the generator stands by now?"""
    import math

    def text(x):
        return isinstance(x, str) and x != ""

    def count(x):
        return isinstance(x, int) and not isinstance(x, bool) and x >= 0

    def number(x):
        return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)

    def filled(x):
        return isinstance(x, dict) and x != {}

    sound = {
        "weights": filled,
        "optimizer_state": text,
        "lr_scheduler": filled,
        "progress": lambda x: filled(x) and count(x.get("global_step")) and count(x.get("policy_version")),
        "rng_states": filled,
        "dataset_cursor": count,
        "curriculum": lambda x: isinstance(x, dict),
        "reward_normalization": lambda x: filled(x) and number(x.get("mean")) and number(x.get("std")) and x["std"] > 0,
        "tokenizer": lambda x: (
            filled(x) and text(x.get("tokenizer_revision")) and text(x.get("chat_template_revision"))
        ),
        "environment": lambda x: filled(x) and text(x.get("verifier_version")) and text(x.get("environment_version")),
        "decoding": filled,
        "rollout_schema": text,
        "layout": lambda x: filled(x) and count(x.get("ranks")) and x["ranks"] > 0 and text(x.get("queue_recovery")),
    }
    if not isinstance(manifest, dict):
        return {"errors": ["manifest: no dictionary"], "start": "no start"}
    bad = [part for part, is_sound in sound.items() if part not in manifest or not is_sound(manifest[part])]
    start = "no start" if "weights" in bad else "new run" if bad else "resume"
    return {"errors": [f"{part}: missing or unsound" for part in bad], "start": start}


def bool_is_a_count(manifest):
    """Your function takes True for a count. What does isinstance(True, int) say?"""
    import math

    def text(x):
        return isinstance(x, str) and x != ""

    def count(x):
        return isinstance(x, int) and x >= 0

    def number(x):
        return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)

    def filled(x):
        return isinstance(x, dict) and x != {}

    sound = {
        "weights": filled,
        "optimizer_state": text,
        "lr_scheduler": filled,
        "progress": lambda x: filled(x) and count(x.get("global_step")) and count(x.get("policy_version")),
        "rng_states": lambda x: filled(x) and all(isinstance(state, list) and state for state in x.values()),
        "dataset_cursor": count,
        "curriculum": lambda x: isinstance(x, dict),
        "reward_normalization": lambda x: filled(x) and number(x.get("mean")) and number(x.get("std")) and x["std"] > 0,
        "tokenizer": lambda x: (
            filled(x) and text(x.get("tokenizer_revision")) and text(x.get("chat_template_revision"))
        ),
        "environment": lambda x: filled(x) and text(x.get("verifier_version")) and text(x.get("environment_version")),
        "decoding": filled,
        "rollout_schema": text,
        "layout": lambda x: filled(x) and count(x.get("ranks")) and x["ranks"] > 0 and text(x.get("queue_recovery")),
    }
    if not isinstance(manifest, dict):
        return {"errors": ["manifest: no dictionary"], "start": "no start"}
    bad = [part for part, is_sound in sound.items() if part not in manifest or not is_sound(manifest[part])]
    start = "no start" if "weights" in bad else "new run" if bad else "resume"
    return {"errors": [f"{part}: missing or unsound" for part in bad], "start": start}


def nan_is_a_mean(manifest):
    """Your function lets NaN or infinity through. What becomes of every advantage after that?"""

    def text(x):
        return isinstance(x, str) and x != ""

    def count(x):
        return isinstance(x, int) and not isinstance(x, bool) and x >= 0

    def number(x):
        return isinstance(x, (int, float)) and not isinstance(x, bool)

    def filled(x):
        return isinstance(x, dict) and x != {}

    sound = {
        "weights": filled,
        "optimizer_state": text,
        "lr_scheduler": filled,
        "progress": lambda x: filled(x) and count(x.get("global_step")) and count(x.get("policy_version")),
        "rng_states": lambda x: filled(x) and all(isinstance(state, list) and state for state in x.values()),
        "dataset_cursor": count,
        "curriculum": lambda x: isinstance(x, dict),
        "reward_normalization": lambda x: filled(x) and number(x.get("mean")) and number(x.get("std")) and x["std"] > 0,
        "tokenizer": lambda x: (
            filled(x) and text(x.get("tokenizer_revision")) and text(x.get("chat_template_revision"))
        ),
        "environment": lambda x: filled(x) and text(x.get("verifier_version")) and text(x.get("environment_version")),
        "decoding": filled,
        "rollout_schema": text,
        "layout": lambda x: filled(x) and count(x.get("ranks")) and x["ranks"] > 0 and text(x.get("queue_recovery")),
    }
    if not isinstance(manifest, dict):
        return {"errors": ["manifest: no dictionary"], "start": "no start"}
    bad = [part for part, is_sound in sound.items() if part not in manifest or not is_sound(manifest[part])]
    start = "no start" if "weights" in bad else "new run" if bad else "resume"
    return {"errors": [f"{part}: missing or unsound" for part in bad], "start": start}


def part_named_twice(manifest):
    """Your function names a part once for each of its entries. How often should a faulty part be named?"""
    import math

    def text(x):
        return isinstance(x, str) and x != ""

    def count(x):
        return isinstance(x, int) and not isinstance(x, bool) and x >= 0

    def number(x):
        return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)

    def filled(x):
        return isinstance(x, dict) and x != {}

    sound = {
        "weights": filled,
        "optimizer_state": text,
        "lr_scheduler": filled,
        "progress": lambda x: filled(x) and count(x.get("global_step")) and count(x.get("policy_version")),
        "rng_states": lambda x: filled(x) and all(isinstance(state, list) and state for state in x.values()),
        "dataset_cursor": count,
        "curriculum": lambda x: isinstance(x, dict),
        "reward_normalization": lambda x: filled(x) and number(x.get("mean")) and number(x.get("std")) and x["std"] > 0,
        "tokenizer": lambda x: (
            filled(x) and text(x.get("tokenizer_revision")) and text(x.get("chat_template_revision"))
        ),
        "environment": lambda x: filled(x) and text(x.get("verifier_version")) and text(x.get("environment_version")),
        "decoding": filled,
        "rollout_schema": text,
        "layout": lambda x: filled(x) and count(x.get("ranks")) and x["ranks"] > 0 and text(x.get("queue_recovery")),
    }
    entries = {
        "progress": {"global_step": count, "policy_version": count},
        "reward_normalization": {"mean": number, "std": lambda x: number(x) and x > 0},
        "tokenizer": {"tokenizer_revision": text, "chat_template_revision": text},
        "environment": {"verifier_version": text, "environment_version": text},
        "layout": {"ranks": lambda x: count(x) and x > 0, "queue_recovery": text},
    }
    if not isinstance(manifest, dict):
        return {"errors": ["manifest: no dictionary"], "start": "no start"}
    bad = [part for part, is_sound in sound.items() if part not in manifest or not is_sound(manifest[part])]
    errors = []
    for part in bad:
        value = manifest.get(part)
        if part in entries and isinstance(value, dict):
            errors += [f"{part}: {name}" for name, fits in entries[part].items() if not fits(value.get(name))]
        else:
            errors.append(f"{part}: missing or unsound")
    start = "no start" if "weights" in bad else "new run" if bad else "resume"
    return {"errors": errors, "start": start}


def first_error_only(manifest):
    """Your function stops at the first faulty part. What would somebody who repairs the checkpoint like to know?"""
    import math

    def text(x):
        return isinstance(x, str) and x != ""

    def count(x):
        return isinstance(x, int) and not isinstance(x, bool) and x >= 0

    def number(x):
        return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)

    def filled(x):
        return isinstance(x, dict) and x != {}

    sound = {
        "weights": filled,
        "optimizer_state": text,
        "lr_scheduler": filled,
        "progress": lambda x: filled(x) and count(x.get("global_step")) and count(x.get("policy_version")),
        "rng_states": lambda x: filled(x) and all(isinstance(state, list) and state for state in x.values()),
        "dataset_cursor": count,
        "curriculum": lambda x: isinstance(x, dict),
        "reward_normalization": lambda x: filled(x) and number(x.get("mean")) and number(x.get("std")) and x["std"] > 0,
        "tokenizer": lambda x: (
            filled(x) and text(x.get("tokenizer_revision")) and text(x.get("chat_template_revision"))
        ),
        "environment": lambda x: filled(x) and text(x.get("verifier_version")) and text(x.get("environment_version")),
        "decoding": filled,
        "rollout_schema": text,
        "layout": lambda x: filled(x) and count(x.get("ranks")) and x["ranks"] > 0 and text(x.get("queue_recovery")),
    }
    if not isinstance(manifest, dict):
        return {"errors": ["manifest: no dictionary"], "start": "no start"}
    bad = [part for part, is_sound in sound.items() if part not in manifest or not is_sound(manifest[part])]
    start = "no start" if "weights" in bad else "new run" if bad else "resume"
    return {"errors": [f"{part}: missing or unsound" for part in bad[:1]], "start": start}


def always_a_new_run(manifest):
    """Your function starts a new run whatever is missing. What does a new run from old weights start from?"""
    import math

    def text(x):
        return isinstance(x, str) and x != ""

    def count(x):
        return isinstance(x, int) and not isinstance(x, bool) and x >= 0

    def number(x):
        return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)

    def filled(x):
        return isinstance(x, dict) and x != {}

    sound = {
        "weights": filled,
        "optimizer_state": text,
        "lr_scheduler": filled,
        "progress": lambda x: filled(x) and count(x.get("global_step")) and count(x.get("policy_version")),
        "rng_states": lambda x: filled(x) and all(isinstance(state, list) and state for state in x.values()),
        "dataset_cursor": count,
        "curriculum": lambda x: isinstance(x, dict),
        "reward_normalization": lambda x: filled(x) and number(x.get("mean")) and number(x.get("std")) and x["std"] > 0,
        "tokenizer": lambda x: (
            filled(x) and text(x.get("tokenizer_revision")) and text(x.get("chat_template_revision"))
        ),
        "environment": lambda x: filled(x) and text(x.get("verifier_version")) and text(x.get("environment_version")),
        "decoding": filled,
        "rollout_schema": text,
        "layout": lambda x: filled(x) and count(x.get("ranks")) and x["ranks"] > 0 and text(x.get("queue_recovery")),
    }
    if not isinstance(manifest, dict):
        return {"errors": ["manifest: no dictionary"], "start": "new run"}
    bad = [part for part, is_sound in sound.items() if part not in manifest or not is_sound(manifest[part])]
    start = "new run" if bad else "resume"
    return {"errors": [f"{part}: missing or unsound" for part in bad], "start": start}


def errors_by_table(manifest):
    import math

    def text(x):
        return isinstance(x, str) and x != ""

    def count(x):
        return isinstance(x, int) and not isinstance(x, bool) and x >= 0

    def number(x):
        return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)

    def filled(x):
        return isinstance(x, dict) and x != {}

    sound = {
        "weights": filled,
        "optimizer_state": text,
        "lr_scheduler": filled,
        "progress": lambda x: filled(x) and count(x.get("global_step")) and count(x.get("policy_version")),
        "rng_states": lambda x: filled(x) and all(isinstance(state, list) and state for state in x.values()),
        "dataset_cursor": count,
        "curriculum": lambda x: isinstance(x, dict),
        "reward_normalization": lambda x: filled(x) and number(x.get("mean")) and number(x.get("std")) and x["std"] > 0,
        "tokenizer": lambda x: (
            filled(x) and text(x.get("tokenizer_revision")) and text(x.get("chat_template_revision"))
        ),
        "environment": lambda x: filled(x) and text(x.get("verifier_version")) and text(x.get("environment_version")),
        "decoding": filled,
        "rollout_schema": text,
        "layout": lambda x: filled(x) and count(x.get("ranks")) and x["ranks"] > 0 and text(x.get("queue_recovery")),
    }
    if not isinstance(manifest, dict):
        return {"errors": ("manifest",), "start": "no start"}
    bad = [part for part, is_sound in sound.items() if part not in manifest or not is_sound(manifest[part])]
    start = "no start" if "weights" in bad else "new run" if bad else "resume"
    return {"errors": [f"{part}: missing or unsound" for part in bad], "start": start}


def errors_by_validators(manifest):
    from rlinfra.given import require_count, require_positive
    from rlinfra.given.checkpoints import CHECKPOINT_PARTS

    def require(condition):
        if not condition:
            raise ValueError("not of the form that is wanted")

    def require_texts(*values):
        require(all(isinstance(value, str) and value for value in values))

    def examine(part, value):
        if part in ("optimizer_state", "rollout_schema"):
            return require_texts(value)
        if part == "dataset_cursor":
            return require_count(part, value)
        require(isinstance(value, dict))
        require(value or part == "curriculum")
        if part == "progress":
            require_count("global_step", value["global_step"])
            require_count("policy_version", value["policy_version"])
        elif part == "rng_states":
            for state in value.values():
                require(type(state) is list and len(state))
        elif part == "reward_normalization":
            require(not isinstance(value["mean"], bool))
            require_positive("mean, made positive", 1 + abs(value["mean"]))
            require_positive("std", value["std"])
        elif part == "tokenizer":
            require_texts(value["tokenizer_revision"], value["chat_template_revision"])
        elif part == "environment":
            require_texts(value["verifier_version"], value["environment_version"])
        elif part == "layout":
            require_count("ranks", value["ranks"], minimum=1)
            require_texts(value["queue_recovery"])
        return None

    if not isinstance(manifest, dict):
        return {"errors": ["manifest: must be a dictionary"], "start": "no start"}
    errors = {}
    for part in CHECKPOINT_PARTS:
        try:
            examine(part, manifest[part])
        except (KeyError, TypeError, ValueError) as error:
            errors[part] = error
    start = "resume"
    if errors:
        start = "new run"
    if "weights" in errors:
        start = "no start"
    return {"start": start, "errors": [f"{part}: {error}" for part, error in errors.items()]}


def errors_as_a_set(manifest):
    import math
    from dataclasses import make_dataclass

    errors = set()

    def part_of(name, kind, empty=False):
        value = manifest.get(name)
        if not isinstance(value, kind) or (not empty and len(value) == 0):
            errors.add(name)
        return value if isinstance(value, kind) else kind()

    def is_count(value, least=0):
        return type(value) is int and value > least - 1

    def is_number(value):
        return type(value) in (int, float) and abs(value) < math.inf

    answer = make_dataclass("Answer", ["errors", "start"])
    if type(manifest) is not dict:
        return answer(["manifest: is a " + type(manifest).__name__], "no start")
    part_of("weights", dict), part_of("lr_scheduler", dict), part_of("decoding", dict), part_of("rng_states", dict)
    part_of("optimizer_state", str), part_of("rollout_schema", str), part_of("curriculum", dict, empty=True)
    if not all(is_count(part_of("progress", dict).get(name)) for name in ("global_step", "policy_version")):
        errors.add("progress")
    for state in part_of("rng_states", dict).values():
        if not isinstance(state, list) or len(state) == 0:
            errors.add("rng_states")
    if not is_count(manifest.get("dataset_cursor")):
        errors.add("dataset_cursor")
    normal = part_of("reward_normalization", dict)
    if not is_number(normal.get("mean")) or not is_number(normal.get("std")) or normal["std"] <= 0:
        errors.add("reward_normalization")
    for part, names in (
        ("tokenizer", ("tokenizer_revision", "chat_template_revision")),
        ("environment", ("verifier_version", "environment_version")),
        ("layout", ("queue_recovery",)),
    ):
        for name in names:
            if type(part_of(part, dict).get(name)) is not str or not part_of(part, dict)[name]:
                errors.add(part)
    if not is_count(part_of("layout", dict).get("ranks"), least=1):
        errors.add("layout")
    start = {True: "no start", False: "new run" if errors else "resume"}["weights" in errors]
    return answer(sorted(errors), start)
