"""Attempts at the tasks of topic `kv-cache`: mistakes, each with its hint, then right answers written in other ways."""


# --- kv_bytes_per_token ------------------------------------------------------------------------------------------


def keys_alone(*, num_layers, hidden_size, num_query_heads, num_kv_heads, head_dim, element_bytes):
    """Your value is exactly half. What else does a cached token hold besides its key?"""
    return num_layers * num_kv_heads * head_dim * element_bytes


def query_heads(*, num_layers, hidden_size, num_query_heads, num_kv_heads, head_dim, element_bytes):
    """Your value counts the query heads. Are queries cached, and which heads do several of them share?"""
    return 2 * num_layers * num_query_heads * head_dim * element_bytes


def derived_head_dim(*, num_layers, hidden_size, num_query_heads, num_kv_heads, head_dim, element_bytes):
    """Your value takes a head's width from the hidden size. Does the configuration promise that they agree?"""
    return 2 * num_layers * num_kv_heads * (hidden_size // num_query_heads) * element_bytes


def hidden_size_cached(*, num_layers, hidden_size, num_query_heads, num_kv_heads, head_dim, element_bytes):
    """Your value caches vectors as wide as the hidden size. How wide are a key and a value, over all their heads?"""
    return 2 * num_layers * hidden_size * element_bytes


def one_layer(*, num_layers, hidden_size, num_query_heads, num_kv_heads, head_dim, element_bytes):
    """Your value is that of a single layer. Which of the layers attend to earlier tokens?"""
    return 2 * num_kv_heads * head_dim * element_bytes


def token_with_validators(*, num_layers, hidden_size, num_query_heads, num_kv_heads, head_dim, element_bytes):
    from rlinfra.given import require_count

    require_count("num_layers", num_layers, minimum=1)
    require_count("num_kv_heads", num_kv_heads, minimum=1)
    require_count("head_dim", head_dim, minimum=1)
    require_count("element_bytes", element_bytes, minimum=1)
    width = num_kv_heads * head_dim
    key = value = width * element_bytes
    return num_layers * (key + value)


def token_by_hand(*, num_layers, **sizes):
    size = 2.0
    for name in ("num_kv_heads", "head_dim", "element_bytes"):
        if type(sizes[name]) is not int or sizes[name] <= 0:
            raise ValueError(f"{name} may not be {sizes[name]}")
        size *= sizes[name]
    if not isinstance(num_layers, int) or isinstance(num_layers, bool) or num_layers < 1:
        raise ValueError(f"bad num_layers: {num_layers}")
    total = 0.0
    for _ in range(num_layers):
        total += size
    return total


def token_numpy(*, num_layers, hidden_size, num_query_heads, num_kv_heads, head_dim, element_bytes):
    import numpy as np

    shape = {
        "num_layers": num_layers,
        "num_kv_heads": num_kv_heads,
        "head_dim": head_dim,
        "element_bytes": element_bytes,
    }
    for name, size in shape.items():
        if np.asarray(size).dtype.kind != "i" or size < 1:
            raise ValueError(f"{name} must be a positive integer")
    return np.prod([2, *shape.values()], dtype=np.int64)


# --- kv_cache_bytes ----------------------------------------------------------------------------------------------


def padded_to_longest(lengths, *, bytes_per_token):
    """Your value makes every sequence as long as the longest. Does a cache hold tokens that were never written?"""
    return max(lengths, default=0) * len(lengths) * bytes_per_token


def mean_length(lengths, *, bytes_per_token):
    """Your value works with a mean length in whole tokens. What does its rounding do, once for each sequence?"""
    return round(sum(lengths) / len(lengths)) * len(lengths) * bytes_per_token if lengths else 0


def first_for_all(lengths, *, bytes_per_token):
    """Your value makes every sequence as long as the first. Where do the lengths of the others come in?"""
    return lengths[0] * len(lengths) * bytes_per_token if lengths else 0


def longest_alone(lengths, *, bytes_per_token):
    """Your value is the longest sequence alone. What do the sequences beside it keep while it runs?"""
    return max(lengths, default=0) * bytes_per_token


def value_counted_twice(lengths, *, bytes_per_token):
    """Your value is exactly double. Does a token's size already hold both its key and its value?"""
    return 2 * sum(lengths) * bytes_per_token


def batch_loop(lengths, *, bytes_per_token):
    tokens = 0
    for length in lengths:
        tokens += length
    return tokens * bytes_per_token


def batch_numpy(lengths, *, bytes_per_token):
    import numpy as np

    return np.sum(np.array(lengths, dtype=np.int64) * bytes_per_token)


def batch_fsum(lengths, *, bytes_per_token):
    import math

    return math.fsum(float(length) * bytes_per_token for length in lengths)


# --- paged_kv_bytes ----------------------------------------------------------------------------------------------


def total_rounded(lengths, *, block_tokens, bytes_per_token):
    """Your value rounds the tokens of all sequences together. Can two sequences write into one block?"""
    useful = sum(lengths)
    blocks = -(-useful // block_tokens)
    slots = blocks * block_tokens
    waste = (slots - useful) / slots if slots else 0.0
    return {"blocks": blocks, "allocated_bytes": slots * bytes_per_token, "waste_fraction": waste}


def rounded_down(lengths, *, block_tokens, bytes_per_token):
    """Your value counts full blocks only. Where are the tokens that do not fill one?"""
    blocks = sum(length // block_tokens for length in lengths)
    slots = blocks * block_tokens
    waste = (slots - sum(lengths)) / slots if slots else 0.0
    return {"blocks": blocks, "allocated_bytes": slots * bytes_per_token, "waste_fraction": waste}


def block_too_many(lengths, *, block_tokens, bytes_per_token):
    """Your value has a block to spare for a sequence that fills its last one. Which token would lie in it?"""
    blocks = sum(length // block_tokens + 1 for length in lengths)
    slots = blocks * block_tokens
    waste = (slots - sum(lengths)) / slots if slots else 0.0
    return {"blocks": blocks, "allocated_bytes": slots * bytes_per_token, "waste_fraction": waste}


def waste_of_useful(lengths, *, block_tokens, bytes_per_token):
    """Your waste is a share of the useful bytes. Of which bytes does the notebook ask for it?"""
    useful = sum(lengths)
    blocks = sum(-(-length // block_tokens) for length in lengths)
    slots = blocks * block_tokens
    waste = (slots - useful) / useful if useful else 0.0
    return {"blocks": blocks, "allocated_bytes": slots * bytes_per_token, "waste_fraction": waste}


def used_fraction(lengths, *, block_tokens, bytes_per_token):
    """Your fraction is the part that holds tokens. Is that the waste, or what is left beside it?"""
    blocks = sum(-(-length // block_tokens) for length in lengths)
    slots = blocks * block_tokens
    used = sum(lengths) / slots if slots else 0.0
    return {"blocks": blocks, "allocated_bytes": slots * bytes_per_token, "waste_fraction": used}


def payload_allocated(lengths, *, block_tokens, bytes_per_token):
    """Your bytes are those of the tokens alone. What happens to the rest of a block that one token has opened?"""
    useful = sum(lengths)
    blocks = sum(-(-length // block_tokens) for length in lengths)
    slots = blocks * block_tokens
    waste = (slots - useful) / slots if slots else 0.0
    return {"blocks": blocks, "allocated_bytes": useful * bytes_per_token, "waste_fraction": waste}


def pages_loop(lengths, *, block_tokens, bytes_per_token):
    blocks = empty = 0
    for length in lengths:
        left = length
        while left > 0:
            blocks += 1
            left -= block_tokens
        empty -= left
    allocated = blocks * block_tokens * bytes_per_token
    waste = 0 if allocated == 0 else empty * bytes_per_token / allocated
    return {"blocks": blocks, "allocated_bytes": allocated, "waste_fraction": waste}


def pages_numpy(lengths, *, block_tokens, bytes_per_token):
    import numpy as np

    held = np.array(lengths, dtype=np.int64)
    blocks = np.ceil(held / block_tokens).sum()
    slots = blocks * block_tokens
    waste = 1 - held.sum() / slots if slots > 0 else np.float64(0)
    return {"waste_fraction": waste, "allocated_bytes": slots * bytes_per_token, "blocks": blocks}


def pages_dataclass(lengths, *, block_tokens, bytes_per_token):
    from dataclasses import make_dataclass
    from fractions import Fraction

    blocks = 0
    for length in lengths:
        full, rest = divmod(length, block_tokens)
        blocks += full + (1 if rest else 0)
    waste = 1 - Fraction(sum(lengths), blocks * block_tokens) if blocks else 0
    names = ["blocks", "allocated_bytes", "waste_fraction"]
    return make_dataclass("Pages", names)(blocks, blocks * block_tokens * bytes_per_token, waste)


# --- group_kv_bytes ----------------------------------------------------------------------------------------------


def always_shared(prompt_tokens, completion_lengths, *, block_tokens, bytes_per_token, share_prefix):
    """Your value holds the prompt once in any case. What does each sequence hold where nothing is shared?"""
    shared = prompt_tokens // block_tokens if completion_lengths else 0
    rest = prompt_tokens - shared * block_tokens
    blocks = shared + sum(-(-(rest + length) // block_tokens) for length in completion_lengths)
    return blocks * block_tokens * bytes_per_token


def never_shared(prompt_tokens, completion_lengths, *, block_tokens, bytes_per_token, share_prefix):
    """Your value holds the whole prompt for every sequence. Which of its blocks are the same for the whole group?"""
    blocks = sum(-(-(prompt_tokens + length) // block_tokens) for length in completion_lengths)
    return blocks * block_tokens * bytes_per_token


def partial_block_shared(prompt_tokens, completion_lengths, *, block_tokens, bytes_per_token, share_prefix):
    """Your value shares the prompt's last block while it is partly filled. Who writes the next token into it?"""
    in_prompt = -(-prompt_tokens // block_tokens)
    blocks = sum(-(-(prompt_tokens + length) // block_tokens) for length in completion_lengths)
    if share_prefix and completion_lengths:
        blocks -= in_prompt * (len(completion_lengths) - 1)
    return blocks * block_tokens * bytes_per_token


def completions_in_fresh_blocks(prompt_tokens, completion_lengths, *, block_tokens, bytes_per_token, share_prefix):
    """Your value starts each completion in a new block. What about the room in the prompt's last one?"""
    in_prompt = -(-prompt_tokens // block_tokens) if completion_lengths else 0
    copies = 1 if share_prefix else len(completion_lengths)
    blocks = in_prompt * copies + sum(-(-length // block_tokens) for length in completion_lengths)
    return blocks * block_tokens * bytes_per_token


def group_rounded(prompt_tokens, completion_lengths, *, block_tokens, bytes_per_token, share_prefix):
    """Your value rounds the tokens of the whole group together. Can two completions write into one block?"""
    copies = min(1, len(completion_lengths)) if share_prefix else len(completion_lengths)
    tokens = prompt_tokens * copies + sum(completion_lengths)
    return -(-tokens // block_tokens) * block_tokens * bytes_per_token


def group_loop(prompt_tokens, completion_lengths, *, block_tokens, bytes_per_token, share_prefix):
    import math

    blocks = 0
    for place, length in enumerate(completion_lengths):
        blocks += math.ceil((prompt_tokens + length) / block_tokens)
        if share_prefix and place > 0:
            blocks -= prompt_tokens // block_tokens
    return blocks * block_tokens * bytes_per_token


def group_numpy(prompt_tokens, completion_lengths, *, block_tokens, bytes_per_token, share_prefix):
    import numpy as np

    if len(completion_lengths) == 0:
        return np.int64(0)
    full, rest = divmod(prompt_tokens, block_tokens)
    own = np.ceil((rest + np.array(completion_lengths)) / block_tokens).astype(np.int64)
    blocks = own.sum() + (full if share_prefix else full * own.size)
    return blocks * block_tokens * bytes_per_token


def group_distinct_blocks(prompt_tokens, completion_lengths, *, block_tokens, bytes_per_token, share_prefix):
    held = set()
    for sequence, length in enumerate(completion_lengths):
        for start in range(0, prompt_tokens + length, block_tokens):
            common = share_prefix and start + block_tokens <= prompt_tokens
            held.add((None if common else sequence, start))
    return float(len(held) * block_tokens * bytes_per_token)


# --- kv_bytes_per_rank -------------------------------------------------------------------------------------------


def always_divided(tokens, *, ranks, num_layers, num_kv_heads, head_dim, element_bytes):
    """Your value gives a rank less than one head. Can a rank attend with a part of a KV head?"""
    return tokens * 2 * num_layers * num_kv_heads * head_dim * element_bytes / ranks


def no_head_left(tokens, *, ranks, num_layers, num_kv_heads, head_dim, element_bytes):
    """Your value leaves a rank without a head. What does a rank attend with where ranks outnumber the KV heads?"""
    return tokens * 2 * num_layers * (num_kv_heads // ranks) * head_dim * element_bytes


def replicated_everywhere(tokens, *, ranks, num_layers, num_kv_heads, head_dim, element_bytes):
    """Your value is the whole cache. Which of the KV heads does one rank work with?"""
    return tokens * 2 * num_layers * num_kv_heads * head_dim * element_bytes


def one_head_always(tokens, *, ranks, num_layers, num_kv_heads, head_dim, element_bytes):
    """Your value is that of a single head. How many are there for each rank where heads outnumber the ranks?"""
    return tokens * 2 * num_layers * head_dim * element_bytes


def keys_alone_on_a_rank(tokens, *, ranks, num_layers, num_kv_heads, head_dim, element_bytes):
    """Your value is exactly half. What else does a cached token hold besides its key?"""
    return tokens * num_layers * max(num_kv_heads // ranks, 1) * head_dim * element_bytes


def rank_rounded_up(tokens, *, ranks, num_layers, num_kv_heads, head_dim, element_bytes):
    import math

    heads = math.ceil(num_kv_heads / ranks)
    return math.prod([2, tokens, num_layers, heads, head_dim, element_bytes])


def rank_cases(tokens, *, ranks, num_layers, num_kv_heads, head_dim, element_bytes):
    head_bytes = 2 * tokens * num_layers * head_dim * element_bytes
    if ranks >= num_kv_heads:
        return head_bytes
    return head_bytes * num_kv_heads / ranks


def rank_loop(tokens, *, ranks, num_layers, num_kv_heads, head_dim, element_bytes):
    copies = ranks // num_kv_heads if ranks > num_kv_heads else 1
    total = 0
    for _ in range(copies * num_kv_heads):
        for _ in ("key", "value"):
            total += tokens * num_layers * head_dim * element_bytes
    return total // ranks


def rank_numpy(tokens, *, ranks, num_layers, num_kv_heads, head_dim, element_bytes):
    import numpy as np

    owners = np.arange(max(ranks, num_kv_heads)) * ranks // max(ranks, num_kv_heads)
    heads = np.bincount(owners, minlength=ranks)[0]
    return heads * np.int64(2 * tokens * num_layers * head_dim * element_bytes)


# --- max_concurrent_sequences ------------------------------------------------------------------------------------


def sequences_to_nearest(budget_bytes, *, tokens_per_sequence, block_tokens, bytes_per_token):
    """Your value is rounded to the nearest count. Is the larger part of a sequence enough to finish it?"""
    sequence_bytes = -(-tokens_per_sequence // block_tokens) * block_tokens * bytes_per_token
    return round(budget_bytes / sequence_bytes)


def sequences_rounded_up(budget_bytes, *, tokens_per_sequence, block_tokens, bytes_per_token):
    """Your value is one more than fits. Where does the last sequence go when its end is reached?"""
    sequence_bytes = -(-tokens_per_sequence // block_tokens) * block_tokens * bytes_per_token
    return -(-budget_bytes // sequence_bytes)


def payload_only(budget_bytes, *, tokens_per_sequence, block_tokens, bytes_per_token):
    """Your value fits the tokens alone. In which units does the allocator hand out memory?"""
    return budget_bytes // (tokens_per_sequence * bytes_per_token)


def last_block_cut(budget_bytes, *, tokens_per_sequence, block_tokens, bytes_per_token):
    """Your value gives a sequence its full blocks only. Where are the tokens that do not fill one?"""
    blocks = max(tokens_per_sequence // block_tokens, 1)
    return budget_bytes // (blocks * block_tokens * bytes_per_token)


def part_of_a_sequence(budget_bytes, *, tokens_per_sequence, block_tokens, bytes_per_token):
    """Your value counts a part of a sequence. Can you run one that has no room for its end?"""
    sequence_bytes = -(-tokens_per_sequence // block_tokens) * block_tokens * bytes_per_token
    return budget_bytes / sequence_bytes


def fits_by_blocks(budget_bytes, *, tokens_per_sequence, block_tokens, bytes_per_token):
    blocks = budget_bytes // (block_tokens * bytes_per_token)
    return blocks // ((tokens_per_sequence + block_tokens - 1) // block_tokens)


def fits_loop(budget_bytes, *, tokens_per_sequence, block_tokens, bytes_per_token):
    held = 0
    while held < tokens_per_sequence:
        held += block_tokens
    count, left = 0, budget_bytes
    while left >= held * bytes_per_token:
        left -= held * bytes_per_token
        count += 1
    return count


def fits_float(budget_bytes, *, tokens_per_sequence, block_tokens, bytes_per_token):
    import math

    blocks = math.ceil(tokens_per_sequence / block_tokens)
    return float(math.floor(budget_bytes / (blocks * block_tokens * bytes_per_token)))


def fits_numpy(budget_bytes, *, tokens_per_sequence, block_tokens, bytes_per_token):
    import numpy as np

    blocks = np.ceil(tokens_per_sequence / block_tokens).astype(np.int64)
    return np.floor_divide(budget_bytes, blocks * block_tokens * bytes_per_token)
