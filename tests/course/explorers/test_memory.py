"""The memory explorer: its numbers are those of the worked problem and of the ZeRO paper, for any setting."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlinfra.explorers import explore
from rlinfra.explorers.memory import TOPIC

from .solved import solved

GIB = 2**30
SOLVED = solved("memory")
settings_of_all = st.fixed_dictionaries({control.name: st.sampled_from(control.values) for control in TOPIC.controls})


@pytest.fixture
def explorer(monkeypatch):
    """As students have it: their functions, and no reference."""
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
    return explore("memory", SOLVED)


def parts_of(explorer):
    """Return the bars in GiB, by row and part."""
    picture, problems = explorer.draw()
    assert problems == {}
    bars = {}
    for row in picture.data["parts"]:
        bars.setdefault(row["row"], {})[row["part"]] = row["gib"]
    return bars


# --- the presets ---------------------------------------------------------------------------------------------------


def test_scoring_is_where_a_06b_model_runs_out_of_memory(explorer):
    """Worked problem: 8 · 2048 · 151,936 · 4 bytes, twice, are 19.91 GB; 596,049,920 weights of 2 bytes 1.19 GB."""
    assert explorer.topic.presets[0].question == "Why does a 0.6B model run out of memory?"
    scoring = parts_of(explorer)["scoring"]
    assert scoring["logits"] * GIB == 2 * 8 * 2048 * 151_936 * 4
    assert scoring["weights"] * GIB == 1_192_099_840
    assert explorer.text.startswith("Scoring needs most, 19.7 GiB: 3.7 GiB too much for this card of 16 GiB.")


def test_the_stages_are_those_of_the_zero_papers_figure(explorer):
    """Rajbhandari et al. 2020, figure 1: 120, 31.4, 16.6 and 1.9 GB for 7.5B parameters on 64 ranks."""
    explorer.preset("What does each ZeRO stage take off a rank?")
    totals = {row: sum(parts.values()) * GIB / 1e9 for row, parts in parts_of(explorer).items()}
    assert {row: round(total, 1) for row, total in totals.items()} == {
        "stage 0": 120.0,
        "stage 1": 31.4,
        "stage 2": 16.6,
        "stage 3": 1.9,
    }
    assert explorer.text.startswith("At stage 2 each of 64 ranks holds 15.5 GiB: 2.2 bytes a parameter.")
    picture, _ = explorer.draw()
    assert {mark["gib"] * GIB for mark in picture.data["marks"]} == {120e9 / 64}


def test_lora_saves_the_state_and_not_the_weights(explorer):
    """7.021B weights of 2 bytes stay; the other 14 bytes are kept for 21M adapter parameters: 14.336 GB in all."""
    explorer.preset("What does LoRA save, and what stays?")
    training = parts_of(explorer)["training"]
    assert training["weights"] * GIB == pytest.approx(14.042e9)
    assert (training["gradients"] + training["optimizer, master"]) * GIB == pytest.approx(0.294e9)
    assert explorer.text.startswith("Training needs most, 17.4 GiB: it fits on this card of 24 GiB, with 6.6 GiB")
    assert "lora_state_bytes: 13.35 GiB for base and adapter" in explorer.text


# --- the features --------------------------------------------------------------------------------------------------


def test_the_precision_of_each_part_counts(explorer):
    """7B parameters: 0.5 + 4 + 2 + 0 bytes are 3.5, 28, 14 and 0 GB."""
    explorer.set(parameters=7_000_000_000, parameter_bytes=0.5, gradient_bytes=4, optimizer_state_bytes=2)
    explorer.set(master_parameter_bytes=0)
    training = {part: gib * GIB for part, gib in parts_of(explorer)["training"].items()}
    assert training["weights"] == 3.5e9
    assert training["gradients"] == 28e9
    assert training["optimizer, master"] == 14e9


def test_ranks_divide_what_the_stage_says_in_the_phases_too(explorer):
    """7.5B on 64 ranks at stage 2: 15 GB of weights whole, 15 and 90 GB divided by 64."""
    explorer.set(parameters=7_500_000_000, stage=2, ranks=64)
    training = {part: gib * GIB for part, gib in parts_of(explorer)["training"].items()}
    assert training["weights"] == 15e9
    assert training["gradients"] == pytest.approx(15e9 / 64)
    assert training["optimizer, master"] == pytest.approx(90e9 / 64)


def test_a_copy_is_published_of_what_is_trained(explorer):
    """All of 7B in 2 bytes, or an adapter of 1 %: 70M in 2 bytes; at stage 3 on 8 ranks an eighth of that."""
    explorer.set(parameters=7_000_000_000)
    assert parts_of(explorer)["publication"]["second copy"] * GIB == 14e9
    explorer.set(trained=0.01)
    assert parts_of(explorer)["publication"]["second copy"] * GIB == 0.14e9
    explorer.set(stage=3, ranks=8)
    assert parts_of(explorer)["publication"]["second copy"] * GIB == 0.14e9 / 8


def test_what_is_given_is_drawn_as_it_is_given(explorer):
    explorer.set(cache=32, activations=2)
    bars = parts_of(explorer)
    assert (bars["rollout"]["KV cache"], bars["training"]["activations"]) == (32, 2)


def test_the_card_is_a_line(explorer):
    explorer.set(card=141)
    picture, _ = explorer.draw()
    assert picture.data["card"] == [{"gib": 141, "text": "card: 141 GiB"}]
    assert picture.title.endswith("it fits on this card of 141 GiB, with 121.3 GiB to spare")


# --- any setting ---------------------------------------------------------------------------------------------------


@given(settings_of_all)
def test_the_text_states_every_number_of_the_picture(setting):
    explorer = explore("memory", SOLVED)
    explorer.set(**setting)
    picture, _ = explorer.draw()
    drawn = [row["gib"] for rows in picture.data.values() for row in rows]
    assert all(0 <= gib < 1e9 for gib in drawn)
    assert len(picture.data["parts"]) == (10 if setting["rows"] == "phases of the loop" else 12)
    assert all(f"{row['part']} {row['gib']:,.2f} GiB" in picture.details for row in picture.data["parts"])
    assert "GiB" in picture.title


@given(settings_of_all)
def test_more_ranks_and_higher_stages_never_take_more(setting):
    """A law of sharding: what a rank holds does not grow with either."""
    explorer = explore("memory", SOLVED)
    explorer.set(**setting)
    explorer.set(rows="ZeRO stages")
    totals = [sum(parts.values()) for parts in parts_of(explorer).values()]
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(totals))


def test_the_functions_that_are_written_are_drawn_and_the_others_named(monkeypatch):
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
    written = {name: SOLVED[name] for name in ("model_state_bytes", "peak_memory")}
    text = explore("memory", written).text
    assert text.startswith("As far as it is written, training needs most, 12.9 GiB: it fits")
    assert "Scoring: weights 1.11 GiB, logits unknown" in text


def test_a_bar_of_which_a_part_is_unknown_says_that_there_is_more(monkeypatch):
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
    written = {name: SOLVED[name] for name in ("logits_bytes", "peak_memory")}
    picture, _ = explore("memory", written).draw()
    assert {row["row"]: row["text"] for row in picture.data["totals"]} == {
        "rollout": "4.0 GiB and more",
        "scoring": "18.5 GiB and more",
        "training": "4.0 GiB and more",
        "publication": "not known yet",
    }


def test_without_peak_memory_no_phase_is_named(monkeypatch):
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
    rest = {name: SOLVED[name] for name in TOPIC.functions if name != "peak_memory"}
    text = explore("memory", rest).text
    assert text.startswith("No phase is named as the one that needs most: that is what peak_memory tells.")


def test_the_reference_stands_in_and_is_drawn_paler():
    explorer = explore("memory", {})
    picture, _ = explorer.draw()
    assert {row["whose"] for row in picture.data["parts"]} == {"given", "the reference"}
    assert explorer.text.startswith("Scoring needs most, 19.7 GiB")
    assert "○ logits_bytes: is not there yet: run its cell. The reference stands in: 18.55 GiB" in explorer.text
