"""Tasks of the topic `kv-cache`: bytes a token, a batch, pages, a group, a rank, and how many sequences fit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rlinfra.checks.compare import Fields, Integer, Number
from rlinfra_reference import kv_cache as reference

from ..attempts import kv_cache as attempts
from .model import Case, Criterion, FunctionTask, SortingGroup, SortingTask, VariantField, VariantTask, case, refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlinfra.draws import Draws

# The lab's teaching configuration: 64 KiB a token.
TEACHING = {
    "num_layers": 32,
    "hidden_size": 4_096,
    "num_query_heads": 32,
    "num_kv_heads": 4,
    "head_dim": 128,
    "element_bytes": 2,
}
# The published configuration of Qwen3-0.6B in bfloat16: its 16 query heads of 128 are twice as wide as its hidden size.
QWEN3 = {
    "num_layers": 28,
    "hidden_size": 1_024,
    "num_query_heads": 16,
    "num_kv_heads": 8,
    "head_dim": 128,
    "element_bytes": 2,
}
# Qwen3-4B with its cache in 8 bits.
QWEN3_WIDER = {
    "num_layers": 36,
    "hidden_size": 2_560,
    "num_query_heads": 32,
    "num_kv_heads": 8,
    "head_dim": 128,
    "element_bytes": 1,
}
COUNTED = ("num_layers", "num_kv_heads", "head_dim", "element_bytes")


# --- kv_bytes_per_token ------------------------------------------------------------------------------------------


def _config(draws: Draws) -> dict[str, Any]:
    """Draw a configuration with more query heads than KV heads, whose hidden size is not query heads × head_dim."""
    kv_heads = draws.choice((2, 4, 8))
    query_heads = kv_heads * draws.choice((2, 3, 4, 8))
    head_dim, other_dim = draws.shuffled((64, 80, 96, 128, 256))[:2]
    return {
        "num_layers": draws.integer(2, 96),
        "hidden_size": query_heads * other_dim,
        "num_query_heads": query_heads,
        "num_kv_heads": kv_heads,
        "head_dim": head_dim,
        "element_bytes": draws.choice((1, 2, 4)),
    }


def _tokens_typical(draws: Draws) -> list[Case]:
    drawn = [_config(draws) for _ in range(5)]
    return [case(**QWEN3), case(**{**TEACHING, "num_layers": draws.integer(33, 96)}), *(case(**one) for one in drawn)]


def _tokens_small(draws: Draws) -> list[Case]:
    config = _config(draws)
    every_head = {"hidden_size": 768, "num_query_heads": 12, "num_kv_heads": 12, "head_dim": 64}
    return [
        *(case(**{**config, name: 1}) for name in COUNTED),
        case(**{**config, **every_head}),
        case(num_layers=1, hidden_size=8, num_query_heads=2, num_kv_heads=1, head_dim=1, element_bytes=1),
    ]


def _tokens_senseless(draws: Draws) -> list[Case]:
    config = _config(draws)
    bad = (0, -draws.integer(1, 8), True, draws.integer(1, 8) + 0.5, math.nan, math.inf)
    return [refused(name, **{**config, name: value}) for name in COUNTED for value in bad]


KV_BYTES_PER_TOKEN = FunctionTask(
    name="kv_bytes_per_token",
    reference=reference.kv_bytes_per_token_of_config,
    accept=Integer(),
    examples=(
        case(**TEACHING),
        case(**QWEN3),
        case(**QWEN3_WIDER),
        refused("num_layers", **{**QWEN3, "num_layers": 0}),
        refused("head_dim", **{**QWEN3, "head_dim": math.nan}),
    ),
    criteria=(
        Criterion("typical", "models with fewer KV heads than query heads", 1.5, _tokens_typical),
        Criterion("small", "a single layer or KV head, one-byte elements, a KV head a query head", 0.5, _tokens_small),
        Criterion(
            "senseless", "senseless arguments raise a ValueError that names them", 1, _tokens_senseless, "typical"
        ),
    ),
    misconceptions=(
        attempts.keys_alone,
        attempts.query_heads,
        attempts.derived_head_dim,
        attempts.hidden_size_cached,
        attempts.one_layer,
    ),
    correct=(attempts.token_with_validators, attempts.token_by_hand, attempts.token_numpy),
)


# --- kv_cache_bytes ----------------------------------------------------------------------------------------------


def _per_token(draws: Draws) -> int:
    """Draw the bytes of one cached token."""
    return 2 * draws.integer(16, 96) * draws.choice((2, 4, 8)) * draws.choice((64, 96, 128)) * draws.choice((1, 2))


def _lengths(draws: Draws, most: int = 8_192) -> list[int]:
    return [draws.integer(1, most) for _ in range(draws.integer(3, 12))]


def _batches_typical(draws: Draws) -> list[Case]:
    drawn = [case(_lengths(draws), bytes_per_token=_per_token(draws)) for _ in range(5)]
    short = draws.integer(100, 4_000)
    return [
        *drawn,
        case([short, short + 1], bytes_per_token=_per_token(draws)),
        case([short + 3, short, short], bytes_per_token=_per_token(draws)),
        case([short] * draws.integer(2, 64), bytes_per_token=_per_token(draws)),
    ]


def _batches_edge(draws: Draws) -> list[Case]:
    length, size = draws.integer(2, 4_000), _per_token(draws)
    return [
        case([], bytes_per_token=size),
        case([0, length, 0], bytes_per_token=size),
        case([length], bytes_per_token=1),
        case([1], bytes_per_token=size),
    ]


KV_CACHE_BYTES = FunctionTask(
    name="kv_cache_bytes",
    reference=reference.ragged_kv_bytes,
    accept=Integer(),
    examples=(
        case([4_096] * 64, bytes_per_token=65_536),
        case([700, 4_096, 1_500], bytes_per_token=114_688),
        case([], bytes_per_token=114_688),
    ),
    criteria=(
        Criterion("typical", "a batch of sequences", 1.5, _batches_typical),
        Criterion("edge", "no sequences, empty sequences, a single token", 0.5, _batches_edge),
    ),
    misconceptions=(
        attempts.padded_to_longest,
        attempts.mean_length,
        attempts.first_for_all,
        attempts.longest_alone,
        attempts.value_counted_twice,
    ),
    correct=(attempts.batch_loop, attempts.batch_numpy, attempts.batch_fsum),
)


# --- paged_kv_bytes ----------------------------------------------------------------------------------------------


def _page_fields(cache: reference.PagedCache) -> dict[str, float]:
    return {
        "blocks": cache.blocks,
        "allocated_bytes": cache.allocated_bytes,
        "waste_fraction": cache.waste_fraction,
    }


def _pages_typical(draws: Draws) -> list[Case]:
    drawn = [
        case(_lengths(draws), block_tokens=draws.choice((8, 16, 32, 64)), bytes_per_token=_per_token(draws))
        for _ in range(5)
    ]
    block = draws.choice((8, 16, 32))
    return [
        *drawn,
        case([block + 1] * 3, block_tokens=block, bytes_per_token=_per_token(draws)),
        case([1, 2, block - 1], block_tokens=block, bytes_per_token=1),
    ]


def _pages_full(draws: Draws) -> list[Case]:
    block = draws.choice((8, 16, 32))
    multiples = [block * draws.integer(1, 100) for _ in range(draws.integer(2, 6))]
    return [
        case(multiples, block_tokens=block, bytes_per_token=_per_token(draws)),
        case([block], block_tokens=block, bytes_per_token=_per_token(draws)),
        case([block - 1, block, block + 1, 2 * block], block_tokens=block, bytes_per_token=_per_token(draws)),
        case(_lengths(draws, 100), block_tokens=1, bytes_per_token=_per_token(draws)),
    ]


def _pages_empty(draws: Draws) -> list[Case]:
    size = _per_token(draws)
    return [
        case([], block_tokens=16, bytes_per_token=size),
        case([0, 0], block_tokens=16, bytes_per_token=size),
        case([0, draws.integer(17, 31), 0], block_tokens=16, bytes_per_token=size),
        case([1], block_tokens=draws.integer(33, 64), bytes_per_token=size),
    ]


PAGED_KV_BYTES = FunctionTask(
    name="paged_kv_bytes",
    reference=reference.paged_kv_bytes,
    answer=_page_fields,
    accept=Fields({"blocks": Integer(), "allocated_bytes": Integer(), "waste_fraction": Number()}),
    examples=(
        case([1, 16, 17, 40], block_tokens=16, bytes_per_token=114_688),
        case([32, 64], block_tokens=32, bytes_per_token=65_536),
        case([1_000], block_tokens=1, bytes_per_token=65_536),
        case([], block_tokens=16, bytes_per_token=65_536),
    ),
    criteria=(
        Criterion("typical", "sequences that leave a part of their last block empty", 2, _pages_typical),
        Criterion("full", "sequences that fill their last block", 1, _pages_full),
        Criterion("empty", "no sequences, empty sequences, a single token", 1, _pages_empty),
    ),
    misconceptions=(
        attempts.total_rounded,
        attempts.rounded_down,
        attempts.block_too_many,
        attempts.waste_of_useful,
        attempts.used_fraction,
        attempts.payload_allocated,
    ),
    correct=(attempts.pages_loop, attempts.pages_numpy, attempts.pages_dataclass),
)


# --- group_kv_bytes ----------------------------------------------------------------------------------------------


def _group(draws: Draws) -> tuple[int, list[int], dict[str, int]]:
    """Draw a prompt that leaves a part of its last block empty, completions of it, and the sizes."""
    block = draws.choice((8, 16, 32))
    prompt = block * draws.integer(2, 60) + draws.integer(1, block - 1)
    completions = _lengths(draws, 2_000)
    return prompt, completions, {"block_tokens": block, "bytes_per_token": _per_token(draws)}


def _groups(draws: Draws, *, share_prefix: bool) -> list[Case]:
    drawn = []
    for _ in range(4):
        prompt, completions, sizes = _group(draws)
        drawn.append(case(prompt, completions, **sizes, share_prefix=share_prefix))
    size = _per_token(draws)
    # Completions that just do, and just do not, fit into what the prompt's last block leaves them.
    return [
        *drawn,
        case(35, [13, 14, 13, 1], block_tokens=16, bytes_per_token=size, share_prefix=share_prefix),
        case(48, [16, 17, 1], block_tokens=16, bytes_per_token=size, share_prefix=share_prefix),
    ]


def _groups_shared(draws: Draws) -> list[Case]:
    return _groups(draws, share_prefix=True)


def _groups_unshared(draws: Draws) -> list[Case]:
    return _groups(draws, share_prefix=False)


def _groups_edge(draws: Draws) -> list[Case]:
    size, length = _per_token(draws), draws.integer(20, 200)
    sizes = {"block_tokens": 16, "bytes_per_token": size}
    return [
        case(length, [], **sizes, share_prefix=True),
        case(length, [], **sizes, share_prefix=False),
        case(100, [length], **sizes, share_prefix=True),
        case(100, [length], **sizes, share_prefix=False),
        case(7, [length, 9, 10], **sizes, share_prefix=True),
        case(64, [0, length, 0], **sizes, share_prefix=True),
        case(64, [0, length, 0], **sizes, share_prefix=False),
        case(length, [3, 5, 8], block_tokens=1, bytes_per_token=1, share_prefix=True),
    ]


GROUP_KV_BYTES = FunctionTask(
    name="group_kv_bytes",
    reference=reference.group_kv_bytes,
    accept=Integer(),
    examples=(
        case(1_000, [8, 200, 345, 9], block_tokens=16, bytes_per_token=114_688, share_prefix=True),
        case(1_000, [8, 200, 345, 9], block_tokens=16, bytes_per_token=114_688, share_prefix=False),
        case(512, [256] * 8, block_tokens=16, bytes_per_token=65_536, share_prefix=False),
        case(512, [256] * 32, block_tokens=16, bytes_per_token=65_536, share_prefix=False),
        case(512, [256] * 32, block_tokens=16, bytes_per_token=65_536, share_prefix=True),
    ),
    criteria=(
        Criterion("shared", "a group that shares its prompt's full blocks", 1, _groups_shared),
        Criterion("unshared", "a group in which each sequence holds its own prompt", 1, _groups_unshared),
        Criterion("edge", "one completion or none, a short prompt, a prompt that fills its blocks", 1, _groups_edge),
    ),
    misconceptions=(
        attempts.always_shared,
        attempts.never_shared,
        attempts.partial_block_shared,
        attempts.completions_in_fresh_blocks,
        attempts.group_rounded,
    ),
    correct=(attempts.group_loop, attempts.group_numpy, attempts.group_distinct_blocks),
)


# --- kv_bytes_per_rank -------------------------------------------------------------------------------------------


def _attention(draws: Draws, heads: int) -> dict[str, int]:
    return {
        "num_layers": draws.integer(2, 96),
        "num_kv_heads": heads,
        "head_dim": draws.choice((64, 96, 128)),
        "element_bytes": draws.choice((1, 2, 4)),
    }


def _ranks_divide(draws: Draws) -> list[Case]:
    pairs = [(2, 8), (4, 8), (8, 8), (1, 8), (2, 4), (3, 12), (1, 1), (5, 40)]
    drawn = [case(draws.integer(2, 10**6), ranks=ranks, **_attention(draws, heads)) for ranks, heads in pairs]
    return [*drawn, case(1, ranks=1, num_layers=1, num_kv_heads=2, head_dim=1, element_bytes=1)]


def _ranks_replicate(draws: Draws) -> list[Case]:
    pairs = [(8, 4), (16, 8), (32, 8), (8, 2), (4, 1), (12, 3)]
    drawn = [case(draws.integer(2, 10**6), ranks=ranks, **_attention(draws, heads)) for ranks, heads in pairs]
    return [*drawn, case(0, ranks=8, **_attention(draws, 4))]


KV_BYTES_PER_RANK = FunctionTask(
    name="kv_bytes_per_rank",
    reference=reference.kv_bytes_per_rank,
    accept=Integer(),
    examples=tuple(
        case(64 * 4_096, ranks=ranks, num_layers=32, num_kv_heads=4, head_dim=128, element_bytes=2)
        for ranks in (1, 2, 4, 8)
    ),
    criteria=(
        Criterion("divided", "ranks that divide the KV heads", 1, _ranks_divide),
        Criterion("replicated", "more ranks than KV heads", 1, _ranks_replicate),
    ),
    misconceptions=(
        attempts.always_divided,
        attempts.no_head_left,
        attempts.replicated_everywhere,
        attempts.one_head_always,
        attempts.keys_alone_on_a_rank,
    ),
    correct=(attempts.rank_rounded_up, attempts.rank_cases, attempts.rank_loop, attempts.rank_numpy),
)


# --- max_concurrent_sequences ------------------------------------------------------------------------------------


def _sequence(draws: Draws) -> tuple[int, dict[str, int]]:
    """Draw a sequence that leaves half of its last block empty or more: the bytes of its blocks, its arguments."""
    block, size = draws.choice((16, 32, 64)), _per_token(draws)
    full_blocks = draws.integer(2, 60)
    arguments = {
        "tokens_per_sequence": full_blocks * block + draws.integer(block // 4, block // 2),
        "block_tokens": block,
        "bytes_per_token": size,
    }
    return (full_blocks + 1) * block * size, arguments


def _budgets_typical(draws: Draws) -> list[Case]:
    drawn = []
    for _ in range(4):
        sequence_bytes, arguments = _sequence(draws)
        count = draws.integer(3, 200)
        drawn.append(case(count * sequence_bytes + draws.integer(1, sequence_bytes - 1), **arguments))
    sequence_bytes, arguments = _sequence(draws)
    whole, part = draws.integer(3, 200) * sequence_bytes, draws.integer(1, sequence_bytes // 16)
    return [*drawn, case(whole + part, **arguments), case(whole - part, **arguments)]


def _budgets_edge(draws: Draws) -> list[Case]:
    sequence_bytes, arguments = _sequence(draws)
    count, size = draws.integer(3, 200), arguments["bytes_per_token"]
    whole_blocks = {"tokens_per_sequence": 64, "block_tokens": 16, "bytes_per_token": size}
    return [
        case(count * sequence_bytes, **arguments),
        case(count * sequence_bytes - 1, **arguments),
        case(count * 64 * size, **whole_blocks),
        case(sequence_bytes - 1, **arguments),
        case(0, **arguments),
        case(count, tokens_per_sequence=1, block_tokens=1, bytes_per_token=1),
        case(50 * count, tokens_per_sequence=3, block_tokens=50, bytes_per_token=1),
        case(draws.integer(20, 90) * 32 * size, tokens_per_sequence=24, block_tokens=16, bytes_per_token=size),
    ]


MAX_CONCURRENT_SEQUENCES = FunctionTask(
    name="max_concurrent_sequences",
    reference=reference.max_concurrent_sequences,
    accept=Integer(),
    examples=(
        case(16 * 2**30, tokens_per_sequence=4_096, block_tokens=16, bytes_per_token=65_536),
        case(16 * 2**30 - 1, tokens_per_sequence=4_096, block_tokens=16, bytes_per_token=65_536),
        case(24_000_000_000, tokens_per_sequence=1_000, block_tokens=64, bytes_per_token=114_688),
    ),
    criteria=(
        Criterion("typical", "a budget that leaves a rest", 1.5, _budgets_typical),
        Criterion("edge", "a budget that fits exactly, or lacks one byte, or holds none", 0.5, _budgets_edge),
    ),
    misconceptions=(
        attempts.sequences_to_nearest,
        attempts.sequences_rounded_up,
        attempts.payload_only,
        attempts.last_block_cut,
        attempts.part_of_a_sequence,
    ),
    correct=(attempts.fits_by_blocks, attempts.fits_loop, attempts.fits_float, attempts.fits_numpy),
)


# --- the variant and the sorting question ------------------------------------------------------------------------


def _variant_answer(numbers: Mapping[str, Any]) -> dict[str, int]:
    per_token = reference.kv_bytes_per_token(
        num_layers=numbers["num_layers"],
        num_kv_heads=numbers["num_kv_heads"],
        head_dim=numbers["head_dim"],
        element_bytes=2,
    )
    sequences = reference.max_concurrent_sequences(
        numbers["budget_bytes"],
        tokens_per_sequence=numbers["tokens_per_sequence"],
        block_tokens=numbers["block_tokens"],
        bytes_per_token=per_token,
    )
    cache = reference.paged_kv_bytes(
        [numbers["tokens_per_sequence"]] * sequences, block_tokens=numbers["block_tokens"], bytes_per_token=per_token
    )
    unused = numbers["budget_bytes"] - cache.allocated_bytes
    return {"bytes_per_token": per_token, "sequences": sequences, "unused_bytes": unused}


KV_CACHE_VARIANT = VariantTask(
    topic="kv-cache",
    name="kv_cache_variant",
    answer=_variant_answer,
    fields={
        "bytes_per_token": VariantField("bytes", Integer(), 0.5, 8_192, 393_216),
        "sequences": VariantField("sequences", Integer(), 1, 4, 11_100),
        "unused_bytes": VariantField("bytes", Integer(), 0.5, 0, 1.98e9),
    },
)

BELOW, NO_EFFECT = "below 4x", "no effect"

KV_CACHE_SORT = SortingTask(
    name="kv_cache_sort",
    classes=(BELOW, NO_EFFECT),
    groups=(
        SortingGroup(
            "statements a to d",
            1,
            {
                "a_short_completions_end_early": BELOW,
                "b_one_byte_an_element": NO_EFFECT,
                "c_prompt_blocks_held_once": BELOW,
                "d_last_block_partly_empty": NO_EFFECT,
            },
        ),
        SortingGroup(
            "statements e to h",
            1,
            {
                "e_heads_divided_over_ranks": NO_EFFECT,
                "f_longer_prompt_in_every_sequence": NO_EFFECT,
                "g_reserve_of_fixed_size": BELOW,
                "h_card_with_twice_the_memory": NO_EFFECT,
            },
        ),
    ),
)

TASKS = (
    KV_BYTES_PER_TOKEN,
    KV_CACHE_BYTES,
    PAGED_KV_BYTES,
    GROUP_KV_BYTES,
    KV_BYTES_PER_RANK,
    MAX_CONCURRENT_SEQUENCES,
    KV_CACHE_VARIANT,
    KV_CACHE_SORT,
)
