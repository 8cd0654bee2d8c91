"""The reference of topic `checkpoints` against hand-worked figures, published ones, and laws.

Sources: the lecture (180 s and 10 h), Daly 2006 (the captions of figures 3 to 5), and the exact cost of an interval
under Poisson failures, whose minimum is found here by bisection.
"""

import copy
import json
import math
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlinfra.given.checkpoints import CHECKPOINT_PARTS, ToyLoop, example_manifest
from rlinfra_reference import (
    checkpoint_as_dict,
    checkpoint_cadence,
    checkpoint_errors,
    daly_interval,
    make_checkpoint,
    optimal_checkpoint_interval,
    recovery_drill,
    restore,
    resumed_control_batch,
    snapshot,
)

MINUTE, HOUR = 60, 3600
seconds = st.floats(1e-2, 1e6)


# --- intervals ---------------------------------------------------------------------------------------------------


def test_three_minutes_and_ten_hours_give_an_hour_as_in_the_lecture():
    assert optimal_checkpoint_interval(180, 10 * HOUR) == 3600


def test_an_hour_then_costs_five_percent_of_writing_and_five_of_rework():
    cadence = checkpoint_cadence(3600, checkpoint_seconds=180, mtbf_seconds=10 * HOUR)
    assert (cadence.writing_fraction, cadence.rework_fraction) == (0.05, 0.05)
    assert cadence.total_fraction == pytest.approx(0.10)
    assert cadence.interval_seconds == 3600


def test_a_quarter_of_the_best_interval_costs_as_much_as_four_times_it():
    short = checkpoint_cadence(900, checkpoint_seconds=180, mtbf_seconds=36_000)
    long = checkpoint_cadence(14_400, checkpoint_seconds=180, mtbf_seconds=36_000)
    assert (short.writing_fraction, short.rework_fraction) == pytest.approx((0.2, 0.0125))
    assert short.total_fraction == pytest.approx(long.total_fraction)


@given(seconds, seconds, st.floats(1e-3, 1e3))
def test_no_interval_costs_less_than_youngs(checkpoint, mtbf, factor):
    best = optimal_checkpoint_interval(checkpoint, mtbf)
    times = {"checkpoint_seconds": checkpoint, "mtbf_seconds": mtbf}
    least = checkpoint_cadence(best, **times).total_fraction
    assert checkpoint_cadence(best * factor, **times).total_fraction >= least * (1 - 1e-12)


@given(seconds, seconds)
def test_writing_and_rework_cost_the_same_at_youngs_interval(checkpoint, mtbf):
    best = checkpoint_cadence(
        optimal_checkpoint_interval(checkpoint, mtbf), checkpoint_seconds=checkpoint, mtbf_seconds=mtbf
    )
    assert best.writing_fraction == pytest.approx(best.rework_fraction)


@pytest.mark.parametrize("interval", [optimal_checkpoint_interval, daly_interval])
@given(checkpoint=seconds, mtbf=seconds)
def test_an_interval_does_not_depend_on_the_unit_of_time(interval, checkpoint, mtbf):
    assert interval(60 * checkpoint, 60 * mtbf) == pytest.approx(60 * interval(checkpoint, mtbf))


def test_daly_gives_3481_seconds_where_young_gives_3600():
    assert daly_interval(180, 10 * HOUR) == pytest.approx(3481.0, abs=0.05)


@pytest.mark.parametrize(("mtbf", "minutes", "digits"), [(24 * HOUR, 117, 0), (6 * HOUR, 57, 0), (15 * MINUTE, 9.1, 1)])
def test_daly_gives_what_the_captions_of_daly_2006_state_for_dumps_of_five_minutes(mtbf, minutes, digits):
    assert round(daly_interval(5 * MINUTE, mtbf) / MINUTE, digits) == minutes


@pytest.mark.parametrize(("checkpoint", "expected"), [(400, 200), (500, 200), (10_000, 200)])
def test_daly_is_the_mtbf_itself_from_twice_the_mtbf_on(checkpoint, expected):
    assert daly_interval(checkpoint, 200) == expected


def test_daly_uses_the_series_up_to_twice_the_mtbf():
    # C / 2M = 0.99: sqrt(2 * 396 * 200) = 397.995, times 1 + 0.331662 + 0.11 is 573.774, less 396
    assert daly_interval(396, 200) == pytest.approx(177.774, abs=1e-3)


def exact_best_interval(checkpoint, mtbf):
    """Return the interval T with the least exp((T + C) / M) / T: where exp((T + C) / M) (1 - T / M) is 1."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if math.exp(middle + checkpoint / mtbf) * (1 - middle) > 1:
            low = middle
        else:
            high = middle
    return mtbf * low


@given(st.floats(1e-5, 0.3))
def test_daly_is_within_half_a_percent_of_the_exact_optimum(ratio):
    assert daly_interval(ratio, 1) == pytest.approx(exact_best_interval(ratio, 1), rel=5e-3)


@given(st.floats(1e-4, 1.9))
def test_daly_is_nearer_to_the_exact_optimum_than_young(ratio):
    exact = exact_best_interval(ratio, 1)
    assert abs(daly_interval(ratio, 1) - exact) < abs(optimal_checkpoint_interval(ratio, 1) - exact)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, True])
@pytest.mark.parametrize("name", ["checkpoint_seconds", "mtbf_seconds"])
def test_a_senseless_time_is_named(name, bad):
    times = {"checkpoint_seconds": 180, "mtbf_seconds": 36_000, name: bad}
    for function in (optimal_checkpoint_interval, daly_interval):
        with pytest.raises(ValueError, match=f"^{name} "):
            function(**times)
    with pytest.raises(ValueError, match=f"^{name} "):
        checkpoint_cadence(3600, **times)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, True])
def test_a_senseless_interval_is_named(bad):
    with pytest.raises(ValueError, match=r"^interval "):
        checkpoint_cadence(bad, checkpoint_seconds=180, mtbf_seconds=36_000)


# --- manifests ---------------------------------------------------------------------------------------------------


def faulty(manifest):
    return [error.partition(":")[0] for error in checkpoint_errors(manifest).errors]


def test_the_lecture_lists_thirteen_parts_and_the_example_has_them_all():
    assert len(set(CHECKPOINT_PARTS)) == 13
    assert list(example_manifest()) == list(CHECKPOINT_PARTS)
    assert checkpoint_errors(example_manifest()).errors == ()
    assert checkpoint_errors(example_manifest()).start == "resume"


@pytest.mark.parametrize("part", CHECKPOINT_PARTS)
def test_each_missing_part_is_named_and_makes_it_no_resume(part):
    manifest = example_manifest()
    del manifest[part]
    assert faulty(manifest) == [part]
    assert checkpoint_errors(manifest).start == ("no start" if part == "weights" else "new run")


@pytest.mark.parametrize("part", CHECKPOINT_PARTS)
def test_no_part_may_be_none(part):
    assert faulty({**example_manifest(), part: None}) == [part]


def test_a_cursor_of_zero_and_an_empty_curriculum_are_there():
    assert faulty({**example_manifest(), "dataset_cursor": 0, "curriculum": {}}) == []


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("weights", {}),
        ("dataset_cursor", True),
        ("dataset_cursor", -1),
        ("rng_states", {"python": 12_016}),
        ("rng_states", {"python": [3, 1], "numpy": []}),
        ("progress", {"global_step": 4000}),
        ("progress", {"global_step": 4000, "policy_version": True}),
        ("reward_normalization", {"mean": math.nan, "std": 1.0}),
        ("reward_normalization", {"mean": 0.0, "std": 0}),
        ("tokenizer", {"tokenizer_revision": "a", "chat_template_revision": ""}),
        ("environment", {"verifier_version": "v4"}),
        ("layout", {"ranks": 0, "queue_recovery": "keep"}),
        ("layout", {"ranks": 8}),
        ("rollout_schema", ""),
    ],
)
def test_a_part_that_is_there_but_not_sound_is_named(part, value):
    assert faulty({**example_manifest(), part: value}) == [part]


def test_a_part_with_two_faults_is_named_once_beside_others():
    manifest = {**example_manifest(), "progress": {"global_step": -1, "policy_version": True}, "decoding": {}}
    assert faulty(manifest) == ["progress", "decoding"]


@pytest.mark.parametrize("manifest", [None, [], "step-4000", 4000])
def test_what_is_no_dictionary_is_no_start(manifest):
    assert faulty(manifest) == ["manifest"]
    assert checkpoint_errors(manifest).start == "no start"


# --- the lab's manifest ------------------------------------------------------------------------------------------


def lab_manifest(rng):
    return make_checkpoint(optimizer_step=3, current_version=3, published_version=3, dataset_cursor=8, rng=rng)


def test_a_python_generator_goes_on_from_the_manifest_after_json():
    rng = random.Random(12_016)
    rng.random()
    saved = json.loads(json.dumps(checkpoint_as_dict(lab_manifest(rng))))
    version, internal, gauss_next = saved["rng_state"]
    restored = random.Random()
    restored.setstate((version, tuple(internal), gauss_next))
    assert [restored.random() for _ in range(5)] == [rng.random() for _ in range(5)]
    assert (saved["optimizer_step"], saved["dataset_cursor"], saved["rng_kind"]) == (3, 8, "Random")


@pytest.mark.parametrize("kind", ["PCG64", "MT19937"])
def test_a_numpy_generator_goes_on_from_the_manifest_after_json(kind):
    np = pytest.importorskip("numpy")
    rng = np.random.Generator(getattr(np.random, kind)(12_016))
    rng.integers(0, 10_000, size=8)
    saved = json.loads(json.dumps(checkpoint_as_dict(lab_manifest(rng))))
    restored = np.random.Generator(getattr(np.random, kind)())
    restored.bit_generator.state = saved["rng_state"]
    assert restored.integers(0, 10_000, size=5).tolist() == rng.integers(0, 10_000, size=5).tolist()
    assert saved["component_versions"]["numpy"] == np.__version__


def test_a_manifest_keeps_the_state_that_the_generator_had():
    rng = random.Random(1)
    manifest = lab_manifest(rng)
    before = copy.deepcopy(manifest.rng_state)
    rng.random()
    assert manifest.rng_state == before


def test_the_reference_imports_no_numpy():
    code = "import sys, rlinfra_reference.checkpoints; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("optimizer_step", -1),
        ("current_version", True),
        ("published_version", 4),
        ("dataset_cursor", 1.5),
        ("rng", 12_016),
    ],
)
def test_a_senseless_part_of_a_manifest_is_named(name, bad):
    parts = {"optimizer_step": 3, "current_version": 3, "published_version": 3, "dataset_cursor": 8}
    with pytest.raises(ValueError, match=f"^{name} "):
        make_checkpoint(**{**parts, "rng": random.Random(1), name: bad})


# --- the recovery drill ------------------------------------------------------------------------------------------

outside = st.fixed_dictionaries(
    {
        "arrivals": st.integers(0, 3),
        "reward": st.none() | st.floats(0, 1),
        "publish": st.booleans(),
    }
)
BEFORE = [
    {"arrivals": 2, "reward": reward, "publish": publish}
    for reward, publish in [(0.9, True), (0.1, True), (0.7, False)] * 2
]
AFTER = [{"arrivals": 2, "reward": reward, "publish": True} for reward in (0.3, 0.9, 0.6, 0.2)]


@given(st.integers(0, 2**32), st.lists(outside, max_size=12), st.lists(outside, max_size=12))
def test_a_resumed_loop_is_not_to_be_told_from_one_that_was_never_interrupted(seed, before, after):
    uninterrupted = ToyLoop(seed)
    uninterrupted.run(before)
    assert resumed_control_batch({"seed": seed, "events": before}, after) == uninterrupted.run(after)


@pytest.mark.parametrize("part", list(snapshot(ToyLoop(0))))
def test_each_part_that_is_not_restored_shows_in_the_control_batch(part):
    loop = ToyLoop(7)
    loop.run(BEFORE)
    state = json.loads(json.dumps({**snapshot(loop), part: snapshot(ToyLoop(8))[part]}))
    assert restore(state).run(AFTER) != loop.run(AFTER)


def test_a_snapshot_has_every_attribute_of_the_loop():
    assert set(snapshot(ToyLoop(0))) == set(vars(ToyLoop(0)))


def test_what_came_from_outside_cannot_be_replayed_from_the_seed():
    loop, replayed = ToyLoop(7), ToyLoop(7)
    loop.run(BEFORE)
    replayed.run([{"arrivals": 2, "reward": 0.5, "publish": False}] * len(BEFORE))
    assert replayed.run(AFTER) != loop.run(AFTER)


def test_the_drill_of_the_lab_matches_when_resumed_and_not_from_weights_alone():
    drill = recovery_drill(seed=12_016, before=8, after=8)
    assert drill.exact_match
    assert not drill.broken_match
    assert drill.uninterrupted == drill.resumed != drill.broken_resume
    assert len(drill.uninterrupted) == 8


@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(1, 20))
def test_weights_alone_never_pass_the_drill(seed, before, after):
    drill = recovery_drill(seed=seed, before=before, after=after)
    assert drill.exact_match
    assert not drill.broken_match


@pytest.mark.parametrize(("name", "bad"), [("seed", -1), ("before", 0), ("after", 0), ("before", 1.5)])
def test_a_senseless_drill_is_named(name, bad):
    with pytest.raises(ValueError, match=f"^{name} "):
        recovery_drill(**{"seed": 1, "before": 8, "after": 8, name: bad})
