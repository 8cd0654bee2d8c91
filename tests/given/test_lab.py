"""What the notebook of the topic `lab` hands out: profile, story, the loop and the drivers of its drill, variant."""

from __future__ import annotations

import itertools
import json

import pytest

from rlinfra.given import human_bytes
from rlinfra.given.lab import (
    FRAMEWORKS,
    OFFERED_RECORDS,
    REFUSED_RECORDS,
    REQUIRED_METRICS,
    RUNS,
    DispatchLoop,
    load_and_run,
    recorded_queue,
    run_and_save,
    run_profile,
)
from rlinfra.given.records import REQUIRED_FIELDS
from rlinfra.variants import variant
from rlinfra_autograder.tasks.lab import LAB_VARIANT

# --- the profile -------------------------------------------------------------------------------------------------


def test_the_profile_is_smoke_where_none_is_asked_for(monkeypatch):
    monkeypatch.delenv("RL_LLM_PROFILE", raising=False)
    assert run_profile() == "smoke"


@pytest.mark.parametrize(("asked", "profile"), [("smoke", "smoke"), (" Full ", "full"), ("real-model", "real-model")])
def test_the_environment_asks_for_a_profile(monkeypatch, asked, profile):
    monkeypatch.setenv("RL_LLM_PROFILE", asked)
    assert run_profile() == profile


@pytest.mark.parametrize("asked", ["", "fast", "real_model", "smoke full"])
def test_any_other_profile_is_an_error_that_lists_the_three(monkeypatch, asked):
    monkeypatch.setenv("RL_LLM_PROFILE", asked)
    with pytest.raises(ValueError, match=r"RL_LLM_PROFILE must be smoke, full or real-model"):
        run_profile()


# --- the story's numbers -----------------------------------------------------------------------------------------


def test_every_run_of_the_week_has_the_seven_metrics():
    assert [set(run) for run in RUNS.values()] == [set(REQUIRED_METRICS)] * 8


def test_four_percent_of_the_first_records_are_refused_for_fields_that_a_record_has():
    assert sum(REFUSED_RECORDS.values()) / OFFERED_RECORDS == 0.04
    assert set(REFUSED_RECORDS) < set(REQUIRED_FIELDS)


def test_neither_framework_is_ahead_in_every_row():
    short, episodes = (
        [int(value.replace(",", "")) for value in values] for what, values in FRAMEWORKS.items() if "a second" in what
    )
    assert short[0] > short[1]
    assert episodes[0] < episodes[1]


def test_the_phases_of_the_story_add_up_to_the_figures_in_its_text():
    always = 2 * 7_070_000_000 + 14 * 70_000_000
    assert always == 15_120_000_000
    assert human_bytes(always) == "14.08 GiB"
    assert human_bytes(always + 18 * 2**30) == "32.08 GiB"
    assert human_bytes(always + 8 * 2**30 + 8 * 2_048 * 128_000 * 4 * 2) == "37.71 GiB"
    assert human_bytes(always + 16 * 2**30 + 8 * 4_096 * 128_000 * 4 * 2) == "61.33 GiB"  # Sunday


def test_the_recorded_queue_grows_by_four_million_tokens_a_minute_until_its_limit():
    first_nine = [sample for sample in recorded_queue(120) if sample.minute <= 9]
    assert first_nine[-1].tokens / 9 == pytest.approx(4_000_000, rel=0.05)
    assert not any(sample.paused for sample in recorded_queue(10))


@pytest.mark.parametrize(("minutes", "fluid"), [(30, 0.1905), (120, 0.2619), (480, 0.2798)])
def test_the_recorded_pauses_follow_the_fluid_model(minutes, fluid):
    samples = recorded_queue(minutes)
    assert sum(sample.paused for sample in samples) / len(samples) == pytest.approx(fluid, abs=0.01)


def test_the_recorded_queue_overshoots_by_what_is_in_flight_and_no_more():
    assert 40_000_000 < max(sample.tokens for sample in recorded_queue(480)) < 40_000_000 + 2.1 * 14_000_000 / 6


def test_a_shorter_record_is_the_beginning_of_a_longer_one():
    assert recorded_queue(30) == recorded_queue(120)[:180]
    with pytest.raises(ValueError, match="minutes"):
        recorded_queue(0)


# --- the loop ----------------------------------------------------------------------------------------------------


def asks(count):
    return [["ask"]] * count


def test_prompts_are_handed_out_in_order_each_under_a_new_ticket():
    assert DispatchLoop().run(asks(2)) == ["ticket 0: prompt 0, version 0", "ticket 1: prompt 1, version 0"]


def test_a_lost_prompt_is_handed_out_again_before_new_ones_and_under_another_ticket():
    loop = DispatchLoop()
    loop.run([*asks(3), ["lost", 2], ["lost", 0]])
    assert loop.run(asks(3)) == [
        "ticket 3: prompt 2, version 0",
        "ticket 4: prompt 0, version 0",
        "ticket 5: prompt 3, version 0",
    ]


def test_a_ticket_that_is_not_in_flight_is_refused():
    loop = DispatchLoop()
    loop.run([*asks(1), ["result", 0, 100]])
    assert loop.run([["result", 0, 100], ["lost", 0], ["result", 7, 100]]) == [
        "ticket 0: refused",
        "ticket 0: refused",
        "ticket 7: refused",
    ]


def test_an_update_takes_the_two_oldest_records_and_makes_the_next_version():
    loop = DispatchLoop()
    loop.run([*asks(4), ["result", 2, 10], ["result", 0, 10], ["update"], ["result", 1, 10], ["result", 3, 10]])
    assert loop.run([["ask"], ["update"], ["update"]]) == [
        "ticket 4: prompt 4, version 1",
        "update 2: prompts 1 and 3, lags 1 and 1",
        "trainer waits",
    ]


def test_workers_are_paused_at_4000_tokens_and_go_on_at_2000():
    loop = DispatchLoop()
    lines = loop.run([*asks(6), ["result", 0, 1_500], ["result", 1, 1_499], ["result", 2, 1_000], ["ask"]])
    assert lines[-1] == "ticket 6: prompt 6, version 0"  # 3,999 tokens
    assert loop.run([["result", 3, 1], ["ask"]])[-1] == "wait"  # 4,000
    assert loop.run([["result", 4, 1_000], ["update"], ["ask"]])[-1] == "wait"  # 2,001 left
    assert loop.run([["update"], ["ask"]])[-1] == "ticket 7: prompt 7, version 2"


# --- the drivers -------------------------------------------------------------------------------------------------


def test_what_was_saved_crosses_as_short_pieces_of_its_json():
    pieces = run_and_save({"save_loop": lambda loop: {"text": "é" * 5_000}}, asks(1))
    assert max(map(len, pieces)) <= 4_000
    assert json.loads("".join(pieces))["text"] == "é" * 5_000


def test_the_loop_is_saved_at_the_start_and_after_each_event_and_the_last_one_counts():
    seen = []
    pieces = run_and_save({"save_loop": lambda loop: seen.append(loop.next_ticket) or {"at": len(seen)}}, asks(3))
    assert seen == [0, 1, 2, 3]
    assert json.loads("".join(pieces)) == {"at": 4}


@pytest.mark.parametrize("state", [object(), {1, 2}, float("nan")])
def test_what_json_cannot_hold_is_refused_with_a_reason(state):
    with pytest.raises(TypeError, match="what JSON can hold: "):
        run_and_save({"save_loop": lambda loop: state}, asks(1))


def test_a_state_of_megabytes_is_refused():
    with pytest.raises(ValueError, match="at most 400,000 characters"):
        run_and_save({"save_loop": lambda loop: "x" * 500_000}, asks(1))


def test_what_is_not_written_yet_is_said_to_be_so():
    with pytest.raises(NotImplementedError, match="save_loop returns nothing"):
        run_and_save({"save_loop": lambda loop: None}, [])
    with pytest.raises(NotImplementedError, match="load_loop returns nothing"):
        load_and_run({"load_loop": lambda state: None}, ["{}"], [])


def test_a_missing_function_is_named():
    with pytest.raises(NameError, match="no function save_loop"):
        run_and_save({}, [])
    with pytest.raises(NameError, match="no function load_loop"):
        load_and_run({}, ["{}"], [])


def test_what_is_loaded_must_be_a_loop():
    with pytest.raises(TypeError, match="load_loop must return a DispatchLoop, not a value of type dict"):
        load_and_run({"load_loop": lambda state: state}, ["{}"], [])


# --- the variant -------------------------------------------------------------------------------------------------


def answers(count):
    return [LAB_VARIANT.answer(variant("lab", f"student-{number}").numbers) for number in range(count)]


def test_an_answer_worked_out_by_hand():
    numbers = {
        "base_parameters": 7_000_000_000,
        "adapter_parameters": 70_000_000,
        "sequences": 64,
        "tokens_per_sequence": 4_096,
        "kv_bytes_per_token": 65_536,
        "activation_gib": 8,
        "batch_tokens": 1_200_000,
        "workers": 10,
        "worker_tokens_per_second": 2_000,
        "trainer_tokens_per_second": 60_001,
        "bandwidth_gb_per_s": 2.5,
        "setup_seconds": 0.344,
        "sync_every": 3,
    }
    assert LAB_VARIANT.answer(numbers) == {
        "peak_gib": pytest.approx(14.0816 + 16, abs=1e-4),
        "seconds_per_update": pytest.approx(60 + 6 / 3),  # 14.14 GB take 5.656 s, and 0.344 s of set-up
        "workers_needed": 31,
    }


def test_the_answers_of_all_ids_stay_inside_the_ranges():
    for answer in answers(3_000):
        for name, field in LAB_VARIANT.fields.items():
            assert field.low <= answer[name] <= field.high


def test_the_ranges_hold_at_the_corners_of_what_is_drawn():
    corners = {
        "base_parameters": (3_000_000_000, 13_000_000_000),
        "adapter_parameters": (20_000_000, 200_000_000),
        "sequences": (32, 96),
        "tokens_per_sequence": (1_500, 5_000),
        "kv_bytes_per_token": (57_344, 131_072),
        "activation_gib": (8, 28),
        "batch_tokens": (1_000_000, 4_000_000),
        "workers": (4, 12),
        "worker_tokens_per_second": (2_000, 6_000),
        "trainer_tokens_per_second": (20_000, 120_000),
        "bandwidth_gb_per_s": (1.25, 5),
        "setup_seconds": (0.5, 2.0),
        "sync_every": (2, 4),
    }
    for corner in itertools.product(*corners.values()):
        answer = LAB_VARIANT.answer(dict(zip(corners, corner, strict=True)))
        for name, field in LAB_VARIANT.fields.items():
            assert field.low <= answer[name] <= field.high


def test_no_two_of_a_thousand_students_share_an_answer():
    given = answers(1_000)
    assert len({tuple(answer.values()) for answer in given}) == 1_000
    by_peak = sorted(tuple(answer.values()) for answer in given)
    for place, mine in enumerate(by_peak):
        for theirs in by_peak[place + 1 :]:
            if theirs[0] > mine[0] * 1.001:
                break
            assert abs(theirs[1] - mine[1]) > 1e-3 * mine[1] or theirs[2] != mine[2]
