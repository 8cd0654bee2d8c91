"""The reference of the topic `lag`: stated figures, an event loop and a brute-force search as oracles, laws, errors."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rlinfra_reference import (
    Admission,
    BestCadence,
    SynchronizationSchedule,
    admit,
    best_cadence,
    cadence_cost,
    synchronization_schedule,
    synchronization_transfer_time,
    token_versions,
)

LINK = {"setup_seconds": 0.15, "efficiency": 0.8}

cadences = st.integers(1, 40)
seconds = st.floats(0, 1e4)


def record(name, version, tokens=100):
    return {"id": name, "version": version, "tokens": tokens}


# --- figures that the lecture and the lab state ------------------------------------------------------------------


def test_the_lecture_s_cycle_for_every_fourth_update():
    assert synchronization_schedule(sync_every=4, updates=4) == SynchronizationSchedule((0, 1, 2, 3), 1, 1.5, 3)


def test_the_lecture_s_ten_updates_have_a_mean_lag_of_thirteen_tenths():
    schedule = synchronization_schedule(sync_every=4, updates=10)
    assert sum(schedule.lags) == 13
    assert schedule.mean_lag == 1.3
    assert schedule.synchronization_count == 2


def test_the_lecture_s_best_cadence_among_four_is_four():
    costs = [cadence_cost(every, sync_seconds=8, lag_cost=1) for every in (1, 2, 4, 8)]
    assert costs == [8, 4.5, 3.5, 4.5]
    assert best_cadence([1, 2, 4, 8], sync_seconds=8, lag_cost=1) == BestCadence(4, 3.5)


def test_the_lab_s_section_on_weight_synchronization_runs_as_written():
    rows = [
        synchronization_transfer_time(payload, 25.0, setup_seconds=0.15, efficiency=0.80)
        for payload in (7_000_000_000 * 2, 70_000_000 * 2)
    ]
    assert rows == [pytest.approx(0.85, abs=1e-15), pytest.approx(0.157, abs=1e-15)]
    table = []
    for every in (1, 2, 4, 8):
        schedule = synchronization_schedule(sync_every=every, updates=16)
        table.append((schedule.synchronization_count, schedule.mean_lag, schedule.max_lag))
    assert table == [(16, 0, 0), (8, 0.5, 1), (4, 1.5, 3), (2, 3.5, 7)]


# --- values worked out by hand -----------------------------------------------------------------------------------


def test_a_run_that_ends_before_its_first_publication_has_not_seen_the_whole_cycle():
    assert synchronization_schedule(sync_every=8, updates=3) == SynchronizationSchedule((0, 1, 2), 0, 1.0, 2)


def test_a_run_without_updates_has_no_lag_and_publishes_nothing():
    assert synchronization_schedule(sync_every=4, updates=0) == SynchronizationSchedule((), 0, 0.0, 0)


def test_an_empty_payload_takes_the_set_up_alone():
    assert synchronization_transfer_time(0, 25, **LINK) == 0.15


def test_the_bandwidth_is_decimal():
    one_gib = synchronization_transfer_time(2**30, 1, setup_seconds=0, efficiency=1)
    assert one_gib == pytest.approx(1.073741824, rel=1e-15)


def test_of_two_equal_costs_the_smaller_cadence_is_taken_in_any_order():
    assert best_cadence([8, 2], sync_seconds=8, lag_cost=1) == BestCadence(2, 4.5)
    assert best_cadence([2, 8], sync_seconds=8, lag_cost=1) == BestCadence(2, 4.5)


def test_the_candidate_nearest_to_the_ideal_need_not_be_the_cheapest():
    ideal = math.sqrt(2 * 9.5)
    assert abs(2 - ideal) < abs(8 - ideal)
    assert best_cadence([2, 8], sync_seconds=9.5, lag_cost=1) == BestCadence(8, 4.6875)


def test_where_lag_costs_nothing_the_rarest_publication_is_the_best():
    assert best_cadence([4, 1, 16], sync_seconds=6, lag_cost=0) == BestCadence(16, 0.375)


def test_a_record_at_the_bound_is_kept_and_the_next_older_one_is_not():
    admission = admit([record("in", 8), record("out", 7)], 10, 2)
    assert admission == Admission(("in",), (("out", "stale"),), 100, 100)


def test_every_reason_to_discard_is_told_and_the_order_is_kept():
    records = [record("a", 11), record("b", None), record("c", 10), record("d", 2), record("e", 9)]
    admission = admit(records, 10, 3)
    assert admission.kept == ("c", "e")
    assert admission.discarded == (("a", "ahead"), ("b", "unknown"), ("d", "stale"))


def test_the_mean_of_no_records_is_zero():
    assert admit([], 10, 2) == Admission((), (), 0, 0)
    assert admit([record("old", 3, 800)], 10, 2) == Admission((), (("old", "stale"),), 800, 0)


def test_a_token_at_the_moment_of_a_publication_has_the_old_version():
    assert token_versions([1, 2, 3, 4], [(0, 120), (3, 121)]) == (120, 120, 120, 121)


def test_versions_may_be_skipped_and_set_back():
    assert token_versions([1, 2, 3, 4, 5], [(0.5, 7), (1.5, 9), (4.5, 8)]) == (7, 9, 9, 9, 8)


def test_a_completion_without_tokens_has_no_versions():
    assert token_versions([], [(0.0, 120), (1.0, 121)]) == ()


# --- an event loop as the oracle of schedules and costs ----------------------------------------------------------


def event_loop(sync_every, updates):
    """Run trainer and engine as two counters; return the lags and how often weights were copied."""
    engine = since = copies = 0
    lags = []
    for trainer in range(updates):
        lags.append(trainer - engine)
        since += 1
        if since == sync_every:
            engine, since, copies = trainer + 1, 0, copies + 1
    return lags, copies


@given(cadences, st.integers(0, 200))
def test_the_schedule_is_that_of_an_event_loop(every, updates):
    lags, copies = event_loop(every, updates)
    schedule = synchronization_schedule(sync_every=every, updates=updates)
    assert list(schedule.lags) == lags
    assert schedule.synchronization_count == copies
    assert schedule.max_lag == max([0, *lags])
    assert schedule.mean_lag * max(updates, 1) == pytest.approx(sum(lags))


@given(cadences, st.integers(1, 20))
def test_over_whole_cycles_the_mean_lag_is_half_of_the_maximum(every, cycles):
    schedule = synchronization_schedule(sync_every=every, updates=cycles * every)
    assert schedule.mean_lag == pytest.approx((every - 1) / 2)
    assert schedule.max_lag == every - 1
    assert schedule.synchronization_count == cycles


@given(cadences, st.integers(0, 200))
def test_a_cut_cycle_never_raises_the_mean_lag(every, updates):
    assert synchronization_schedule(sync_every=every, updates=updates).mean_lag <= (every - 1) / 2


@given(cadences, seconds, seconds)
def test_the_cost_is_what_an_event_loop_pays_an_update(every, stall, price):
    lags, copies = event_loop(every, 3 * every)
    paid = copies * stall + sum(price * lag for lag in lags)
    cost = cadence_cost(every, sync_seconds=stall, lag_cost=price)
    assert cost == pytest.approx(paid / (3 * every), rel=1e-9, abs=1e-9)


# --- laws --------------------------------------------------------------------------------------------------------


@given(st.lists(cadences, min_size=1, max_size=10), seconds, seconds)
def test_no_candidate_is_cheaper_than_the_best_cadence(candidates, stall, price):
    best = best_cadence(candidates, sync_seconds=stall, lag_cost=price)
    assert best.sync_every in candidates
    for every in candidates:
        publications, lags = 1 / every, sum(range(every)) / every
        assert best.cost_seconds <= stall * publications + price * lags + 1e-9 * (1 + stall + price)


@given(st.integers(1, 60), st.floats(0.01, 100))
def test_the_ideal_of_the_square_root_is_best_among_all_integers(ideal, price):
    stall = price * ideal**2 / 2
    assert best_cadence(range(1, 200), sync_seconds=stall, lag_cost=price).sync_every == ideal


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 20))
def test_equal_costs_go_to_the_smaller_cadence(one, other, half_prices):
    assume(one != other)
    price = half_prices / 2
    stall = price * one * other / 2
    assert cadence_cost(one, sync_seconds=stall, lag_cost=price) == cadence_cost(
        other, sync_seconds=stall, lag_cost=price
    )
    assert best_cadence([one, other], sync_seconds=stall, lag_cost=price).sync_every == min(one, other)


@given(st.floats(0, 1e12), st.floats(0, 1e12), st.floats(0.1, 500), st.floats(0, 10), st.floats(0.05, 1))
def test_beyond_the_set_up_transfer_time_adds_up_over_payloads(one, other, bandwidth, setup, efficiency):
    def beyond(payload):
        return synchronization_transfer_time(payload, bandwidth, setup_seconds=setup, efficiency=efficiency) - setup

    assert beyond(one + other) == pytest.approx(beyond(one) + beyond(other), rel=1e-9, abs=1e-9)


@given(st.floats(1, 1e12), st.floats(0.1, 500), st.floats(0.05, 1))
def test_efficiency_and_bandwidth_are_interchangeable(payload, bandwidth, efficiency):
    slow = synchronization_transfer_time(payload, bandwidth, setup_seconds=0, efficiency=efficiency)
    assert slow == pytest.approx(
        synchronization_transfer_time(payload, bandwidth * efficiency, setup_seconds=0, efficiency=1)
    )


records_of_any_version = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 30)), st.integers(1, 5_000)), max_size=12
).map(lambda pairs: [record(f"r{place}", version, tokens) for place, (version, tokens) in enumerate(pairs)])


@given(records_of_any_version, st.integers(0, 30), st.integers(0, 12))
def test_each_record_is_either_kept_or_discarded_and_the_kept_ones_lag_within_the_bound(records, trainer, bound):
    admission = admit(records, trainer, bound)
    discarded = [name for name, _ in admission.discarded]
    assert sorted([*admission.kept, *discarded]) == sorted(one["id"] for one in records)
    allowed = {one["id"] for one in records if one["version"] in range(trainer - bound, trainer + 1)}
    assert set(admission.kept) == allowed


@given(records_of_any_version, st.integers(0, 30), st.integers(0, 12))
def test_a_looser_bound_keeps_all_that_a_tighter_one_keeps(records, trainer, bound):
    assert set(admit(records, trainer, bound).kept) <= set(admit(records, trainer, bound + 1).kept)


@given(st.lists(st.integers(1, 1_000), unique=True, max_size=30), st.lists(st.integers(1, 1_000), unique=True))
def test_versions_inside_a_completion_are_those_of_an_engine_that_runs_second_by_second(tokens, switches):
    publications = [(0, 50), *((moment, 60 + place) for place, moment in enumerate(sorted(switches)))]
    loaded = dict(publications)
    version, seen = None, {}
    for moment in range(1_001):
        seen[moment] = version  # what is sampled at this moment was computed before the switch
        version = loaded.get(moment, version)
    assert token_versions(sorted(tokens), publications) == tuple(seen[moment] for moment in sorted(tokens))


# --- senseless arguments -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0, -1, True, 2.0, math.nan])
def test_a_senseless_cadence_is_refused_by_name(bad):
    with pytest.raises(ValueError, match="sync_every"):
        synchronization_schedule(sync_every=bad, updates=8)
    with pytest.raises(ValueError, match="sync_every"):
        cadence_cost(bad, sync_seconds=8, lag_cost=1)
    with pytest.raises(ValueError, match="candidates"):
        best_cadence([4, bad], sync_seconds=8, lag_cost=1)


@pytest.mark.parametrize("bad", [-1, True, 2.5, math.inf])
def test_a_senseless_number_of_updates_is_refused_by_name(bad):
    with pytest.raises(ValueError, match="updates"):
        synchronization_schedule(sync_every=4, updates=bad)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *(("payload_bytes", bad) for bad in (-1, math.nan, math.inf)),
        *(("bandwidth_gb_per_s", bad) for bad in (0, -25, math.nan, math.inf)),
        *(("setup_seconds", bad) for bad in (-0.1, math.nan, math.inf)),
        *(("efficiency", bad) for bad in (0, -0.5, 1.01, 80, math.nan)),
    ],
)
def test_a_senseless_transfer_is_refused_by_name(name, bad):
    arguments = {"payload_bytes": 10**9, "bandwidth_gb_per_s": 25, **LINK, name: bad}
    with pytest.raises(ValueError, match=name):
        synchronization_transfer_time(**arguments)


def test_no_candidates_and_negative_costs_are_refused_by_name():
    with pytest.raises(ValueError, match="candidates"):
        best_cadence([], sync_seconds=8, lag_cost=1)
    with pytest.raises(ValueError, match="sync_seconds"):
        best_cadence([1], sync_seconds=-8, lag_cost=1)
    with pytest.raises(ValueError, match="lag_cost"):
        best_cadence([1], sync_seconds=8, lag_cost=math.nan)


def test_senseless_versions_lengths_and_bounds_are_refused_by_name():
    with pytest.raises(ValueError, match="trainer_version"):
        admit([], -1, 2)
    with pytest.raises(ValueError, match="max_lag"):
        admit([], 10, True)
    with pytest.raises(ValueError, match="records"):
        admit([record("a", -3)], 10, 2)
    with pytest.raises(ValueError, match="records"):
        admit([record("a", 3, tokens=1.5)], 10, 2)


@pytest.mark.parametrize("publications", [[], [(0.0, True)], [(0.0, 1), (0.0, 2)], [(1.0, 1), (0.5, 2)]])
def test_publications_that_do_not_rise_or_have_no_version_are_refused_by_name(publications):
    with pytest.raises(ValueError, match="publications"):
        token_versions([2.0], publications)


@pytest.mark.parametrize("moment", [0.0, -1.0, math.nan])
def test_a_token_that_no_publication_precedes_is_refused_by_name(moment):
    with pytest.raises(ValueError, match="token_times"):
        token_versions([moment], [(0.0, 120)])
