"""The KV cache explorer on a page. A token of Llama-3-8B takes 2 × 32 × 8 × 128 × 2 bytes; 8,192 take 1 GiB."""

from .every import Explorer

FIT, QUERY, GROUP, PAGES = (
    "How many rollouts fit on the card?",
    "What did grouped-query attention buy?",
    "Why does a group of 32 not take 4 times one of 8?",
    "What do pages save?",
)
RIGHT = "ArrowRight"


class TestKvCache(Explorer):
    TOPIC = "kv-cache"
    PRESETS = {
        FIT: (
            "64 sequences of 8,192 tokens take 64.00 GiB, 24.00 GiB more than the 40 GiB left: 40 fit",
            "80 of 4,096 tokens, 40 of 8,192 tokens, 20 of 16,384 tokens",
        ),
        # 32 KV heads in place of 8: 524,288 bytes, 2 GiB for 4,096 tokens
        QUERY: (
            "One token of Llama-2-7B takes 512.00 KiB: 20 sequences of 4,096 tokens fit in 40 GiB",
            "Llama-3-8B: 128.00 KiB a token, 80 fit",
        ),
        # 62 full blocks of the prompt and 32 for each completion, of 1.75 MiB: 318 for 8, 1,086 for 32, not 3,008
        GROUP: (
            "32 completions of one prompt take 1.86 GiB, the prompt's full blocks shared: 3.42 times what 8 take",
            "556.50 MiB for 8",
        ),
        # 8 × 13,517 tokens in 6,784 blocks are 108,544 slots; reserved are 64 × 4,352 = 278,528
        PAGES: (
            "Blocks of 16 tokens leave 0.4 % of the cache empty; the longest length reserved for each leaves 61.2 %",
            "Longest reserved: 29.75 GiB",
        ),
    }
    FEATURES = {
        # 4,096 + 8,192 tokens are 1.5 GiB
        "concurrency against context": (
            FIT,
            (("completion", [RIGHT]),),
            "64 sequences of 12,288 tokens take 96.00 GiB, 56.00 GiB more than the 40 GiB left: 26 fit",
        ),
        "below the out-of-memory line": (
            FIT,
            (("sequences", ["ArrowLeft"]),),
            "32 sequences of 8,192 tokens take 32.00 GiB of the 40 GiB left: 40 fit",
        ),
        "another budget moves the line": (FIT, (("left for cache", ["End"]),), "of the 128 GiB left: 128 fit"),
        # one KV head in place of 8: 16 KiB a token
        "KV heads: one for all query heads": (
            FIT,
            (("KV heads", ["Home", RIGHT]),),
            "take 8.00 GiB of the 40 GiB left",
        ),
        "head_dim 64, half of 128": (
            FIT,
            (("head_dim", ["Home", RIGHT]),),
            "take 32.00 GiB of the 40 GiB left: 80 fit",
        ),
        "precision: fp8 halves it": (FIT, (("an element", ["Home"]),), "take 32.00 GiB of the 40 GiB left: 80 fit"),
        "layers: 80 in place of 32": (FIT, (("layers", ["End"]),), "take 160.00 GiB, 120.00 GiB more than"),
        # 256 blocks of the prompt and 8 × 256 others, of 2 MiB: 4.5 GiB a group
        "prefix sharing": (
            FIT,
            (("prompts", ["End"]),),
            "64 sequences of 8,192 tokens, prompts shared by 8, take 36.00 GiB of the 40 GiB left: 64 fit",
        ),
        # 256 + 64 × 256 blocks
        "a larger group shares more": (
            FIT,
            (("prompts", ["End"]), ("group size", ["End"])),
            "prompts shared by 64, take 32.50 GiB of the 40 GiB left",
        ),
        "a copy of the prompt each is 4 times": (
            GROUP,
            (("prompts", ["Home"]),),
            "32 completions of one prompt take 5.14 GiB, a copy of it for each: 4.00 times what 8 take",
        ),
        # 62 + 64 × 32 = 2,110 blocks, and 62 + 16 × 32 = 574
        "group size 64": (
            GROUP,
            (("group size", [RIGHT]),),
            "64 completions of one prompt take 3.61 GiB, the prompt's full blocks shared: 3.68 times what 16 take",
        ),
        # 5.7 %: 448 blocks of 256 tokens are 114,688 slots for 108,136 tokens
        "block size 256": (PAGES, (("block", ["End"]),), "Blocks of 256 tokens leave 5.7 % of the cache empty"),
        # 29, 42, 55, 68, 93, 119, 170 and 272 blocks hold 13,517 tokens
        "pages and their waste": (
            PAGES,
            (("picture", "pages"),),
            "8 sequences take 848 blocks of 16 tokens: 0.4 % of their bytes hold no token",
        ),
        # 28 layers, 4 KV heads: 57,344 bytes
        "a published model": (
            QUERY,
            (("model", "Qwen2.5-7B"),),
            "One token of Qwen2.5-7B takes 56.00 KiB: 182 sequences of 4,096 tokens fit",
        ),
        # one of 8 heads on each: 16 KiB a token, as on 8 ranks
        "more ranks than KV heads": (
            FIT,
            (("ranks", ["End"]),),
            "take 8.00 GiB of the 40 GiB left on each of 32 ranks: 320 fit",
        ),
    }
    # at the left end one sequence is asked
    BY_MOUSE = (FIT, "sequences", "1 sequence of 8,192 tokens takes 1.00 GiB of the 40 GiB left: 40 fit")
