"""The pipelines explorer: its numbers are those of the worked problem, of Little's law and of flow shops."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlinfra.explorers import explore
from rlinfra.explorers.pipelines import TOPIC
from rlinfra_reference import pipelines as reference

from .solved import solved

SOLVED = solved("pipelines")
ASYNC, SPLIT, SLOW, QUEUE = (preset.question for preset in TOPIC.presets)
settings_of_all = st.fixed_dictionaries({control.name: st.sampled_from(control.values) for control in TOPIC.controls})


@pytest.fixture(autouse=True, scope="module")
def _alone():
    """As students have it: their functions, and no reference."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rlinfra.explorers._reference", lambda _: {})
        yield


@pytest.fixture
def explorer():
    return explore("pipelines", SOLVED)


def asked(explorer, question, **setting):
    """Return the picture of a question, with some controls moved."""
    explorer.preset(question)
    explorer.set(**setting)
    picture, problems = explorer.draw()
    assert problems == {}
    return picture


def ends(picture, row, part=None):
    """Return from where to where the bars of a row go."""
    return [
        (bar["from"], bar["to"]) for bar in picture.data["bars"] if bar["row"] == row and part in (None, bar["part"])
    ]


# --- stages on a timeline ------------------------------------------------------------------------------------------


def test_overlap_hides_ten_seconds_of_a_hundred(explorer):
    """Worked problem: 20 × (90 + 10) = 2000 s; 100 + 19 × 90 = 1810 s; 2000/1810 = 1.105; 100/90 = 1.111."""
    assert explorer.topic.presets[0].question == "Does asynchrony help when generation dominates?"
    assert explorer.text.startswith(
        "Overlapped, 20 batches take 1,810 s in place of 2,000 s: 1.105 times as fast, and 1.111 times in a run "
        "without end."
    )
    assert "after the first a batch every 90 s." in explorer.text


def test_the_timeline_has_the_same_batches_in_turn_and_overlapped(explorer):
    """The drawing of the worked problem: rollouts end at 90, 180 and 270 s; trainings take 10 s from there on."""
    picture = asked(explorer, ASYNC, batches=3)
    assert ends(picture, "in turn: rollout") == [(0, 90), (100, 190), (200, 290)]
    assert ends(picture, "in turn: training") == [(90, 100), (190, 200), (290, 300)]
    assert ends(picture, "overlapped: rollout") == [(0, 90), (90, 180), (180, 270)]
    assert ends(picture, "overlapped: training") == [(90, 100), (180, 190), (270, 280)]
    assert [label["text"] for label in picture.data["labels"]] == ["300 s", "280 s"]


def test_where_training_is_longer_finished_batches_wait_for_it(explorer):
    """30 s of rollout and 50 of training: trained from 30 on without a gap, 230 s in all in place of 320."""
    picture = asked(explorer, ASYNC, rollout=30, training=50, batches=4)
    assert ends(picture, "overlapped: rollout") == [(0, 30), (30, 60), (60, 90), (90, 120)]
    assert ends(picture, "overlapped: training") == [(30, 80), (80, 130), (130, 180), (180, 230)]
    assert picture.title.startswith("Overlapped, 4 batches take 230 s in place of 320 s: 1.391 times as fast")


def test_two_equal_stages_come_near_to_twice_as_fast(explorer):
    """20 × 100 = 2000 s in turn; 100 + 19 × 50 = 1050 s; 1.905, and 2 without end."""
    picture = asked(explorer, ASYNC, rollout=50, training=50)
    assert "1,050 s in place of 2,000 s: 1.905 times as fast, and 2.000 times" in picture.title


def test_of_a_long_run_the_first_batches_are_drawn_and_the_axis_says_so(explorer):
    """100 batches: 10,000 s, and 100 + 99 × 90 = 9010 s."""
    picture = asked(explorer, ASYNC, batches=100)
    assert len(ends(picture, "in turn: training")) == 20
    assert "(the first 20 of 100 batches)" in picture.spec["layer"][0]["encoding"]["x"]["title"]
    assert picture.title.startswith("Overlapped, 100 batches take 9,010 s in place of 10,000 s")


# --- balance -------------------------------------------------------------------------------------------------------


def test_the_longest_stage_bounds_and_the_others_are_rarely_busy(explorer):
    """Worked problem: 105 + 9 × 60 = 645 s, 600, 250 and 200 of them busy; half of training: 635 s, of rollout: 345."""
    picture = asked(explorer, ASYNC, picture="stage balance", rollout=60, verification=25, training=20, batches=10)
    assert picture.title == "Rollout bounds the run: 10 batches take 645 s, and 345 s with half of it"
    busy = {name: ends(picture, name, name)[0][1] for name in ("rollout", "verification", "training")}
    assert busy == pytest.approx({"rollout": 60_000 / 645, "verification": 25_000 / 645, "training": 20_000 / 645})
    assert "With half of rollout: 345 s. With half of verification: 632.5 s. With half of training: 635 s." in (
        picture.details
    )


def test_nine_cards_and_one_gain_nothing_over_ten_in_turn(explorer):
    """Worked problem: 900/9 and 100/1 card-seconds a batch; 200 + 99 × 100 = 10,100 s; evenly 180 + 20, 18,020 s."""
    picture = asked(explorer, SPLIT)
    assert picture.title == (
        "9 + 1 cards for rollout + training are quickest: 100 batches take 10,100 s, and 10,000 s with all 10 in turn"
    )
    assert ends(picture, "5 + 5") == [(0, 18_020)]
    assert {mark["at"] for mark in picture.data["marks"]} == {10_000}


def test_where_verification_takes_none_of_the_cards_dividing_them_gains(explorer):
    """100 s of verification beside 60 + 20 s on 10 cards would be 180 s in turn; as a stage it is 90 s a batch."""
    picture = asked(explorer, SPLIT, rollout=60, training=20, verification=90, batches=100)
    # 7 + 3 cards: 600/7 = 85.7 and 200/3 = 66.7 s, under the 90 s of verification: 242.4 + 99 × 90 = 9152.4 s
    assert picture.title.startswith("7 + 3 cards for rollout + training are quickest: 100 batches take 9,152.4 s")
    assert picture.title.endswith("17,000 s with all 10 in turn")
    assert {bar["part"] for bar in picture.data["bars"] if bar["row"] == "7 + 3"} == {"verification"}


@given(settings_of_all)
def test_overlap_saves_the_shorter_stage_for_each_batch_after_the_first(setting):
    """A law of two stages: n (r + t) - (r + t) - (n - 1) max(r, t) = (n - 1) min(r, t)."""
    explorer = explore("pipelines", SOLVED)
    explorer.set(**{**setting, "picture": "in turn and overlapped"})
    picture, _ = explorer.draw()
    drawn = min(setting["batches"], 20)
    last = {way: ends(picture, f"{way}: training")[-1][1] for way in ("in turn", "overlapped")}
    saved = (drawn - 1) * min(setting["rollout"], setting["training"])
    assert last["in turn"] - last["overlapped"] == pytest.approx(saved)


@given(settings_of_all)
def test_on_the_timeline_no_stage_works_on_two_batches_and_no_batch_is_trained_on_before_it_is_there(setting):
    """What a schedule of a flow shop has to obey, whatever the formula."""
    explorer = explore("pipelines", SOLVED)
    explorer.set(**{**setting, "picture": "in turn and overlapped"})
    picture, _ = explorer.draw()
    for way in ("in turn", "overlapped"):
        rolled, trained = ends(picture, f"{way}: rollout"), ends(picture, f"{way}: training")
        for row in (rolled, trained):
            assert all(before[1] <= after[0] for before, after in pairwise(row))
        assert all(rollout[1] <= training[0] for rollout, training in zip(rolled, trained, strict=True))


# --- a group -------------------------------------------------------------------------------------------------------


def test_one_slow_rollout_holds_seven_cards_and_the_limit_frees_them(explorer):
    """Worked problem: 55 of 8 × 20 = 160 card-seconds are 34.375 %; cut at 8 s, 43 of 64 are 67.1875 %."""
    picture = asked(explorer, SLOW)
    assert picture.title == (
        "Cut at 8 s, the group ends after 8 s in place of 20 s: its cards work 67.2% of the time in place of 34.4%"
    )
    assert ends(picture, "rollout 1") == [(0, 2), (2, 8)]
    assert ends(picture, "rollout 8") == [(0, 8), (8, 20)]
    assert ends(picture, "rollout 8", "cut off") == [(8, 20)]
    assert picture.data["limit"] == [{"at": 8, "text": "limit: 8 s"}]
    assert "55.0 card-seconds of work, 160.0 held" in picture.details
    assert "43.0 card-seconds of work, 64.0 held" in picture.details
    assert "If no card had to wait (partial rollouts): 6.9 s" in picture.details


def test_without_a_limit_there_is_no_line_and_the_cards_wait(explorer):
    """3, 3, 4, 4, 5, 5, 6 and 18 s: 48/144 = 1/3."""
    picture = asked(explorer, SLOW, group="8 of 3 to 18 s", limit=math.inf)
    assert picture.title == "The group ends after 18 s, with its slowest rollout: its cards work 33.3% of the time"
    assert picture.data["limit"] == []
    assert ends(picture, "rollout 7") == [(0, 6), (6, 18)]


def test_a_limit_that_cuts_nothing_says_so(explorer):
    picture = asked(explorer, SLOW, limit=20)
    assert picture.title == (
        "A limit of 20 s cuts nothing: the group ends after 20 s, and its cards work 34.4% of the time"
    )


def test_in_a_group_of_64_more_cards_wait_for_a_slower_rollout(explorer):
    """Exponential, mean 8 s: the last of 64 middle quantiles is 8 ln 128 = 38.8 s, and 8/38.8 = 20.6 % are used.

    Cut at their mean, such lengths have a mean of 8 (1 - 1/e) s, and a share of 1/e of them is cut.
    """
    picture = asked(explorer, SLOW, group="64, a long tail", limit=math.inf)
    assert picture.title.startswith("The group ends after 38.8 s, with its slowest rollout")
    runs = [bar["to"] for bar in picture.data["bars"] if bar["part"] == "runs"]
    assert sum(runs) / len(runs) == pytest.approx(8, rel=0.01)
    assert "its cards work 20.5% of the time" in picture.title
    cut = asked(explorer, SLOW, group="64, a long tail", limit=8).data["bars"]
    runs = [bar["to"] for bar in cut if bar["part"] == "runs"]
    assert sum(runs) / len(runs) == pytest.approx(8 * (1 - 1 / math.e), rel=0.01)
    assert sum(bar["part"] == "cut off" for bar in cut) / 64 == pytest.approx(1 / math.e, abs=1 / 64)


def test_the_limit_cuts_hard_tasks_and_the_reward_of_one_policy_moves(explorer):
    """The notebook's sixteen: cut at 8 s, 3 of 11 finished are hard; rewards 10/16, then 8/11 or 8/16."""
    picture = asked(explorer, SLOW, picture="lengths, whole and cut", group="16, easy and hard")
    assert picture.title == (
        "The limit of 8 s cuts 5 of 16 rollouts: 27% of what finishes are hard tasks, and 50% without it"
    )
    assert "Mean reward: 0.62 without a limit, 0.73 over what finishes, 0.50 with 0 for what is cut." in picture.details


def test_the_lengths_pile_up_at_the_limit(explorer):
    """2, 3, 4, 5, 6, 7, 8 and 20 s: the tail beyond the limit is gone, and stands in the column that ends there."""
    picture = asked(explorer, SLOW, picture="lengths, whole and cut")
    assert picture.title == "The limit of 8 s cuts 1 of 8 rollouts: the mean length falls from 6.9 s to 5.4 s"
    columns = [(bar["from"], bar["part"], bar["low"], bar["high"]) for bar in picture.data["bars"]]
    assert columns == [
        (0, "finished", 0, 1),
        (2, "finished", 0, 2),
        (4, "finished", 0, 2),
        (6, "finished", 0, 2),
        (6, "cut at the limit", 2, 3),
    ]
    assert [(column["from"], column["high"]) for column in picture.data["whole"]] == [
        (0, 1),
        (2, 2),
        (4, 2),
        (6, 2),
        (18, 1),
    ]


def test_a_limit_below_the_shortest_leaves_none_that_finishes(explorer):
    picture = asked(explorer, SLOW, picture="lengths, whole and cut", group="8 of 3 to 18 s", limit=2)
    assert picture.title == "The limit of 2 s cuts 8 of 8 rollouts: none is left that finishes"


def test_without_a_limit_nothing_is_cut(explorer):
    picture = asked(explorer, SLOW, picture="lengths, whole and cut", limit=math.inf)
    assert picture.title == "Nothing is cut: 8 rollouts take 6.9 s in the mean, and the longest 20 s"


@given(settings_of_all)
def test_work_and_waiting_fill_what_is_held_and_the_columns_hold_every_rollout(setting):
    """A law of the group: each card is held until the end; and a limit neither adds nor loses a rollout."""
    explorer = explore("pipelines", SOLVED)
    explorer.set(**{**setting, "picture": "a group and its limit"})
    bars = explorer.draw()[0].data["bars"]
    last = {}
    for bar in bars:
        if bar["part"] != "cut off":
            last[bar["row"]] = max(bar["to"], last.get(bar["row"], 0))
    assert len(set(last.values())) == 1
    explorer.set(picture="lengths, whole and cut")
    picture, _ = explorer.draw()
    drawn, outline = (
        sum(column["high"] - column["low"] for column in picture.data[name]) for name in ("bars", "whole")
    )
    assert drawn == outline == len(last)


# --- a queue -------------------------------------------------------------------------------------------------------


def test_a_queue_fills_up_and_its_workers_pause(explorer):
    """Worked problem: 40 / (14 - 10) = 10 min; 1 - 10/14 = 28.6 %, of 20 min, are 19.0 % of 30; a wait of 40/10 min."""
    picture = asked(explorer, QUEUE)
    assert picture.title == (
        "The queue is full after 10.0 min: workers are paused 19.0% of the first 30 min, and 28.6% in the long run"
    )
    assert "a new rollout waits 4.0 min for the trainer" in picture.details
    backlog = {point["minute"]: point["millions"] for point in picture.data["backlog"]}
    assert (backlog[0], backlog[5], backlog[10], backlog[30]) == (0, 20, 40, 40)
    assert [(band["minute"], band["to"], band["millions"]) for band in picture.data["paused"]] == [(10, 30, 40)]
    assert picture.data["capacity"] == [{"millions": 40, "text": "capacity: 40 million tokens"}]


def test_ten_times_the_capacity_cures_no_overload_and_makes_the_data_older(explorer):
    """400 M / 4 M = 100 min; after 8 h 28.6 % of 380 of 480 min are 22.6 %; 400/10 = 40 min of wait."""
    picture = asked(explorer, QUEUE, capacity=400_000_000, minutes=480)
    assert picture.title == (
        "The queue is full after 100.0 min: workers are paused 22.6% of the first 480 min, and 28.6% in the long run"
    )
    assert "a new rollout waits 40.0 min for the trainer" in picture.details


def test_a_window_that_is_too_short_sees_no_pause(explorer):
    """5 min × 4 M are 20 M: half of the capacity."""
    picture = asked(explorer, QUEUE, minutes=5)
    assert picture.title == (
        "After 5 min 20.0 million tokens wait: it is full after 10.0 min, then workers pause 28.6% of the time"
    )
    assert picture.data["paused"] == []


def test_where_the_trainer_takes_what_comes_in_no_worker_pauses(explorer):
    picture = asked(explorer, QUEUE, arrival=10_000_000)
    assert picture.title == ("The queue never fills up: after 30 min 0.0 million tokens wait, and no worker pauses")


@given(settings_of_all)
def test_what_comes_in_has_gone_out_or_waits(setting):
    """Tokens are kept: arrivals in the time not paused are what the trainer took, at most its rate, and the backlog."""
    explorer = explore("pipelines", SOLVED)
    explorer.set(**{**setting, "picture": "queue, backpressure"})
    picture, _ = explorer.draw()
    backlog = [(point["minute"], point["millions"] * 1e6) for point in picture.data["backlog"]]
    assert all(0 <= tokens <= setting["capacity"] for _, tokens in backlog)
    report = SOLVED["queue_report"](
        setting["arrival"], setting["service"], minutes=setting["minutes"], capacity=setting["capacity"]
    )
    came = setting["arrival"] * setting["minutes"] * (1 - report["paused_fraction"])
    taken = min(setting["service"], setting["arrival"]) * setting["minutes"]
    assert came == pytest.approx(taken + backlog[-1][1])


# --- what is not written, or wrong -----------------------------------------------------------------------------------


def test_a_picture_whose_function_is_missing_says_so_and_shows_what_is_given():
    written = {name: SOLVED[name] for name in TOPIC.functions if name != "straggler_report"}
    explorer = explore("pipelines", written)
    explorer.preset(SLOW)
    picture, problems = explorer.draw()
    assert list(problems) == ["straggler_report"]
    assert picture.title == (
        "Nothing is written yet for this picture: what a group costs is what straggler_report says"
    )
    assert {(bar["row"], bar["to"]) for bar in picture.data["bars"]} >= {("rollout 1", 2), ("rollout 8", 20)}
    explorer.preset(QUEUE)
    assert explorer.text.startswith("The queue is full after 10.0 min")


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ({"makespan_seconds": 1}, "a dictionary with makespan_seconds, bounding_stage, busy_fractions"),
        ({"makespan_seconds": -1, "bounding_stage": 0, "busy_fractions": [1, 1]}, "0 or more, as makespan_seconds"),
        (
            {"makespan_seconds": 1, "bounding_stage": 2, "busy_fractions": [1, 1]},
            "a place from 0 to 1, as bounding_stage",
        ),
        ({"makespan_seconds": 1, "bounding_stage": 0, "busy_fractions": [1]}, "a list of 2 shares, as busy_fractions"),
        ({"makespan_seconds": 1, "bounding_stage": 0, "busy_fractions": [1, 90]}, "a share from 0 to 1, as busy_frac"),
    ],
)
def test_nonsense_about_stages_is_told_with_what_is_expected(returned, expected):
    explorer = explore("pipelines", SOLVED, pipeline_makespan=lambda *_: returned)
    explorer.set(picture="stage balance")
    picture, problems = explorer.draw()
    assert expected in problems["pipeline_makespan"].text
    assert picture.title == ("The busy share of each stage is what pipeline_makespan says, and that cannot be drawn")


def test_a_function_that_fails_for_some_divisions_leaves_the_others():
    """What raises is called no more in this redraw: the divisions before it stay, and the title says so."""

    def no_half(stages, batches):
        if stages[0] == stages[1] * 9:  # 5 + 5 cards
            raise ZeroDivisionError
        return SOLVED["pipeline_makespan"](stages, batches)

    explorer = explore("pipelines", SOLVED, pipeline_makespan=no_half)
    explorer.preset(SPLIT)
    picture, _ = explorer.draw()
    assert [bar["row"] for bar in picture.data["bars"]] == ["1 + 9", "2 + 8", "3 + 7", "4 + 6"]
    # 900/4 + 100/6 + 99 × 900/4 s
    assert picture.title.startswith(
        "As far as it is written, 4 + 6 cards for rollout + training are quickest: 100 batc"
    )
    assert "22,516.7 s" in picture.title


def _with_the_reference(_):
    return {name: getattr(reference, name) for name in TOPIC.functions}


def test_the_reference_is_marked_where_the_notebook_differs(monkeypatch):
    """Forgetting the first batch's way through both stages: 20 × 90 s, where the reference has 1810."""
    monkeypatch.setattr("rlinfra.explorers._reference", _with_the_reference)

    def without_the_first(*, rollout_seconds, train_seconds, batches):
        right = SOLVED["pipeline_report"](rollout_seconds=rollout_seconds, train_seconds=train_seconds, batches=batches)
        return {**right, "pipeline_total": batches * right["period"]}

    explorer = explore("pipelines", SOLVED, pipeline_report=without_the_first)
    explorer.overlay = True
    picture, _ = explorer.draw()
    assert "take 1,800 s in place of 2,000 s" in picture.title
    assert max(mark["at"] for mark in picture.data["marks"] if mark["row"] == "overlapped: training") == 1810
    assert "(grey line: the reference)" in picture.spec["layer"][0]["encoding"]["x"]["title"]


def test_the_reference_stands_in_and_is_drawn_paler(monkeypatch):
    monkeypatch.setattr("rlinfra.explorers._reference", _with_the_reference)
    explorer = explore("pipelines", {})
    picture, _ = explorer.draw()
    assert {bar["whose"] for bar in picture.data["bars"]} == {"the reference"}
    assert max(bar["opacity"] for bar in picture.data["bars"]) == 0.45
    assert picture.title.startswith("Overlapped, 20 batches take 1,810 s")
