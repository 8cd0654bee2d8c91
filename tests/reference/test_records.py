"""The reference of `records`, against hand-made values, the lab's text, NumPy, and the laws that must hold."""

from __future__ import annotations

import dataclasses
import math
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlinfra.given.records import (
    EPISODE,
    REGISTRY,
    REQUIRED_FIELDS,
    TRACES,
    consumed,
    example_record,
    prepared,
    produced,
    published,
    toy_trace,
)
from rlinfra_reference import completion_token_mask, project_completion, protocol, rollout_contract_errors

SYNCHRONOUS, ASYNCHRONOUS = "synchronous", "asynchronous"


# --- protocol ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("server, barrier", SYNCHRONOUS),
        ("one GPU, two batches buffered", ASYNCHRONOUS),
        ("one GPU, prompts ahead", SYNCHRONOUS),
        ("server, every 2nd update", SYNCHRONOUS),
        ("server, trainer starts early", SYNCHRONOUS),
        ("server, during the second step", ASYNCHRONOUS),
        ("two workers, one runs ahead", ASYNCHRONOUS),
    ],
)
def test_the_loops_of_the_notebook_are_classified_as_its_table_says(name, expected):
    assert protocol(TRACES[name]) == expected


def test_a_dedicated_pool_that_waits_for_training_and_loading_is_synchronous():
    """The lecture's answer on disaggregation with a barrier."""
    pool = [
        produced(0, 0, 0, 90, "pool"),
        consumed(0, 1, 90, 100, "trainer"),
        published(1, 100, 104, "pool"),
        produced(1, 1, 104, 194, "pool"),
    ]
    assert protocol(pool) == SYNCHRONOUS


def test_one_gpu_that_alternates_while_the_cpu_prepares_prompts_is_synchronous():
    """The lecture's answer on colocation with buffering: what is buffered there are prompts."""
    alternating = [
        produced(0, 0, 0, 90, "gpu"),
        prepared(1, 0, 30),
        consumed(0, 1, 90, 100, "gpu"),
        produced(1, 1, 100, 190, "gpu"),
    ]
    assert protocol(alternating) == SYNCHRONOUS


def test_a_rollout_one_moment_before_the_end_of_the_update_makes_the_loop_asynchronous():
    update = [produced(0, 0, 0, 6, "server"), consumed(0, 1, 6, 8, "gpu-0")]
    assert protocol([*update, produced(1, 1, 8, 9, "server")]) == SYNCHRONOUS
    assert protocol([*update, produced(1, 0, math.nextafter(8, 0), 9, "server")]) == ASYNCHRONOUS


def test_an_update_that_the_trace_does_not_hold_has_not_ended():
    assert protocol([produced(0, 0, 0, 6, "gpu-0"), produced(1, 0, 50, 56, "gpu-0")]) == ASYNCHRONOUS
    assert protocol([produced(0, 0, 0, 6, "gpu-0")]) == SYNCHRONOUS


LOOPS = st.fixed_dictionaries(
    {
        "batches": st.integers(2, 6),
        "rollout_seconds": st.integers(1, 30),
        "update_seconds": st.integers(1, 30),
        "publish_seconds": st.integers(0, 5),
        "pause_seconds": st.integers(0, 3),
        "publish_every": st.integers(1, 4),
        "rollout_on": st.sampled_from(["gpu-0", "server"]),
    }
)


@given(LOOPS)
def test_a_barrier_is_synchronous_wherever_it_stands_and_however_seldom_weights_are_published(loop):
    assert protocol(toy_trace(**loop)) == SYNCHRONOUS


@given(LOOPS, st.integers(1, 3))
def test_batches_rolled_out_ahead_are_asynchronous_on_one_device_as_on_two(loop, ahead):
    assert protocol(toy_trace(**loop, ahead=ahead)) == ASYNCHRONOUS


@given(LOOPS, st.integers(0, 2), st.randoms(use_true_random=False), st.integers(0, 100))
def test_places_versions_list_order_and_a_later_clock_change_nothing(loop, ahead, shuffle, later):
    trace = toy_trace(**loop, ahead=ahead)
    moved = [
        {**event, "where": "elsewhere", "start": event["start"] + later, "end": event["end"] + later} for event in trace
    ]
    for event in moved:
        if "version" in event:
            event["version"] = 0
    shuffle.shuffle(moved)
    assert protocol(moved) == protocol(trace)


@pytest.mark.parametrize("bad", [True, -1, 1.5, math.nan, None, "1"])
@pytest.mark.parametrize("field", ["start", "end", "batch", "version"])
def test_a_senseless_event_is_refused_by_the_name_of_the_trace(field, bad):
    event = produced(1, 1, 1, 1, "gpu-0")
    if field in ("start", "end") and bad == 1.5:
        bad = math.inf
    with pytest.raises(ValueError, match=r"\btrace\b"):
        protocol([{**event, field: bad}])


@pytest.mark.parametrize("trace", [[], [{**prepared(0, 0, 1), "kind": "rollout"}], [prepared(0, 2, 1)]])
def test_no_events_an_unknown_kind_and_an_end_before_the_start_are_refused(trace):
    with pytest.raises(ValueError, match=r"\btrace\b"):
        protocol(trace)


# --- completion_token_mask ---------------------------------------------------------------------------------------


def test_the_mask_runs_through_the_first_eos_inclusive():
    assert completion_token_mask([[5, 8, 2, 2], [2, 2, 2, 2], [9, 6, 4, 5]], [2]) == [
        [True, True, True, False],
        [True, False, False, False],
        [True, True, True, True],
    ]


def test_any_of_several_eos_ids_ends_a_completion_and_none_of_no_ids_does():
    assert completion_token_mask([[5, 3, 2, 7]], [2, 3]) == [[True, True, False, False]]
    assert completion_token_mask([[5, 3, 2, 7]], []) == [[True, True, True, True]]


def test_no_rows_and_empty_rows_keep_their_shape():
    assert completion_token_mask([], [2]) == []
    assert completion_token_mask([[], []], [2]) == [[], []]


def test_an_array_gives_an_array_of_bools_that_the_lab_can_sum():
    """Section 10 of the lab: `completion_token_mask(suffix.cpu().numpy(), eos_ids).sum(axis=1).tolist()`."""
    suffix = np.array([[7, 151_645, 151_643], [8, 9, 10]])
    mask = completion_token_mask(suffix, [151_645, 151_643])
    assert mask.dtype == np.bool_
    assert mask.sum(axis=1).tolist() == [2, 3]


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0, 0)])
def test_an_empty_array_keeps_its_shape(shape):
    assert completion_token_mask(np.zeros(shape, dtype=np.int64), [2]).shape == shape


def tables_of_tokens(width):
    return st.lists(st.lists(st.integers(0, 5), min_size=width, max_size=width), min_size=1, max_size=5)


@given(st.integers(0, 6).flatmap(tables_of_tokens))
def test_the_mask_is_where_no_eos_has_been_counted_before(rows):
    """An oracle of another kind: NumPy's cumulative sum of EOS tokens, less the token's own."""
    ended = np.isin(np.array(rows, dtype=int), [1, 4])
    assert completion_token_mask(rows, [1, 4]) == (np.cumsum(ended, axis=1) - ended == 0).tolist()


@pytest.mark.parametrize(
    ("tokens", "eos_ids", "name"),
    [
        ([[1, 2], [1]], [2], "tokens"),
        ([[1, True]], [2], "tokens"),
        ([[1, -1]], [2], "tokens"),
        ([[1, 2.0]], [2], "tokens"),
        ([1, 2], [2], "tokens"),
        (np.array([1, 2]), [2], "tokens"),
        (np.array([[1.0, 2.0]]), [2], "tokens"),
        ("12", [2], "tokens"),
        ([[1, 2]], [False], "eos_ids"),
        ([[1, 2]], [-100], "eos_ids"),
        ([[1, 2]], 2, "eos_ids"),
        ([[1, 2]], None, "eos_ids"),
    ],
)
def test_senseless_tokens_and_eos_ids_are_refused_by_name(tokens, eos_ids, name):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        completion_token_mask(tokens, eos_ids)


def test_importing_the_reference_needs_no_numpy():
    code = (
        "import sys; sys.modules['numpy'] = None; import rlinfra_reference; print(len(rlinfra_reference.__all__) > 3)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


# --- rollout_contract_errors -------------------------------------------------------------------------------------

# Section 7 of the lab.
GOOD_RECORD = {
    "sample_id": "run12-p003-r01",
    "prompt_id": "p003",
    "policy_version": 17,
    "prompt_tokens": [101, 42, 17],
    "response_tokens": [314, 159, 2],
    "behavior_logprobs": [-0.31, -1.07, -0.22],
    "decoding": {"temperature": 0.8, "top_p": 1.0},
    "reward": {"correctness": 1.0, "format": 0.0},
    "stop_reason": "eos",
    "verifier_version": "arith-v4",
}


def named(record):
    """Return the sorted names of the faulty fields."""
    return sorted(error.partition(":")[0] for error in rollout_contract_errors(record))


def test_the_labs_good_record_has_no_errors_and_its_broken_one_has():
    broken = dict(GOOD_RECORD)
    broken.pop("behavior_logprobs")
    broken["policy_version"] = -1
    assert rollout_contract_errors(GOOD_RECORD) == []
    assert named(broken) == ["behavior_logprobs", "policy_version"]


@pytest.mark.parametrize("field", REQUIRED_FIELDS)
def test_a_missing_field_is_named_once_and_nothing_else_is(field):
    assert named({name: value for name, value in GOOD_RECORD.items() if name != field}) == [field]


@pytest.mark.parametrize(
    ("changes", "faulty"),
    [
        # What the lecture's validator lets through.
        ({"behavior_logprobs": [-0.3, False, -0.2]}, ["behavior_logprobs"]),
        ({"prompt_tokens": []}, ["prompt_tokens"]),
        ({"reward": math.nan}, ["reward"]),
        ({"reward": {"correctness": 1.0, "format": math.inf}}, ["reward"]),
        ({"decoding": "greedy"}, ["decoding"]),
        ({"decoding": {}}, ["decoding"]),
        # Bools, signs, infinities.
        ({"policy_version": True}, ["policy_version"]),
        ({"response_tokens": [314, True, 2]}, ["response_tokens"]),
        ({"behavior_logprobs": [-0.3, 0.01, -0.2]}, ["behavior_logprobs"]),
        ({"behavior_logprobs": [-0.3, -math.inf, -0.2]}, ["behavior_logprobs"]),
        ({"behavior_logprobs": [-0.3, math.nan, -0.2]}, ["behavior_logprobs"]),
        ({"decoding": {"temperature": -0.1, "top_p": 1.0}}, ["decoding"]),
        ({"decoding": {"temperature": 0.8, "top_p": 0}}, ["decoding"]),
        ({"decoding": {"temperature": 0.8, "top_p": 1.01}}, ["decoding"]),
        ({"reward": True}, ["reward"]),
        ({"reward": {}}, ["reward"]),
        ({"sample_id": ""}, ["sample_id"]),
        # Alignment is a fault of the log-probabilities, and only where there is a list to align with.
        ({"behavior_logprobs": [-0.3, -0.2]}, ["behavior_logprobs"]),
        ({"response_tokens": [314, -1], "behavior_logprobs": [-0.3]}, ["behavior_logprobs", "response_tokens"]),
        ({"response_tokens": "abcd"}, ["response_tokens"]),
        ({"response_tokens": [], "behavior_logprobs": []}, ["response_tokens"]),
        # What is right, though it may look wrong.
        ({"policy_version": 0, "reward": 0, "behavior_logprobs": [0.0, -1, 0]}, []),
        ({"decoding": {"temperature": 0, "top_p": 1, "top_k": 20}, "environment_id": None}, []),
        ({"reward": 10**400, "policy_version": 10**400}, []),
        ({"policy_version": np.int64(3), "reward": np.float32(0.5)}, []),
    ],
)
def test_a_record_is_faulty_in_these_fields_and_no_others(changes, faulty):
    assert named({**GOOD_RECORD, **changes}) == faulty


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(JSON | st.dictionaries(st.sampled_from(REQUIRED_FIELDS), JSON))
def test_whatever_the_record_is_the_contract_reports_and_does_not_raise(record):
    names = named(record)
    assert len(names) == len(set(names))
    assert set(names) <= (set(REQUIRED_FIELDS) if isinstance(record, dict) else {"record"})


@given(st.dictionaries(st.sampled_from(REQUIRED_FIELDS), JSON, min_size=1))
def test_only_fields_that_were_changed_are_named_but_for_the_alignment(changes):
    assert set(named({**GOOD_RECORD, **changes})) <= {*changes, "behavior_logprobs"}


@pytest.mark.parametrize("record", [None, [], "record", 17, True, math.nan, list(REQUIRED_FIELDS), (), object()])
def test_what_is_no_dictionary_has_the_one_fault_that_it_is_none(record):
    assert named(record) == ["record"]


# --- project_completion ------------------------------------------------------------------------------------------


def test_the_turns_of_the_episode_are_projected_as_the_notebook_says():
    assert dataclasses.asdict(project_completion(EPISODE, 0, REGISTRY)) == {
        "policy_version": 17,
        "prompt_tokens": [101, 42, 17],
        "response_tokens": [314, 159],
        "behavior_logprobs": [-0.31, -1.07],
        "reward": 0.25,
        "stop_reason": "tool_call",
    }
    second = project_completion(EPISODE, 1, REGISTRY)
    assert second.prompt_tokens == [101, 42, 17, 314, 159, 9, 77, 78]
    assert second.response_tokens == [265, 2]
    assert second.policy_version == 18
    assert second.reward == 0.5


def episode_of(lengths):
    """Return an episode whose turns read, choose and close with so many tokens, numbered from 0."""
    pieces = [(turn, mask, n) for turn, (a, b, c) in enumerate(lengths) for mask, n in ((0, a), (1, b), (0, c))]
    mask = [mask for _, mask, n in pieces for _ in range(n)]
    return {
        "token_ids": list(range(len(mask))),
        "policy_mask": mask,
        "turn_ids": [turn for turn, _, n in pieces for _ in range(n)],
        "behavior_logprobs": [-float(place) for place in range(len(mask))],
        "policy_versions": [f"v{turn + 40}" for turn in range(len(lengths))],
        "rewards": [turn / 4 for turn in range(len(lengths))],
        "stop_reasons": ["eos"] * len(lengths),
    }


LENGTHS = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2)), min_size=1, max_size=5)


@given(LENGTHS)
def test_every_chosen_token_is_in_one_response_and_prompts_with_responses_are_the_log_so_far(lengths):
    episode = episode_of(lengths)
    registry = {label: number for number, label in enumerate(episode["policy_versions"])}
    completions = [project_completion(episode, turn, registry) for turn in range(len(lengths))]
    chosen = [token for token, mine in zip(episode["token_ids"], episode["policy_mask"], strict=True) if mine]
    assert [token for completion in completions for token in completion.response_tokens] == chosen
    for turn, completion in enumerate(completions):
        read = completion.prompt_tokens + completion.response_tokens
        assert read == episode["token_ids"][: len(read)]
        assert completion.policy_version == turn
        assert completion.behavior_logprobs == [-token for token in completion.response_tokens]


@given(LENGTHS)
def test_a_projected_completion_with_the_other_four_fields_keeps_the_contract(lengths):
    episode = episode_of(lengths)
    registry = dict.fromkeys(episode["policy_versions"], 3)
    for turn in range(len(lengths)):
        record = example_record(**dataclasses.asdict(project_completion(episode, turn, registry)))
        assert rollout_contract_errors(record) == []


@pytest.mark.parametrize(
    ("changes", "turn", "registry", "name"),
    [
        ({"token_ids": [1, 2]}, 0, REGISTRY, "trajectory"),
        ({"policy_mask": [1]}, 0, REGISTRY, "trajectory"),
        ({"behavior_logprobs": []}, 0, REGISTRY, "trajectory"),
        ({"rewards": [1.0]}, 0, REGISTRY, "trajectory"),
        ({}, -1, REGISTRY, "turn"),
        ({}, 2, REGISTRY, "turn"),
        ({}, True, REGISTRY, "turn"),
        ({}, 1.0, REGISTRY, "turn"),
        ({"policy_mask": [0] * 10}, 1, REGISTRY, "turn"),
        ({"policy_versions": ["v12"], "rewards": [0.0], "stop_reasons": ["eos"]}, 1, REGISTRY, "turn"),
        ({}, 1, {"v12": 17}, "registry"),
        ({}, 1, {"v12-fix": "18"}, "registry"),
        ({}, 1, {"v12-fix": True}, "registry"),
        ({}, 1, {"v12-fix": -1}, "registry"),
    ],
)
def test_a_senseless_projection_is_refused_by_name(changes, turn, registry, name):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        project_completion({**EPISODE, **changes}, turn, registry)


def test_a_registry_that_counts_otherwise_than_the_label_wins():
    episode = {**EPISODE, "policy_versions": ["12", "13"]}
    registry = {"12": 4, "13": 7}
    assert [project_completion(episode, turn, registry).policy_version for turn in (0, 1)] == [4, 7]


# --- the variant problem -----------------------------------------------------------------------------------------


def test_the_variants_of_a_thousand_ids_stay_in_their_ranges_and_differ_from_each_other():
    from rlinfra.variants import variant
    from rlinfra_autograder.tasks.records import RECORDS_VARIANT

    drawn = random.Random(7)
    answers = []
    for number in range(1_000):
        numbers = variant("records", f"{drawn.getrandbits(40):x}-{number}").numbers
        completions = [numbers[f"completion_{turn}_tokens"] for turn in range(5)]
        tools = [numbers[f"tool_{turn}_tokens"] for turn in range(1, 5)]
        before = numbers["turn"]
        answer = {
            "prompt_length": numbers["opening_tokens"] + sum(completions[:before]) + sum(tools[:before]),
            "action_tokens": sum(completions),
            "action_share": sum(completions) / (numbers["opening_tokens"] + sum(completions) + sum(tools)),
        }
        if number < 20:
            assert RECORDS_VARIANT.answer(numbers) == answer
        for name, part in RECORDS_VARIANT.fields.items():
            assert part.low <= answer[name] <= part.high
        answers.append(tuple(answer.values()))
    assert len(set(answers)) == 1_000
