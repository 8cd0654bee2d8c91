"""The checkpoints explorer: the worked problem's numbers, runs against the exact formula, resumes against the drill."""

import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlinfra.explorers import _checkpoints_runs as runs
from rlinfra.explorers import explore
from rlinfra.explorers.checkpoints import TOPIC
from rlinfra.given.checkpoints import CHECKPOINT_PARTS, ToyLoop

from .solved import solved

HOUR = 3600
SOLVED = solved("checkpoints")
SAVE, LOSE, RESUME = (preset.question for preset in TOPIC.presets)
COST, RUN, MANIFEST, BATCH = TOPIC.control("picture").values
CONTRACTS = ["tokenizer", "environment", "decoding", "rollout_schema"]
settings_of_all = st.fixed_dictionaries({control.name: st.sampled_from(control.values) for control in TOPIC.controls})


@pytest.fixture
def explorer(monkeypatch):
    """As students have it: their functions, and no reference."""
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
    return explore("checkpoints", SOLVED)


def drawn(explorer, **setting):
    explorer.set(**setting)
    picture, problems = explorer.draw()
    assert problems == {}
    return picture


# --- the presets ---------------------------------------------------------------------------------------------------


def test_250_machines_save_every_hour(explorer):
    """Worked problem: 2500 h / 250 = 10 h; 180/900 + 900/72,000 = 21.25 %; √(2·180·36,000) = 3600 s: 5 % + 5 %."""
    assert TOPIC.presets[0].question == "How often should 250 machines save?"
    assert explorer.text.startswith(
        "Saving every 15 min costs 21.25 % of the work, against 10.00 % at Young's interval"
    )
    assert "Young's interval, 60.0 min: writing 5.00 %, rework 5.00 %, overhead 10.00 %." in explorer.text
    assert "Daly's interval, 58.0 min" in explorer.text  # 3481.0 s
    assert "a failure stops the job every 10.00 h." in explorer.text


def test_a_run_of_16384_gpus_is_unlucky(explorer):
    """Llama 3 (2024): 419 failures in 54 days on 16,384 GPUs are one in 3.09 h; 50,000 h / 16,384 are 3.05 h.

    60/3600 + 3600/21,973 = 18.05 %. In 30.52 h there should be 10 failures.
    """
    explorer.preset(LOSE)
    assert explorer.text.startswith(
        "In 30.52 h with 15 failures, saving every 60 min costs 40.17 % of the work: the formula says 18.05 %."
    )
    assert "a failure stops the job every 3.05 h." in explorer.text


def test_weights_alone_are_a_new_run(explorer):
    explorer.preset(RESUME)
    picture = drawn(explorer)
    assert picture.title == "A new run: 12 of 13 parts are faulty, 12 of 13 keys are missing"
    assert [row["part"] for row in picture.data["parts"] if not row["faulty"]] == ["weights"]


# --- what an interval costs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mtbf", "young", "daly"),
    [(24 * HOUR, "120.0 min", "116.7 min"), (6 * HOUR, "60.0 min", "56.7 min"), (HOUR // 4, "12.2 min", "9.1 min")],
)
def test_young_and_daly_part_as_in_dalys_captions(explorer, mtbf, young, daly):
    """Daly 2006, for checkpoints of 5 min: 117, 57 and 9.1 min. Young: √(2·5·1440) = 120, √(2·5·360) = 60, 12.2."""
    picture = drawn(explorer, checkpoint=300, mtbf=mtbf, machines=1)
    assert [rule["text"] for rule in picture.data["rules"]] == [f"Young's: {young}", f"Daly's: {daly}"]


def test_where_a_checkpoint_takes_twice_the_mtbf_daly_is_the_mtbf(explorer):
    picture = drawn(explorer, checkpoint=30 * 60, mtbf=HOUR // 4, machines=1)
    assert [rule["minutes"] for rule in picture.data["rules"]] == [pytest.approx(60 * math.sqrt(2 * 0.5 * 0.25)), 15]


@given(settings_of_all)
def test_no_place_of_the_curve_is_below_youngs(setting):
    """Young's interval is where the formula's sum is smallest, and both parts are then equal."""
    explorer = explore("checkpoints", SOLVED)
    picture = drawn(explorer, **setting | {"picture": COST})
    by_part = {part: {} for part in ("writing", "rework", "overhead")}
    for row in picture.data["curve"]:
        by_part[row["part"]][row["minutes"]] = row["percent"]
    writing, rework, overhead = by_part.values()
    assert all(overhead[place] == pytest.approx(writing[place] + rework[place]) for place in overhead)
    best = picture.data["rules"][0]["minutes"]
    assert overhead[best] == min(overhead.values())
    assert writing[best] == pytest.approx(rework[best])
    own = picture.data["own"][0]
    assert own["percent"] == pytest.approx(overhead[own["minutes"]])


# --- a run with failures -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("checkpoint", "mtbf", "interval", "restart"),
    [(180, 10 * HOUR, 3600, 0), (300, 900, 720, 0), (300, 900, 540, 60), (60, 3 * HOUR, 1200, 1800)],
)
def test_over_many_runs_the_cost_is_dalys_complete_one(checkpoint, mtbf, interval, restart):
    """Daly 2006, equation 20: a second of work takes M/T · e^(R/M) · (e^((T+C)/M) − 1) seconds.

    Runs of 2000 MTBF each: in short ones what is not saved at the end, which counts as work, makes a difference.
    """
    job = runs.Job(interval, checkpoint, mtbf, restart)
    wall = mtbf / interval * math.exp(restart / mtbf) * (math.exp((interval + checkpoint) / mtbf) - 1)
    found = 1 + runs.cost(runs.totals(job, range(1, 31), 2000))
    assert found == pytest.approx(wall, rel=0.02)


@given(settings_of_all)
def test_a_run_is_without_gaps_and_what_is_lost_ends_at_a_failure(setting):
    explorer = explore("checkpoints", SOLVED)
    picture = drawn(explorer, **setting | {"picture": RUN})
    hours = setting["span"] * setting["mtbf"] / setting["machines"] / HOUR
    failures = [row["hours"] for row in picture.data["failures"]]
    for row in ("your interval", "Young's", "Daly's"):
        parts = [part for part in picture.data["stretches"] if part["row"] == row]
        assert parts[0]["start"] == 0
        assert parts[-1]["end"] == pytest.approx(hours)
        assert all(before["end"] == after["start"] for before, after in pairwise(parts))
        ends = [part["end"] for part in parts if part["part"] == "lost"]
        assert all(min(abs(end - failure) for failure in failures) <= 1e-6 * hours for end in ends)


def walked(explorer):
    """Return the seconds of each part in the upper row, walked through checkpoint by checkpoint."""
    values, picture = explorer.values, drawn(explorer)
    work, writing = values["interval"], values["checkpoint"]
    ends = [row["hours"] * HOUR for row in picture.data["failures"]]
    span = values["span"] * values["mtbf"] / values["machines"]
    now, found = 0.0, dict.fromkeys(("work kept", "writing", "lost", "restart", "not saved yet"), 0.0)
    for end in [*ends, span]:
        ready = min(end, now + (values["restart"] if now else 0))
        found["restart"] += ready - now
        now = ready
        while now + work + writing <= end:
            found["work kept"] += work
            found["writing"] += writing
            now += work + writing
        if end < span:
            found["lost"] += end - now
        else:
            found["not saved yet"] += min(work, end - now)
            found["writing"] += max(0, end - now - work)
        now = end
    return found, picture


@pytest.mark.parametrize("setting", [{}, {"seed": 4}, {"restart": 1800}, {"interval": 300, "span": 20}])
def test_a_walk_from_checkpoint_to_checkpoint_finds_the_same(explorer, setting):
    explorer.preset(LOSE)
    explorer.set(**setting)
    found, picture = walked(explorer)
    hours = ", ".join(f"{part} {seconds / HOUR:,.2f} h" for part, seconds in found.items())
    assert hours in picture.details
    lost = found["writing"] + found["lost"] + found["restart"]
    assert f"{100 * lost / (found['work kept'] + found['not saved yet']):.2f} % of the work: the" in picture.title
    sums = dict.fromkeys(found, 0.0)
    for part in picture.data["stretches"]:
        if part["row"] == "your interval":
            sums[part["part"]] += HOUR * (part["end"] - part["start"])
    assert sums == pytest.approx(found)


def test_the_same_failures_strike_whatever_the_interval_and_others_with_another_seed(explorer):
    explorer.preset(LOSE)
    strikes = [drawn(explorer, interval=interval).data["failures"] for interval in (60, 3600, 86_400)]
    assert strikes[0] == strikes[1] == strikes[2]
    assert len(strikes[0]) == 15
    assert drawn(explorer, seed=4).data["failures"] != strikes[0]


def test_where_restarts_take_all_time_no_work_is_done(explorer):
    """15 min / 16,384 machines: a failure every 0.05 s, and a restart takes a minute."""
    picture = drawn(explorer, picture=RUN, mtbf=HOUR // 4, machines=16_384, restart=60)
    assert "saving every 15 min costs ∞ % of the work" in picture.title


# --- a manifest ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", CHECKPOINT_PARTS)
@pytest.mark.parametrize(("how", "keys"), [("missing", "1 of 13 keys is missing"), (None, "all 13 keys are there")])
def test_a_part_that_lacks_or_is_unsound_is_the_one_that_is_named(explorer, part, how, keys):
    picture = drawn(explorer, picture=MANIFEST, lacks=(part,), how=how or "there, but not sound")
    assert [row["part"] for row in picture.data["parts"] if row["faulty"]] == [part]
    start = "No start" if part == "weights" else "A new run"
    assert picture.title == f"{start}: 1 of 13 parts is faulty, {keys}"


def test_a_complete_checkpoint_is_a_resume(explorer):
    picture = drawn(explorer, picture=MANIFEST)
    assert picture.title == "A resume: none of 13 parts is faulty, all 13 keys are there"


def test_a_function_that_looks_at_the_keys_alone_is_drawn_as_it_says(monkeypatch):
    def keys_alone(manifest):
        errors = [part for part in CHECKPOINT_PARTS if part not in manifest]
        return {"errors": errors, "start": "new run" if errors else "resume"}

    explorer = explore("checkpoints", SOLVED, checkpoint_errors=keys_alone)
    explorer.overlay = True
    picture = drawn(explorer, picture=MANIFEST, lacks=("rng_states",), how="there, but not sound")
    row = next(row for row in picture.data["parts"] if row["part"] == "rng_states")
    assert (row["verdict"], row["reference"]) == ("✓ sound", "✗ faulty")
    assert picture.title.startswith("A resume: none of 13 parts is faulty")
    assert "the reference: new run; named as faulty: rng_states" in picture.facts["checkpoint_errors"]


# --- a control batch -----------------------------------------------------------------------------------------------

SAVED_AS = {
    "optimizer_state": ["moments"],
    "lr_scheduler": ["learning_rate"],
    "progress": ["step", "policy_version"],
    "rng_states": ["rng"],
    "dataset_cursor": ["cursor"],
    "curriculum": ["success"],
    "reward_normalization": ["reward_mean"],
    "layout": ["queue"],
}


@pytest.mark.parametrize("seed", [1, 17])
@pytest.mark.parametrize("part", SAVED_AS)
def test_a_part_begins_fresh_as_in_a_drill_from_a_snapshot_without_it(explorer, part, seed):
    """The notebook's solution saves a loop and restores it, with that part of a new loop in the place of its own."""
    events = runs._outside(seed)
    before, after = events[:-14], events[-14:]
    loop = ToyLoop(seed)
    loop.run(before)
    state = SOLVED["snapshot"](loop) | {name: SOLVED["snapshot"](ToyLoop(seed))[name] for name in SAVED_AS[part]}
    restored = SOLVED["restore"](json.loads(json.dumps(state)))
    expected = {
        "without interruption": [update["loss"] for update in loop.run(after)["updates"]],
        "from this checkpoint": [update["loss"] for update in restored.run(after)["updates"]],
    }
    picture = drawn(explorer, picture=BATCH, lacks=(part,), seed=seed)
    found = {run: [row["loss"] for row in picture.data["losses"] if row["run"] == run] for run in expected}
    assert found == expected
    assert found["without interruption"] != found["from this checkpoint"]
    assert picture.title.startswith("A new run: the losses of the control batch differ from step ")


@pytest.mark.parametrize("seed", TOPIC.control("seed").values)
def test_a_part_shows_where_its_place_in_the_loop_lets_it(explorer, seed):
    """A step's loss is computed before its update: what changes the update alone shows from the second loss on.

    What an advantage is made of shows in the first. Of 16 rollouts 8 are trained on before the failure, so 8 losses
    are of waiting ones, unless the queue is lost; a new rollout's prompt or noise shows in the ninth at the earliest.
    """
    first = {part: runs.first_difference(seed, (part,)) for part in SAVED_AS}
    assert {first["curriculum"], first["reward_normalization"], first["layout"]} == {1}
    assert {first["optimizer_state"], first["progress"]} == {2}
    assert first["rng_states"] == 9
    picture = drawn(explorer, picture=BATCH, seed=seed, lacks=("optimizer_state",))
    assert picture.title == "A new run: the losses of the control batch differ from step 2 of 14 on"
    assert picture.data["differs"][0]["step"] == 2
    assert "rng_states at step 9" in picture.details


@pytest.mark.parametrize("seed", TOPIC.control("seed").values)
def test_a_contract_is_missing_and_the_control_batch_does_not_show_it(explorer, seed):
    """What the notebook says it leaves out: a part that the control batch never touches could still be missing."""
    for part in CONTRACTS:
        picture = drawn(explorer, picture=BATCH, lacks=(part,), seed=seed)
        assert picture.title.startswith("A new run: the control batch does not show it, all 14 losses")
        assert picture.data["differs"] == []
    assert picture.details.endswith(f"{', '.join(CONTRACTS)}.")


def test_a_complete_checkpoint_passes_the_control_batch_and_one_without_weights_has_none(explorer):
    picture = drawn(explorer, picture=BATCH)
    assert picture.title == "A resume: all 14 losses of the control batch are as without interruption"
    picture = drawn(explorer, lacks=("weights",))
    assert picture.title == "No start: without weights there is nothing to run the control batch with"
    assert {row["run"] for row in picture.data["losses"]} == {"without interruption"}


# --- what is not written, and what differs -------------------------------------------------------------------------


def test_what_is_not_written_is_said_plainly(monkeypatch):
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
    daly = explore("checkpoints", {"daly_interval": SOLVED["daly_interval"]})
    assert daly.text.startswith("As far as it is written, Daly's interval is 58.0 min: what an interval costs is")
    daly.preset(LOSE)
    assert daly.text.startswith(
        "As far as it is written, in 30.52 h with 15 failures saving every 60 min costs 40.17 %"
    )
    cadence = explore("checkpoints", {"checkpoint_cadence": SOLVED["checkpoint_cadence"]})
    assert cadence.text.startswith("As far as it is written, saving every 15 min costs 21.25 % of the work: Young's")
    blank = explore("checkpoints", {})
    for picture in (COST, RUN, MANIFEST, BATCH):
        blank.set(picture=picture)
        assert blank.text.startswith("Nothing is written yet: ")


def test_a_wrong_interval_is_drawn_beside_the_references():
    """√(C·M) is 2545.6 s, 42.4 min: the 2 is forgotten."""
    wrong = explore("checkpoints", SOLVED, optimal_checkpoint_interval=lambda c, m: math.sqrt(c * m))
    wrong.overlay = True
    rules = [(rule["text"], rule["grey"]) for rule in drawn(wrong).data["rules"]]
    assert rules[:2] == [("Young's: 42.4 min", False), ("Young's: 60.0 min (reference)", True)]
    rows = {row["row"] for row in drawn(wrong, picture=RUN).data["totals"]}
    assert rows == {"your interval", "Young's", "Young's (reference)", "Daly's", "Daly's (reference)"}


def test_the_reference_stands_in_and_is_drawn_paler():
    explorer = explore("checkpoints", {})
    picture, _ = explorer.draw()
    assert {row["whose"] for row in picture.data["curve"]} == {"the reference"}
    assert picture.title.startswith("Saving every 15 min costs 21.25 %")
