"""The records explorer: its numbers are those of the worked problem, counted by hand for other settings."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlinfra.explorers import explore
from rlinfra.explorers._explorer import Explorer
from rlinfra.explorers.records import TOPIC

from .solved import solved

SOLVED = solved("records")
STRIP, BORDER, TIMELINE = TOPIC.control("picture").values
WHICH, LETS_THROUGH, SERVER = (preset.question for preset in TOPIC.presets)
settings_of_all = st.fixed_dictionaries({control.name: st.sampled_from(control.values) for control in TOPIC.controls})


@pytest.fixture(autouse=True)
def _alone(monkeypatch, request):
    """As students have it, without the reference, but where a test asks for it."""
    if "with_reference" not in request.fixturenames:
        monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})


@pytest.fixture
def with_reference():
    """The tests that ask for this have the reference."""


@pytest.fixture
def explorer() -> Explorer:
    return explore("records", SOLVED)


def title(explorer, **setting):
    """Return the sentence of a setting, at which nothing may be wrong with the functions."""
    explorer.set(**setting)
    picture, problems = explorer.draw()
    assert problems == {}
    return picture.title


def row_of(picture, row):
    """Return a row of the strip as pairs: what kind of token, and how many."""
    cells = [cell for cell in picture.data["cells"] if cell["row"] == row]
    return [(cell["kind"], round(cell["end"] - cell["start"])) for cell in cells]


# --- the presets ---------------------------------------------------------------------------------------------------


def test_of_250_tokens_the_last_70_are_of_a_version_that_the_record_does_not_name(explorer):
    """Worked problem: 250 tokens, new weights from the 181st on; 16 tokens are read, 32 are padding."""
    assert explorer.topic.presets[0].question == "Which policy chose these tokens?"
    picture, _ = explorer.draw()
    assert picture.title == "Of 250 tokens in the loss, 70 were chosen by another version than their record names"
    assert row_of(picture, "turn 0") == [
        ("read (prompt)", 16),
        ("chosen by version 120", 180),
        ("chosen by version 121", 70),
        ("padding", 32),
    ]
    assert [(end["row"], end["at"]) for end in picture.data["ends"]] == [("log", 265.5), ("turn 0", 265.5)]
    assert [(line["start"], line["end"]) for line in picture.data["loss"]] == [(16, 266)]
    assert {"row": "turn 0", "text": "its record: version 120"} in picture.data["labels"]


def test_of_sixty_faults_nine_get_through_the_border(explorer):
    """By the table of the worked problem.

    Missing, empty, NaN and True are faults of all ten fields. Cut short, two are faulty (log-probabilities, decoding),
    the response is a fault of the log-probabilities, and the other seven stay what they must be. A −1 is a fault of
    all but a log-probability and a reward. 4 · 10 + 2 + 8 are named, 1 as another, 7 + 2 get through.
    """
    explorer.preset(LETS_THROUGH)
    picture, _ = explorer.draw()
    assert picture.title == (
        "With response_tokens broken (cut short), the record has 1 error, in behavior_logprobs; "
        "of 60 such faults 9 get through"
    )
    through = {(cell["field"], cell["fault"]) for cell in picture.data["faults"] if cell["says"] == "gets through"}
    cut = {"sample_id", "prompt_id", "policy_version", "prompt_tokens", "reward", "stop_reason", "verifier_version"}
    assert through == {(name, "cut short") for name in cut} | {("behavior_logprobs", "−1"), ("reward", "−1")}
    other = [(cell["field"], cell["fault"]) for cell in picture.data["faults"] if cell["text"] == "→"]
    assert other == [("response_tokens", "cut short")]
    assert "of 60 faults 50 are named, at 1 another field is named, 9 get through" in explorer.text


def test_a_server_does_not_make_a_loop_asynchronous(explorer):
    """Six batches of 6 + 2 + 1 s are 54 s; run ahead, a server rolls out for 36 s, then an update and a loading."""
    explorer.preset(SERVER)
    assert title(explorer) == (
        "On one GPU and on a server alike, waiting is synchronous, 1 batch ahead asynchronous; "
        "the server's 54 s become 39 s"
    )
    assert "One GPU, ahead: asynchronous, 6 batches in 54 s, at most 1 version behind" in explorer.text


# --- the strip -----------------------------------------------------------------------------------------------------


def test_a_running_completion_that_finishes_keeps_its_record_true(explorer):
    sound = "All 250 tokens in the loss were chosen by the version that their record names"
    assert title(explorer, handover="running ones finish") == sound
    assert title(explorer, handover="none come") == sound


def test_the_next_turn_has_the_new_version_where_running_completions_finish(explorer):
    """Turns of 4, 2 and 8 tokens; new weights at the third token: turn 0 ends under 120, the others begin under 121."""
    explorer.set(turns=3, length=8, reading=3, switch=2, handover="running ones finish", padding=0)
    picture, _ = explorer.draw()
    assert picture.title == "All 14 tokens in the loss were chosen by the version that their record names"
    labels = {label["row"]: label["text"] for label in picture.data["labels"]}
    assert labels["turn 0"] == "its record: version 120"
    assert labels["turn 1"] == labels["turn 2"] == "its record: version 121"


def test_a_turn_reads_all_that_was_before_it(explorer):
    """3 tokens of a question; then 3 + 4 + 1 (template) + 3 of a tool; then 11 + 2 + 1 + 3."""
    explorer.set(turns=3, length=8, reading=3, handover="none come", padding=1)
    picture, _ = explorer.draw()
    old = "chosen by version 120"
    rows = {row: row_of(picture, row) for row in ("turn 0", "turn 1", "turn 2")}
    counts = {row: [kind for kind, _ in cells] for row, cells in rows.items()}
    assert counts["turn 0"] == ["read (prompt)"] * 3 + [old] * 4 + ["padding"] * 5
    assert counts["turn 1"] == ["read (prompt)"] * 11 + [old] * 2 + ["padding"] * 7
    assert counts["turn 2"] == ["read (prompt)"] * 17 + [old] * 8 + ["padding"]
    assert [(line["row"], line["start"], line["end"]) for line in picture.data["loss"]] == [
        ("turn 0", 3, 7),
        ("turn 1", 11, 13),
        ("turn 2", 17, 25),
    ]


def test_padding_is_in_the_loss_where_a_completion_is_cut(explorer):
    """No EOS of its own: the first EOS that is padding ends the mask, and another padding token never does."""
    explorer.set(handover="none come", ending="length")
    assert title(explorer, pad_id=2) == "Of 251 tokens in the loss, 1 is padding that no policy chose"
    assert title(explorer, pad_id=0) == "Of 282 tokens in the loss, 32 are padding that no policy chose"
    assert title(explorer, padding=0) == "All 250 tokens in the loss were chosen by the version that their record names"


def test_both_faults_are_told_together(explorer):
    assert title(explorer, ending="length") == (
        "Of 251 tokens in the loss, 70 were chosen by another version than their record names and 1 is padding that no "
        "policy chose"
    )


def test_token_ids_are_shown_where_there_is_room(explorer):
    """A question of 3 and a completion of 4: ids from 10 on, the EOS is 2, padded with itself."""
    explorer.set(length=4, reading=3, padding=2, switch=1)
    picture, _ = explorer.draw()
    ids = " ".join(cell["text"] for cell in picture.data["ids"] if cell["row"] == "turn 0")
    assert ids == "10 11 12 13 14 15 2"
    assert [cell["text"] for cell in picture.data["pad_ids"]] == ["2", "2"]
    assert picture.title == "Of 4 tokens in the loss, 3 were chosen by another version than their record names"


def test_a_mask_that_drops_the_eos_leaves_it_out_of_the_loss():
    def unlike_the_padding(tokens, eos_ids):
        return [[token not in eos_ids for token in row] for row in tokens]

    explorer = explore("records", SOLVED, completion_token_mask=unlike_the_padding)
    assert title(explorer, handover="none come") == (
        "All 249 tokens in the loss were chosen by the version that their record names; "
        "1 token that the policy chose was left out"
    )


def test_a_record_that_is_cut_wrongly_is_drawn_as_it_was_cut():
    """A response of all tokens from the turn's first, read or chosen: its row has them in grey."""

    def all_of_the_turn(trajectory, turn, registry):
        return {**SOLVED["project_completion"](trajectory, turn, registry), "response_tokens": [10, 11, 12, 13, 2]}

    explorer = explore("records", SOLVED, project_completion=all_of_the_turn)
    explorer.set(length=2, reading=3, padding=0, handover="none come")
    picture, _ = explorer.draw()
    kinds = [kind for kind, _ in row_of(picture, "turn 0")]
    assert kinds == ["read (prompt)"] * 6 + ["chosen by version 120"] * 2
    assert "rollout_contract_errors: 1 error in 1 record" in explorer.text  # 5 tokens, 2 log-probabilities


@given(settings_of_all)
def test_each_row_of_the_strip_is_the_prompt_the_completion_and_its_padding(setting):
    """A law: a record reads what the log had before its completion, and weights that wait leave every record true."""
    explorer = explore("records", SOLVED)
    explorer.set(**{**setting, "picture": STRIP})
    picture, _ = explorer.draw()
    total = sum(count for _, count in row_of(picture, "log"))
    last = f"turn {setting['turns'] - 1}"
    assert sum(count for kind, count in row_of(picture, last) if kind != "padding") == total
    assert sum(count for kind, count in row_of(picture, last) if kind == "padding") == setting["padding"]
    assert all(row["start"] < row["end"] for row in (*picture.data["cells"], *picture.data["loss"]))
    if setting["handover"] != "taken at once":
        assert "another version" not in picture.title


# --- a record at the border ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", TOPIC.control("field").values[1:-1])
def test_each_field_that_is_missing_is_named_alone(explorer, field):
    explorer.preset(LETS_THROUGH)
    said = title(explorer, field=field, fault="missing")
    assert said.startswith(f"With {field} broken (missing), the record has 1 error, in {field};")
    standing_out = [cell for cell in explorer.draw()[0].data["faults"] if cell["chosen"]]
    assert [(cell["field"], cell["fault"]) for cell in standing_out] == [(field, "missing")]


def test_an_empty_response_is_a_fault_of_two_fields(explorer):
    """It holds no token, and two log-probabilities have none to belong to."""
    explorer.preset(LETS_THROUGH)
    assert title(explorer, fault="empty").startswith("With response_tokens broken (empty), the record has 2 errors;")


def test_all_ten_fields_broken_are_ten_errors_and_none_is_none(explorer):
    explorer.preset(LETS_THROUGH)
    said = title(explorer, field="all ten", fault="NaN")
    assert said.startswith("With all ten fields broken (NaN), the record has 10 errors;")
    assert "policy_version nan" in explorer.text
    assert title(explorer, field="none of them").startswith("As it is, the record has 0 errors;")
    assert "The validator finds: no error" in explorer.text


def test_a_validator_of_keys_alone_lets_fifty_faults_through():
    """Of the six faults of ten fields, it names the ten that are missing."""

    def of_keys(record):
        return [f"{name}: is missing" for name in SOLVED["REQUIRED_FIELDS"] if name not in record]

    explorer = explore("records", SOLVED, rollout_contract_errors=of_keys)
    explorer.preset(LETS_THROUGH)
    said = title(explorer, field="reward", fault="True")
    assert said == "With reward broken (True), the record has 0 errors; of 60 such faults 50 get through"


def test_a_validator_that_raises_is_drawn_as_far_as_it_gets():
    def of_numbers(record):
        return [] if record["policy_version"] >= 0 else ["policy_version: is negative"]

    explorer = explore("records", SOLVED, rollout_contract_errors=of_numbers)
    explorer.preset(LETS_THROUGH)
    picture, problems = explorer.draw()
    assert picture.title == (
        "As far as the validator gets, with response_tokens broken (cut short), the record has 0 errors; it fails at "
        "other faults"
    )
    assert problems["rollout_contract_errors"].text.startswith("raises KeyError: 'policy_version'")
    unknown = {cell["field"] for cell in picture.data["faults"] if cell["text"] == "?"}
    assert unknown == {*SOLVED["REQUIRED_FIELDS"]} - {"sample_id", "prompt_id"}  # which come before the version


def test_where_the_reference_differs_its_sign_stands_beside(with_reference):
    """A validator that counts True as a number passes it in a version, in tokens, log-probabilities and a reward."""

    def with_bools(record):
        plain = {name: _without_bools(value) for name, value in record.items() if isinstance(record, dict)}
        return SOLVED["rollout_contract_errors"](plain)

    explorer = explore("records", SOLVED, rollout_contract_errors=with_bools)
    explorer.preset(LETS_THROUGH)
    explorer.overlay = True
    picture, _ = explorer.draw()
    theirs = {(cell["field"], cell["fault"]): cell["says"] for cell in picture.data["reference"]}
    differing = {
        cell["field"]: (cell["says"], theirs[cell["field"], cell["fault"]])
        for cell in picture.data["faults"]
        if cell["says"] != theirs[cell["field"], cell["fault"]]
    }
    passed = {"policy_version", "prompt_tokens", "response_tokens", "decoding", "reward"}
    assert differing == dict.fromkeys(passed, ("gets through", "named as faulty"))
    assert "the reference: of 60 faults 50 are named" in explorer.text


def _without_bools(value):
    if isinstance(value, list):
        return [_without_bools(one) for one in value]
    if isinstance(value, dict):
        return {name: _without_bools(one) for name, one in value.items()}
    return 1 if value is True else value


# --- loops on a timeline -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loop", "start", "end", "protocol"),
    [
        ("server, barrier", 9, 8, "synchronous"),
        ("one GPU, two batches buffered", 6, 14, "asynchronous"),
        ("one GPU, prompts ahead", 9, 8, "synchronous"),
        ("server, every 2nd update", 9, 8, "synchronous"),
        ("server, trainer starts early", 8, 8, "synchronous"),
        ("server, during the second step", 9, 10, "asynchronous"),
        ("two workers, one runs ahead", 7, 8, "asynchronous"),
    ],
)
def test_a_loop_of_the_worked_problem_has_its_times(explorer, loop, start, end, protocol):
    """The table of the worked problem."""
    said = title(explorer, picture=TIMELINE, loop=loop)
    assert said == (
        f"“{loop}” is {protocol}: batch 1 starts at {start} s, and the update on batch 0 has ended at {end} s"
    )
    moments = explorer.draw()[0].data["moments"]
    assert [(moment["kind"], moment["at"]) for moment in moments] == [("rollout", start), ("update", end)]


def test_no_batch_ahead_is_a_barrier_in_both_places(explorer):
    explorer.preset(SERVER)
    assert "waiting is synchronous, 0 batches ahead synchronous; the server's 54 s become 54 s" in title(
        explorer, ahead=0
    )


def test_two_batches_ahead_win_no_more_time_and_are_older(explorer):
    """The server is never idle with one batch ahead; batch 2 is then rolled out by version 0."""
    explorer.preset(SERVER)
    assert title(explorer, ahead=2).endswith("2 batches ahead asynchronous; the server's 54 s become 39 s")
    assert "Server, ahead: asynchronous, 6 batches in 39 s, at most 2 versions behind" in explorer.text


def test_rare_publications_make_the_policy_old_and_leave_the_protocol(explorer):
    """Six times 6 + 2 s and one loading are 49 s; batch 3 is rolled out by version 0."""
    explorer.preset(SERVER)
    title(explorer, publish_every=4)
    assert "Server, waits: synchronous, 6 batches in 49 s, at most 3 versions behind" in explorer.text


def test_a_slow_trainer_is_what_the_server_waits_for(explorer):
    """Waiting takes 6 · (6 + 24 + 1) s; run ahead, the first rollout and then six times 24 + 1 s."""
    explorer.preset(SERVER)
    assert title(explorer, update_seconds=24).endswith("the server's 186 s become 156 s")


def test_a_protocol_that_follows_the_place_is_told_of_both_places(with_reference):
    def by_place(trace):
        return "asynchronous" if any(event["where"] == "server" for event in trace) else "synchronous"

    explorer = explore("records", SOLVED, protocol=by_place)
    explorer.preset(SERVER)
    explorer.overlay = True
    picture, _ = explorer.draw()
    assert picture.title == (
        "On one GPU, waiting is synchronous, 1 batch ahead synchronous; on a server, waiting is asynchronous, "
        "1 batch ahead asynchronous; the server's 54 s become 39 s"
    )
    assert [(row["lane"], row["text"]) for row in picture.data["reference"]] == [
        ("one GPU, waits", "the reference: synchronous"),
        ("one GPU, ahead", "the reference: asynchronous"),
        ("server, waits", "the reference: synchronous"),
        ("server, ahead", "the reference: asynchronous"),
    ]


@given(settings_of_all)
def test_a_device_rolls_out_or_updates_and_never_both_at_a_time(setting):
    """A law of the toy loop: rollouts and updates of a lane never overlap."""
    explorer = explore("records", SOLVED)
    explorer.set(**{**setting, "picture": TIMELINE, "loop": "placement × protocol"})
    picture, _ = explorer.draw()
    lanes = {}
    for event in picture.data["events"]:
        lanes.setdefault(event["lane"], []).append((event["start"], event["end"]))
    assert len(lanes) == 6
    for spans in lanes.values():
        in_time = sorted(spans)
        assert all(before[1] <= after[0] for before, after in pairwise(in_time))


# --- what is not written -------------------------------------------------------------------------------------------


def test_with_the_mask_alone_the_loss_is_told_and_no_record_is_drawn():
    explorer = explore("records", {"completion_token_mask": SOLVED["completion_token_mask"]})
    picture, _ = explorer.draw()
    assert picture.title == "As far as it is written, 250 tokens are in the loss, 0 of them padding"
    assert row_of(picture, "turn 0") == []
    assert len(picture.data["loss"]) == 1


def test_with_the_projection_alone_the_versions_are_told():
    explorer = explore("records", {"project_completion": SOLVED["project_completion"]})
    picture, _ = explorer.draw()
    assert picture.title == (
        "As far as it is written, of 250 tokens that were chosen, 70 were chosen by another version than their record "
        "names"
    )
    assert picture.data["loss"] == []


@pytest.mark.parametrize("picture", [STRIP, BORDER, TIMELINE])
def test_nothing_written_is_said_of_each_picture_and_a_fault_is_called_one(picture):
    explorer = explore("records", {})
    explorer.set(picture=picture)
    assert explorer.text.startswith("Nothing is written yet: ")
    explorer = explore("records", dict.fromkeys(TOPIC.functions, lambda *_: {}))
    explorer.set(picture=picture)
    assert "told below" in explorer.draw()[0].title
