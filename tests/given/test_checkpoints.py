"""What the notebook of topic `checkpoints` hands out: the loop, the two drivers of its drill, the variant."""

import itertools
import json
import random

import pytest

from rlinfra.given.checkpoints import ToyLoop, restore_and_run, run_and_snapshot
from rlinfra.variants import variant
from rlinfra_autograder.tasks.checkpoints import CHECKPOINTS_VARIANT


def event(arrivals=0, reward=None, publish=False):
    return {"arrivals": arrivals, "reward": reward, "publish": publish}


# --- the loop ----------------------------------------------------------------------------------------------------


def test_adams_first_step_is_as_long_as_the_learning_rate():
    loop = ToyLoop(3)
    loop.run([event(arrivals=1, reward=1.0)])
    assert [abs(new - old) for new, old in zip(loop.weights, [0.2, -0.1], strict=True)] == pytest.approx([0.1, 0.1])


def test_an_advantage_is_the_reward_above_the_mean_times_what_the_prompt_still_lacks():
    loop = ToyLoop(3)
    first, second = loop.run([event(arrivals=8, reward=1.0), event(reward=1.0)])["updates"]
    assert first["advantage"] == pytest.approx((1.0 - 0.5) * (1.5 - 0.5))
    assert second["advantage"] == pytest.approx((1.0 - 0.55) * (1.5 - 0.5))  # the mean moved a tenth of the way


def test_the_lag_counts_the_publications_since_the_rollout():
    loop = ToyLoop(3)
    loop.run([event(arrivals=1), event(publish=True), event(publish=True)])
    assert loop.run([event(reward=1.0)])["updates"][0]["lag"] == 2


def test_rollouts_come_from_the_published_weights_and_not_from_the_newest():
    trained, published = ToyLoop(3), ToyLoop(3)
    trained.run([event(arrivals=1, reward=1.0)])
    published.run([event(arrivals=1, reward=1.0, publish=True)])
    noise = random.Random(3)
    noise.random()
    rollout = trained.run([event(arrivals=1)])["rollouts"][0]
    features = [(1.0, 0.5), (0.5, -1.0), (-0.75, 0.25), (0.25, 1.25)][rollout["prompt"]]
    assert rollout["action"] == pytest.approx(0.2 * features[0] - 0.1 * features[1] + 2 * noise.random() - 1)
    assert published.run([event(arrivals=1)])["rollouts"][0]["action"] != rollout["action"]


def test_a_reward_below_the_mean_lowers_the_learning_rate_of_the_next_update():
    loop = ToyLoop(3)
    rates = [
        update["learning_rate"]
        for update in loop.run([event(arrivals=3, reward=0.1)] + [event(reward=0.9)] * 2)["updates"]
    ]
    assert rates == pytest.approx([0.1, 0.09, 0.09])


def test_each_pass_takes_every_prompt_once_and_the_orders_follow_from_the_seed():
    prompts = [rollout["prompt"] for rollout in ToyLoop(3).run([event(arrivals=40)])["rollouts"]]
    passes = [tuple(prompts[start : start + 4]) for start in range(0, 40, 4)]
    assert all(sorted(taken) == [0, 1, 2, 3] for taken in passes)
    assert len(set(passes)) > 1
    again = [rollout["prompt"] for rollout in ToyLoop(3).run([event(arrivals=40)])["rollouts"]]
    assert again == prompts


def test_a_reward_without_a_waiting_rollout_changes_nothing():
    loop = ToyLoop(3)
    assert loop.run([event(reward=1.0)]) == {"rollouts": [], "updates": []}
    assert (loop.step, loop.weights, loop.reward_mean) == (0, [0.2, -0.1], 0.5)


# --- the drivers -------------------------------------------------------------------------------------------------

BEFORE = {"seed": 3, "events": [event(arrivals=2, reward=0.5)]}


def handed_over(snapshot):
    return run_and_snapshot({"snapshot": snapshot}, BEFORE)


def test_a_snapshot_crosses_as_short_pieces_of_its_json():
    pieces = handed_over(lambda loop: {"rng": loop.rng.getstate(), "text": "é" * 5_000})
    assert max(map(len, pieces)) <= 4_000
    state = json.loads("".join(pieces))
    assert state["text"] == "é" * 5_000
    assert len(state["rng"][1]) == 625


@pytest.mark.parametrize("state", [object(), {"rng": random.Random(1)}, float("nan"), {1, 2}])
def test_a_snapshot_that_json_cannot_hold_is_refused_with_a_reason(state):
    with pytest.raises(TypeError, match="what JSON can hold: "):
        handed_over(lambda loop: state)


def test_a_snapshot_of_many_megabytes_is_refused():
    with pytest.raises(ValueError, match=r"at most 400,000 characters of JSON"):
        handed_over(lambda loop: "x" * 5_000_000)


def test_what_is_not_written_yet_is_said_to_be_so():
    with pytest.raises(NotImplementedError, match="snapshot returns nothing"):
        handed_over(lambda loop: None)
    with pytest.raises(NotImplementedError, match="restore returns nothing"):
        restore_and_run({"restore": lambda state: None}, ["{}"], [])


def test_a_missing_function_is_named():
    with pytest.raises(NameError, match="no function snapshot"):
        run_and_snapshot({}, BEFORE)
    with pytest.raises(NameError, match="no function restore"):
        restore_and_run({}, ["{}"], [])


def test_restore_must_return_a_loop():
    with pytest.raises(TypeError, match="restore must return a ToyLoop, not a value of type dict"):
        restore_and_run({"restore": lambda state: state}, ["{}"], [])


# --- the variant -------------------------------------------------------------------------------------------------


def answers(count):
    return [CHECKPOINTS_VARIANT.answer(variant("checkpoints", f"student-{number}").numbers) for number in range(count)]


def test_the_answers_of_all_ids_stay_inside_the_ranges():
    for answer in answers(3_000):
        for name, field in CHECKPOINTS_VARIANT.fields.items():
            assert field.low <= answer[name] <= field.high


def test_the_ranges_hold_at_the_corners_of_what_is_drawn():
    corners = itertools.product((6e11, 1.5e12), (2.5, 5.0), (64, 512), (100, 300), (15, 240))
    names = ("state_bytes", "bandwidth_gb_per_s", "machines", "machine_mtbf_days", "present_interval_minutes")
    for corner in corners:
        answer = CHECKPOINTS_VARIANT.answer(dict(zip(names, corner, strict=True)))
        for name, field in CHECKPOINTS_VARIANT.fields.items():
            assert field.low <= answer[name] <= field.high
            if field.unit == "%":
                assert answer[name] / 100 < field.low  # a fraction in the place of percent is noticed


def test_no_two_of_a_thousand_students_share_an_answer():
    assert len({tuple(answer.values()) for answer in answers(1_000)}) == 1_000


def test_no_answer_passes_for_another_students():
    by_interval = sorted(tuple(answer.values()) for answer in answers(1_000))
    for place, mine in enumerate(by_interval):
        for theirs in by_interval[place + 1 :]:
            if theirs[0] > mine[0] * 1.001:
                break
            assert any(abs(one - other) > 1e-3 * other for one, other in zip(mine, theirs, strict=True))
