"""The importance-weights explorer: its numbers are those of the worked problem, of formulas, and of NumPy."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlinfra.explorers import explore
from rlinfra.explorers.ess import TOPIC
from rlinfra.given.ess import toy_batch

from .solved import solved

SOLVED = solved("ess")
PICTURES = TOPIC.control("picture").values
FOUR, LOOP, PARTS, RATIO, SHARE, TOKEN = PICTURES
settings_of_all = st.fixed_dictionaries({control.name: st.sampled_from(control.values) for control in TOPIC.controls})


@pytest.fixture
def explorer(alone):
    """Of the solved notebook, as students have it: their functions, and no reference."""
    return alone()


@pytest.fixture
def alone(monkeypatch):
    """Return what opens an explorer of the solved notebook without the reference, with some functions replaced."""

    def opened(**functions):
        monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
        return explore("ess", SOLVED, **functions)

    return opened


def data_of(explorer, **setting):
    explorer.set(**setting)
    picture, problems = explorer.draw()
    assert problems == {}
    return picture.data


def column(rows, field):
    return [row[field] for row in rows]


def line(data, level):
    return {row["tokens"]: row["value"] for row in data["lines"] if row["level"] == level}


def numpys(lag):
    """Return mismatch and lag by token of the notebook's toy loop, 0 where a token does not count, and the mask."""
    batch = toy_batch(lag)
    behavior, same, now = (np.array(one) for one in (batch.behavior, batch.trainer_same_version, batch.trainer_now))
    mask = np.array(batch.mask)
    return (same - behavior) * mask, (now - same) * mask, mask


def ess_of(logs):
    weights = np.exp(logs)
    return weights.mean() ** 2 / (weights**2).mean()


# --- weights and their ESS -----------------------------------------------------------------------------------------


def test_the_four_completions_are_worth_2_samples_and_nearly_4_when_truncated(explorer):
    """Worked problem: 13²/73 = 2.315 samples; at a cap of 2, 7²/13 = 3.769 and a reward of 4/7."""
    assert explorer.topic.presets[0].values["picture"] == FOUR
    data = data_of(explorer)
    assert column(data["before"], "weight") == [1, 2, 2, 8]
    assert column(data["weights"], "weight") == pytest.approx([1, 2, 2, 2])
    assert data["cap"] == [{"weight": 2, "text": "cap: 2"}]
    assert explorer.text.startswith(
        "Truncated at 2, the four completions are worth 3.77 samples in place of 2.32: a normalised ESS of 0.942."
    )
    assert "Weighted mean reward 0.571, unweighted 0.500." in explorer.text


def test_unclipped_the_fourth_completion_carries_most(explorer):
    """169/73 = 2.315, over 4 0.579; the fourth has 8 of 13, 62 %, and the reward is 4/13."""
    data = data_of(explorer, cap=0)
    assert data["labels"][3]["text"] == "8.000, 62 % of the sum"
    assert explorer.text.startswith("The four completions are worth 2.32 samples: a normalised ESS of 0.579.")
    assert "Weighted mean reward 0.308" in explorer.text
    assert data["cap"] == []


def test_masked_the_fourth_completion_is_gone(explorer):
    """25/9 = 2.778 samples, over 4 0.694, a reward of 4/5; the band reaches from 1/2 to 2."""
    data = data_of(explorer, beyond="masked")
    assert column(data["weights"], "weight") == pytest.approx([1, 2, 2, 0])
    assert data["cap"] == [{"weight": 0.5, "text": ""}, {"weight": 2, "text": "band: 0.5 to 2"}]
    assert explorer.text.startswith("Masked outside 0.5 to 2, the four completions are worth 2.78 samples in place of")
    assert "a normalised ESS of 0.694." in explorer.text
    assert "Weighted mean reward 0.800" in explorer.text
    assert "mask_log_ratios: 1 of 4 log-ratios left out" in explorer.text


def test_at_a_cap_of_1_the_worked_weights_are_equal(explorer):
    """All four are 1: worth 4 samples, and the weighted mean is the plain mean, 2/4."""
    assert column(data_of(explorer, cap=1)["weights"], "weight") == [1, 1, 1, 1]
    assert "are worth 4.00 samples in place of 2.32: a normalised ESS of 1.000." in explorer.text
    assert "Weighted mean reward 0.500, unweighted 0.500." in explorer.text


@pytest.mark.parametrize("lag", [0, 1, 2, 4, 8])
def test_the_toy_loop_is_that_of_the_notebook(explorer, lag):
    """The explorer's batch at 0.02 and 0.03 nats is `toy_batch`, whose ESS NumPy computes here."""
    mismatch, moved, _ = numpys(lag)
    logs = (mismatch + moved).sum(axis=1)
    data = data_of(explorer, picture=LOOP, cap=0, versions=lag, mismatch=0.02, drift=0.03)
    assert column(data["weights"], "weight") == pytest.approx(np.exp(logs))
    assert explorer.text.startswith(
        f"The 12 completions at lag {lag} are worth {12 * ess_of(logs):.2f} samples: "
        f"a normalised ESS of {ess_of(logs):.3f}."
    )


def test_without_mismatch_and_lag_every_weight_is_1(explorer):
    assert column(data_of(explorer, picture=LOOP, cap=0, versions=0, mismatch=0.0)["weights"], "weight") == [1.0] * 12
    assert explorer.text.startswith("The 12 completions at lag 0 are worth 12.00 samples: a normalised ESS of 1.000.")


def test_a_band_without_width_leaves_nothing(explorer):
    """From 1 to 1: no completion of 22 tokens or more has a ratio of exactly 1."""
    data = data_of(explorer, picture=LOOP, cap=1, beyond="masked", versions=4)
    assert column(data["weights"], "weight") == [0.0] * 12
    assert explorer.text.startswith("Masked outside 1 to 1, the 12 completions at lag 4 are worth nothing: no weight")


@given(settings_of_all)
def test_truncation_never_makes_a_batch_worth_less(setting):
    """A law of Ionides' truncation: what it cuts is the largest, so the weights come nearer to each other."""
    explorer = explore("ess", SOLVED)
    explorer.set(**setting)
    explorer.set(picture=LOOP, beyond="truncated")
    after = explorer.draw()[0].facts["normalized_ess"]
    explorer.set(cap=0)
    assert float(after.split()[0]) >= float(explorer.draw()[0].facts["normalized_ess"].split()[0])


# --- by length -----------------------------------------------------------------------------------------------------


def test_0012_a_token_over_100_tokens_is_a_ratio_of_3_3(explorer):
    """e^(100 × 0.012) = e^1.2 = 3.320, and e^0.012 = 1.012."""
    explorer.preset("How off-policy is it by token and by sequence?")
    data = data_of(explorer)
    assert line(data, "a whole completion")[100] == pytest.approx(3.3201, abs=5e-5)
    assert [*line(data, "a token").values()] == [pytest.approx(1.01207, abs=5e-6)] * 5
    assert explorer.text.startswith(
        "Over 100 tokens of 0.012 nats each the ratio of a completion is 3.320, that of a token 1.012."
    )


def test_over_1000_tokens_it_is_a_ratio_of_160_000(explorer):
    """e^12 = 162,755."""
    data_of(explorer, picture=RATIO, tokens=1000, drift=0.012)
    assert "the ratio of a completion is 162,755, that of a token 1.012." in explorer.text


@given(st.sampled_from(TOPIC.control("tokens").values), st.sampled_from(TOPIC.control("drift").values))
def test_the_ratio_of_a_completion_is_that_of_a_token_to_the_power_of_its_length(tokens, drift):
    data = data_of(explore("ess", SOLVED), picture=RATIO, tokens=tokens, drift=drift)
    single = line(data, "a token")
    for length, ratio in line(data, "a whole completion").items():
        assert math.log(ratio) == pytest.approx(length * math.log(single[length]), rel=1e-6)


@pytest.mark.parametrize(("tokens", "share"), [(10, 0.996), (50, 0.980), (100, 0.961)])
def test_the_ess_of_completions_falls_with_their_length(explorer, tokens, share):
    """e^(−σ²T) with σ = 0.02: e^−0.004, e^−0.02 and e^−0.04. That of tokens is e^−0.0004 at any length."""
    data = data_of(explorer, picture=SHARE, tokens=tokens, drift=0.02, cap=0)
    assert line(data, "a whole completion")[tokens] == pytest.approx(share, abs=2e-3)
    assert line(data, "a token") == {length: pytest.approx(0.9996, abs=5e-5) for length in (1, 4000)}
    assert data["clipped"] == []
    assert data["at"] == [{"tokens": tokens, "text": f"{tokens} tokens"}]


def test_the_cap_hides_the_drift_of_long_completions(explorer):
    """Oracle: NumPy on quantiles of the normal distribution, of a spread of σ√T around minus half its square."""
    spread = 0.02 * 4000**0.5
    normal = NormalDist()
    logs = np.array([spread * normal.inv_cdf((rank + 0.5) / 32) - spread**2 / 2 for rank in range(32)])
    data = data_of(explorer, picture=SHARE, tokens=4000, drift=0.02, cap=2)
    assert line(data, "a whole completion")[4000] == pytest.approx(ess_of(logs))
    assert line(data, "a completion, clipped")[4000] == pytest.approx(ess_of(np.minimum(logs, math.log(2))))
    assert explorer.text.startswith(
        f"At 4,000 tokens that each drift by 0.02 nats, the normalised ESS is {ess_of(logs):.3f}; "
        f"truncated at 2, it is {ess_of(np.minimum(logs, math.log(2))):.3f}."
    )


# --- mismatch and lag ----------------------------------------------------------------------------------------------


def test_the_parts_add_up_and_the_second_begins_where_the_first_ends(explorer):
    """Oracle: NumPy on the notebook's toy loop at lag 4."""
    explorer.preset("Is it the engine, or is it lag?")
    data = data_of(explorer)
    mismatch, moved, _ = numpys(4)
    first, second = ([row for row in data["parts"] if row["part"] == part] for part in ("mismatch", "lag"))
    assert column(first, "to") == column(second, "from") == pytest.approx(mismatch.sum(axis=1))
    assert column(second, "to") == column(data["totals"], "total") == pytest.approx((mismatch + moved).sum(axis=1))
    sizes = (np.abs(part.sum(axis=1)).mean() for part in (mismatch, moved))
    assert explorer.text.startswith(
        "At lag 4 a completion has, in mean size, {:.2f} nats of mismatch and {:.2f} nats of lag.".format(*sizes)
    )
    assert "1, 45 tokens: −0.114 + 0.048 = −0.066; 2, 22 tokens: −0.110 − 0.779 = −0.889" in explorer.text


def test_as_ratios_the_parts_multiply(explorer):
    """Completion 3 moves most at lag 4: e^0.072 × e^−2.057 = 1.074 × 0.128 = e^−1.985 = 0.137."""
    explorer.preset("Is it the engine, or is it lag?")
    assert "As ratios the parts multiply: 1.074 × 0.128 = 0.137 for completion 3." in explorer.text


def test_the_ess_of_the_parts_is_told_and_does_not_add_up(explorer):
    explorer.preset("Is it the engine, or is it lag?")
    mismatch, moved, _ = (part.sum(axis=1) for part in numpys(4))
    shares = [ess_of(part) for part in (mismatch, moved, mismatch + moved)]
    told = "Normalised ESS, which does not add up: mismatch {:.3f}, lag {:.3f}, total {:.3f}.".format(*shares)
    assert told in explorer.text


def test_at_lag_0_what_is_left_is_mismatch(explorer):
    """Oracle: NumPy. For small differences k3 is half their mean square."""
    explorer.set(picture=PARTS, versions=0, mismatch=0.02)
    mismatch, _, mask = numpys(0)
    counted = mismatch[mask == 1]
    assert "0.14 nats of mismatch and 0.00 nats of lag." in explorer.text.splitlines()[0]
    told = explorer.draw()[0].facts["zero_lag_report"]
    assert told.startswith(f"mean |Δ| {np.abs(counted).mean():.3f}, largest {np.abs(counted).max():.3f}, k3 ")
    assert float(told.split("k3 ")[1].split(" ×")[0]) * 1e-4 == pytest.approx((counted**2).mean() / 2, rel=0.05)


@given(st.sampled_from(TOPIC.control("mismatch").values), st.sampled_from([1, 2, 3, 4]))
def test_twice_the_age_is_twice_the_lag_and_the_same_mismatch(mismatch, lag):
    explorer = explore("ess", SOLVED)
    once, twice = (
        data_of(explorer, picture=PARTS, mismatch=mismatch, versions=versions)["parts"] for versions in (lag, 2 * lag)
    )
    for one, other in zip(once, twice, strict=True):
        times = 2 if one["part"] == "lag" else 1
        assert other["to"] - other["from"] == pytest.approx(times * (one["to"] - one["from"]), abs=1e-9)


def test_parts_that_are_none_are_told(alone):
    """The lag of the first completion with the mismatch still in it, as a student may have it."""

    def split_drift(behavior, same, now, mask):
        parts = SOLVED["split_drift"](behavior, same, now, mask)
        return {**parts, "lag": parts["total"]}

    explorer = alone(split_drift=split_drift)
    explorer.set(picture=PARTS, versions=0, mismatch=0.02)
    assert explorer.text.startswith("The parts do not add up: those of completion 4 miss its total by 0.399 nats.")


# --- who sampled it ------------------------------------------------------------------------------------------------


def test_a_perfect_ess_with_a_hole_in_the_support(explorer):
    """Worked problem: at top-p 0.9 each ratio is 0.6439/0.6652 = 0.968, and D, 3.2 %, is never sampled."""
    explorer.preset("Can a batch with an ESS of 1 be wrong?")
    data = data_of(explorer)
    sampled = [row["told"] for row in data["bars"] if row["who"] == "the engine samples"]
    assert sampled == ["0.665", "0.245", "0.090", "0.000"]
    assert explorer.text.startswith(
        "Token A has the ratio 0.968 although the weights are the same, the normalised ESS is 1.000, "
        "and 3.2 % of the policy (D) can never be sampled."
    )


@pytest.mark.parametrize(
    ("setting", "ratio", "sampled", "never"),
    [
        ((1.0, 1.0), "1.000", "A 0.644, B 0.237, C 0.087, D 0.032", "every token can be sampled"),
        ((0.8, 1.0), "0.896", "A 0.718, B 0.206, C 0.059, D 0.017", "every token can be sampled"),
        ((0.8, 0.9), "0.828", "A 0.777, B 0.223, C 0.000, D 0.000", "11.9 % of the policy (C, D) can never be sampled"),
    ],
)
def test_identical_weights_are_other_behaviour_policies(explorer, setting, ratio, sampled, never):
    """The worked problem's table: 0.6439/0.7183 = 0.896, 0.6439/0.7773 = 0.828; C and D are 0.0871 + 0.0321."""
    temperature, top_p = setting
    explorer.set(picture=TOKEN, temperature=temperature, top_p=top_p)
    assert f"Token A has the ratio {ratio} although" in explorer.text
    assert f"The engine samples {sampled}" in explorer.text
    assert f"and {never}." in explorer.text


# --- any setting, and what is missing or wrong ---------------------------------------------------------------------


@given(settings_of_all)
def test_the_text_states_every_number_of_the_picture(setting):
    explorer = explore("ess", SOLVED)
    explorer.set(**setting)
    picture, _ = explorer.draw()
    text = picture.title + picture.details
    shown = {FOUR: "weights", LOOP: "weights", PARTS: "totals", RATIO: "lines", SHARE: "lines", TOKEN: "bars"}
    rows = picture.data[shown[setting["picture"]]]
    assert rows
    assert all(row["told"].lstrip("−") in text for row in rows)


def test_a_mean_in_place_of_a_sum_is_seen_beside_the_reference():
    """A student's mean leaves the completion at a token's ratio; the reference's line rises to e^1.2."""

    def sequence_log_ratios(trainer, behavior, mask):
        sums = SOLVED["sequence_log_ratios"](trainer, behavior, mask)
        return [total / sum(row) for total, row in zip(sums, mask, strict=True)]

    explorer = explore("ess", SOLVED, sequence_log_ratios=sequence_log_ratios)
    explorer.overlay = True
    data = data_of(explorer, picture=RATIO, tokens=100, drift=0.012)
    assert line(data, "a whole completion")[100] == pytest.approx(1.01207, abs=5e-6)
    assert [row["value"] for row in data["reference"] if row["tokens"] == 100] == [
        pytest.approx(1.01207, abs=5e-6),
        pytest.approx(3.3201, abs=5e-5),
    ]
    assert "sequence_log_ratios: 0.012 nats over 100 tokens; the reference: 1.200 nats" in explorer.text
    assert "weights from 1.012 to 1.012; the reference agrees" in explorer.text
    loop = data_of(explorer, picture=LOOP, cap=0, versions=4)
    assert column(loop["marks"], "weight") != pytest.approx(column(loop["weights"], "weight"), rel=0.1)


def test_padding_that_is_counted_is_told(alone):
    """0 times NaN is NaN: what multiplies by the mask finds it at the first padding."""

    def sequence_log_ratios(trainer, behavior, mask):
        rows = zip(trainer, behavior, mask, strict=True)
        return [sum((new - old) * counts for new, old, counts in zip(*row, strict=True)) for row in rows]

    explorer = alone(sequence_log_ratios=sequence_log_ratios)
    explorer.set(picture=LOOP)
    picture, problems = explorer.draw()
    assert problems["sequence_log_ratios"].text.startswith("returns [nan, ")
    assert picture.title.startswith("Nothing is written yet that this picture needs")


@pytest.mark.parametrize(
    ("missing", "setting", "title"),
    [
        ("clip_log_ratios", {}, "log-ratios are not clipped, so what the batch is worth is not known"),
        ("sequence_log_ratios", {"picture": RATIO}, "its ratio is not known, and that of a token is 1.030"),
        ("normalized_ess", {}, "truncated at 2, the four completions are worth 3.77 samples"),
        ("effective_sample_size", {}, "truncated at 2, the four completions have a normalised ESS of 0.942"),
        ("split_drift", {"picture": PARTS}, "mismatch and lag are not told apart: split_drift does that"),
    ],
)
def test_what_is_missing_is_said_and_the_rest_goes_on(monkeypatch, missing, setting, title):
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})
    explorer = explore("ess", {name: value for name, value in SOLVED.items() if name != missing})
    explorer.set(**setting)
    assert explorer.text.startswith("As far as it is written, ")
    assert title in explorer.text.splitlines()[0]


def test_the_reference_stands_in_and_is_drawn_paler():
    explorer = explore("ess", {})
    picture, _ = explorer.draw()
    assert {row["whose"] for row in picture.data["weights"]} == {"the reference"}
    assert "○ normalized_ess: is not there yet: run its cell. The reference stands in: 0.942" in explorer.text
