"""Bytes and seconds: the cache to the byte, the true shape, and the arithmetic of timings and roofline by hand."""

from __future__ import annotations

import pytest

from rlinfra.realmodel.devices import Clock, spread_of
from rlinfra.realmodel.loading import Loaded
from rlinfra.realmodel.report import BatchPoint, Phase, Roofline, Spread
from rlinfra.realmodel.roofline import decode_work, floor_seconds, forward_work, measured
from rlinfra.realmodel.run import setup_of
from rlinfra.realmodel.shapes import random_gpt2, random_qwen3
from rlinfra.realmodel.sweep import formula_bytes, measured_batch
from rlinfra.realmodel.tokens import encoded_prompts

from .conftest import TINY

H200 = Roofline(bytes_per_second=4.8e12, flops_per_second=990e12, copied_bytes=1, matrix_side=1)  # the data sheet's


@pytest.fixture(scope="module")
def qwen3(tiny):
    """What is measured of Qwen3-0.6B in bfloat16: its shape alone, on a device without any memory."""
    import torch

    model = random_qwen3(seed=1, dtype=torch.bfloat16, device="meta")
    return setup_of(Loaded(model, tiny.tokenizer, "shape", "random", (2,)), TINY)


def test_the_true_shape_has_the_published_number_of_parameters(qwen3):
    """596,049,920 is what the published checkpoint holds; 151,936 × 1,024 of them are embeddings and head in one."""
    assert qwen3.parameters == 596_049_920
    assert (qwen3.head_parameters, qwen3.embedding_parameters) == (155_582_464, 0)
    assert (qwen3.vocabulary, qwen3.element_bytes, qwen3.dtype) == (151_936, 2, "bfloat16")


def test_a_cached_token_of_the_true_shape_takes_114688_bytes(qwen3):
    """28 layers × 8 KV heads × 128 numbers × 2 bytes, a key and a value each."""
    assert formula_bytes(qwen3, sequences=1, cached_tokens=1) == 114_688
    assert formula_bytes(qwen3, sequences=3, cached_tokens=87) == 3 * 87 * 114_688


def test_the_cache_object_holds_what_the_formula_says_to_the_byte(measured):
    """3 layers × 2 KV heads × 32 numbers × 4 bytes × 2 are 1,536 bytes a token; the last token is never fed back."""
    report, _ = measured
    for point in report.sweep:
        cached = point.prompt_width + TINY.new_tokens - 1
        assert point.kv_cache_bytes == point.kv_formula_bytes == point.batch * cached * 1536


def test_it_also_does_where_each_head_has_its_own_keys(tiny):
    """GPT-2: no grouped heads, no head_dim in its configuration: 2 layers × 4 heads × 16 × 4 bytes × 2 are 1,024."""
    import torch

    gpt2 = random_gpt2(vocabulary=len(tiny.tokenizer), seed=1, dtype=torch.float32, device="cpu")
    loaded = Loaded(gpt2, tiny.tokenizer, "tiny GPT-2", "random", (2,))
    point = measured_batch(loaded, setup_of(loaded, TINY), H200, 2)
    assert point.kv_cache_bytes == point.kv_formula_bytes == 2 * (point.prompt_width + 23) * 1024


@pytest.mark.parametrize("kind", ["rotary", "absolute"])
def test_the_loop_decodes_what_the_librarys_own_generate_does(tiny, kind, monkeypatch):
    """Both greedy: one wrong position, mask or cache entry would lead to other tokens."""
    import torch

    made = []

    def greedy(logits, _):
        made.append(logits[:, -1:].argmax(-1))
        return made[-1]

    vocabulary = len(tiny.tokenizer)
    draw = {"rotary": random_qwen3, "absolute": random_gpt2}[kind]
    model = draw(vocabulary=vocabulary, seed=5, dtype=torch.float32, device="cpu")
    loaded = Loaded(model, tiny.tokenizer, "tiny", "random", ())
    prompts, mask = encoded_prompts(tiny.tokenizer, 3, "cpu")
    expected = model.generate(
        input_ids=prompts, attention_mask=mask, max_new_tokens=TINY.new_tokens, do_sample=False, pad_token_id=0
    )[:, prompts.shape[1] :]
    monkeypatch.setattr("rlinfra.realmodel.sweep._sampled", greedy)
    measured_batch(loaded, setup_of(loaded, TINY), H200, 3)
    assert len(expected.unique()) > 5
    assert torch.cat(made[-TINY.new_tokens :], 1).tolist() == expected.tolist()


# --- the roofline, by hand ---------------------------------------------------------------------------------------


def test_one_decode_step_reads_all_weights_once(qwen3):
    """1,192,099,840 bytes at 4.8 TB/s are 248.35 µs."""
    assert floor_seconds(decode_work(qwen3, batch=1, context_tokens=0), H200) == pytest.approx(248.354e-6, rel=1e-5)


def test_a_large_batch_reads_more_cache_than_weights(qwen3):
    """512 × 55 tokens × 114,688 bytes = 3,229,614,080; with the weights 4,421,713,920 bytes, 921.19 µs."""
    work = decode_work(qwen3, batch=512, context_tokens=55)
    assert work.moved_bytes == 4_421_713_920
    assert floor_seconds(work, H200) == pytest.approx(921.190e-6, rel=1e-5)


def test_scoring_is_bound_by_matrices(qwen3):
    """3 × 86 tokens, all scored: 2 × 596,049,920 × 258 = 307,561,758,720, and 4 × 28 × 16 × 128 × 3 × 86² / 2 for
    attention = 2,544,697,344 more: at 990 TFLOP/s 313.24 µs.
    """
    work = forward_work(qwen3, batch=3, tokens=86, scored_tokens=86)
    assert work.operations == 307_561_758_720 + 2_544_697_344
    assert floor_seconds(work, H200) == pytest.approx(313.239e-6, rel=1e-5)


def test_logits_that_are_not_wanted_cost_nothing(qwen3):
    whole, last = (forward_work(qwen3, batch=2, tokens=40, scored_tokens=n).operations for n in (40, 1))
    assert whole - last == 2 * 2 * 39 * 155_582_464


def test_a_roofline_is_measured_in_the_order_of_a_machine():
    import torch

    roof = measured(torch.device("cpu"), torch.float32)
    assert 1e8 < roof.bytes_per_second < 1e13
    assert 1e8 < roof.flops_per_second < 1e15


# --- timings -----------------------------------------------------------------------------------------------------


def test_quartiles_by_hand():
    assert spread_of([4.0, 1.0, 3.0, 2.0]) == Spread(
        median_seconds=2.5, first_quartile_seconds=1.75, third_quartile_seconds=3.25, samples=4
    )
    assert spread_of([7.0]).third_quartile_seconds == 7.0


def test_the_clock_tells_the_time_between_marks():
    import time

    import torch

    clock = Clock(torch.device("cpu"))
    marks = [clock.mark()]
    for seconds in (0.02, 0.05):
        time.sleep(seconds)
        marks.append(clock.mark())
    first, second = clock.seconds(marks)
    assert first >= 0.02
    assert second >= 0.05
    assert clock.peak_bytes() is None


def test_rates_by_hand():
    """Batch 4, 11 new tokens: 0.5 s prefill and ten steps of 0.15 s are 2 s for 44 tokens: 22 tokens/s."""

    def phase(seconds, floor):
        return Phase(seconds=spread_of([seconds]), floor_seconds=floor, peak_bytes=None)

    point = BatchPoint(
        batch=4,
        prompt_width=9,
        new_tokens=11,
        prefill=phase(0.5, 0.1),
        decode=phase(0.15, 0.03),
        scoring=phase(0.4, 0.1),
        kv_cache_bytes=1,
        kv_formula_bytes=1,
    )
    assert point.generated_tokens_per_second == pytest.approx(22)
    assert point.decode_tokens_per_second == pytest.approx(4 / 0.15)
    assert point.floor_decode_tokens_per_second == pytest.approx(4 / 0.03)
    assert point.scored_tokens_per_second == pytest.approx(4 * 20 / 0.4)
    assert point.decode.roofline_share == pytest.approx(0.2)


def test_each_phase_has_a_sample_a_repeat_and_decode_one_a_step(measured):
    report, _ = measured
    assert [point.batch for point in report.sweep] == [1, 3]
    for point in report.sweep:
        samples = {name: getattr(point, name).seconds.samples for name in ("prefill", "decode", "scoring")}
        assert samples == {"prefill": 2, "decode": 2 * 23, "scoring": 2}
        assert 0 < point.decode.seconds.first_quartile_seconds <= point.decode.seconds.median_seconds
