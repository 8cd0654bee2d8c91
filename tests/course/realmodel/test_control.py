"""Log-probabilities at zero lag: equal where nothing is wrong, apart by each mistake and by a change of weights."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from rlinfra.realmodel import Settings
from rlinfra.realmodel.control import changed_weights, comparisons, controlled, row_of
from rlinfra.realmodel.loading import load
from rlinfra.realmodel.scoring import Generated, positions_of, selected_logprobs, teacher_forced, through_first_end
from rlinfra.realmodel.settings import Source

from .conftest import TINY


def rows_by_name(of):
    return {row.name: row for _, step in comparisons(of) for row in step()}


@pytest.fixture(scope="module")
def control(tiny):
    return controlled(tiny, TINY)


@pytest.fixture(scope="module")
def rows(control):
    return rows_by_name(control)


# --- nothing wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["control", "control_raw", "control_absolute"])
def test_in_float32_generation_and_teacher_forcing_agree(rows, name):
    assert 0 < rows[name].max_abs_delta <= 1e-5
    assert abs(rows[name].k3) < 1e-9


def test_in_bfloat16_they_agree_to_its_rounding():
    settings = replace(TINY, dtype="bfloat16", new_tokens=12)
    of = controlled(load(Source("random"), settings), settings)
    row = row_of("control", "control", "", of.teacher, of.batch)
    assert 1e-4 < row.max_abs_delta <= 0.05


def test_a_row_scored_alone_without_any_padding_has_the_same_log_probabilities(tiny, control):
    """The oracle: one sequence at a time, no mask, no positions given, plain log-softmax in double precision."""
    import torch

    for row in range(3):
        prompt = control.batch.prompts[row][control.batch.prompt_mask[row] == 1]
        completion = control.batch.tokens[row][control.batch.counted[row]]
        with torch.inference_mode():
            logits = tiny.model(torch.cat((prompt, completion))[None]).logits[0, len(prompt) - 1 : -1].double()
        expected = torch.log_softmax(logits / TINY.temperature, -1).gather(-1, completion[:, None])[:, 0]
        got = control.teacher[row][control.batch.counted[row]].double()
        assert torch.allclose(got, expected, atol=1e-5, rtol=0)


def test_prompts_differ_in_length_so_that_there_is_padding_on_the_left(control):
    lengths = control.batch.prompt_mask.sum(1).tolist()
    assert len(set(lengths)) > 1
    assert control.batch.prompt_mask[:, -1].tolist() == [1, 1, 1]


# --- mistakes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["temperature_forgotten", "no_attention_mask", "padding_scored", "wrong_positions_absolute"]
)
def test_each_mistake_costs(rows, name):
    assert rows[name].kind == "mistake"
    assert rows[name].max_abs_delta >= 0.01
    assert rows[name].k3 > 1e6 * abs(rows["control"].k3)


def test_rotary_positions_do_not_show_that_they_are_shifted(rows):
    assert rows["wrong_positions"].max_abs_delta <= 1e-5


def test_padding_adds_the_tokens_that_do_not_count(rows, control):
    padding = (~control.batch.counted).sum().item()
    assert padding >= 3 * 16
    assert rows["padding_scored"].tokens == rows["control"].tokens + padding
    teacher_at_padding = control.teacher[~control.batch.counted].double().sum().item()  # the behaviour's is 0 there
    expected = (rows["control"].mean_delta * rows["control"].tokens + teacher_at_padding) / rows[
        "padding_scored"
    ].tokens
    assert rows["padding_scored"].mean_delta == pytest.approx(expected, abs=1e-9)


# --- lag ---------------------------------------------------------------------------------------------------------


def test_lag_is_far_above_mismatch_and_the_two_add_up_in_log_ratios(rows):
    assert rows["lag"].mean_abs_delta > 1000 * rows["control"].mean_abs_delta
    total = rows["lag"].mean_delta + rows["control"].mean_delta
    assert rows["lag_and_mismatch"].mean_delta == pytest.approx(total, abs=1e-12)


def test_the_weight_change_has_the_size_that_was_asked_for(tiny):
    for size in (0.001, 0.01, 0.1):
        with changed_weights(tiny.model, size, seed=7) as measured:
            assert measured == pytest.approx(size, rel=0.02)


def test_the_weight_change_has_nothing_to_do_with_the_weights(tiny):
    """Of one seed, weights and noise could be the same numbers: the change would scale the weights, and norms undo it.

    The correlation of n independent pairs has the standard deviation 1/√n; five of them are allowed.
    """
    import torch

    before = [parameter.clone() for parameter in tiny.model.parameters()]
    with changed_weights(tiny.model, 0.1, seed=TINY.seed):
        for old, new in zip(before, tiny.model.parameters(), strict=True):
            if old.dim() >= 2:
                pairs = torch.stack((old.flatten(), (new - old).flatten()))
                assert abs(torch.corrcoef(pairs)[0, 1]) < 5 / old.numel() ** 0.5


def test_the_weight_change_does_not_depend_on_how_matrices_are_cut(tiny, monkeypatch):
    """Each matrix gets noise by its own size, and no part of the noise repeats another."""
    import torch

    monkeypatch.setattr("rlinfra.realmodel.control.NOISE_AT_ONCE", 1000)
    before = [parameter.clone() for parameter in tiny.model.parameters()]
    with changed_weights(tiny.model, 0.1, seed=7) as measured:
        assert measured == pytest.approx(0.1, rel=0.02)
        for old, new in zip(before, tiny.model.parameters(), strict=True):
            if old.dim() < 2:
                assert new.equal(old)
                continue
            change = (new - old).flatten()
            assert (change.norm() / old.norm()).item() == pytest.approx(0.1, rel=0.05)
            parts = torch.stack(change[: change.numel() // 1000 * 1000].split(1000))
            assert torch.corrcoef(parts).fill_diagonal_(0).abs().max() < 0.2  # independent: σ = 1/√1000 = 0.03


def test_weights_are_put_back_to_the_bit_even_after_an_error(tiny):
    before = [parameter.clone() for parameter in tiny.model.parameters()]

    def stopped_in_between():
        with changed_weights(tiny.model, 0.5, seed=7):
            assert any((old != new).any() for old, new in zip(before, tiny.model.parameters(), strict=True))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped_in_between()
    assert all((old == new).all() for old, new in zip(before, tiny.model.parameters(), strict=True))


def test_twice_the_change_is_about_twice_the_lag(tiny, control):
    """The first-order term: Δ is linear in a small change of the weights along one direction."""

    def lag(size):
        with changed_weights(tiny.model, size, seed=7):
            newer = teacher_forced(tiny.model, control.batch, temperature=TINY.temperature)
        return row_of("lag", "lag", "", newer, control.batch, behavior=control.teacher).mean_abs_delta

    assert lag(0.002) / lag(0.001) == pytest.approx(2, rel=0.05)


# --- the arithmetic, by hand -------------------------------------------------------------------------------------


def batch_of(logprobs, counted):
    import torch

    nothing = torch.zeros(0)
    return Generated(nothing, nothing, nothing, torch.tensor(counted), torch.tensor(logprobs), nothing)


def test_a_comparison_by_hand():
    """r = 2, 4 and 1: r − 1 − log r is 1 − ln 2, 3 − 2 ln 2 and 0; a token that does not count is NaN."""
    import torch

    ln2 = math.log(2)
    teacher = torch.tensor([[-2.0 + ln2, -2.0 + 2 * ln2], [-1.0, math.nan]])
    row = row_of("a", "lag", "b", teacher, batch_of([[-2.0, -2.0], [-1.0, math.nan]], [[True, True], [True, False]]))
    assert (row.name, row.kind, row.says, row.tokens) == ("a", "lag", "b", 3)
    assert row.max_abs_delta == pytest.approx(2 * ln2, rel=1e-6)
    assert row.mean_abs_delta == row.mean_delta == pytest.approx(ln2, rel=1e-6)
    assert row.k3 == pytest.approx((4 - 3 * ln2) / 3, rel=1e-6)
    back = row_of("a", "lag", "b", -1 - teacher, batch_of([[1.0, 1.0], [0.0, math.nan]], [[True, True], [True, False]]))
    assert back.mean_delta == pytest.approx(-ln2, rel=1e-6)
    assert back.k3 == pytest.approx((3 * ln2 - 1.25) / 3, rel=1e-6)  # r = 1/2, 1/4 and 1


def test_log_probabilities_by_hand():
    """Logits ln 1, ln 3, ln 4 are the odds 1 : 3 : 4; at temperature 1/2 their squares 1 : 9 : 16."""
    import torch

    logits = torch.log(torch.tensor([[[1.0, 3.0, 4.0]]])).expand(2, 1, 3)
    tokens = torch.tensor([[1], [2]])
    assert selected_logprobs(logits, tokens).exp()[:, 0].tolist() == pytest.approx([3 / 8, 4 / 8])
    assert selected_logprobs(logits, tokens, 0.5).exp()[:, 0].tolist() == pytest.approx([9 / 26, 16 / 26])


def test_log_probabilities_do_not_depend_on_how_rows_are_grouped(monkeypatch):
    import torch

    logits = torch.randn(5, 3, 7, generator=torch.Generator().manual_seed(1))
    tokens = torch.arange(15).reshape(5, 3) % 7
    whole = selected_logprobs(logits, tokens)
    monkeypatch.setattr("rlinfra.realmodel.scoring.MOST_BYTES_AT_ONCE", 2 * 4 * 3 * 7)  # two rows, two rows, one
    assert selected_logprobs(logits, tokens).equal(whole)


def test_a_completion_counts_through_its_first_end_inclusive():
    import torch

    tokens = torch.tensor([[5, 9, 9, 1], [1, 2, 3, 4], [9, 1, 1, 1], [5, 8, 1, 9]])
    expected = [[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 0, 0]]
    assert through_first_end(tokens, (9, 8)).int().tolist() == expected
    assert through_first_end(tokens, ()).all()


def test_positions_begin_at_the_first_token_that_counts():
    import torch

    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 0]])
    assert positions_of(mask).tolist() == [[0, 0, 0, 1, 2], [0, 1, 2, 3, 0]]


def test_completions_that_end_early_are_masked_and_padded(tiny):
    """With every second token an end, rows end soon: their padding is the padding token, and costs nothing masked."""
    ends = tuple(range(0, len(tiny.tokenizer), 2))
    model = load(Source("random"), TINY).model
    model.generation_config.eos_token_id = list(ends)
    of = controlled(replace(tiny, model=model, end_ids=ends), TINY)
    lengths = of.batch.counted.sum(1).tolist()
    assert max(lengths) < TINY.new_tokens
    for row, length in enumerate(lengths):
        assert [token in ends for token in of.batch.tokens[row][:length].tolist()] == [False] * (length - 1) + [True]
        assert set(of.batch.logprobs[row][length:].tolist()) == {0.0}
    assert row_of("control", "control", "", of.teacher, of.batch).max_abs_delta <= 1e-5


def test_a_checkpoints_own_decoding_is_taken_away(checkpoint):
    """A checkpoint that says top-k 1 would be greedy: its behaviour policy would not be the one that is scored."""
    from transformers import GenerationConfig

    GenerationConfig(top_k=1, repetition_penalty=1.7, eos_token_id=2, do_sample=True).save_pretrained(checkpoint)
    settings = Settings(model=checkpoint, device="cpu", new_tokens=12)
    loaded = load(Source("folder", folder=checkpoint), settings)
    assert loaded.end_ids == (2,)
    of = controlled(loaded, settings)
    assert row_of("control", "control", "", of.teacher, of.batch).max_abs_delta <= 1e-5
