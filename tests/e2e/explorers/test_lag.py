"""The lag explorer on a page: the numbers of the lag notebook's worked problem."""

from rlinfra.explorers._lag_form import AT_ASSEMBLY, AT_START, CYCLE, VERSIONS

from .every import Explorer

BOUND, SLOW, OFTEN = (
    "What does a bound on lag bound?",
    "Why is weight sync slower than the wire?",
    "How often should weights be published?",
)
EVERY_4TH = ("publish every", ["ArrowRight"] * 3)


class TestLag(Explorer):
    TOPIC = "lag"
    PRESETS = {
        # 8,192 tokens take 164 s at 50 a second: 16 updates of 10 s; 1,400 tokens 28 s: 2 updates, and then 2 batches
        BOUND: (
            "a bound of 2 versions lets a lag of 4 versions through, and keeps 6 of 8 completions",
            "8,192 tokens: from the cadence 0, in flight 16, in the queue 2, stale",
        ),
        # 291 calls of 3 ms; 14 GB at 25 GB/s and 80 %; 0.7 s and 14 calls
        SLOW: (
            "291 tensors take 0.873 s of calls and 0.7 s of wire; in 14 buckets all of it takes 0.742 s",
            "291 tensors one by one: set-up 0 s, calls 0.873 s, wire 0.7 s, in all 1.57 s",
        ),
        # S/K + λ (K - 1)/2 with 8 s and 1 s a version: 8, 4.5, 3.5, 4.5
        OFTEN: (
            "Of 1, 2, 4 and 8, publishing after every 4th update costs least: 3.5 s an update",
            "K = 8: publication 1 s, mean lag 3.5 s. The cadence that is chosen, K = 8, costs 4.5 s an update",
        ),
    }
    FEATURES = {
        "the sawtooth": (
            BOUND,
            (("picture", CYCLE), EVERY_4TH),
            "lags by 1.5 versions on average and by 3 at most. 4 publications. Lags: 0, 1, 2, 3, 0, 1",
        ),
        # 0 + 1 + 2 + 3, twice, and 0 + 1: 13 / 10
        "the sawtooth, cut short": (
            BOUND,
            (("picture", CYCLE), EVERY_4TH, ("run", ["ArrowLeft"])),
            "lags by 1.3 versions on average and by 3 at most. 2 publications",
        ),
        # 32,768 tokens take 655 s
        "lag in flight": (BOUND, (("completion", ["End"]),), "32,768 tokens: from the cadence 0, in flight 65"),
        "lag in the queue": (
            BOUND,
            (("in queue", ["ArrowRight"]),),
            "lets a lag of 5 versions through, and keeps 6 of 8",
        ),
        # began at version 235 under the weights of 232
        "lag from the cadence": (BOUND, (EVERY_4TH,), "2,600 tokens: from the cadence 3, in flight 5, in the queue 2"),
        # 200, 300 and 450 tokens, in flight for less than an update
        "a bound at assembly": (
            BOUND,
            (("enforced", AT_ASSEMBLY),),
            "lets a lag of 2 versions through, and keeps 3 of 8 completions",
        ),
        "a bound at the start": (
            BOUND,
            (("enforced", AT_START),),
            "lets a lag of 18 versions through, and keeps 8 of 8 completions",
        ),
        # the eight of the worked problem: 10,450 / 8 and 3,850 / 6
        "what discarding does to the lengths": (
            BOUND,
            (("in queue", ["Home"]), ("completion", ["ArrowLeft"])),
            "Mean length offered 1,306 tokens, kept 642 tokens",
        ),
        # 800 / 40 + 39 / 2
        "the minimum moves with the root of the stall": (
            OFTEN,
            (("candidates", "multiples of 4 up to 64"), ("stall", ["End"])),
            "publishing after every 40th update costs least: 39.5 s an update",
        ),
        # 10 s a version: 8 s against 4 + 5 s
        "the price of lag": (
            OFTEN,
            (("lag costs", ["End"]),),
            "publishing after every update costs least: 8 s an update",
        ),
        "the transfer as the stall": (OFTEN, (("stall", ["Home"]),), "A publication stalls for 0.742 s"),
        "the wire": (SLOW, (("link", ["ArrowRight"]),), "take 0.873 s of calls and 0.35 s of wire"),
        # 45,000 calls of 3 ms
        "overhead a call": (SLOW, (("tensors", ["End"]),), "45,000 tensors take 135 s of calls and 0.7 s of wire"),
        # 0.14 GB at 20 GB/s
        "the adapter": (
            SLOW,
            (("payload", ["Home"]),),
            "0.873 s of calls and 7 ms of wire; in 1 bucket all of it takes 0.01 s",
        ),
        "the set-up": (SLOW, (("set-up", ["ArrowRight"] * 2),), "in 14 buckets all of it takes 0.892 s"),
        # (250 · 16 + 500 · 120) / 8,192
        "versions inside one completion": (
            BOUND,
            (("picture", VERSIONS),),
            "By the end 17 versions sampled the 8,192 tokens: they lag by 7.8 versions on average, and by 16 at most",
        ),
        # (1,750 · 16 + 2,000 · 24) / 8,192
        "a cadence skips versions": (
            BOUND,
            (("picture", VERSIONS), EVERY_4TH),
            "By the end 5 versions sampled the 8,192 tokens: they lag by 9.3 versions on average, and by 16 at most",
        ),
    }
    BY_MOUSE = (
        SLOW,
        "a call",
        "291 tensors take 0 s of calls and 0.7 s of wire; in 14 buckets all of it takes 0.7 s",
    )
