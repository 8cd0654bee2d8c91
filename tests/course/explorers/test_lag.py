"""The lag explorer: its numbers are those of the worked problem, and its parts add up at any setting."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlinfra.explorers import explore
from rlinfra.explorers._lag_form import (
    AGES,
    AT_ASSEMBLY,
    AT_QUEUE,
    AT_START,
    COSTS,
    CYCLE,
    NOW,
    THE_TRANSFER,
    TRANSFER,
    VERSIONS,
    ordinal,
)
from rlinfra.explorers._lag_functions import spelled
from rlinfra.explorers.lag import TOPIC

from .solved import solved

SOLVED = solved("lag")
BOUND, SLOW, OFTEN = (preset.question for preset in TOPIC.presets)


def settings_of(picture):
    """Return any setting of a picture."""
    controls = {control.name: st.sampled_from(control.values) for control in TOPIC.controls}
    return st.fixed_dictionaries({**controls, "picture": st.just(picture)})


@pytest.fixture
def explorer(monkeypatch):
    """As students have it: their functions, and no reference."""
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
    return explore("lag", SOLVED)


def partly(monkeypatch, *written):
    """Return the explorer of a notebook in which only these functions are written."""
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
    return explore("lag", {name: SOLVED[name] for name in written})


def data_of(explorer, **values):
    explorer.set(**values)
    picture, problems = explorer.draw()
    assert problems == {}
    return picture.data


def said(explorer, **values):
    """Return the sentence at these values."""
    explorer.set(**values)
    return explorer.draw()[0].title


def parts_of(data, row, number):
    """Return the parts of each row."""
    found = {}
    for part in data["parts"]:
        found.setdefault(part[row], {})[part["part"]] = part[number]
    return found


# --- what a bound on lag bounds ------------------------------------------------------------------------------------


def test_a_bound_at_the_queue_does_not_look_at_the_wait(explorer):
    """8,192 tokens at 50 a second are 164 s, in which 16 updates of 10 s end; 1,400 tokens 28 s, 2 updates.

    So 1,400 tokens are kept at a bound of 2, and are 4 versions old after two batches. Mean length offered: 14,642
    tokens in 8 completions; kept: 200 + 300 + 450 + 600 + 900 + 1,400 in 6.
    """
    assert explorer.topic.presets[0].question == "What does a bound on lag bound?"
    parts = parts_of(data_of(explorer), "completion", "lag")
    assert parts["8,192 tokens"] == {"from the cadence": 0, "in flight": 16, "in the queue": 2}
    assert [part["in flight"] for part in parts.values()] == [0, 0, 0, 1, 1, 2, 5, 16]
    assert explorer.draw()[0].title == (
        "Enforced when a completion is queued, a bound of 2 versions lets a lag of 4 versions through, "
        "and keeps 6 of 8 completions"
    )
    assert "Mean length offered 1,830 tokens, kept 642 tokens." in explorer.text


def test_where_it_is_enforced_decides_what_gets_through(explorer):
    """At assembly only those that no update passed in flight: 0 + 2. At the start all: 16 + 2."""
    assert "lets a lag of 2 versions through, and keeps 3 of 8" in said(explorer, enforced=AT_ASSEMBLY)
    assert "Mean length offered 1,830 tokens, kept 317 tokens" in explorer.text
    assert "lets a lag of 18 versions through, and keeps 8 of 8" in said(explorer, enforced=AT_START)
    assert "keeps none of 8 completions" in said(explorer, enforced=AT_START, bound=1)


def test_what_a_bound_does_not_look_at_is_pale_and_comes_last(explorer):
    for moment, unseen in ((AT_ASSEMBLY, None), (AT_QUEUE, "in the queue"), (AT_START, "in flight")):
        parts = data_of(explorer, enforced=moment)["parts"]
        assert {part["part"] for part in parts if not part["seen"]} == ({unseen} if unseen else set())
        assert all(part["order"] == 2 for part in parts if not part["seen"])


def test_discarding_shortens_as_in_the_worked_problem(explorer):
    """Eight completions of the worked problem, no queue: 1,306 tokens on average, 642 of those within 2 versions."""
    assert "lets a lag of 2 versions through, and keeps 6 of 8" in said(explorer, tokens=4_000, queue=0)
    assert "Mean length offered 1,306 tokens, kept 642 tokens" in explorer.text
    ends = {row["completion"]: row["text"] for row in data_of(explorer)["totals"]}
    assert (ends["1,400 tokens"], ends["2,600 tokens"], ends["4,000 tokens"]) == ("2: kept", "5: stale", "8: stale")


def test_a_cadence_makes_the_weights_old_before_they_are_used(explorer):
    """Published at each 4th version, 240 among them: 2,600 tokens began at 235, three versions after 232."""
    parts = parts_of(data_of(explorer, every=4), "completion", "lag")
    assert parts["2,600 tokens"] == {"from the cadence": 3, "in flight": 5, "in the queue": 2}
    assert parts["200 tokens"]["from the cadence"] == 0


def test_a_faster_engine_and_slower_updates_make_fewer_versions_in_flight(explorer):
    """164 s become 82 s of 10 s at twice the rate, and 164 s of 60 s are two updates."""
    assert parts_of(data_of(explorer, rate=100), "completion", "lag")["8,192 tokens"]["in flight"] == 8
    explorer.preset(BOUND)
    assert parts_of(data_of(explorer, update_seconds=60), "completion", "lag")["8,192 tokens"]["in flight"] == 2


@given(settings_of(AGES))
def test_a_bound_holds_for_what_it_looks_at(setting):
    """The parts add up to what the optimizer sees, and only at assembly is that within the bound."""
    data = data_of(explore("lag", SOLVED), **setting)
    ages = {row["completion"]: row for row in data["totals"]}
    for completion, parts in parts_of(data, "completion", "lag").items():
        flight, queue = parts["in flight"], parts["in the queue"]
        assert sum(parts.values()) == ages[completion]["lag"]
        unseen = {AT_ASSEMBLY: 0, AT_QUEUE: queue, AT_START: flight}[setting["enforced"]]
        kept = ages[completion]["text"].endswith(": kept")
        assert kept == (ages[completion]["lag"] - unseen <= setting["bound"])
        assert parts["from the cadence"] < setting["every"]


# --- why weight sync is slower than the wire -----------------------------------------------------------------------


def test_the_calls_for_single_tensors_take_longer_than_the_bytes(explorer):
    """Worked problem: 14 GB at 25 GB/s and 80 % are 0.70 s; 291 calls of 3 ms 0.873 s; 14 buckets 0.042 s."""
    explorer.preset(SLOW)
    parts = parts_of(data_of(explorer), "way", "seconds")
    assert parts["291 tensors one by one"] == {"set-up": 0, "calls": pytest.approx(0.873), "wire": pytest.approx(0.7)}
    assert parts["14 buckets of 1 GB"]["calls"] == pytest.approx(0.042)
    assert explorer.draw()[0].title == (
        "Sent one by one, 291 tensors take 0.873 s of calls and 0.7 s of wire; in 14 buckets all of it takes 0.742 s"
    )
    assert "A run of 16 updates makes 4 publications: 2.97 s in buckets." in explorer.text


def test_a_faster_link_leaves_the_calls_and_a_cheaper_call_the_wire(explorer):
    """Twice the link: 0.35 s of wire. A tenth of a call, 0.3 ms: 0.0873 s."""
    explorer.preset(SLOW)
    assert "0.873 s of calls and 0.35 s of wire" in said(explorer, bandwidth=50)
    assert "0.0873 s of calls and 0.35 s of wire" in said(explorer, call_ms=0.3)
    assert "0.0873 s of calls and 0.28 s of wire" in said(explorer, efficiency=1)


def test_an_adapter_sends_a_hundredth_of_the_bytes_and_keeps_the_set_up(explorer):
    """Worked problem: 0.15 + 14 GB at 20 GB/s are 0.85 s, 0.15 + 0.14 GB 0.157 s: 5.4 times as fast."""
    explorer.preset(SLOW)
    whole = data_of(explorer, call_ms=0, setup=0.15)["totals"][0]["seconds"]
    adapter = data_of(explorer, payload=140_000_000)["totals"][0]["seconds"]
    assert (whole, adapter) == (pytest.approx(0.85), pytest.approx(0.157))


def test_a_bucket_that_is_half_full_is_a_call(explorer):
    """1.19 GB are 3 buckets of half a GB, and an adapter of 0.14 GB is one of 1 GB."""
    explorer.preset(SLOW)
    assert "3 buckets of 0.5 GB" in {
        row["way"] for row in data_of(explorer, payload=1_192_099_840, bucket=0.5)["parts"]
    }
    assert "in 1 bucket all of it takes" in said(explorer, payload=140_000_000, bucket=1)


@given(settings_of(TRANSFER))
def test_set_up_calls_and_wire_add_up(setting):
    explorer = explore("lag", SOLVED)
    data = data_of(explorer, **setting)
    totals = {row["way"]: row["seconds"] for row in data["totals"]}
    parts = parts_of(data, "way", "seconds")
    assert {way: sum(seconds.values()) for way, seconds in parts.items()} == pytest.approx(totals)
    assert len({seconds["wire"] for seconds in parts.values()}) == 1
    assert all(f"in all {spelled(seconds)}" in explorer.text for seconds in totals.values())


# --- what a cadence costs ------------------------------------------------------------------------------------------


def test_the_costs_are_those_of_the_worked_problem(explorer):
    """J(K) = S/K + λ (K - 1)/2 with S = 8 s, λ = 1 s: 8, 4.5, 3.5 and 4.5 s; K* = √16 = 4."""
    explorer.preset(OFTEN)
    parts = parts_of(data_of(explorer), "every", "seconds")
    assert parts == {
        1: {"publication": 8, "mean lag": 0},
        2: {"publication": 4, "mean lag": 0.5},
        4: {"publication": 2, "mean lag": 1.5},
        8: {"publication": 1, "mean lag": 3.5},
    }
    assert (
        explorer.draw()[0].title == "Of 1, 2, 4 and 8, publishing after every 4th update costs least: 3.5 s an update"
    )
    assert "K = 8, costs 4.5 s an update. A publication stalls for 8 s. √(2 S / λ) is 4." in explorer.text
    assert {row["every"]: row["text"] for row in data_of(explorer)["totals"]} == {1: "8 s", 2: "4.5 s", 8: "4.5 s"}
    assert data_of(explorer)["least"] == [{"every": 4, "seconds": 3.5, "text": "least: 3.5 s"}]


def test_a_stall_100_times_as_long_makes_the_best_cadence_10_times_as_long(explorer):
    """800 / 40 + 39 / 2 = 39.5 s at √1600 = 40."""
    explorer.preset(OFTEN)
    assert "every 40th update costs least: 39.5 s" in said(explorer, stall=800, candidates=tuple(range(4, 65, 4)))


def test_the_stall_can_be_the_transfer(explorer):
    """14 GB in 14 buckets: 0.742 s; after every update it costs that, after every second 0.371 + 0.5 s."""
    explorer.preset(OFTEN)
    assert said(explorer, stall=THE_TRANSFER).endswith("after every update costs least: 0.742 s an update")
    assert "✓ synchronization_transfer_time: 0.742 s in buckets" in explorer.text


def test_where_lag_is_free_no_ideal_is_told(explorer):
    explorer.preset(OFTEN)
    assert "every 8th update costs least: 1 s" in said(explorer, lag_cost=0)
    assert "√" not in explorer.text


@given(settings_of(COSTS))
def test_the_least_cost_is_least_and_the_parts_add_up(setting):
    data = data_of(explore("lag", SOLVED), **setting)
    sums = {every: sum(parts.values()) for every, parts in parts_of(data, "every", "seconds").items()}
    assert tuple(sums) == setting["candidates"]
    (least,) = data["least"]
    assert least["seconds"] == pytest.approx(min(sums.values()))
    labelled = {row["every"]: row["seconds"] for row in data["totals"]}
    assert {**sums, **labelled} == pytest.approx(sums)
    assert len(labelled) == (len(sums) - 1 if len(sums) <= 8 else 0)


# --- the lag cycle -------------------------------------------------------------------------------------------------


def test_the_sawtooth_is_that_of_the_worked_problem(explorer):
    """16 updates, published after each 4th: lags 0, 1, 2, 3 four times, mean 1.5; after ten of them 13 / 10."""
    data = data_of(explorer, picture=CYCLE, every=4, updates=16)
    assert [row["lag"] for row in data["lags"]] == [0, 1, 2, 3] * 4
    assert [row["update"] for row in data["publications"]] == [3.5, 7.5, 11.5, 15.5]
    assert explorer.draw()[0].title == (
        "Published after every 4th update, a run of 16 updates lags by 1.5 versions on average and by 3 at most"
    )
    assert said(explorer, updates=10).endswith("a run of 10 updates lags by 1.3 versions on average and by 3 at most")
    assert [row["update"] for row in data_of(explorer)["publications"]] == [3.5, 7.5]


@given(settings_of(CYCLE))
def test_a_cycle_of_k_has_a_mean_of_half_of_k_less_1_over_whole_cycles(setting):
    data = data_of(explore("lag", SOLVED), **setting)
    every, updates = setting["every"], setting["updates"]
    lags = [row["lag"] for row in data["lags"]]
    assert max(lags) == min(every, updates) - 1
    assert len(data["publications"]) == updates // every
    if updates % every == 0:
        assert data["mean"][0]["lag"] == (every - 1) / 2


# --- versions in a completion --------------------------------------------------------------------------------------


def test_17_versions_sample_8192_tokens(explorer):
    """The notebook's fifth table: 250 tokens in 5 s, then 500 every 10 s, and 442 after 155 s.

    Lags fall from 16 to 0: (250 · 16 + 500 · (15 + … + 1)) / 8,192 = 64,000 / 8,192. Of lags above 2 are
    250 + 13 · 500 tokens.
    """
    runs = data_of(explorer, picture=VERSIONS)["runs"]
    assert [run["last"] - run["before"] for run in runs] == [250, *[500] * 15, 442]
    assert [run["lag"] for run in runs] == [*range(16, -1, -1)]
    assert explorer.draw()[0].title == (
        "By the end 17 versions sampled the 8,192 tokens: they lag by 7.8 versions on average, and by 16 at most"
    )
    assert "Had it kept its first weights, each token would lag by 16." in explorer.text
    assert "6,750 tokens of 8,192 lag by more than 2 versions." in explorer.text


def test_a_cadence_skips_versions(explorer):
    """Loaded after every 4th update, at 35, 75, 115 and 155 s: five versions."""
    runs = data_of(explorer, picture=VERSIONS, every=4)["runs"]
    assert [(run["version"] - NOW, run["last"]) for run in runs] == [
        (0, 1_750),
        (4, 3_750),
        (8, 5_750),
        (12, 7_750),
        (16, 8_192),
    ]


@given(settings_of(VERSIONS))
def test_the_runs_are_those_of_all_tokens_one_by_one(setting):
    """Though only those around a publication are asked for: each has the version loaded last before it."""
    setting = {**setting, "tokens": min(setting["tokens"], 2_048)}
    data = data_of(explore("lag", SOLVED), **setting)
    pace, every = setting["update_seconds"], setting["every"]
    moments = [Fraction(token, setting["rate"]) for token in range(1, setting["tokens"] + 1)]
    ended = [-((-moment / pace - Fraction(1, 2)) // 1) - 1 for moment in moments]
    by_version = Counter(NOW + before // every * every for before in ended)
    assert {run["version"]: run["last"] - run["before"] for run in data["runs"]} == by_version
    assert {run["version"] + run["lag"] for run in data["runs"]} == {NOW + ended[-1]}
    assert data["marks"][0]["last"] == setting["tokens"]


# --- what is not written, or wrong ---------------------------------------------------------------------------------


def test_as_far_as_it_is_written_a_bound_is_told(monkeypatch):
    explorer = partly(monkeypatch, "admit")
    assert said(explorer).startswith("As far as it is written, enforced when a completion is queued, a bound of 2")
    assert "from the cadence unknown, in flight 16" in explorer.text
    assert explorer.draw()[0].data["totals"][-1]["text"] == "18 and more: stale"
    explorer = partly(monkeypatch, "synchronization_schedule")
    assert said(explorer) == (
        "As far as it is written, the oldest completion lags by 18 versions, and nobody says who is kept"
    )


def test_without_a_stall_only_the_lags_cost_is_drawn(monkeypatch):
    explorer = partly(monkeypatch, "best_cadence")
    title = said(explorer, picture=COSTS, stall=THE_TRANSFER)
    assert title == "As far as it is written, only one of the two costs is known: no cadence is the cheapest"
    assert {part["part"] for part in explorer.draw()[0].data["parts"]} == {"mean lag"}


def test_without_the_transfer_the_publications_are_still_counted(monkeypatch):
    explorer = partly(monkeypatch, "synchronization_schedule")
    assert said(explorer, picture=TRANSFER, every=4).startswith("As far as it is written, no seconds are known")
    assert "A run of 16 updates makes 4 publications." in explorer.text


@pytest.mark.parametrize("picture", [CYCLE, AGES, COSTS, TRANSFER, VERSIONS])
def test_each_picture_says_where_nothing_is_written(monkeypatch, picture):
    assert said(partly(monkeypatch), picture=picture).startswith("Nothing is written yet")


@pytest.mark.parametrize(
    ("name", "value", "picture", "expected"),
    [
        ("synchronization_schedule", {"lags": [0] * 15}, CYCLE, '"lags" (16 whole numbers, none above 16)'),
        ("admit", {"kept": ["r9"], "discarded": []}, AGES, "ids that were offered"),
        ("best_cadence", (3, 1.0), COSTS, "one of the candidates, and its cost in seconds"),
        ("token_versions", [NOW], VERSIONS, f"versions from 0 to {NOW + 16}, the trainer's when the last token"),
    ],
)
def test_a_value_that_cannot_be_drawn_is_told_with_what_can(monkeypatch, name, value, picture, expected):
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
    explorer = explore("lag", SOLVED, **{name: lambda *_, **__: value})
    explorer.set(picture=picture)
    assert expected in explorer.draw()[1][name].text


def test_where_the_reference_differs_it_is_seen_beside():
    """A tie given to the new version takes the 250th token, sampled at 5 s, off the first; a bound of 1 keeps fewer."""

    def tied(token_times, publications):
        return [[version for loaded, version in publications if loaded <= time][-1] for time in token_times]

    def strict(records, trainer_version, max_lag):
        return SOLVED["admit"](records, trainer_version, max_lag - 1)

    explorer = explore("lag", SOLVED, token_versions=tied, admit=strict)
    explorer.overlay = True
    data = data_of(explorer)
    assert data["totals"][5]["text"] == "4: stale (the reference: kept)"
    data = data_of(explorer, picture=VERSIONS)
    assert (data["runs"][0]["last"], data["marks"][0]["last"]) == (249, 250)
    for picture in (CYCLE, TRANSFER, COSTS):
        assert data_of(explorer, picture=picture)["marks"]


def test_the_reference_stands_in_and_is_drawn_paler():
    explorer = explore("lag", {})
    whose = {}
    for picture in (COSTS, AGES):
        explorer.set(picture=picture)
        whose[picture] = {row["whose"] for row in explorer.draw()[0].data["parts"]}
    assert whose == {COSTS: {"the reference"}, AGES: {"the reference", "given"}}


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (22, "22nd"), (48, "48th")],
)
def test_places_are_spelled_as_they_are_said(number, text):
    assert ordinal(number) == text


def test_seconds_are_spelled_with_three_digits():
    assert [spelled(value) for value in (0, 0.003, 0.742, 39.5, 1_234.5)] == [
        "0 s",
        "3 ms",
        "0.742 s",
        "39.5 s",
        "1,234 s",
    ]
