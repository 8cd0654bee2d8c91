"""The KV cache: bytes a token, a batch, a page and a rank.

Every cached token holds a key and a value for each layer and KV head. All results are exact integers: useful
payload, or whole blocks where the function says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlinfra.given import require_count

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "PagedCache",
    "group_kv_bytes",
    "kv_bytes_per_rank",
    "kv_bytes_per_token",
    "kv_bytes_per_token_of_config",
    "kv_cache_bytes",
    "max_concurrent_sequences",
    "paged_kv_bytes",
    "ragged_kv_bytes",
]


@dataclass(frozen=True)
class PagedCache:
    """What a block-allocated cache takes: blocks, their bytes, and the share of those bytes that holds no token."""

    blocks: int
    allocated_bytes: int
    waste_fraction: float


def kv_bytes_per_token(*, num_layers: int, num_kv_heads: int, head_dim: int, element_bytes: int) -> int:
    """Return the bytes that one cached token takes: 2 (key and value) × layers × KV heads × head_dim × element.

    Llama-2-7B in fp16 takes 524,288 bytes, Llama-3-8B 131,072 (grouped-query attention: Ainslie et al. 2023).
    Raises `ValueError` where an argument is no integer or below 1.
    """
    require_count("num_layers", num_layers, minimum=1)
    require_count("num_kv_heads", num_kv_heads, minimum=1)
    require_count("head_dim", head_dim, minimum=1)
    require_count("element_bytes", element_bytes, minimum=1)
    return 2 * num_layers * num_kv_heads * head_dim * element_bytes


def kv_bytes_per_token_of_config(
    *,
    num_layers: int,
    hidden_size: int,  # noqa: ARG001 - a configuration states it, and the cache does not depend on it
    num_query_heads: int,  # noqa: ARG001 - likewise
    num_kv_heads: int,
    head_dim: int,
    element_bytes: int,
) -> int:
    """Return the bytes that one cached token takes, from a model's configuration as it is published.

    Neither the hidden size nor the number of query heads enters: `head_dim` is configured on its own, and in
    Qwen3-0.6B (hidden size 1,024, 16 query heads) it is 128 and not 64. Raises as `kv_bytes_per_token` does.
    """
    return kv_bytes_per_token(
        num_layers=num_layers, num_kv_heads=num_kv_heads, head_dim=head_dim, element_bytes=element_bytes
    )


def kv_cache_bytes(
    *,
    num_sequences: int,
    tokens_per_sequence: int,
    num_layers: int,
    num_kv_heads: int,
    head_dim: int,
    element_bytes: int,
) -> int:
    """Return the useful bytes of the cache of `num_sequences` sequences of equal length.

    Raises `ValueError` where a count is negative or no integer, or a dimension of the model is below 1.
    """
    require_count("num_sequences", num_sequences)
    require_count("tokens_per_sequence", tokens_per_sequence)
    per_token = kv_bytes_per_token(
        num_layers=num_layers, num_kv_heads=num_kv_heads, head_dim=head_dim, element_bytes=element_bytes
    )
    return num_sequences * tokens_per_sequence * per_token


def ragged_kv_bytes(lengths: Sequence[int], *, bytes_per_token: int) -> int:
    """Return the useful bytes of the cache of sequences of the given lengths in tokens.

    Raises `ValueError` where a length is negative or no integer, or `bytes_per_token` is below 1.
    """
    for length in lengths:
        require_count("lengths", length)
    require_count("bytes_per_token", bytes_per_token, minimum=1)
    return sum(lengths) * bytes_per_token


def _blocks(tokens: int, block_tokens: int) -> int:
    """Return how many blocks hold that many tokens: the quotient, rounded up."""
    return -(-tokens // block_tokens)


def paged_kv_bytes(lengths: Sequence[int], *, block_tokens: int, bytes_per_token: int) -> PagedCache:
    """Return what the sequences take when each is given whole blocks (PagedAttention: Kwon et al. 2023).

    The waste fraction is (allocated - useful) / allocated, and 0 where nothing is allocated. Raises `ValueError`
    where a length is negative or no integer, or a size is below 1.
    """
    for length in lengths:
        require_count("lengths", length)
    require_count("block_tokens", block_tokens, minimum=1)
    require_count("bytes_per_token", bytes_per_token, minimum=1)
    blocks = sum(_blocks(length, block_tokens) for length in lengths)
    slots = blocks * block_tokens
    waste = (slots - sum(lengths)) / slots if slots else 0.0
    return PagedCache(blocks, slots * bytes_per_token, waste)


def group_kv_bytes(
    prompt_tokens: int,
    completion_lengths: Sequence[int],
    *,
    block_tokens: int,
    bytes_per_token: int,
    share_prefix: bool,
) -> int:
    """Return the allocated bytes of a group of completions of one prompt, in whole blocks.

    With `share_prefix`, the full blocks of the prompt are held once for the group; the prompt's last, partly filled
    block belongs to each sequence, since each goes on writing in it. Without, each sequence holds its own prompt.
    Raises `ValueError` where a length is negative or no integer, or a size is below 1.
    """
    require_count("prompt_tokens", prompt_tokens)
    for length in completion_lengths:
        require_count("completion_lengths", length)
    require_count("block_tokens", block_tokens, minimum=1)
    require_count("bytes_per_token", bytes_per_token, minimum=1)
    shared = prompt_tokens // block_tokens if share_prefix and completion_lengths else 0
    own_prompt = prompt_tokens - shared * block_tokens
    blocks = shared + sum(_blocks(own_prompt + length, block_tokens) for length in completion_lengths)
    return blocks * block_tokens * bytes_per_token


def kv_bytes_per_rank(
    tokens: int, *, ranks: int, num_layers: int, num_kv_heads: int, head_dim: int, element_bytes: int
) -> int:
    """Return the useful bytes that each tensor-parallel rank caches for `tokens` tokens.

    Ranks divide the KV heads; where there are more ranks than heads, each keeps one whole head, so heads are
    replicated. Raises `ValueError` where neither `ranks` divides `num_kv_heads` nor `num_kv_heads` divides `ranks`,
    where `tokens` is negative, and where another argument is below 1.
    """
    require_count("tokens", tokens)
    require_count("ranks", ranks, minimum=1)
    require_count("num_kv_heads", num_kv_heads, minimum=1)
    if num_kv_heads % ranks and ranks % num_kv_heads:
        raise ValueError(f"ranks must divide num_kv_heads ({num_kv_heads}) or be a multiple of it, not {ranks}")
    heads = max(num_kv_heads // ranks, 1)
    return tokens * kv_bytes_per_token(
        num_layers=num_layers, num_kv_heads=heads, head_dim=head_dim, element_bytes=element_bytes
    )


def max_concurrent_sequences(
    budget_bytes: int, *, tokens_per_sequence: int, block_tokens: int, bytes_per_token: int
) -> int:
    """Return how many sequences of full length fit in the budget when each takes whole blocks.

    Raises `ValueError` where the budget is negative or no integer, or another argument is below 1.
    """
    require_count("budget_bytes", budget_bytes)
    require_count("tokens_per_sequence", tokens_per_sequence, minimum=1)
    require_count("block_tokens", block_tokens, minimum=1)
    require_count("bytes_per_token", bytes_per_token, minimum=1)
    sequence_bytes = _blocks(tokens_per_sequence, block_tokens) * block_tokens * bytes_per_token
    return budget_bytes // sequence_bytes
