"""Attempts at the tasks of topic `pipelines`: mistakes, each with its hint, then right answers in other ways."""


# --- pipeline_report ---------------------------------------------------------------------------------------------


def fill_forgotten(*, rollout_seconds, train_seconds, batches):
    """Your total is a number of whole periods. What does the shorter stage do while it has no batch yet?"""
    sequential = batches * (rollout_seconds + train_seconds)
    period = max(rollout_seconds, train_seconds)
    pipeline = batches * period
    return {
        "sequential_total": sequential,
        "pipeline_total": pipeline,
        "period": period,
        "speedup": sequential / pipeline,
        "asymptotic_speedup": (rollout_seconds + train_seconds) / period,
    }


def one_period_too_many(*, rollout_seconds, train_seconds, batches):
    """Your total is one period too long. How many batches are still to come when the first is through?"""
    sequential = batches * (rollout_seconds + train_seconds)
    period = max(rollout_seconds, train_seconds)
    pipeline = rollout_seconds + train_seconds + batches * period
    return {
        "sequential_total": sequential,
        "pipeline_total": pipeline,
        "period": period,
        "speedup": sequential / pipeline,
        "asymptotic_speedup": (rollout_seconds + train_seconds) / period,
    }


def rollout_always_bounds(*, rollout_seconds, train_seconds, batches):
    """Your period is always the rollout's. What happens between the stages where training is the longer one?"""
    sequential = batches * (rollout_seconds + train_seconds)
    pipeline = rollout_seconds * batches + train_seconds
    return {
        "sequential_total": sequential,
        "pipeline_total": pipeline,
        "period": rollout_seconds,
        "speedup": sequential / pipeline,
        "asymptotic_speedup": (rollout_seconds + train_seconds) / rollout_seconds,
    }


def perfectly_balanced(*, rollout_seconds, train_seconds, batches):
    """Your period is the mean of the stages. Can the shorter stage take over work of the longer one?"""
    sequential = batches * (rollout_seconds + train_seconds)
    period = (rollout_seconds + train_seconds) / 2
    pipeline = rollout_seconds + train_seconds + (batches - 1) * period
    return {
        "sequential_total": sequential,
        "pipeline_total": pipeline,
        "period": period,
        "speedup": sequential / pipeline,
        "asymptotic_speedup": (rollout_seconds + train_seconds) / period,
    }


def speedup_upside_down(*, rollout_seconds, train_seconds, batches):
    """Your speedups are below 1. Which of two times stands above the line, if faster means a larger number?"""
    sequential = batches * (rollout_seconds + train_seconds)
    period = max(rollout_seconds, train_seconds)
    pipeline = rollout_seconds + train_seconds + (batches - 1) * period
    return {
        "sequential_total": sequential,
        "pipeline_total": pipeline,
        "period": period,
        "speedup": pipeline / sequential,
        "asymptotic_speedup": period / (rollout_seconds + train_seconds),
    }


def two_stages_twice_as_fast(*, rollout_seconds, train_seconds, batches):
    """Your limit is 2, the number of stages. Is the shorter stage busy all the time, so that it counts in full?"""
    sequential = batches * (rollout_seconds + train_seconds)
    period = max(rollout_seconds, train_seconds)
    pipeline = rollout_seconds + train_seconds + (batches - 1) * period
    return {
        "sequential_total": sequential,
        "pipeline_total": pipeline,
        "period": period,
        "speedup": sequential / pipeline,
        "asymptotic_speedup": 2,
    }


def run_for_the_limit(*, rollout_seconds, train_seconds, batches):
    """Your two speedups are equal. What becomes of the time to fill the pipeline in a run without end?"""
    sequential = batches * (rollout_seconds + train_seconds)
    period = max(rollout_seconds, train_seconds)
    pipeline = rollout_seconds + train_seconds + (batches - 1) * period
    return {
        "sequential_total": sequential,
        "pipeline_total": pipeline,
        "period": period,
        "speedup": sequential / pipeline,
        "asymptotic_speedup": sequential / pipeline,
    }


def report_by_saving(*, rollout_seconds, train_seconds, batches):
    hidden = min(rollout_seconds, train_seconds)
    sequential = (rollout_seconds + train_seconds) * batches
    overlapped = sequential - hidden * (batches - 1)
    return {
        "speedup": sequential / overlapped,
        "asymptotic_speedup": 1 + hidden / max(rollout_seconds, train_seconds),
        "period": rollout_seconds + train_seconds - hidden,
        "pipeline_total": overlapped,
        "sequential_total": sequential,
    }


def report_loop(*, rollout_seconds, train_seconds, batches):
    rolled_out = trained = sequential = 0
    for _ in range(batches):
        rolled_out += rollout_seconds
        trained = max(trained, rolled_out) + train_seconds
        sequential += rollout_seconds
        sequential += train_seconds
    period = rollout_seconds if rollout_seconds > train_seconds else train_seconds
    return {
        "sequential_total": sequential,
        "pipeline_total": trained,
        "period": period,
        "speedup": sequential / trained,
        "asymptotic_speedup": (rollout_seconds + train_seconds) / period,
    }


def report_numpy(*, rollout_seconds, train_seconds, batches):
    from dataclasses import make_dataclass

    import numpy as np

    stages = np.array([rollout_seconds, train_seconds], dtype=float)
    sequential = batches * stages.sum()
    pipeline = stages.sum() + (batches - 1) * stages.max()
    names = ["sequential_total", "pipeline_total", "period", "speedup", "asymptotic_speedup"]
    return make_dataclass("Report", names)(
        sequential, pipeline, stages.max(), sequential / pipeline, stages.sum() / stages.max()
    )


# --- pipeline_makespan -------------------------------------------------------------------------------------------


def makespan_of_periods(stage_seconds, batches):
    """Your makespan is a number of whole periods. How long is the first batch under way, through all the stages?"""
    period = max(stage_seconds)
    makespan = batches * period
    return {
        "makespan_seconds": makespan,
        "bounding_stage": stage_seconds.index(period),
        "busy_fractions": [batches * seconds / makespan for seconds in stage_seconds],
    }


def stages_in_turn(stage_seconds, batches):
    """Your makespan lets one batch end before the next begins. What does the first stage do in the meantime?"""
    makespan = batches * sum(stage_seconds)
    return {
        "makespan_seconds": makespan,
        "bounding_stage": stage_seconds.index(max(stage_seconds)),
        "busy_fractions": [batches * seconds / makespan for seconds in stage_seconds],
    }


def batch_too_many(stage_seconds, batches):
    """Your makespan is one period too long. How many batches are still to come when the first is through?"""
    period = max(stage_seconds)
    makespan = sum(stage_seconds) + batches * period
    return {
        "makespan_seconds": makespan,
        "bounding_stage": stage_seconds.index(period),
        "busy_fractions": [batches * seconds / makespan for seconds in stage_seconds],
    }


def first_stage_bounds(stage_seconds, batches):
    """Your makespan goes by the first stage. What happens to the batches in front of a stage that is longer?"""
    makespan = sum(stage_seconds) + (batches - 1) * stage_seconds[0]
    return {
        "makespan_seconds": makespan,
        "bounding_stage": 0,
        "busy_fractions": [batches * seconds / makespan for seconds in stage_seconds],
    }


def counted_from_one(stage_seconds, batches):
    """Your bounding stage is one too high. At which number does the notebook begin to count the stages?"""
    period = max(stage_seconds)
    makespan = sum(stage_seconds) + (batches - 1) * period
    return {
        "makespan_seconds": makespan,
        "bounding_stage": stage_seconds.index(period) + 1,
        "busy_fractions": [batches * seconds / makespan for seconds in stage_seconds],
    }


def last_of_equal_stages(stage_seconds, batches):
    """Your bounding stage is the last of equally long ones. Which of them does the notebook ask for?"""
    period = max(stage_seconds)
    makespan = sum(stage_seconds) + (batches - 1) * period
    return {
        "makespan_seconds": makespan,
        "bounding_stage": max(range(len(stage_seconds)), key=lambda place: (stage_seconds[place], place)),
        "busy_fractions": [batches * seconds / makespan for seconds in stage_seconds],
    }


def busy_in_the_long_run(stage_seconds, batches):
    """Your fractions are shares of a period. Does every stage have work in the first and in the last periods?"""
    period = max(stage_seconds)
    return {
        "makespan_seconds": sum(stage_seconds) + (batches - 1) * period,
        "bounding_stage": stage_seconds.index(period),
        "busy_fractions": [seconds / period for seconds in stage_seconds],
    }


def makespan_recurrence(stage_seconds, batches):
    done = [0] * len(stage_seconds)
    for _ in range(batches):
        before = 0
        for place, seconds in enumerate(stage_seconds):
            done[place] = before = max(before, done[place]) + seconds
    longest = 0
    for place, seconds in enumerate(stage_seconds):
        if seconds > stage_seconds[longest]:
            longest = place
    busy = tuple(batches * seconds / done[-1] for seconds in stage_seconds)
    return {"makespan_seconds": done[-1], "bounding_stage": longest, "busy_fractions": busy}


def makespan_numpy(stage_seconds, batches):
    import numpy as np

    stages = np.asarray(stage_seconds, dtype=float)
    makespan = stages.sum() + (batches - 1) * stages.max()
    return {
        "makespan_seconds": makespan,
        "bounding_stage": np.argmax(stages),
        "busy_fractions": batches * stages / makespan,
    }


def makespan_around_the_longest(stage_seconds, batches):
    from dataclasses import make_dataclass

    period, place = max((seconds, -place) for place, seconds in enumerate(stage_seconds))
    outside = sum(stage_seconds[:-place]) + sum(stage_seconds[1 - place :])
    makespan = outside + batches * period
    result = make_dataclass("Makespan", ["makespan_seconds", "bounding_stage", "busy_fractions"])
    return result(makespan, float(-place), [seconds / (makespan / batches) for seconds in stage_seconds])


# --- straggler_report --------------------------------------------------------------------------------------------


def group_ends_with_the_mean(durations, truncate_at=None):
    """Your group ends after the mean duration. For which of its rollouts does a synchronous group wait?"""
    limit = float("inf") if truncate_at is None else truncate_at
    held = [min(seconds, limit) for seconds in durations]
    work, wall = sum(held), sum(held) / len(held)
    capacity = len(held) * wall
    return {
        "work": work,
        "wall": wall,
        "capacity": capacity,
        "utilization": work / capacity,
        "idle_fraction": 1 - work / capacity,
        "truncated": sum(seconds > limit for seconds in durations),
    }


def one_card_for_all(durations, truncate_at=None):
    """Your group runs its rollouts one after the other. How many cards work at the same time?"""
    limit = float("inf") if truncate_at is None else truncate_at
    held = [min(seconds, limit) for seconds in durations]
    work = wall = sum(held)
    capacity = len(held) * wall
    return {
        "work": work,
        "wall": wall,
        "capacity": capacity,
        "utilization": work / capacity,
        "idle_fraction": 1 - work / capacity,
        "truncated": sum(seconds > limit for seconds in durations),
    }


def idle_for_used(durations, truncate_at=None):
    """Your utilization is the part that stands idle. Which part of the held card-seconds does work?"""
    limit = float("inf") if truncate_at is None else truncate_at
    held = [min(seconds, limit) for seconds in durations]
    work, wall = sum(held), max(held)
    capacity = len(held) * wall
    return {
        "work": work,
        "wall": wall,
        "capacity": capacity,
        "utilization": 1 - work / capacity,
        "idle_fraction": work / capacity,
        "truncated": sum(seconds > limit for seconds in durations),
    }


def dropped_instead_of_cut(durations, truncate_at=None):
    """Your value leaves cut rollouts out of the group. What did their cards do until the cut?"""
    limit = float("inf") if truncate_at is None else truncate_at
    held = [seconds for seconds in durations if seconds <= limit]
    work, wall = sum(held), max(held, default=0)
    capacity = len(held) * wall
    utilization = work / capacity if capacity else 0.0
    return {
        "work": work,
        "wall": wall,
        "capacity": capacity,
        "utilization": utilization,
        "idle_fraction": 1 - utilization,
        "truncated": len(durations) - len(held),
    }


def work_not_cut(durations, truncate_at=None):
    """Your work is still that of the whole rollouts. What does a rollout compute after it was stopped?"""
    limit = float("inf") if truncate_at is None else truncate_at
    work, wall = sum(durations), min(max(durations), limit)
    capacity = len(durations) * wall
    return {
        "work": work,
        "wall": wall,
        "capacity": capacity,
        "utilization": work / capacity,
        "idle_fraction": 1 - work / capacity,
        "truncated": sum(seconds > limit for seconds in durations),
    }


def wall_not_cut(durations, truncate_at=None):
    """Your group still waits for the whole longest rollout. When does it end, if none may run on?"""
    limit = float("inf") if truncate_at is None else truncate_at
    work, wall = sum(min(seconds, limit) for seconds in durations), max(durations)
    capacity = len(durations) * wall
    return {
        "work": work,
        "wall": wall,
        "capacity": capacity,
        "utilization": work / capacity,
        "idle_fraction": 1 - work / capacity,
        "truncated": sum(seconds > limit for seconds in durations),
    }


def always_until_the_cut(durations, truncate_at=None):
    """Your group always runs until the cut. When does it end, if its last rollout is done before?"""
    limit = max(durations, default=0) if truncate_at is None else truncate_at
    work, wall = sum(min(seconds, limit) for seconds in durations), limit
    capacity = len(durations) * wall
    return {
        "work": work,
        "wall": wall,
        "capacity": capacity,
        "utilization": work / capacity,
        "idle_fraction": 1 - work / capacity,
        "truncated": sum(seconds > limit for seconds in durations),
    }


def cut_at_the_very_end(durations, truncate_at=None):
    """Your count holds a rollout that ends exactly at the cut. Did it lose anything?"""
    limit = float("inf") if truncate_at is None else truncate_at
    held = [min(seconds, limit) for seconds in durations]
    work, wall = sum(held), max(held)
    capacity = len(held) * wall
    return {
        "work": work,
        "wall": wall,
        "capacity": capacity,
        "utilization": work / capacity,
        "idle_fraction": 1 - work / capacity,
        "truncated": sum(seconds >= limit for seconds in durations),
    }


def group_with_validators(durations, truncate_at=None):
    from rlinfra.given import require_positive

    if not durations:
        raise ValueError("durations is empty")
    for seconds in durations:
        require_positive("durations", seconds)
    held = list(durations)
    if truncate_at is not None:
        require_positive("truncate_at", truncate_at)
        held = [seconds if seconds <= truncate_at else truncate_at for seconds in durations]
    result = {"work": sum(held), "wall": max(held), "truncated": 0}
    for before, after in zip(durations, held, strict=True):
        result["truncated"] += before != after
    result["capacity"] = result["wall"] * len(held)
    result["utilization"] = result["work"] / result["capacity"]
    result["idle_fraction"] = (result["capacity"] - result["work"]) / result["capacity"]
    return result


def group_by_hand(durations, truncate_at=None):
    import math

    work = wall = idle = truncated = 0
    for seconds in durations:
        if isinstance(seconds, bool) or not math.isfinite(seconds) or seconds <= 0:
            raise ValueError(f"durations may not hold {seconds}")
    if len(durations) == 0:
        raise ValueError("no durations")
    if truncate_at is not None and (not math.isfinite(truncate_at) or truncate_at <= 0):
        raise ValueError(f"truncate_at may not be {truncate_at}")
    for place, seconds in enumerate(durations):
        if truncate_at is not None and seconds > truncate_at:
            seconds = truncate_at
            truncated += 1
        if seconds > wall:
            idle += place * (seconds - wall)
            wall = seconds
        else:
            idle += wall - seconds
        work += seconds
    capacity = work + idle
    return {
        "work": float(work),
        "wall": float(wall),
        "capacity": float(capacity),
        "utilization": work / capacity,
        "idle_fraction": idle / capacity,
        "truncated": float(truncated),
    }


def group_numpy(durations, truncate_at=None):
    from dataclasses import make_dataclass

    import numpy as np

    from rlinfra.given import require_positive

    whole = np.array([require_positive("durations", seconds) for seconds in durations], dtype=float)
    if whole.size == 0:
        raise ValueError("durations must not be empty")
    limit = whole.max() if truncate_at is None else require_positive("truncate_at", truncate_at)
    held = np.minimum(whole, limit)
    names = ["work", "wall", "capacity", "utilization", "idle_fraction", "truncated"]
    utilization = held.mean() / held.max()
    return make_dataclass("Group", names)(
        held.sum(), held.max(), held.size * held.max(), utilization, 1 - utilization, (whole > limit).sum()
    )


# --- queue_report ------------------------------------------------------------------------------------------------


def negative_backlog(arrival_per_minute, service_per_minute, *, minutes, capacity):
    """Your backlog can shrink below nothing. What does the trainer read from an empty queue?"""
    growth = arrival_per_minute - service_per_minute
    full_after = capacity / growth if growth > 0 else float("inf")
    long_run = growth / arrival_per_minute if growth > 0 else 0.0
    return {
        "growth_per_minute": growth,
        "full_after_minutes": full_after,
        "backlog_tokens": min(growth * minutes, capacity),
        "paused_fraction": long_run * max(minutes - full_after, 0) / minutes,
        "long_run_paused_fraction": long_run,
    }


def capacity_ignored(arrival_per_minute, service_per_minute, *, minutes, capacity):
    """Your backlog grows past the capacity. What do the rollouts do once it is reached?"""
    growth = max(arrival_per_minute - service_per_minute, 0)
    full_after = capacity / growth if growth > 0 else float("inf")
    long_run = growth / arrival_per_minute if growth > 0 else 0.0
    return {
        "growth_per_minute": growth,
        "full_after_minutes": full_after,
        "backlog_tokens": growth * minutes,
        "paused_fraction": long_run * max(minutes - full_after, 0) / minutes,
        "long_run_paused_fraction": long_run,
    }


def long_run_for_the_window(arrival_per_minute, service_per_minute, *, minutes, capacity):
    """Your share over the given minutes is that of the long run. When in these minutes does the first pause begin?"""
    growth = max(arrival_per_minute - service_per_minute, 0)
    long_run = growth / arrival_per_minute if growth > 0 else 0.0
    return {
        "growth_per_minute": growth,
        "full_after_minutes": capacity / growth if growth > 0 else float("inf"),
        "backlog_tokens": min(growth * minutes, capacity),
        "paused_fraction": long_run,
        "long_run_paused_fraction": long_run,
    }


def paused_for_good(arrival_per_minute, service_per_minute, *, minutes, capacity):
    """Your rollouts stay paused from the first time the queue is full. What does the trainer do to it meanwhile?"""
    growth = max(arrival_per_minute - service_per_minute, 0)
    full_after = capacity / growth if growth > 0 else float("inf")
    return {
        "growth_per_minute": growth,
        "full_after_minutes": full_after,
        "backlog_tokens": min(growth * minutes, capacity),
        "paused_fraction": max(minutes - full_after, 0) / minutes,
        "long_run_paused_fraction": 1.0 if growth > 0 else 0.0,
    }


def surplus_of_service(arrival_per_minute, service_per_minute, *, minutes, capacity):
    """Your long run divides the surplus by what the trainer takes. At which rate are tokens written in a pause?"""
    growth = max(arrival_per_minute - service_per_minute, 0)
    full_after = capacity / growth if growth > 0 else float("inf")
    long_run = 0.0
    if growth > 0:
        long_run = growth / service_per_minute if service_per_minute > 0 else 1.0
    return {
        "growth_per_minute": growth,
        "full_after_minutes": full_after,
        "backlog_tokens": min(growth * minutes, capacity),
        "paused_fraction": long_run * max(minutes - full_after, 0) / minutes,
        "long_run_paused_fraction": long_run,
    }


def running_share(arrival_per_minute, service_per_minute, *, minutes, capacity):
    """Your long run is the share of time in which rollouts run. Which share is asked for?"""
    growth = max(arrival_per_minute - service_per_minute, 0)
    full_after = capacity / growth if growth > 0 else float("inf")
    long_run = service_per_minute / arrival_per_minute if growth > 0 else 0.0
    return {
        "growth_per_minute": growth,
        "full_after_minutes": full_after,
        "backlog_tokens": min(growth * minutes, capacity),
        "paused_fraction": long_run * max(minutes - full_after, 0) / minutes,
        "long_run_paused_fraction": long_run,
    }


def paused_minutes(arrival_per_minute, service_per_minute, *, minutes, capacity):
    """Your pause over the given minutes is a number of minutes. Which share of them is it?"""
    growth = max(arrival_per_minute - service_per_minute, 0)
    full_after = capacity / growth if growth > 0 else float("inf")
    long_run = growth / arrival_per_minute if growth > 0 else 0.0
    return {
        "growth_per_minute": growth,
        "full_after_minutes": full_after,
        "backlog_tokens": min(growth * minutes, capacity),
        "paused_fraction": long_run * max(minutes - full_after, 0),
        "long_run_paused_fraction": long_run,
    }


def filled_by_arrivals_alone(arrival_per_minute, service_per_minute, *, minutes, capacity):
    """Your queue fills as if nobody read from it. How much of what comes in does the trainer take out again?"""
    growth = max(arrival_per_minute - service_per_minute, 0)
    full_after = capacity / arrival_per_minute if growth > 0 else float("inf")
    long_run = growth / arrival_per_minute if growth > 0 else 0.0
    return {
        "growth_per_minute": growth,
        "full_after_minutes": full_after,
        "backlog_tokens": min(growth * minutes, capacity),
        "paused_fraction": long_run * max(minutes - full_after, 0) / minutes,
        "long_run_paused_fraction": long_run,
    }


def queue_by_cases(arrival_per_minute, service_per_minute, *, minutes, capacity):
    import math

    if arrival_per_minute <= service_per_minute:
        return {
            "growth_per_minute": 0,
            "full_after_minutes": math.inf,
            "backlog_tokens": 0,
            "paused_fraction": 0,
            "long_run_paused_fraction": 0,
        }
    growth = arrival_per_minute - service_per_minute
    full_after = capacity / growth
    long_run = 1 - service_per_minute / arrival_per_minute
    if full_after >= minutes:
        backlog, paused = growth * minutes, 0
    else:
        backlog, paused = capacity, (minutes - full_after) * long_run / minutes
    return {
        "growth_per_minute": growth,
        "full_after_minutes": full_after,
        "backlog_tokens": backlog,
        "paused_fraction": paused,
        "long_run_paused_fraction": long_run,
    }


def queue_by_tokens(arrival_per_minute, service_per_minute, *, minutes, capacity):
    kept_out = max(arrival_per_minute - service_per_minute, 0) * minutes - capacity
    backlog = capacity + min(kept_out, 0)
    never = arrival_per_minute <= service_per_minute
    full_after = float("inf") if never else capacity / (arrival_per_minute - service_per_minute)
    paused = 0 if kept_out <= 0 else kept_out / (arrival_per_minute * minutes)
    long_run = 0 if never else (arrival_per_minute - service_per_minute) / arrival_per_minute
    return {
        "long_run_paused_fraction": long_run,
        "paused_fraction": paused,
        "backlog_tokens": float(backlog),
        "full_after_minutes": full_after,
        "growth_per_minute": float(0 if never else arrival_per_minute - service_per_minute),
    }


def queue_numpy(arrival_per_minute, service_per_minute, *, minutes, capacity):
    from dataclasses import make_dataclass

    import numpy as np

    growth = np.maximum(arrival_per_minute - service_per_minute, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        full_after = np.divide(capacity, growth)
        long_run = np.nan_to_num(growth / np.float64(arrival_per_minute))
    paused = long_run * np.clip(minutes - full_after, 0, None) / minutes
    names = [
        "growth_per_minute",
        "full_after_minutes",
        "backlog_tokens",
        "paused_fraction",
        "long_run_paused_fraction",
    ]
    return make_dataclass("Queue", names)(growth, full_after, np.minimum(growth * minutes, capacity), paused, long_run)


def queue_as_a_walk(arrival_per_minute, service_per_minute, *, minutes, capacity):
    from fractions import Fraction

    arrival, service = Fraction(arrival_per_minute), Fraction(service_per_minute)
    time, backlog, paused, full_after = Fraction(0), Fraction(0), Fraction(0), float("inf")
    surplus = max(arrival - service, Fraction(0))
    if surplus:
        until_full = Fraction(capacity) / surplus
        full_after = float(until_full)
        time = min(until_full, Fraction(minutes))
        backlog = surplus * time
        paused = (Fraction(minutes) - time) * (1 - service / arrival)
    return {
        "growth_per_minute": surplus,
        "full_after_minutes": full_after,
        "backlog_tokens": backlog,
        "paused_fraction": paused / Fraction(minutes),
        "long_run_paused_fraction": 1 - service / arrival if surplus else 0,
    }
