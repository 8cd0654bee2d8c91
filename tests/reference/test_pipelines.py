"""The reference of topic `pipelines`, against values worked out by hand and against simulations written here."""

from __future__ import annotations

import heapq
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlinfra.draws import Draws
from rlinfra.given.pipelines import ROLLOUTS, variant_story
from rlinfra_autograder.tasks.pipelines import PIPELINES_VARIANT
from rlinfra_reference import (
    BYTES_PER_GIB,
    peak_memory,
    pipeline_makespan,
    pipeline_report,
    queue_report,
    straggler_report,
)

MILLION = 1_000_000

seconds = st.integers(1, 500)
stages = st.lists(seconds, min_size=1, max_size=6)
groups = st.lists(seconds, min_size=1, max_size=16)
batch_counts = st.integers(1, 40)
rates = st.integers(0, 50)


# --- independent oracles -----------------------------------------------------------------------------------------


def simulated_pipeline(stage_seconds, batches):
    """Run an event queue of stages that each take the next batch as soon as they are free.

    Return when the last batch ends, and for how long each stage was busy.
    """
    waiting = [list(range(batches)), *([] for _ in stage_seconds)]
    working = [False] * len(stage_seconds)
    busy = [0] * len(stage_seconds)
    events, now = [], 0

    def start_what_can():
        for stage, duration in enumerate(stage_seconds):
            if waiting[stage] and not working[stage]:
                working[stage] = True
                busy[stage] += duration
                heapq.heappush(events, (now + duration, stage, waiting[stage].pop(0)))

    start_what_can()
    while events:
        now, stage, batch = heapq.heappop(events)
        working[stage] = False
        waiting[stage + 1].append(batch)
        start_what_can()
    assert waiting[-1] == list(range(batches))
    return now, busy


def simulated_queue(arrival, service, minutes, capacity, steps_a_minute):
    """Walk a queue in small steps: workers write in a step unless the queue is full. Return backlog and pause."""
    step = Fraction(1, steps_a_minute)
    backlog, paused = Fraction(0), Fraction(0)
    for _ in range(minutes * steps_a_minute):
        if backlog >= capacity:
            paused += step
        else:
            backlog += arrival * step
        backlog = max(backlog - service * step, Fraction(0))
    return float(backlog), float(paused / minutes)


# --- figures stated in the lecture and the lab -------------------------------------------------------------------


def test_twenty_batches_of_90_and_10_seconds_are_the_lectures_figures():
    report = pipeline_report(rollout_seconds=90, train_seconds=10, batches=20)
    assert report.sequential_total == 2000
    assert report.period == 90
    assert report.pipeline_total == 1810
    assert report.speedup == pytest.approx(1.105, abs=5e-4)
    assert report.asymptotic_speedup == pytest.approx(1.111, abs=5e-4)


def test_section_3_of_the_lab_runs_with_its_asserts():
    phases = peak_memory(
        {
            "rollout": [14 * BYTES_PER_GIB, 16 * BYTES_PER_GIB, 2 * BYTES_PER_GIB],
            "training": [14 * BYTES_PER_GIB, 8 * BYTES_PER_GIB, 28 * BYTES_PER_GIB],
            "weight publication": [14 * BYTES_PER_GIB, 14 * BYTES_PER_GIB, 2 * BYTES_PER_GIB],
        }
    )
    assert (phases.phase, phases.peak_bytes) == ("training", 50 * BYTES_PER_GIB)
    pipe = pipeline_report(rollout_seconds=60.0, train_seconds=20.0, batches=10)
    stragglers = straggler_report([3, 3, 4, 4, 5, 5, 6, 18])
    assert pipe.sequential_total == pytest.approx(800.0)
    assert pipe.pipeline_total == pytest.approx(620.0)
    assert stragglers.utilization == pytest.approx(1 / 3)


def test_the_lectures_straggler_group_uses_a_third_of_its_cards():
    report = straggler_report([2, 3, 4, 5, 6, 7, 8, 20])
    assert (report.work, report.wall, report.capacity, report.truncated) == (55, 20, 160, 0)
    assert report.utilization == 0.34375
    assert report.idle_fraction == 0.65625


def test_the_lectures_straggler_group_cut_at_8_seconds_uses_43_of_64_card_seconds():
    report = straggler_report([2, 3, 4, 5, 6, 7, 8, 20], truncate_at=8)
    assert (report.work, report.wall, report.capacity, report.truncated) == (43, 8, 64, 1)
    assert report.utilization == 0.671875


def test_the_lectures_queue_is_full_after_10_minutes_and_pauses_less_in_30_minutes_than_in_the_long_run():
    report = queue_report(14 * MILLION, 10 * MILLION, minutes=30, capacity=40 * MILLION)
    assert report.growth_per_minute == 4 * MILLION
    assert report.full_after_minutes == 10
    assert report.backlog_tokens == 40 * MILLION
    assert report.long_run_paused_fraction == pytest.approx(2 / 7)  # 28.6 %
    assert report.paused_fraction == pytest.approx(4 / 21)  # 20 of 30 minutes at 2/7: 19.0 %


def test_the_notebooks_row_of_three_stages_takes_645_seconds_and_rollout_bounds_it():
    result = pipeline_makespan([60, 25, 20], 10)
    assert (result.makespan_seconds, result.bounding_stage) == (645, 0)
    assert result.busy_fractions == pytest.approx((600 / 645, 250 / 645, 200 / 645))
    assert pipeline_makespan([60, 25, 10], 10).makespan_seconds == 635
    assert pipeline_makespan([30, 25, 20], 10).makespan_seconds == 345


# --- against the simulations -------------------------------------------------------------------------------------


@given(stages, batch_counts)
def test_an_event_simulation_ends_at_the_makespan_and_is_as_busy(stage_seconds, batches):
    result = pipeline_makespan(stage_seconds, batches)
    end, busy = simulated_pipeline(stage_seconds, batches)
    assert result.makespan_seconds == end
    assert result.busy_fractions == pytest.approx([worked / end for worked in busy])


@given(seconds, seconds, batch_counts)
def test_an_event_simulation_of_two_stages_ends_with_the_report(rollout, train, batches):
    report = pipeline_report(rollout_seconds=rollout, train_seconds=train, batches=batches)
    assert report.pipeline_total == simulated_pipeline([rollout, train], batches)[0]
    assert report.sequential_total == simulated_pipeline([rollout + train], batches)[0]


@pytest.mark.parametrize(
    ("arrival", "service", "minutes", "capacity"),
    [
        (14, 10, 30, 40),
        (14, 10, 5, 40),
        (14, 10, 10, 40),
        (8, 10, 30, 40),
        (10, 10, 30, 40),
        (9, 0, 20, 40),
        (0, 7, 5, 9),
    ],
)
def test_a_small_step_simulation_of_the_queue_comes_close(arrival, service, minutes, capacity):
    report = queue_report(arrival, service, minutes=minutes, capacity=capacity)
    backlog, paused = simulated_queue(arrival, service, minutes, capacity, steps_a_minute=500)
    assert report.backlog_tokens == pytest.approx(backlog, abs=0.1)
    assert report.paused_fraction == pytest.approx(paused, abs=0.003)


# --- laws --------------------------------------------------------------------------------------------------------


@given(stages, batch_counts)
def test_a_makespan_lies_between_the_work_of_the_longest_stage_and_the_sequential_total(stage_seconds, batches):
    makespan = pipeline_makespan(stage_seconds, batches).makespan_seconds
    assert batches * max(stage_seconds) <= makespan <= batches * sum(stage_seconds)


@given(stages, batch_counts, st.randoms())
def test_the_order_of_the_stages_does_not_change_the_makespan(stage_seconds, batches, random):
    shuffled = random.sample(stage_seconds, len(stage_seconds))
    makespan = pipeline_makespan(stage_seconds, batches).makespan_seconds
    assert pipeline_makespan(shuffled, batches).makespan_seconds == makespan


@given(stages, st.integers(2, 40))
def test_in_a_long_run_only_the_bounding_stage_is_worth_speeding_up(stage_seconds, batches):
    result = pipeline_makespan([*stage_seconds, 501], batches)
    assert result.bounding_stage == len(stage_seconds)
    halved = [*(duration / 2 for duration in stage_seconds), 501]
    saved = result.makespan_seconds - pipeline_makespan(halved, batches).makespan_seconds
    assert saved == pytest.approx(sum(stage_seconds) / 2)  # the fill alone, however many batches there are


def test_of_equally_long_stages_the_first_is_named():
    assert pipeline_makespan([20, 40, 40], 3).bounding_stage == 1


@given(seconds, seconds, batch_counts)
def test_overlap_saves_the_shorter_stage_for_every_batch_but_one(rollout, train, batches):
    report = pipeline_report(rollout_seconds=rollout, train_seconds=train, batches=batches)
    assert report.sequential_total - report.pipeline_total == (batches - 1) * min(rollout, train)
    assert 1 <= report.speedup <= report.asymptotic_speedup <= 2


@given(seconds, seconds)
def test_the_speedup_of_a_long_run_comes_close_to_the_asymptotic_one(rollout, train):
    report = pipeline_report(rollout_seconds=rollout, train_seconds=train, batches=1_000_000)
    assert report.speedup == pytest.approx(report.asymptotic_speedup, rel=1e-5)


@given(groups)
def test_work_and_idle_time_fill_the_capacity_of_a_group(durations):
    report = straggler_report(durations)
    idle = sum(report.wall - duration for duration in durations)
    assert report.work + idle == report.capacity
    assert report.idle_fraction == pytest.approx(idle / report.capacity)
    assert report.utilization + report.idle_fraction == pytest.approx(1)


@given(groups, seconds)
def test_truncation_never_lowers_utilization_and_never_lengthens_a_group(durations, truncate_at):
    whole, cut = straggler_report(durations), straggler_report(durations, truncate_at)
    assert cut.utilization >= whole.utilization - 1e-12
    assert cut.wall == min(whole.wall, truncate_at)
    assert cut.work <= whole.work
    assert (cut.truncated == 0) == (cut.work == whole.work)


def test_a_rollout_that_ends_exactly_at_the_cut_is_not_cut():
    assert straggler_report([5, 8, 9], truncate_at=8).truncated == 1


@given(rates, rates, st.integers(1, 200), st.integers(1, 500))
def test_tokens_that_come_in_are_trained_on_or_wait_in_the_queue(arrival, service, minutes, capacity):
    report = queue_report(arrival, service, minutes=minutes, capacity=capacity)
    written = arrival * minutes * (1 - report.paused_fraction)
    trained = min(arrival, service) * minutes  # the trainer is never short of tokens where more comes in than goes out
    assert written == pytest.approx(trained + report.backlog_tokens, abs=1e-6)
    assert 0 <= report.paused_fraction <= report.long_run_paused_fraction <= 1
    assert 0 <= report.backlog_tokens <= capacity


@given(rates, rates, st.integers(1, 500))
def test_the_pause_of_a_very_long_window_comes_close_to_the_long_run(arrival, service, capacity):
    report = queue_report(arrival, service, minutes=10_000_000, capacity=capacity)
    assert report.paused_fraction == pytest.approx(report.long_run_paused_fraction, abs=1e-4)


def test_a_deeper_queue_only_delays_the_pauses():
    shallow = queue_report(14, 10, minutes=1000, capacity=40)
    deep = queue_report(14, 10, minutes=1000, capacity=400)
    assert deep.full_after_minutes == 10 * shallow.full_after_minutes
    assert deep.long_run_paused_fraction == shallow.long_run_paused_fraction


def test_a_queue_with_no_more_in_than_out_is_never_full():
    for arrival in (0, 8, 10):
        report = queue_report(arrival, 10, minutes=30, capacity=40)
        assert report.full_after_minutes == math.inf
        assert (report.growth_per_minute, report.backlog_tokens) == (0, 0)
        assert (report.paused_fraction, report.long_run_paused_fraction) == (0, 0)


# --- errors ------------------------------------------------------------------------------------------------------

BAD_NUMBERS = (-1, math.nan, math.inf, True)


def refuses(name, function, *args, **kwargs):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        function(*args, **kwargs)


@pytest.mark.parametrize("bad", [0, *BAD_NUMBERS])
def test_a_senseless_duration_is_refused_by_name(bad):
    refuses("rollout_seconds", pipeline_report, rollout_seconds=bad, train_seconds=1, batches=1)
    refuses("train_seconds", pipeline_report, rollout_seconds=1, train_seconds=bad, batches=1)
    refuses("stage_seconds", pipeline_makespan, [1, bad], 1)
    refuses("durations", straggler_report, [1, bad])
    refuses("truncate_at", straggler_report, [1, 2], truncate_at=bad)
    refuses("minutes", queue_report, 1, 1, minutes=bad, capacity=1)
    refuses("capacity", queue_report, 1, 1, minutes=1, capacity=bad)


@pytest.mark.parametrize("bad", BAD_NUMBERS)
def test_a_senseless_rate_is_refused_by_name(bad):
    refuses("arrival_per_minute", queue_report, bad, 1, minutes=1, capacity=1)
    refuses("service_per_minute", queue_report, 1, bad, minutes=1, capacity=1)


@pytest.mark.parametrize("bad", [0, 2.0, *BAD_NUMBERS])
def test_a_senseless_number_of_batches_is_refused_by_name(bad):
    refuses("batches", pipeline_report, rollout_seconds=1, train_seconds=1, batches=bad)
    refuses("batches", pipeline_makespan, [1], bad)


def test_no_stage_and_no_rollout_are_refused_by_name():
    refuses("stage_seconds", pipeline_makespan, [], 1)
    refuses("durations", straggler_report, [])


# --- what the notebook and its marking guide state ---------------------------------------------------------------


def test_the_sixteen_rollouts_give_the_numbers_of_the_marking_guide():
    durations = [rollout.seconds for rollout in ROLLOUTS]
    assert straggler_report(durations).utilization == pytest.approx(0.38, abs=5e-3)
    cut = straggler_report(durations, truncate_at=8)
    assert (cut.wall, cut.truncated) == (8, 5)
    assert cut.utilization == pytest.approx(0.73, abs=5e-3)
    finished = [rollout for rollout in ROLLOUTS if rollout.seconds <= 8]
    assert sum(rollout.task == "hard" for rollout in finished) / len(finished) == pytest.approx(0.27, abs=5e-3)
    assert all(rollout.task == "hard" for rollout in ROLLOUTS if rollout.seconds > 8)
    assert sum(rollout.reward for rollout in ROLLOUTS) / 16 == 0.625
    assert sum(rollout.reward for rollout in finished) / len(finished) == pytest.approx(0.73, abs=5e-3)
    assert sum(rollout.reward for rollout in finished) / 16 == 0.5


def test_the_variants_of_a_thousand_ids_stay_in_range_and_differ():
    answers = set()
    for number in range(1000):
        numbers = variant_story(Draws("variant", "pipelines", f"student-{number}")).numbers
        assert (
            numbers["capacity"] < (numbers["arrival_per_minute"] - numbers["service_per_minute"]) * numbers["minutes"]
        )
        answer = PIPELINES_VARIANT.answer(numbers)
        for name, part in PIPELINES_VARIANT.fields.items():
            assert part.low <= answer[name] <= part.high
        answers.add(tuple(answer.values()))
    assert len(answers) == 1000
