"""Attempts at `diagnose_pipeline`: first mistakes, each with its hint, then right answers written in other ways."""


def first_hypothesis_only(metrics):
    """Your list ends with its first code. What if two things are wrong at once, or the first guess is?"""
    trainer, rollout = metrics["trainer_idle_fraction"], metrics["rollout_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer > 0.25 and growth <= 0,
        "assembly": trainer > 0.25 and growth > 0,
        "overload": growth > 0,
        "backpressure": rollout > 0.25 and growth >= 0,
        "stragglers": rollout > 0.25 and growth <= 0,
        "verifier": verifier > 0.30,
        "publication": sync > 0.20,
        "off_policy": ess < 0.50,
        "memory": oom > 0,
    }
    return next(([code] for code, fires in rules.items() if fires), ["trace"])


def met_thresholds_fire(metrics):
    """Your list fires at a threshold. Is 0.25 above 0.25, or 0.50 below 0.50?"""
    trainer, rollout = metrics["trainer_idle_fraction"], metrics["rollout_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer >= 0.25 and growth <= 0,
        "assembly": trainer >= 0.25 and growth > 0,
        "overload": growth > 0,
        "backpressure": rollout >= 0.25 and growth >= 0,
        "stragglers": rollout >= 0.25 and growth <= 0,
        "verifier": verifier >= 0.30,
        "publication": sync >= 0.20,
        "off_policy": ess <= 0.50,
        "memory": oom > 0,
    }
    return [code for code, fires in rules.items() if fires] or ["trace"]


def idle_trainer_always_starves(metrics):
    """Your list blames supply while the queue grows. Where are the records that an idle trainer does not get?"""
    trainer, rollout = metrics["trainer_idle_fraction"], metrics["rollout_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer > 0.25,
        "overload": growth > 0,
        "backpressure": rollout > 0.25 and growth >= 0,
        "stragglers": rollout > 0.25 and growth <= 0,
        "verifier": verifier > 0.30,
        "publication": sync > 0.20,
        "off_policy": ess < 0.50,
        "memory": oom > 0,
    }
    return [code for code, fires in rules.items() if fires] or ["trace"]


def rollout_idle_unread(metrics):
    """Your list never reads rollout_idle_fraction. What may workers be waiting for?"""
    trainer = metrics["trainer_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer > 0.25 and growth <= 0,
        "assembly": trainer > 0.25 and growth > 0,
        "overload": growth > 0,
        "verifier": verifier > 0.30,
        "publication": sync > 0.20,
        "off_policy": ess < 0.50,
        "memory": oom > 0,
    }
    return [code for code, fires in rules.items() if fires] or ["trace"]


def growth_is_no_finding(metrics):
    """Your list says nothing of a queue that grows. How long can more go in than comes out?"""
    trainer, rollout = metrics["trainer_idle_fraction"], metrics["rollout_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer > 0.25 and growth <= 0,
        "assembly": trainer > 0.25 and growth > 0,
        "backpressure": rollout > 0.25 and growth >= 0,
        "stragglers": rollout > 0.25 and growth <= 0,
        "verifier": verifier > 0.30,
        "publication": sync > 0.20,
        "off_policy": ess < 0.50,
        "memory": oom > 0,
    }
    return [code for code, fires in rules.items() if fires] or ["trace"]


def flat_queue_takes_one_side(metrics):
    """Your list decides between two hypotheses where the queue is flat. Does a flat queue rule out either of them?"""
    trainer, rollout = metrics["trainer_idle_fraction"], metrics["rollout_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer > 0.25 and growth <= 0,
        "assembly": trainer > 0.25 and growth > 0,
        "overload": growth > 0,
        "backpressure": rollout > 0.25 and growth >= 0,
        "stragglers": rollout > 0.25 and growth < 0,
        "verifier": verifier > 0.30,
        "publication": sync > 0.20,
        "off_policy": ess < 0.50,
        "memory": oom > 0,
    }
    return [code for code, fires in rules.items() if fires] or ["trace"]


def flat_queue_grows(metrics):
    """Your list takes a flat queue for a growing one. Is 0 above 0?"""
    trainer, rollout = metrics["trainer_idle_fraction"], metrics["rollout_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer > 0.25 and growth < 0,
        "assembly": trainer > 0.25 and growth >= 0,
        "overload": growth >= 0,
        "backpressure": rollout > 0.25 and growth >= 0,
        "stragglers": rollout > 0.25 and growth <= 0,
        "verifier": verifier > 0.30,
        "publication": sync > 0.20,
        "off_policy": ess < 0.50,
        "memory": oom > 0,
    }
    return [code for code, fires in rules.items() if fires] or ["trace"]


def idle_workers_mean_backpressure(metrics):
    """Your list blames backpressure while the queue runs empty. What holds workers back then?"""
    trainer, rollout = metrics["trainer_idle_fraction"], metrics["rollout_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer > 0.25 and growth <= 0,
        "assembly": trainer > 0.25 and growth > 0,
        "overload": growth > 0,
        "backpressure": rollout > 0.25,
        "verifier": verifier > 0.30,
        "publication": sync > 0.20,
        "off_policy": ess < 0.50,
        "memory": oom > 0,
    }
    return [code for code, fires in rules.items() if fires] or ["trace"]


def thresholds_in_percent(metrics):
    """Your list fires at none of the fractions but one. In which unit do they come in: as 30 or as 0.3?"""
    trainer, rollout = metrics["trainer_idle_fraction"], metrics["rollout_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer > 25 and growth <= 0,
        "assembly": trainer > 25 and growth > 0,
        "overload": growth > 0,
        "backpressure": rollout > 25 and growth >= 0,
        "stragglers": rollout > 25 and growth <= 0,
        "verifier": verifier > 30,
        "publication": sync > 20,
        "off_policy": ess < 50,
        "memory": oom > 0,
    }
    return [code for code, fires in rules.items() if fires] or ["trace"]


def high_ess_is_suspicious(metrics):
    """Your list fires at a high ESS and not at a low one. Which of them means that few samples carry the weight?"""
    trainer, rollout = metrics["trainer_idle_fraction"], metrics["rollout_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer > 0.25 and growth <= 0,
        "assembly": trainer > 0.25 and growth > 0,
        "overload": growth > 0,
        "backpressure": rollout > 0.25 and growth >= 0,
        "stragglers": rollout > 0.25 and growth <= 0,
        "verifier": verifier > 0.30,
        "publication": sync > 0.20,
        "off_policy": ess > 0.50,
        "memory": oom > 0,
    }
    return [code for code, fires in rules.items() if fires] or ["trace"]


def single_oom_tolerated(metrics):
    """Your list overlooks a single out-of-memory event. How many does the table allow?"""
    trainer, rollout = metrics["trainer_idle_fraction"], metrics["rollout_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer > 0.25 and growth <= 0,
        "assembly": trainer > 0.25 and growth > 0,
        "overload": growth > 0,
        "backpressure": rollout > 0.25 and growth >= 0,
        "stragglers": rollout > 0.25 and growth <= 0,
        "verifier": verifier > 0.30,
        "publication": sync > 0.20,
        "off_policy": ess < 0.50,
        "memory": oom > 1,
    }
    return [code for code, fires in rules.items() if fires] or ["trace"]


def trace_in_every_case(metrics):
    """Your list asks for a trace beside other codes. When is it the answer?"""
    trainer, rollout = metrics["trainer_idle_fraction"], metrics["rollout_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer > 0.25 and growth <= 0,
        "assembly": trainer > 0.25 and growth > 0,
        "overload": growth > 0,
        "backpressure": rollout > 0.25 and growth >= 0,
        "stragglers": rollout > 0.25 and growth <= 0,
        "verifier": verifier > 0.30,
        "publication": sync > 0.20,
        "off_policy": ess < 0.50,
        "memory": oom > 0,
    }
    return [code for code, fires in rules.items() if fires] + ["trace"]


def silence_when_healthy(metrics):
    """Your list is empty where no rule fires. What do you look at when no single number stands out?"""
    trainer, rollout = metrics["trainer_idle_fraction"], metrics["rollout_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer > 0.25 and growth <= 0,
        "assembly": trainer > 0.25 and growth > 0,
        "overload": growth > 0,
        "backpressure": rollout > 0.25 and growth >= 0,
        "stragglers": rollout > 0.25 and growth <= 0,
        "verifier": verifier > 0.30,
        "publication": sync > 0.20,
        "off_policy": ess < 0.50,
        "memory": oom > 0,
    }
    return [code for code, fires in rules.items() if fires]


def nan_let_through(metrics):
    """Your function lets NaN through. Is NaN below 0, or above 1?"""
    fractions = ("trainer_idle_fraction", "rollout_idle_fraction", "verifier_fraction", "weight_sync_fraction")
    for name in (*fractions, "normalized_ess", "queue_growth_per_minute", "oom_events"):
        if name not in metrics:
            raise ValueError(f"{name} is missing")
        value = metrics[name]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) == float("inf"):
            raise ValueError(f"{name} is no finite number")
        if name in fractions or name == "normalized_ess":
            if value < 0 or value > 1:
                raise ValueError(f"{name} lies outside 0 to 1")
    if metrics["oom_events"] < 0 or metrics["oom_events"] % 1 > 0:
        raise ValueError("oom_events is no count")
    trainer, rollout = metrics["trainer_idle_fraction"], metrics["rollout_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer > 0.25 and growth <= 0,
        "assembly": trainer > 0.25 and growth > 0,
        "overload": growth > 0,
        "backpressure": rollout > 0.25 and growth >= 0,
        "stragglers": rollout > 0.25 and growth <= 0,
        "verifier": verifier > 0.30,
        "publication": sync > 0.20,
        "off_policy": ess < 0.50,
        "memory": oom > 0,
    }
    return [code for code, fires in rules.items() if fires] or ["trace"]


def range_unchecked(metrics):
    """Your function lets values out of their range through. Can a part be 45 times the whole?"""
    import math

    names = ("trainer_idle_fraction", "rollout_idle_fraction", "verifier_fraction", "weight_sync_fraction")
    for name in (*names, "normalized_ess", "queue_growth_per_minute", "oom_events"):
        if name not in metrics:
            raise ValueError(f"{name} is missing")
        value = metrics[name]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(f"{name} is no finite number")
    trainer, rollout = metrics["trainer_idle_fraction"], metrics["rollout_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer > 0.25 and growth <= 0,
        "assembly": trainer > 0.25 and growth > 0,
        "overload": growth > 0,
        "backpressure": rollout > 0.25 and growth >= 0,
        "stragglers": rollout > 0.25 and growth <= 0,
        "verifier": verifier > 0.30,
        "publication": sync > 0.20,
        "off_policy": ess < 0.50,
        "memory": oom > 0,
    }
    return [code for code, fires in rules.items() if fires] or ["trace"]


def bools_are_numbers(metrics):
    """Your function takes True for the number 1. To isinstance a bool is an int: how do you tell them apart?"""
    import math

    fractions = ("trainer_idle_fraction", "rollout_idle_fraction", "verifier_fraction", "weight_sync_fraction")
    for name in (*fractions, "normalized_ess", "queue_growth_per_minute", "oom_events"):
        if name not in metrics:
            raise ValueError(f"{name} is missing")
        value = metrics[name]
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(f"{name} is no finite number")
        if name in (*fractions, "normalized_ess") and not 0 <= value <= 1:
            raise ValueError(f"{name} lies outside 0 to 1")
    if metrics["oom_events"] < 0 or metrics["oom_events"] != int(metrics["oom_events"]):
        raise ValueError("oom_events is no count")
    trainer, rollout = metrics["trainer_idle_fraction"], metrics["rollout_idle_fraction"]
    verifier, sync = metrics["verifier_fraction"], metrics["weight_sync_fraction"]
    growth, ess, oom = metrics["queue_growth_per_minute"], metrics["normalized_ess"], metrics["oom_events"]
    rules = {
        "supply": trainer > 0.25 and growth <= 0,
        "assembly": trainer > 0.25 and growth > 0,
        "overload": growth > 0,
        "backpressure": rollout > 0.25 and growth >= 0,
        "stragglers": rollout > 0.25 and growth <= 0,
        "verifier": verifier > 0.30,
        "publication": sync > 0.20,
        "off_policy": ess < 0.50,
        "memory": oom > 0,
    }
    return [code for code, fires in rules.items() if fires] or ["trace"]


# --- right answers in other ways ---------------------------------------------------------------------------------


def diagnosis_with_validators(metrics):
    import math

    from rlinfra.given import require_count, require_fraction
    from rlinfra.given.lab import REQUIRED_METRICS

    for name in REQUIRED_METRICS:
        if name not in metrics:
            raise ValueError(f"{name} is missing")
        if name == "oom_events":
            require_count(name, metrics[name])
        elif name != "queue_growth_per_minute":
            require_fraction(name, metrics[name])
    growth = metrics["queue_growth_per_minute"]
    if type(growth) not in (int, float) or not math.isfinite(growth):
        raise ValueError(f"queue_growth_per_minute is {growth}")
    codes = []
    if metrics["trainer_idle_fraction"] > 0.25:
        codes.append("assembly" if growth > 0 else "supply")
    if growth > 0:
        codes.append("overload")
    if metrics["rollout_idle_fraction"] > 0.25:
        if growth >= 0:
            codes.append("backpressure")
        if growth <= 0:
            codes.append("stragglers")
    codes += ["verifier"] * (metrics["verifier_fraction"] > 0.3)
    codes += ["publication"] * (metrics["weight_sync_fraction"] > 0.2)
    codes += ["off_policy"] * (metrics["normalized_ess"] < 0.5)
    codes += ["memory"] * (metrics["oom_events"] > 0)
    return codes or ["trace"]


def diagnosis_with_reasons(metrics):
    """Each code with what to measure, the last rule first."""
    from numbers import Real

    bounds = {
        "oom_events": (0, float("inf")),
        "normalized_ess": (0, 1),
        "weight_sync_fraction": (0, 1),
        "verifier_fraction": (0, 1),
        "rollout_idle_fraction": (0, 1),
        "trainer_idle_fraction": (0, 1),
        "queue_growth_per_minute": (float("-inf"), float("inf")),
    }
    for name, (low, high) in bounds.items():
        value = metrics.get(name)
        if isinstance(value, bool) or not isinstance(value, Real) or not low <= value <= high:
            raise ValueError(f"the metric {name} is missing or senseless")
        if value in (float("inf"), float("-inf")):
            raise ValueError(f"the metric {name} is infinite")
    if metrics["oom_events"] != round(metrics["oom_events"]):
        raise ValueError("the metric oom_events is no count")
    found = []
    if metrics["oom_events"] > 0:
        found.append("memory: the peak of each phase")
    if metrics["normalized_ess"] < 0.5:
        found.append("off_policy : a comparison at lag 0")
    if metrics["weight_sync_fraction"] > 0.2:
        found.append("publication: gathering, conversion, transfer, loading")
    if metrics["verifier_fraction"] > 0.3:
        found.append("verifier: its critical path")
    if metrics["rollout_idle_fraction"] > 0.25 and not metrics["queue_growth_per_minute"] > 0:
        found.append("stragglers: the durations within a group")
    if metrics["rollout_idle_fraction"] > 0.25 and not metrics["queue_growth_per_minute"] < 0:
        found.append("backpressure: the pauses, beside the depth of the queue")
    if metrics["queue_growth_per_minute"] > 0:
        found.append("overload: tokens in and out")
    if metrics["trainer_idle_fraction"] > 0.25:
        growing = metrics["queue_growth_per_minute"] > 0
        found.append("assembly: refusals by reason" if growing else "supply: what a batch waits for")
    return found if found else ["trace: by stage"]


def diagnosis_numpy(metrics):
    import numpy as np

    fractions = ["trainer_idle_fraction", "rollout_idle_fraction", "verifier_fraction", "weight_sync_fraction"]
    names = [*fractions, "normalized_ess", "queue_growth_per_minute", "oom_events"]
    for name in names:
        if name not in metrics or type(metrics[name]) not in (int, float) or not np.isfinite(metrics[name]):
            raise ValueError(name)
    values = np.array([metrics[name] for name in names], dtype=float)
    outside = (values[:5] < 0) | (values[:5] > 1)
    if outside.any():
        raise ValueError(names[int(outside.argmax())])
    if values[6] < 0 or values[6] % 1:
        raise ValueError("oom_events")
    idle = values[:2] > 0.25
    growth = np.sign(values[5])
    fires = np.array(
        [
            idle[0] & (growth <= 0),
            idle[0] & (growth > 0),
            growth > 0,
            idle[1] & (growth >= 0),
            idle[1] & (growth <= 0),
            *(values[2:4] > [0.3, 0.2]),
            values[4] < 0.5,
            values[6] > 0,
        ]
    )
    codes = ["supply", "assembly", "overload", "backpressure", "stragglers", "verifier", "publication", "off_policy"]
    return np.array([*codes, "memory", "trace"])[np.append(fires, not fires.any())].tolist()


def diagnosis_as_a_tuple(metrics):
    import math

    def number(name, low, high):
        if name not in metrics:
            raise ValueError(f"no metric {name}")
        value = metrics[name]
        if value is True or value is False or not isinstance(value, (int, float)):
            raise ValueError(f"{name} is no number")
        if math.isnan(value) or math.isinf(value) or value < low or value > high:
            raise ValueError(f"{name} is out of range")
        return value

    trainer = number("trainer_idle_fraction", 0, 1) > 0.25
    rollout = number("rollout_idle_fraction", 0, 1) > 0.25
    growth = number("queue_growth_per_minute", -math.inf, math.inf)
    rules = {
        "verifier": number("verifier_fraction", 0, 1) > 0.3,
        "publication": number("weight_sync_fraction", 0, 1) > 0.2,
        "off_policy": number("normalized_ess", 0, 1) < 0.5,
        "memory": number("oom_events", 0, math.inf) > 0,
        "overload": growth > 0,
        "assembly": trainer and growth > 0,
        "supply": trainer and growth <= 0,
        "stragglers": rollout and growth <= 0,
        "backpressure": rollout and growth >= 0,
    }
    if metrics["oom_events"] != math.floor(metrics["oom_events"]):
        raise ValueError("oom_events is no count")
    return tuple(sorted(code for code in rules if rules[code])) or ("trace",)
