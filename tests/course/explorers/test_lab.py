"""The lab explorer: its runs are those of another program, `tests.simulator.oracle`, or are worked out by hand."""

from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlinfra.explorers import _reference, explore
from rlinfra.explorers.lab import TOPIC
from rlinfra.simulator import PipelineConfig
from tests.simulator.oracle import Oracle

from .solved import solved

SOLVED = solved("lab")
DOMINATES, BOUND, DEEPER, WITHIN = (preset.question for preset in TOPIC.presets)
settings_of_all = st.fixed_dictionaries({control.name: st.sampled_from(control.values) for control in TOPIC.controls})


@pytest.fixture
def explorer(monkeypatch):
    """As students have it: their functions, and no reference."""
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
    return explore("lab", SOLVED)


def drawn(explorer, question=None, **setting):
    """Return what is drawn for a preset and what is moved then, after a look that nothing is wrong."""
    if question:
        explorer.preset(question)
    explorer.set(**setting)
    picture, problems = explorer.draw()
    assert problems == {}
    return picture


def by_oracle(**fields):
    """Return the batches and totals of a run, as the other program has them."""
    return Oracle(PipelineConfig(duration_seconds=120, **fields), notes=False)


def speed(oracle):
    return sum(tokens for tokens, *_ in oracle.batches) / 120


def mean_lag(oracle):
    counts = [pair for batch in oracle.batches for pair in batch[3].items()]
    return sum(lag * count for lag, count in counts) / sum(count for _, count in counts)


def said(picture, part, row):
    """Return what a label of the dashboard says."""
    return next(label["text"] for label in picture.data["labels"] if (label["part"], label["row"]) == (part, row))


# --- the presets ---------------------------------------------------------------------------------------------------


def test_where_generation_dominates_asynchrony_takes_the_waits_away(explorer):
    overlapped, by_turns = by_oracle(workers=4), by_oracle(workers=4, mode="sequential")
    assert (round(speed(overlapped)), round(speed(by_turns))) == (583, 320)
    picture = drawn(explorer)
    assert explorer.topic.presets[0].question == DOMINATES
    assert picture.title == (
        "These settings train 583 tokens/s, 1.82 times as many as by turns (320), "
        "at a normalised ESS of 0.93 in place of 0.99"
    )
    assert picture.facts["diagnose_pipeline"] == "supply (these settings); backpressure, stragglers, supply (by turns)"


def test_the_gain_where_all_lengths_are_alike_by_hand(explorer):
    """Eight completions of 500 tokens are a batch, and four workers make them in two rounds.

    A round takes 0.3 + 500/180 s, so a batch 6.156 s; an update 0.4 + 4000/1200 = 3.733 s, a publication 0.6 s. By
    turns an update ends at 9.889 s and each 10.489 s later: 11 of them in 120 s, 44,000 tokens. Overlapped, one ends
    each 6.156 s from 9.889 s on: 18 of them, 72,000 tokens. Four workers make 2000 tokens in 3.078 s.
    """
    picture = drawn(explorer, DOMINATES, completion_spread=0.0)
    assert "train 600 tokens/s, 1.64 times as many as by turns (367)" in picture.title
    assert "4 workers generate 650 tokens/s if they never wait" in picture.details


def test_a_bound_on_lag_is_held_by_discarding(explorer):
    fresh, two = by_oracle(max_policy_lag=0), by_oracle(max_policy_lag=2)
    shares = [run.totals["discards"] / run.totals["finished"] for run in (fresh, two)]
    assert [round(share, 2) for share in shares] == [0.64, 0.11]
    assert round(mean_lag(two), 1) == 1.8
    picture = drawn(explorer, BOUND)
    assert picture.title == (
        "These settings discard 64% of the rollouts and train at a mean lag of 0.0 versions (at most 0); "
        "with lag up to 2, 11% and 1.8 (at most 2)"
    )
    assert {row["value"] for row in picture.data["lines"] if row["part"] == "set"} == {0}
    assert picture.data["limit"] == [{"value": 0, "text": "discarded above 0"}]


def test_a_deeper_queue_trains_no_more_where_the_trainer_is_slow(explorer):
    deep, shallow = (by_oracle(workers=12, max_policy_lag=12, max_queue_tokens=tokens) for tokens in (24_000, 4_000))
    assert [run.totals["deepest"] for run in (deep, shallow)] == [32_322, 9_977]
    assert [round(speed(run)) for run in (deep, shallow)] == [1_039, 1_020]
    picture = drawn(explorer, DEEPER)
    assert picture.title == (
        "With these settings the queue holds up to 32,322 tokens and 1,039 tokens/s are trained; "
        "with a one-batch queue, 9,977 and 1,020"
    )
    assert max(row["value"] for row in picture.data["lines"]) == 32_322


def test_tune_is_asked_for_the_same_loop_and_its_choice_is_run_beside(explorer):
    """The choice that the solved notebook makes, run by the other program."""
    chosen = {"batch_tokens": 8_000, "max_queue_tokens": 16_000, "max_policy_lag": 2}
    tuned = by_oracle(publish_seconds=4.0, **chosen)
    assert round(speed(tuned)) == 971
    picture = drawn(explorer, WITHIN)
    assert "782 tokens/s, 0.81 times as many as with tune's choice (971)" in picture.title
    assert picture.facts["tune"] == (
        "all at once, batches of 8,000 tokens, a queue of 16,000, lag up to 2, published every update; "
        "971 trained tokens/s, both bounds hold"
    )


# --- the features --------------------------------------------------------------------------------------------------


def test_the_dashboard_has_all_four_measures_of_both_beside_each_other(explorer):
    """Three of them in percent of the larger run's: by turns holds 9,295 tokens, 4,844 are 52.1 % of that."""
    picture = drawn(explorer, DOMINATES)
    runs = {"set": by_oracle(workers=4), "beside": by_oracle(workers=4, mode="sequential")}
    names = {"set": "these settings", "beside": "by turns"}
    for part, run in runs.items():
        assert said(picture, part, "throughput") == f"{speed(run):,.0f} tokens/s, {names[part]}"
        assert said(picture, part, "queue, deepest") == f"{run.totals['deepest']:,} tokens, {names[part]}"
        assert said(picture, part, "lag, mean") == f"{mean_lag(run):.1f} versions, {names[part]}"
        assert said(picture, part, "ESS, mean") == f"{fmean(batch[4] for batch in run.batches):.2f}, {names[part]}"
    bars = {(bar["row"], bar["part"]): bar["percent"] for bar in picture.data["bars"]}
    assert bars["queue, deepest", "set"] == pytest.approx(100 * 4_844 / 9_295)
    assert bars["lag, mean", "beside"] == 0
    assert bars["throughput", "set"] == 100


def test_the_hypotheses_stand_in_the_picture_as_the_function_says_them(monkeypatch):
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
    picture = drawn(explore("lab", SOLVED, diagnose_pipeline=lambda metrics: ["zeal: look", "overload", "zeal"]))
    assert said(picture, "set", "hypotheses") == "overload, zeal (these settings)"
    assert "hypotheses overload, zeal." in picture.details


@pytest.mark.parametrize("measure", ["throughput", "queue", "lag", "ESS"])
def test_over_time_each_measure_is_that_of_the_other_program(explorer, measure):
    picture = drawn(explorer, DOMINATES, shown=measure)
    run = by_oracle(workers=4)
    lines = {row["seconds"]: row["value"] for row in picture.data["lines"] if row["part"] == "set"}
    if measure == "lag":
        mine = [mean_lag(Batches([batch])) for batch in run.batches]
        assert list(lines.values()) == pytest.approx(mine)
    elif measure == "ESS":
        assert list(lines.values()) == pytest.approx([batch[4] for batch in run.batches])
    elif measure == "throughput":
        done = [tokens for tokens, _, end, *_ in run.batches if end < 60.25]
        assert lines[60.25] == pytest.approx(sum(done) / 60.25)
    else:
        assert max(lines.values()) == run.totals["deepest"]
    assert len(picture.data["ends"]) == 2


class Batches:
    """Some of a run's batches."""

    def __init__(self, batches):
        self.batches = batches


def test_the_slower_of_workers_and_trainer_is_a_line(explorer):
    """Four workers make 650 tokens/s of 500-token completions; a trainer of 600 is slower."""
    picture = drawn(explorer, DOMINATES, shown="throughput", completion_spread=0.0)
    assert picture.data["limit"][0]["text"] == "the workers at most: 650 tokens/s"
    picture = drawn(explorer, trainer_tokens_per_second=600)
    assert picture.data["limit"] == [{"value": 600, "text": "the trainer at most: 600 tokens/s"}]


@pytest.mark.parametrize(("mode", "measure"), [("sequential", "ESS"), ("bounded_async", "ESS"), ("sequential", "lag")])
def test_labels_keep_apart_and_in_the_order_of_their_values(explorer, mode, measure):
    """Two lines of text are 13 % of the axis, with some space. By turns twice, both values are the same."""
    picture = drawn(explorer, DOMINATES, shown=measure, mode=mode)
    low, high = sorted(picture.data["ends"], key=lambda label: label["value"])
    top = 1 if measure == "ESS" else 2
    assert 0 < low["value"] <= high["value"] - 0.12 * top
    assert high["value"] <= top
    assert mode == "sequential" or high["text"].startswith("by turns")  # 0.99 there, and 0.93 overlapped


def test_a_label_keeps_off_that_of_the_limit(explorer):
    """Nothing lags where nothing may: the limit's label is at 0, and the settings' stands above it."""
    picture = drawn(explorer, BOUND)
    assert min(label["value"] for label in picture.data["ends"]) >= 0.13 * 2


def test_settings_that_cannot_run_are_told_with_the_reason_and_the_other_run_is_drawn(explorer):
    picture = drawn(explorer, BOUND, sync_every_updates=2)
    assert picture.title == (
        "These settings cannot run: sync_every_updates must be at most max_policy_lag + 1 (1), not 2: "
        "every rollout would be too old before the next publication"
    )
    assert {row["part"] for row in picture.data["lines"]} == {"beside"}
    assert drawn(explorer, beside="by turns").data["lines"] == []


def test_a_run_without_an_update_says_so(explorer):
    """Of lengths that vary much, two slow workers with a slow verifier make no 8,000 tokens in time."""
    slow = {"workers": 2, "worker_tokens_per_second": 60, "verifier_seconds": 4, "trainer_tokens_per_second": 600}
    batch = {"batch_tokens": 8_000, "max_queue_tokens": 12_000}
    assert by_oracle(**slow, **batch, completion_spread=1.0).batches == []
    picture = drawn(explorer, DOMINATES, **slow, **batch, completion_spread=1.0)
    assert picture.title == "These settings train nothing in 120 s: no batch of 8,000 tokens is done"
    assert {label["row"] for label in picture.data["labels"]} == {"throughput", "queue, deepest"}
    assert picture.facts == {}
    assert by_oracle(**slow, **batch, mode="sequential").batches == []
    assert round(speed(by_oracle(**slow, **batch))) == 71
    picture = drawn(explorer, completion_spread=0.6)
    assert picture.title == "These settings train 71 tokens/s, and by turns nothing, at a normalised ESS of 0.99"
    assert picture.facts["diagnose_pipeline"].endswith("(these settings)")


# --- any setting ---------------------------------------------------------------------------------------------------


@given(settings_of_all)
def test_laws_of_the_loop_hold_in_the_picture(setting):
    """No rollout beyond the bound is trained on; weights of equal probabilities are even; no trainer beats itself."""
    explorer = explore("lab", SOLVED)
    explorer.set(**{**setting, "shown": "ESS"})
    values = [row["value"] for row in explorer.draw()[0].data["lines"] if row["part"] == "set"]
    assert all(0 < value <= 1 for value in values)
    if setting["max_policy_lag"] == 0 and setting["mismatch_sigma"] == 0:
        assert set(values) <= {1.0}
    explorer.set(shown="lag")
    lags = [row["value"] for row in explorer.draw()[0].data["lines"] if row["part"] == "set"]
    assert all(lag <= setting["max_policy_lag"] for lag in lags)
    explorer.set(shown="throughput")
    speeds = [row["value"] for row in explorer.draw()[0].data["lines"]]
    assert all(value < setting["trainer_tokens_per_second"] for value in speeds)


@given(settings_of_all)
def test_the_text_states_the_four_measures_of_both(setting):
    explorer = explore("lab", SOLVED)
    explorer.set(**{**setting, "shown": "all four"})
    picture, _ = explorer.draw()
    for label in picture.data["labels"]:
        if label["row"] != "hypotheses":
            assert f" {label['text'].split(' ')[0].rstrip(',')} " in picture.details


# --- what is missing, and the reference ----------------------------------------------------------------------------


def test_without_tune_the_settings_stand_alone_and_the_sentence_says_that_something_is_missing(monkeypatch):
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
    explorer = explore("lab", {"diagnose_pipeline": SOLVED["diagnose_pipeline"]})
    explorer.preset(WITHIN)
    assert explorer.text.startswith(
        "As far as it is written, these settings train 782 tokens/s, at a normalised ESS of 0.89."
    )
    assert "○ tune: is not there yet" in explorer.text


def test_a_choice_out_of_range_is_told_and_not_run(monkeypatch):
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
    explorer = explore("lab", SOLVED, tune=lambda workload: {"mode": "sequential", "workers": len(workload)})
    explorer.preset(WITHIN)
    assert "✗ tune: returns {'mode': 'sequential', 'workers': 16}; expected is a dictionary with the five" in (
        explorer.text
    )


def test_a_choice_that_breaks_a_bound_is_run_and_told(monkeypatch):
    """Publishing takes 4 s, so with a bound of 4 some rollouts lag more than the 2 versions that are allowed."""
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
    choice = {"mode": "bounded_async", "batch_tokens": 4_000, "max_queue_tokens": 7_000, "max_policy_lag": 4}
    explorer = explore("lab", SOLVED, tune=lambda _: {**choice, "sync_every_updates": 1})
    explorer.preset(WITHIN)
    assert max(max(batch[3]) for batch in by_oracle(publish_seconds=4.0, max_policy_lag=4).batches) == 4
    assert explorer.draw()[0].facts["tune"].endswith("not held: largest lag")


def test_the_references_choice_is_a_grey_bar_where_it_differs(monkeypatch):
    monkeypatch.setattr("rlinfra.explorers._reference", _reference)
    mine = {"mode": "sequential", "batch_tokens": 1_000, "max_queue_tokens": 1_000, "max_policy_lag": 0}
    functions = {"tune": lambda _: {**mine, "sync_every_updates": 1}, "diagnose_pipeline": lambda _: ["memory"]}
    explorer = explore("lab", SOLVED, **functions)
    explorer.preset(WITHIN)
    explorer.overlay = True
    picture = drawn(explorer)
    assert said(picture, "the reference", "throughput") == "971 tokens/s, the reference's choice"
    assert said(picture, "the reference", "hypotheses").startswith(
        "the reference: publication, supply (these settings)"
    )
    assert "; the reference: all at once, batches of 8,000" in picture.facts["tune"]
    explorer.overlay = False
    assert {bar["part"] for bar in drawn(explorer).data["bars"]} == {"set", "beside"}


def test_the_reference_stands_in_and_its_choice_is_drawn_paler():
    explorer = explore("lab", {})
    explorer.preset(WITHIN)
    picture, _ = explorer.draw()
    assert {(bar["part"], bar["whose"]) for bar in picture.data["bars"]} == {
        ("set", "given"),
        ("beside", "the reference"),
    }
    assert "○ tune: is not there yet: run its cell. The reference stands in: all at once" in explorer.text
