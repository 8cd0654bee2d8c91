"""The lab explorer on a page. Its runs are those that tests/course has from another program."""

from .every import Explorer

DOMINATES, BOUND, DEEPER, WITHIN = (
    "Does asynchrony help when generation dominates?",
    "What does max lag bound?",
    "Does a deeper queue train more?",
    "Which settings train most within the bounds?",
)


class TestLab(Explorer):
    TOPIC = "lab"
    PRESETS = {
        # four workers make 4 · 599 / (0.3 + 599/180) = 660 tokens/s; the oracle's runs train 583 and 320 tokens/s
        DOMINATES: (
            "These settings train 583 tokens/s, 1.82 times as many as by turns (320)",
            "By turns: 320 trained tokens/s, queue up to 9,295 tokens, lag 0.0 versions on average",
            "4 workers generate 660 tokens/s if they never wait",
        ),
        # the oracle discards 162 of 255 rollouts, and 27 of 255
        BOUND: (
            "These settings discard 64% of the rollouts and train at a mean lag of 0.0 versions (at most 0); "
            "with lag up to 2, 11% and 1.8 (at most 2)",
            "normalised ESS 0.99 on average",
        ),
        # six times the queue, and 1,039 in place of 1,020 tokens/s
        DEEPER: (
            "the queue holds up to 32,322 tokens and 1,039 tokens/s are trained; "
            "with a one-batch queue, 9,977 and 1,020",
            "lag 5.9 versions on average and 9 at most",
        ),
        # batches of 8,000 tokens spread the 4 s that a publication takes over twice the tokens
        WITHIN: (
            "These settings train 782 tokens/s, 0.81 times as many as with tune's choice (971)",
            "Tune's choice: 971 trained tokens/s",
        ),
    }
    FEATURES = {
        "throughput over time": (
            DOMINATES,
            (("picture", "throughput over time"),),
            "These settings train 583 tokens/s, 1.82 times as many as by turns (320). ",
        ),
        "queue over time": (
            DOMINATES,
            (("picture", "queue over time"),),
            "the queue holds up to 4,844 tokens and 583 tokens/s are trained; by turns, 9,295 and 320",
        ),
        "lag of each batch": (
            DOMINATES,
            (("picture", "lag of each batch"),),
            "train at a mean lag of 1.1 versions (at most 2); by turns, 0% and 0.0 (at most 0)",
        ),
        "ESS of each batch": (
            DOMINATES,
            (("picture", "ESS of each batch"),),
            "A batch's normalised ESS is 0.93 on average with these settings, and 0.99 by turns",
        ),
        # lengths all alike, by hand: 18 updates of 4,000 tokens in 120 s, and 11 by turns
        "the straggler of a round": (
            DOMINATES,
            (("spread", ["Home"]),),
            "train 600 tokens/s, 1.64 times as many as by turns (367)",
        ),
        "both by turns are one run": (
            DOMINATES,
            (("mode", "by turns"),),
            "These settings train 320 tokens/s, 1.00 times as many as by turns (320)",
        ),
        "a run of the worked problem beside": (
            DOMINATES,
            (("workers", ["ArrowRight", "ArrowRight"]), ("beside it", "lag up to 6")),
            "0.94 times as many as with lag up to 6 (1,021)",
        ),
        "the diagnosis of both": (
            DOMINATES,
            (("workers", ["ArrowRight", "ArrowRight"]),),
            "hypotheses trace. By turns: 436 trained tokens/s",
        ),
        "a larger bound on lag": (
            BOUND,
            (("largest lag", ["ArrowRight"]),),
            "These settings discard 35% of the rollouts and train at a mean lag of 0.9 versions (at most 1)",
        ),
        "settings that cannot run": (
            BOUND,
            (("publish every", ["ArrowRight"]),),
            "These settings cannot run: sync_every_updates must be at most max_policy_lag + 1 (1), not 2",
        ),
        "a shallower queue": (
            DEEPER,
            (("queue", ["ArrowLeft", "ArrowLeft", "ArrowLeft"]),),
            "the queue holds up to 14,778 tokens and 1,024 tokens/s are trained",
        ),
        # no lag is allowed, no mismatch is there: all weights are 1
        "no lag and no mismatch": (
            BOUND,
            (("mismatch", ["Home"]),),
            "normalised ESS 1.00 on average and 1.00 at least",
        ),
        # without any lag tune goes by turns: no rollout comes too late, and everybody waits
        "the bound on lag that tune is given": (
            WITHIN,
            (("tune: lag", ["Home"]),),
            "2.10 times as many as with tune's choice (372), at a normalised ESS of 0.89 in place of 0.99",
        ),
        "the bound on the ESS that tune is given": (
            WITHIN,
            (("tune: ESS", ["End"]),),
            "1.03 times as many as with tune's choice (758), at a normalised ESS of 0.89 in place of 0.91",
        ),
    }
    # two workers make half of 660 tokens/s
    BY_MOUSE = (DOMINATES, "workers", "These settings train 298 tokens/s, 1.44 times as many as by turns (207)")
