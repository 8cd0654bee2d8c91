"""Attempts at the intervals of topic `checkpoints`: mistakes, each with its hint, then right answers in other ways."""


# --- optimal_checkpoint_interval ---------------------------------------------------------------------------------


def two_forgotten(checkpoint_seconds, mtbf_seconds):
    """Your value lacks a factor of √2. What does a failure cost on average: a whole interval, or half of one?"""
    return (checkpoint_seconds * mtbf_seconds) ** 0.5


def root_forgotten(checkpoint_seconds, mtbf_seconds):
    """Your value is seconds times seconds. What must be done to it so that seconds are left?"""
    return 2 * checkpoint_seconds * mtbf_seconds


def mtbf_in_hours(checkpoint_seconds, mtbf_seconds):
    """Your value is a 60th of what is due. In which unit does the time between failures come in?"""
    return (2 * checkpoint_seconds * mtbf_seconds / 3600) ** 0.5


def half_the_mtbf(checkpoint_seconds, mtbf_seconds):
    """Your value is half of what is due. In the cost of rework, does the 2 stand above or below the line?"""
    return (checkpoint_seconds * mtbf_seconds / 2) ** 0.5


def young_power(checkpoint_seconds, mtbf_seconds):
    return (2 * checkpoint_seconds * mtbf_seconds) ** 0.5


def young_by_parts(checkpoint_seconds, mtbf_seconds):
    import math

    share = math.sqrt(checkpoint_seconds / (2 * mtbf_seconds))  # what each part of the overhead is at the optimum
    return checkpoint_seconds / share


def young_numpy(checkpoint_seconds, mtbf_seconds):
    import numpy as np

    return np.sqrt(np.float64(2 * checkpoint_seconds) * mtbf_seconds)


# --- daly_interval -----------------------------------------------------------------------------------------------


def young_again(checkpoint_seconds, mtbf_seconds):
    """Your value is Young's. What does Daly's series add to it, and what is taken off at the end?"""
    return (2 * checkpoint_seconds * mtbf_seconds) ** 0.5


def checkpoint_not_subtracted(checkpoint_seconds, mtbf_seconds):
    """Your value is one checkpoint too long. Does the interval count the work alone, or the writing as well?"""
    if checkpoint_seconds >= 2 * mtbf_seconds:
        return mtbf_seconds
    ratio = checkpoint_seconds / (2 * mtbf_seconds)
    return (2 * checkpoint_seconds * mtbf_seconds) ** 0.5 * (1 + ratio**0.5 / 3 + ratio / 9)


def ratio_without_two(checkpoint_seconds, mtbf_seconds):
    """Your series runs in C / M. Which ratio stands under the root in the worked problem?"""
    if checkpoint_seconds >= 2 * mtbf_seconds:
        return mtbf_seconds
    ratio = checkpoint_seconds / mtbf_seconds
    return (2 * checkpoint_seconds * mtbf_seconds) ** 0.5 * (1 + ratio**0.5 / 3 + ratio / 9) - checkpoint_seconds


def second_order_dropped(checkpoint_seconds, mtbf_seconds):
    """Your series ends one term early. Which term comes after the one with the root?"""
    if checkpoint_seconds >= 2 * mtbf_seconds:
        return mtbf_seconds
    ratio = checkpoint_seconds / (2 * mtbf_seconds)
    return (2 * checkpoint_seconds * mtbf_seconds) ** 0.5 * (1 + ratio**0.5 / 3) - checkpoint_seconds


def series_everywhere(checkpoint_seconds, mtbf_seconds):
    """Your value uses the series where it no longer holds. What is the interval if a checkpoint takes 2 M or more?"""
    ratio = checkpoint_seconds / (2 * mtbf_seconds)
    series = 1 + ratio**0.5 / 3 + ratio / 9
    return (2 * checkpoint_seconds * mtbf_seconds) ** 0.5 * series - checkpoint_seconds


def ends_at_mtbf(checkpoint_seconds, mtbf_seconds):
    """Your value leaves the series too early. Up to which length of a checkpoint does it hold?"""
    if checkpoint_seconds >= mtbf_seconds:
        return mtbf_seconds
    ratio = checkpoint_seconds / (2 * mtbf_seconds)
    series = 1 + ratio**0.5 / 3 + ratio / 9
    return (2 * checkpoint_seconds * mtbf_seconds) ** 0.5 * series - checkpoint_seconds


def daly_terms(checkpoint_seconds, mtbf_seconds):
    if checkpoint_seconds < 2 * mtbf_seconds:  # the product of root and series, term by term
        young = (2 * checkpoint_seconds * mtbf_seconds) ** 0.5
        return young + checkpoint_seconds / 3 + young * checkpoint_seconds / (18 * mtbf_seconds) - checkpoint_seconds
    return float(mtbf_seconds)


def daly_loop(checkpoint_seconds, mtbf_seconds):
    import math

    root = math.sqrt(checkpoint_seconds / mtbf_seconds / 2)
    if root >= 1:
        return mtbf_seconds
    series, term = 0.0, 1.0
    for _ in range(3):
        series += term
        term *= root / 3
    return 2 * mtbf_seconds * root * series - checkpoint_seconds


def daly_numpy(checkpoint_seconds, mtbf_seconds):
    import numpy as np

    ratio = np.float64(checkpoint_seconds) / (2 * mtbf_seconds)
    series = np.polynomial.polynomial.polyval(np.sqrt(ratio), [1, 1 / 3, 1 / 9])
    short = np.sqrt(2.0 * checkpoint_seconds * mtbf_seconds) * series - checkpoint_seconds
    return np.where(ratio < 1, short, mtbf_seconds)


# --- checkpoint_cadence ------------------------------------------------------------------------------------------


def whole_interval_lost(interval, *, checkpoint_seconds, mtbf_seconds):
    """Your rework loses a whole interval at each failure. Where in the interval does a failure strike on average?"""
    writing, rework = checkpoint_seconds / interval, interval / mtbf_seconds
    return {"writing_fraction": writing, "rework_fraction": rework, "total_fraction": writing + rework}


def share_of_wall_time(interval, *, checkpoint_seconds, mtbf_seconds):
    """Your writing part is a share of work and writing together. A second of what is the overhead counted for?"""
    writing, rework = checkpoint_seconds / (interval + checkpoint_seconds), interval / (2 * mtbf_seconds)
    return {"writing_fraction": writing, "rework_fraction": rework, "total_fraction": writing + rework}


def in_percent(interval, *, checkpoint_seconds, mtbf_seconds):
    """Your values are a hundred times too large. Is a fraction asked for, or percent?"""
    writing, rework = 100 * checkpoint_seconds / interval, 50 * interval / mtbf_seconds
    return {"writing_fraction": writing, "rework_fraction": rework, "total_fraction": writing + rework}


def larger_part_only(interval, *, checkpoint_seconds, mtbf_seconds):
    """Your total is the larger part alone. Does a job that writes checkpoints no longer fail?"""
    writing, rework = checkpoint_seconds / interval, interval / (2 * mtbf_seconds)
    return {"writing_fraction": writing, "rework_fraction": rework, "total_fraction": max(writing, rework)}


def cadence_by_hand(interval, *, checkpoint_seconds, mtbf_seconds):
    import math

    for name, value in (
        ("interval", interval),
        ("checkpoint_seconds", checkpoint_seconds),
        ("mtbf_seconds", mtbf_seconds),
    ):
        if isinstance(value, bool) or not 0 < value < math.inf:
            raise ValueError(f"{name} may not be {value}")
    failures = interval / mtbf_seconds  # in one interval
    lost = failures * interval / 2
    return {
        "writing_fraction": checkpoint_seconds / interval,
        "rework_fraction": lost / interval,
        "total_fraction": (checkpoint_seconds + lost) / interval,
    }


def cadence_dataclass(interval, *, checkpoint_seconds, mtbf_seconds):
    from dataclasses import make_dataclass

    from rlinfra.given import require_positive

    writing = require_positive("checkpoint_seconds", checkpoint_seconds) / require_positive("interval", interval)
    rework = 0.5 * interval / require_positive("mtbf_seconds", mtbf_seconds)
    cadence = make_dataclass("Cadence", ["writing_fraction", "rework_fraction", "total_fraction"])
    return cadence(writing, rework, writing + rework)


def cadence_numpy(interval, *, checkpoint_seconds, mtbf_seconds):
    import numpy as np

    from rlinfra.given import require_positive

    times = {"interval": interval, "checkpoint_seconds": checkpoint_seconds, "mtbf_seconds": mtbf_seconds}
    for name, value in times.items():
        require_positive(name, value)
    parts = np.array([checkpoint_seconds, interval], dtype=float) / np.array([interval, 2 * mtbf_seconds])
    return {"writing_fraction": parts[0], "rework_fraction": parts[1], "total_fraction": parts.sum()}
