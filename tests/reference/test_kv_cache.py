"""The KV cache reference against published models, numbers worked out by hand, a token-by-token allocator, and laws."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlinfra_reference.kv_cache import (
    group_kv_bytes,
    kv_bytes_per_rank,
    kv_bytes_per_token,
    kv_bytes_per_token_of_config,
    kv_cache_bytes,
    max_concurrent_sequences,
    paged_kv_bytes,
    ragged_kv_bytes,
)

GIB = 2**30
TEACHING = {"num_layers": 32, "num_kv_heads": 4, "head_dim": 128, "element_bytes": 2}
QWEN3 = {"num_layers": 28, "num_kv_heads": 8, "head_dim": 128, "element_bytes": 2}
law = settings(deadline=None, max_examples=80)
lengths = st.lists(st.integers(0, 300), max_size=12)
blocks = st.integers(1, 64)
token_sizes = st.integers(1, 10**6)
models = st.fixed_dictionaries(
    {
        "num_layers": st.integers(1, 100),
        "num_kv_heads": st.integers(1, 64),
        "head_dim": st.integers(1, 256),
        "element_bytes": st.integers(1, 4),
    }
)


class TokenByTokenAllocator:
    """Another program for the same bytes: tokens are written one by one, and a block is taken when one is needed."""

    def __init__(self, block_tokens):
        self.block_tokens = block_tokens
        self.blocks = 0

    def write(self, tokens, room=0):
        """Write tokens behind a block that still has room; return the room that the last block has left."""
        for _ in range(tokens):
            if room == 0:
                self.blocks += 1
                room = self.block_tokens
            room -= 1
        return room


# --- figures that others published or worked out ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("num_layers", "num_kv_heads", "bytes_a_token"),
    [
        pytest.param(32, 32, 524_288, id="Llama-2-7B"),
        pytest.param(32, 8, 131_072, id="Llama-3-8B"),
        pytest.param(28, 8, 114_688, id="Qwen3-0.6B"),
        pytest.param(32, 4, 65_536, id="the lab's teaching configuration"),
    ],
)
def test_a_token_of_a_published_model_takes_the_known_bytes(num_layers, num_kv_heads, bytes_a_token):
    """Their published shapes, all with heads of 128 in 16 bits; the last is the seed's 64 KiB."""
    shape = {"num_layers": num_layers, "num_kv_heads": num_kv_heads, "head_dim": 128, "element_bytes": 2}
    assert kv_bytes_per_token(**shape) == bytes_a_token


def test_a_token_takes_what_numpy_allocates_for_its_keys_and_values():
    """NumPy's `nbytes` of a (key and value, layers, KV heads, head_dim) array in float16."""
    assert kv_bytes_per_token(**QWEN3) == np.zeros((2, 28, 8, 128), np.float16).nbytes


def test_neither_hidden_size_nor_query_heads_change_what_qwen3_caches():
    """Qwen3-0.6B: hidden size 1,024 and 16 query heads would give heads of 64, its configuration says 128."""
    assert kv_bytes_per_token_of_config(hidden_size=1_024, num_query_heads=16, **QWEN3) == 114_688
    assert kv_bytes_per_token_of_config(hidden_size=5_000, num_query_heads=7, **QWEN3) == 114_688


def test_the_labs_cache_takes_16_gib_exactly():
    """The seed's lab, section 2: `assert kv_16_gib == 16 * BYTES_PER_GIB`."""
    assert kv_cache_bytes(num_sequences=64, tokens_per_sequence=4_096, **TEACHING) == 16 * GIB


def test_from_8_to_32_sequences_the_payload_grows_by_4():
    """The seed's lecture."""
    one, other = (kv_cache_bytes(num_sequences=count, tokens_per_sequence=4_096, **TEACHING) for count in (8, 32))
    assert (one, other) == (2 * GIB, 8 * GIB)


def test_87_tokens_of_qwen3_take_the_pages_that_vllm_gives_them():
    """vLLM, 16-token blocks: 65,536 bytes a layer and block, 1.75 MiB a block; 87 tokens fill 5 and a part of a 6th."""
    per_token = kv_bytes_per_token(**QWEN3)
    assert 16 * per_token == 28 * 65_536 == 1.75 * 2**20
    cache = paged_kv_bytes([87], block_tokens=16, bytes_per_token=per_token)
    assert cache.blocks == 6
    assert cache.allocated_bytes == 11_010_048
    assert ragged_kv_bytes([87], bytes_per_token=per_token) == 9_977_856
    assert cache.waste_fraction == 9 / 96


def test_pages_by_hand():
    """1, 16, 17 and 40 tokens take 1, 1, 2 and 3 blocks of 16: 112 slots for 74 tokens."""
    cache = paged_kv_bytes([1, 16, 17, 40], block_tokens=16, bytes_per_token=10)
    assert (cache.blocks, cache.allocated_bytes, cache.waste_fraction) == (7, 1_120, 38 / 112)


def test_nothing_cached_wastes_nothing():
    cache = paged_kv_bytes([0, 0], block_tokens=16, bytes_per_token=10)
    assert (cache.blocks, cache.allocated_bytes, cache.waste_fraction) == (0, 0, 0)


def test_a_group_by_hand():
    """A prompt of 1,000 fills 62 blocks of 16 and leaves 8 tokens, which begin each sequence's own part.

    Completions of 8, 200, 345 and 9 make own parts of 16, 208, 353 and 17 tokens: 1 + 13 + 23 + 2 = 39 blocks.
    Alone they take 63 + 75 + 85 + 64 = 287.
    """
    group = {"completion_lengths": [8, 200, 345, 9], "block_tokens": 16, "bytes_per_token": 1}
    assert group_kv_bytes(1_000, **group, share_prefix=True) == (62 + 39) * 16
    assert group_kv_bytes(1_000, **group, share_prefix=False) == 287 * 16


def test_a_group_without_completions_holds_nothing():
    group = {"completion_lengths": [], "block_tokens": 16, "bytes_per_token": 1}
    assert [group_kv_bytes(100, **group, share_prefix=shared) for shared in (True, False)] == [0, 0]


@pytest.mark.parametrize(("ranks", "gib"), [(1, 16), (2, 8), (4, 4), (8, 4), (16, 4)])
def test_ranks_divide_the_4_heads_of_the_labs_cache_and_then_keep_one_each(ranks, gib):
    """The seed's lecture for 4 ranks: 16 GiB become 4 each. Beyond, a head cannot be divided."""
    assert kv_bytes_per_rank(64 * 4_096, ranks=ranks, **TEACHING) == gib * GIB


def test_the_labs_budget_holds_its_64_sequences_and_a_byte_less_holds_63():
    limits = {"tokens_per_sequence": 4_096, "block_tokens": 16, "bytes_per_token": 65_536}
    assert max_concurrent_sequences(16 * GIB, **limits) == 64
    assert max_concurrent_sequences(16 * GIB - 1, **limits) == 63


def test_a_sequence_takes_whole_blocks_of_the_budget():
    """1,000 tokens take 16 blocks of 64, so 1,024 × 114,688 = 117,440,512 bytes; 24e9 hold 204 of them."""
    limits = {"tokens_per_sequence": 1_000, "block_tokens": 64, "bytes_per_token": 114_688}
    assert max_concurrent_sequences(24_000_000_000, **limits) == 204
    assert 204 * 117_440_512 <= 24_000_000_000 < 205 * 117_440_512


# --- laws ---------------------------------------------------------------------------------------------------------


@law
@given(lengths, lengths, token_sizes)
def test_useful_bytes_add_up_over_sequences_and_tokens(some, others, size):
    def useful(lengths):
        return ragged_kv_bytes(lengths, bytes_per_token=size)

    assert useful(some + others) == useful(some) + useful(others) == useful([sum(some) + sum(others)])


@law
@given(st.integers(0, 999), st.integers(0, 9_999), models)
def test_equal_lengths_are_a_ragged_batch_too(count, tokens, model):
    ragged = ragged_kv_bytes([tokens] * count, bytes_per_token=kv_bytes_per_token(**model))
    assert kv_cache_bytes(num_sequences=count, tokens_per_sequence=tokens, **model) == ragged


@law
@given(models, st.sampled_from(sorted(TEACHING)))
def test_a_token_takes_in_proportion_to_each_dimension(model, name):
    assert kv_bytes_per_token(**{**model, name: 3 * model[name]}) == 3 * kv_bytes_per_token(**model)


@law
@given(lengths, blocks, token_sizes)
def test_blocks_hold_every_token_and_waste_less_than_a_block_a_sequence(lengths, block, size):
    cache = paged_kv_bytes(lengths, block_tokens=block, bytes_per_token=size)
    useful = ragged_kv_bytes(lengths, bytes_per_token=size)
    assert cache.allocated_bytes == cache.blocks * block * size
    assert useful <= cache.allocated_bytes <= useful + len(lengths) * (block - 1) * size
    assert 0 <= cache.waste_fraction < 1
    assert math.isclose((1 - cache.waste_fraction) * cache.allocated_bytes, useful, rel_tol=1e-12)


@law
@given(lengths, blocks)
def test_pages_are_those_of_a_token_by_token_allocator(lengths, block):
    allocator = TokenByTokenAllocator(block)
    for length in lengths:
        allocator.write(length)
    assert paged_kv_bytes(lengths, block_tokens=block, bytes_per_token=1).blocks == allocator.blocks


@law
@given(lengths, token_sizes)
def test_blocks_of_one_token_waste_nothing(lengths, size):
    cache = paged_kv_bytes(lengths, block_tokens=1, bytes_per_token=size)
    assert cache.allocated_bytes == ragged_kv_bytes(lengths, bytes_per_token=size)
    assert cache.waste_fraction == 0


@law
@given(lengths, lengths, blocks)
def test_blocks_add_up_over_sequences(some, others, block):
    def count(lengths):
        return paged_kv_bytes(lengths, block_tokens=block, bytes_per_token=1).blocks

    assert count(some + others) == count(some) + count(others)


@law
@given(st.integers(0, 200), lengths, blocks)
def test_a_group_takes_the_blocks_of_a_token_by_token_allocator(prompt, completions, block):
    shared, unshared = TokenByTokenAllocator(block), TokenByTokenAllocator(block)
    if completions:
        shared.write(prompt - prompt % block)
    for length in completions:
        shared.write(prompt % block + length)
        unshared.write(prompt + length)
    group = {"block_tokens": block, "bytes_per_token": 1}
    assert group_kv_bytes(prompt, completions, **group, share_prefix=True) == shared.blocks * block
    assert group_kv_bytes(prompt, completions, **group, share_prefix=False) == unshared.blocks * block


@law
@given(st.integers(0, 200), st.lists(st.integers(0, 300), min_size=1, max_size=12), blocks)
def test_sharing_saves_the_prompts_full_blocks_for_all_sequences_but_one(prompt, completions, block):
    group = {"block_tokens": block, "bytes_per_token": 1}
    saved = group_kv_bytes(prompt, completions, **group, share_prefix=False) - group_kv_bytes(
        prompt, completions, **group, share_prefix=True
    )
    assert saved == (len(completions) - 1) * (prompt // block) * block


@law
@given(st.integers(0, 10**6), models)
def test_a_single_rank_caches_everything(tokens, model):
    assert kv_bytes_per_rank(tokens, ranks=1, **model) == tokens * kv_bytes_per_token(**model)


@law
@given(st.integers(0, 10**6), models, st.integers(1, 64))
def test_ranks_that_divide_the_heads_cache_the_whole_between_them(tokens, model, ranks):
    model = {**model, "num_kv_heads": model["num_kv_heads"] * ranks}
    assert ranks * kv_bytes_per_rank(tokens, ranks=ranks, **model) == tokens * kv_bytes_per_token(**model)


@law
@given(st.integers(0, 10**6), models, st.integers(1, 64))
def test_ranks_beyond_the_heads_cache_one_head_each(tokens, model, copies):
    one_head = tokens * kv_bytes_per_token(**{**model, "num_kv_heads": 1})
    assert kv_bytes_per_rank(tokens, ranks=copies * model["num_kv_heads"], **model) == one_head


@law
@given(st.integers(0, 10**9), st.integers(1, 5_000), blocks, st.integers(1, 10**5))
def test_the_sequences_that_fit_fit_and_one_more_does_not(budget, tokens, block, size):
    fit = max_concurrent_sequences(budget, tokens_per_sequence=tokens, block_tokens=block, bytes_per_token=size)
    one = paged_kv_bytes([tokens], block_tokens=block, bytes_per_token=size).allocated_bytes
    assert fit * one <= budget < (fit + 1) * one


# --- senseless arguments ------------------------------------------------------------------------------------------

NO_COUNT = (-1, True, 2.5, math.nan, math.inf, "3")
PAGES = {"block_tokens": 16, "bytes_per_token": 10}
CONFIG = {**QWEN3, "hidden_size": 1_024, "num_query_heads": 16}
# function, sensible arguments, those that must be 0 or more, those that must be 1 or more
SENSIBLE = (
    (kv_bytes_per_token, QWEN3, (), tuple(QWEN3)),
    (kv_bytes_per_token_of_config, CONFIG, (), tuple(QWEN3)),
    (
        kv_cache_bytes,
        {"num_sequences": 2, "tokens_per_sequence": 3, **QWEN3},
        ("num_sequences", "tokens_per_sequence"),
        tuple(QWEN3),
    ),
    (ragged_kv_bytes, {"lengths": [1, 2], "bytes_per_token": 10}, (), ("bytes_per_token",)),
    (paged_kv_bytes, {"lengths": [1, 2], **PAGES}, (), tuple(PAGES)),
    (
        group_kv_bytes,
        {"prompt_tokens": 5, "completion_lengths": [1, 2], **PAGES, "share_prefix": True},
        ("prompt_tokens",),
        tuple(PAGES),
    ),
    (kv_bytes_per_rank, {"tokens": 5, "ranks": 2, **QWEN3}, ("tokens",), ("ranks", *QWEN3)),
    (
        max_concurrent_sequences,
        {"budget_bytes": 10**9, "tokens_per_sequence": 50, **PAGES},
        ("budget_bytes",),
        ("tokens_per_sequence", *PAGES),
    ),
)
SENSELESS = [
    pytest.param(function, {**arguments, name: bad}, name, id=f"{function.__name__}-{name}-{bad}")
    for function, arguments, from_0, from_1 in SENSIBLE
    for names, all_bad in ((from_0, NO_COUNT), (from_1, (0, *NO_COUNT)))
    for name in names
    for bad in all_bad
] + [
    pytest.param(function, {**arguments, name: [4, bad]}, name, id=f"{function.__name__}-{name}-{bad}")
    for function, arguments, name in (
        (ragged_kv_bytes, SENSIBLE[3][1], "lengths"),
        (paged_kv_bytes, SENSIBLE[4][1], "lengths"),
        (group_kv_bytes, SENSIBLE[5][1], "completion_lengths"),
    )
    for bad in NO_COUNT
]


@pytest.mark.parametrize(("function", "arguments", "name"), SENSELESS)
def test_a_senseless_argument_raises_an_error_that_names_it(function, arguments, name):
    with pytest.raises(ValueError, match=rf"^{re.escape(name)} must "):
        function(**arguments)


@pytest.mark.parametrize(("function", "arguments"), [pytest.param(f, a, id=f.__name__) for f, a, *_ in SENSIBLE])
def test_the_arguments_beside_the_senseless_ones_are_sensible(function, arguments):
    assert function(**arguments)


@pytest.mark.parametrize("ranks", [3, 5, 12])
def test_ranks_that_neither_divide_the_heads_nor_are_a_multiple_of_them_are_refused(ranks):
    with pytest.raises(ValueError, match=r"ranks must divide num_kv_heads \(8\)"):
        kv_bytes_per_rank(5, ranks=ranks, **QWEN3)
