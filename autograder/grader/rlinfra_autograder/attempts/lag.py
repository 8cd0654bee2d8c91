"""Attempts at the tasks of topic `lag`: mistakes, each with its hint, then right answers written in other ways."""


# --- synchronization_schedule ------------------------------------------------------------------------------------


def lag_counted_after_the_update(*, sync_every, updates):
    """Your lags begin at 1. Which version does the trainer hold just before the update: has it stepped already?"""
    lags = [update % sync_every + 1 for update in range(updates)]
    return {
        "lags": lags,
        "synchronization_count": updates // sync_every,
        "mean_lag": sum(lags) / updates if updates else 0,
        "max_lag": max(lags, default=0),
    }


def mean_of_an_endless_run(*, sync_every, updates):
    """Your mean is that of an endless run. Which lags does this run have, if it ends in the middle of a cycle?"""
    lags = [update % sync_every for update in range(updates)]
    return {
        "lags": lags,
        "synchronization_count": updates // sync_every,
        "mean_lag": (sync_every - 1) / 2 if updates else 0,
        "max_lag": max(lags, default=0),
    }


def maximum_of_an_endless_run(*, sync_every, updates):
    """Your maximum is that of a whole cycle. Does a run that ends before the first publication get that far?"""
    lags = [update % sync_every for update in range(updates)]
    return {
        "lags": lags,
        "synchronization_count": updates // sync_every,
        "mean_lag": sum(lags) / updates if updates else 0,
        "max_lag": sync_every - 1 if updates else 0,
    }


def first_load_counted(*, sync_every, updates):
    """You count one publication more than are made. Is loading the first weights one, or is the last cycle whole?"""
    lags = [update % sync_every for update in range(updates)]
    return {
        "lags": lags,
        "synchronization_count": lags.count(0),
        "mean_lag": sum(lags) / updates if updates else 0,
        "max_lag": max(lags, default=0),
    }


def lag_never_reset(*, sync_every, updates):
    """Your lag grows through the whole run. What happens to it when weights are published?"""
    lags = list(range(updates))
    return {
        "lags": lags,
        "synchronization_count": updates // sync_every,
        "mean_lag": sum(lags) / updates if updates else 0,
        "max_lag": max(lags, default=0),
    }


def cycle_too_long(*, sync_every, updates):
    """Your cycle is one update too long. How many updates lie between two publications?"""
    lags = [update % (sync_every + 1) for update in range(updates)]
    return {
        "lags": lags,
        "synchronization_count": updates // (sync_every + 1),
        "mean_lag": sum(lags) / updates if updates else 0,
        "max_lag": max(lags, default=0),
    }


def schedule_simulated(*, sync_every, updates):
    lags, published, publications = [], 0, 0
    for version in range(updates):
        lags.append(version - published)
        stepped = version + 1
        if stepped - published == sync_every:
            published = stepped
            publications += 1
    mean, most = 0.0, 0
    if lags:
        mean, most = sum(lags) / len(lags), max(lags)
    return {"lags": tuple(lags), "synchronization_count": publications, "mean_lag": mean, "max_lag": most}


def schedule_in_closed_form(*, sync_every, updates):
    cycles, rest = divmod(updates, sync_every)
    total = cycles * sync_every * (sync_every - 1) // 2 + rest * (rest - 1) // 2
    lags = (list(range(sync_every)) * (cycles + 1))[:updates]
    return {
        "lags": [float(lag) for lag in lags],
        "synchronization_count": float(cycles),
        "mean_lag": total / max(updates, 1),
        "max_lag": max(min(updates, sync_every) - 1, 0),
    }


def schedule_numpy(*, sync_every, updates):
    from dataclasses import make_dataclass

    import numpy as np

    lags = np.arange(updates) % sync_every
    names = ["lags", "synchronization_count", "mean_lag", "max_lag"]
    count = np.count_nonzero(lags == sync_every - 1)
    mean = lags.mean() if updates else np.float64(0)
    return make_dataclass("Schedule", names)(lags, count, mean, lags.max(initial=0))


# --- synchronization_transfer_time -------------------------------------------------------------------------------


def binary_gigabytes(payload_bytes, bandwidth_gb_per_s, *, setup_seconds, efficiency):
    """Your value reads the bandwidth in binary units. How many bytes has a decimal gigabyte?"""
    return setup_seconds + payload_bytes / (bandwidth_gb_per_s * 2**30 * efficiency)


def gigabits(payload_bytes, bandwidth_gb_per_s, *, setup_seconds, efficiency):
    """Your value takes eight times as long on the wire. Is the bandwidth in bits a second or in bytes?"""
    return setup_seconds + 8 * payload_bytes / (bandwidth_gb_per_s * 10**9 * efficiency)


def efficiency_forgotten(payload_bytes, bandwidth_gb_per_s, *, setup_seconds, efficiency):
    """Your value sends at the full rate of the link. How much of that rate is reached?"""
    return setup_seconds + payload_bytes / (bandwidth_gb_per_s * 10**9)


def faster_when_inefficient(payload_bytes, bandwidth_gb_per_s, *, setup_seconds, efficiency):
    """Your value gets smaller where the link is used less well. Does a lower rate take more time, or less?"""
    return setup_seconds + payload_bytes * efficiency / (bandwidth_gb_per_s * 10**9)


def setup_forgotten(payload_bytes, bandwidth_gb_per_s, *, setup_seconds, efficiency):
    """Your value is the wire alone. What does a publication of no bytes at all take?"""
    return payload_bytes / (bandwidth_gb_per_s * 10**9 * efficiency)


def setup_over_the_wire(payload_bytes, bandwidth_gb_per_s, *, setup_seconds, efficiency):
    """Your value makes the set-up longer on a poor link. Does setting up send the payload?"""
    return (setup_seconds + payload_bytes / (bandwidth_gb_per_s * 10**9)) / efficiency


def transfer_with_validators(payload_bytes, bandwidth_gb_per_s, *, setup_seconds, efficiency):
    from rlinfra.given import BYTES_PER_GB, require_nonnegative, require_positive

    require_nonnegative("payload_bytes", payload_bytes)
    require_positive("bandwidth_gb_per_s", bandwidth_gb_per_s)
    require_nonnegative("setup_seconds", setup_seconds)
    if require_positive("efficiency", efficiency) > 1:
        raise ValueError("efficiency above 1")
    bytes_per_second = efficiency * bandwidth_gb_per_s * BYTES_PER_GB
    return payload_bytes / bytes_per_second + setup_seconds


def transfer_by_hand(payload_bytes, bandwidth_gb_per_s, *, setup_seconds, efficiency):
    import math

    for name, value in {
        "payload_bytes": payload_bytes,
        "bandwidth_gb_per_s": bandwidth_gb_per_s,
        "setup_seconds": setup_seconds,
        "efficiency": efficiency,
    }.items():
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name}: {value} makes no sense")
    if bandwidth_gb_per_s == 0:
        raise ValueError("a bandwidth_gb_per_s of zero sends nothing")
    if not 0 < efficiency <= 1:
        raise ValueError(f"efficiency = {efficiency}")
    gigabytes = payload_bytes / 1e9
    return sum([setup_seconds, gigabytes / bandwidth_gb_per_s / efficiency])


def transfer_numpy(payload_bytes, bandwidth_gb_per_s, *, setup_seconds, efficiency):
    import numpy as np

    bounds = {
        "payload_bytes": (payload_bytes, 0, np.inf),
        "bandwidth_gb_per_s": (bandwidth_gb_per_s, np.nextafter(0, 1), np.inf),
        "setup_seconds": (setup_seconds, 0, np.inf),
        "efficiency": (efficiency, np.nextafter(0, 1), 1),
    }
    for name, (value, low, high) in bounds.items():
        if not (low <= value <= high) or np.isinf(value):
            raise ValueError(f"{name} is out of range")
    return np.float64(payload_bytes) / np.prod([bandwidth_gb_per_s, 1e9, efficiency]) + setup_seconds


# --- best_cadence ------------------------------------------------------------------------------------------------


def publication_alone(candidates, *, sync_seconds, lag_cost):
    """Your cost lets lag go free. Which part of it grows when you publish less often?"""
    return min((sync_seconds / every, every) for every in candidates)[::-1]


def greatest_lag_charged(candidates, *, sync_seconds, lag_cost):
    """Your cost charges every update with the greatest lag of its cycle. Do all updates of a cycle lag so far?"""
    return min((sync_seconds / every + lag_cost * (every - 1), every) for every in candidates)[::-1]


def lag_taken_as_half_the_cadence(candidates, *, sync_seconds, lag_cost):
    """Your cost has a lag even where every update publishes. What is the mean of a cycle that begins at 0?"""
    return min((sync_seconds / every + lag_cost * every / 2, every) for every in candidates)[::-1]


def publication_paid_by_every_update(candidates, *, sync_seconds, lag_cost):
    """Your cost makes every update pay a whole publication. How many updates share one?"""
    return min((sync_seconds + lag_cost * (every - 1) / 2, every) for every in candidates)[::-1]


def nearest_to_the_ideal(candidates, *, sync_seconds, lag_cost):
    """You take the candidate next to the ideal cadence. Is the cost as steep above the ideal as it is below?"""
    ideal = (2 * sync_seconds / lag_cost) ** 0.5 if lag_cost else max(candidates)
    every = min(candidates, key=lambda candidate: (abs(candidate - ideal), candidate))
    return every, sync_seconds / every + lag_cost * (every - 1) / 2


def first_of_equal_costs(candidates, *, sync_seconds, lag_cost):
    """You take the first of two equally cheap cadences. Which of them does the notebook ask for?"""

    def cost(every):
        return sync_seconds / every + lag_cost * (every - 1) / 2

    every = min(candidates, key=cost)
    return every, cost(every)


def larger_of_equal_costs(candidates, *, sync_seconds, lag_cost):
    """You take the larger of two equally cheap cadences. Which of them leaves the data fresher?"""
    costs = [(sync_seconds / every + lag_cost * (every - 1) / 2, -every) for every in candidates]
    cost, every = min(costs)
    return -every, cost


def cadence_loop(candidates, *, sync_seconds, lag_cost):
    best, least = None, None
    for every in sorted(candidates):
        cost = sync_seconds / every + lag_cost * (every - 1) / 2
        if least is None or cost < least:
            best, least = every, cost
    return best, least


def cadence_over_a_cycle(candidates, *, sync_seconds, lag_cost):
    costs = {}
    for every in candidates:
        seconds_a_cycle = sync_seconds + sum(lag_cost * lag for lag in range(every))
        costs[every] = seconds_a_cycle / every
    least = min(costs.values())
    return [float(min(every for every, cost in costs.items() if cost == least)), least]


def cadence_numpy(candidates, *, sync_seconds, lag_cost):
    import numpy as np

    every = np.sort(np.array(candidates))
    costs = sync_seconds / every + lag_cost * (every - 1) / 2
    return every[np.argmin(costs)], costs.min()


def cadence_fractions(candidates, *, sync_seconds, lag_cost):
    from fractions import Fraction

    stall, price = Fraction(sync_seconds), Fraction(lag_cost)
    ranked = sorted((stall / every + price * (every - 1) / 2, every) for every in candidates)
    cost, every = ranked[0]
    return (every, float(cost))


# --- admit -------------------------------------------------------------------------------------------------------


def bound_itself_discarded(records, trainer_version, max_lag):
    """You discard records at the bound itself. Is a lag of exactly `max_lag` still allowed?"""
    kept, discarded = [], []
    for record in records:
        version = record["version"]
        if version is None:
            discarded.append((record["id"], "unknown"))
        elif version > trainer_version:
            discarded.append((record["id"], "ahead"))
        elif trainer_version - version >= max_lag:
            discarded.append((record["id"], "stale"))
        else:
            kept.append(record)
    return {
        "kept": [record["id"] for record in kept],
        "discarded": discarded,
        "mean_tokens_offered": sum(record["tokens"] for record in records) / max(len(records), 1),
        "mean_tokens_kept": sum(record["tokens"] for record in kept) / max(len(kept), 1),
    }


def ahead_kept(records, trainer_version, max_lag):
    """You keep records of a version that the trainer has not reached. What does a negative lag tell you of a record?"""
    kept, discarded = [], []
    for record in records:
        version = record["version"]
        if version is None:
            discarded.append((record["id"], "unknown"))
        elif trainer_version - version > max_lag:
            discarded.append((record["id"], "stale"))
        else:
            kept.append(record)
    return {
        "kept": [record["id"] for record in kept],
        "discarded": discarded,
        "mean_tokens_offered": sum(record["tokens"] for record in records) / max(len(records), 1),
        "mean_tokens_kept": sum(record["tokens"] for record in kept) / max(len(kept), 1),
    }


def distance_bounded(records, trainer_version, max_lag):
    """You bound the distance of two versions. Is a record from ahead of the trainer as good as one from behind?"""
    kept, discarded = [], []
    for record in records:
        version = record["version"]
        if version is None:
            discarded.append((record["id"], "unknown"))
        elif abs(trainer_version - version) > max_lag:
            discarded.append((record["id"], "stale"))
        else:
            kept.append(record)
    return {
        "kept": [record["id"] for record in kept],
        "discarded": discarded,
        "mean_tokens_offered": sum(record["tokens"] for record in records) / max(len(records), 1),
        "mean_tokens_kept": sum(record["tokens"] for record in kept) / max(len(kept), 1),
    }


def unknown_kept(records, trainer_version, max_lag):
    """You keep records whose version nobody knows. Which weights would be in the denominator of their ratio?"""
    kept, discarded = [], []
    for record in records:
        version = trainer_version if record["version"] is None else record["version"]
        if version > trainer_version:
            discarded.append((record["id"], "ahead"))
        elif trainer_version - version > max_lag:
            discarded.append((record["id"], "stale"))
        else:
            kept.append(record)
    return {
        "kept": [record["id"] for record in kept],
        "discarded": discarded,
        "mean_tokens_offered": sum(record["tokens"] for record in records) / max(len(records), 1),
        "mean_tokens_kept": sum(record["tokens"] for record in kept) / max(len(kept), 1),
    }


def stops_at_the_first_stale(records, trainer_version, max_lag):
    """You discard all that comes after the first stale record. Do completions finish in the order of their versions?"""
    kept, discarded = [], []
    stale_seen = False
    for record in records:
        version = record["version"]
        if version is None:
            discarded.append((record["id"], "unknown"))
        elif version > trainer_version:
            discarded.append((record["id"], "ahead"))
        elif stale_seen or trainer_version - version > max_lag:
            stale_seen = True
            discarded.append((record["id"], "stale"))
        else:
            kept.append(record)
    return {
        "kept": [record["id"] for record in kept],
        "discarded": discarded,
        "mean_tokens_offered": sum(record["tokens"] for record in records) / max(len(records), 1),
        "mean_tokens_kept": sum(record["tokens"] for record in kept) / max(len(kept), 1),
    }


def measured_from_the_newest_record(records, trainer_version, max_lag):
    """You measure lag from the newest record. From whose version does a lag count: a record's, or the trainer's?"""
    known = [record["version"] for record in records if record["version"] is not None]
    newest = max((version for version in known if version <= trainer_version), default=0)
    kept, discarded = [], []
    for record in records:
        version = record["version"]
        if version is None:
            discarded.append((record["id"], "unknown"))
        elif version > trainer_version:
            discarded.append((record["id"], "ahead"))
        elif newest - version > max_lag:
            discarded.append((record["id"], "stale"))
        else:
            kept.append(record)
    return {
        "kept": [record["id"] for record in kept],
        "discarded": discarded,
        "mean_tokens_offered": sum(record["tokens"] for record in records) / max(len(records), 1),
        "mean_tokens_kept": sum(record["tokens"] for record in kept) / max(len(kept), 1),
    }


def kept_tokens_over_all_records(records, trainer_version, max_lag):
    """Your mean of what is kept divides by all records. How many records do those tokens belong to?"""
    kept, discarded = [], []
    for record in records:
        version = record["version"]
        if version is None:
            discarded.append((record["id"], "unknown"))
        elif version > trainer_version:
            discarded.append((record["id"], "ahead"))
        elif trainer_version - version > max_lag:
            discarded.append((record["id"], "stale"))
        else:
            kept.append(record)
    return {
        "kept": [record["id"] for record in kept],
        "discarded": discarded,
        "mean_tokens_offered": sum(record["tokens"] for record in records) / max(len(records), 1),
        "mean_tokens_kept": sum(record["tokens"] for record in kept) / max(len(records), 1),
    }


def admit_with_helpers(records, trainer_version, max_lag):
    def verdict(record):
        if record["version"] is None:
            return "unknown"
        lag = trainer_version - record["version"]
        if lag < 0:
            return "ahead"
        return "stale" if lag > max_lag else "kept"

    def mean(lengths):
        return sum(lengths) / len(lengths) if lengths else 0.0

    verdicts = [(record, verdict(record)) for record in records]
    return {
        "kept": [record["id"] for record, said in verdicts if said == "kept"],
        "discarded": [(record["id"], said) for record, said in verdicts if said != "kept"],
        "mean_tokens_offered": mean([record["tokens"] for record in records]),
        "mean_tokens_kept": mean([record["tokens"] for record, said in verdicts if said == "kept"]),
    }


def admit_by_range(records, trainer_version, max_lag):
    from statistics import fmean

    allowed = range(trainer_version - max_lag, trainer_version + 1)
    kept, discarded, lengths = [], [], []
    for record in records:
        if record["version"] in allowed:
            kept.append(record["id"])
            lengths.append(record["tokens"])
        elif record["version"] is None:
            discarded.append([record["id"], "unknown"])
        else:
            discarded.append([record["id"], "ahead" if record["version"] > trainer_version else "stale"])
    offered = [record["tokens"] for record in records] or [0]
    return {
        "kept": tuple(kept),
        "discarded": tuple(discarded),
        "mean_tokens_offered": fmean(offered),
        "mean_tokens_kept": fmean(lengths or [0]),
    }


def admit_numpy(records, trainer_version, max_lag):
    from dataclasses import make_dataclass

    import numpy as np

    lags = np.array(
        [np.nan if record["version"] is None else trainer_version - record["version"] for record in records],
        dtype=float,
    )
    tokens = np.array([record["tokens"] for record in records], dtype=np.int64)
    inside = (lags >= 0) & (lags <= max_lag)
    reasons = np.select([np.isnan(lags), lags < 0, lags > max_lag], ["unknown", "ahead", "stale"], "")
    ids = [record["id"] for record in records]
    names = ["kept", "discarded", "mean_tokens_offered", "mean_tokens_kept"]
    return make_dataclass("Admission", names)(
        [ids[place] for place in np.flatnonzero(inside)],
        [(ids[place], str(reasons[place])) for place in np.flatnonzero(~inside)],
        tokens.mean() if tokens.size else 0,
        tokens[inside].mean() if inside.any() else 0,
    )


# --- token_versions ----------------------------------------------------------------------------------------------


def publication_wins_ties(token_times, publications):
    """You give a token at the moment of a publication the new version. With which weights was it computed?"""
    return [[version for moment, version in publications if moment <= token][-1] for token in token_times]


def version_at_the_start(token_times, publications):
    """You give every token the version of the first. Do the weights stay the same until the completion ends?"""
    if not token_times:
        return []
    first = [version for moment, version in publications if moment < token_times[0]][-1]
    return [first] * len(token_times)


def version_at_the_end(token_times, publications):
    """You give every token the version of the last. With which weights were the first tokens sampled?"""
    if not token_times:
        return []
    last = [version for moment, version in publications if moment < token_times[-1]][-1]
    return [last] * len(token_times)


def publications_counted(token_times, publications):
    """You count publications up from the first version. Is every version published, and each one only once?"""
    first = publications[0][1]
    return [first + sum(moment < token for moment, _ in publications[1:]) for token in token_times]


def highest_version_so_far(token_times, publications):
    """You take the highest version published so far. Which weights does the engine hold after it is set back?"""
    return [max(version for moment, version in publications if moment < token) for token in token_times]


def newest_publication_for_all(token_times, publications):
    """You give every token the version published last of all. Had it been published when the token was sampled?"""
    return [publications[-1][1] for _ in token_times]


def versions_by_pointer(token_times, publications):
    versions, place = [], 0
    for token in token_times:
        while place + 1 < len(publications) and publications[place + 1][0] < token:
            place += 1
        versions.append(publications[place][1])
    return versions


def versions_by_bisection(token_times, publications):
    from bisect import bisect_left

    moments, numbers = zip(*publications, strict=True)
    return tuple(float(numbers[bisect_left(moments, token) - 1]) for token in token_times)


def versions_numpy(token_times, publications):
    import numpy as np

    moments = np.array([moment for moment, _ in publications], dtype=float)
    numbers = np.array([version for _, version in publications], dtype=np.int64)
    return numbers[np.searchsorted(moments, np.array(token_times, dtype=float), side="left") - 1]


def versions_looking_back(token_times, publications):
    return [next(version for moment, version in reversed(publications) if moment < token) for token in token_times]
