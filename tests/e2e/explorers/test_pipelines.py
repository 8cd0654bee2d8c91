"""The pipelines explorer on a page. Its numbers are those of the worked problem, or worked out beside them."""

from .every import Explorer

ASYNC, SPLIT, SLOW, QUEUE = (
    "Does asynchrony help when generation dominates?",
    "Which split of the cards balances the loop?",
    "What does one slow rollout cost?",
    "What if rollouts are too fast for the trainer?",
)
LENGTHS = ("picture", "lengths, whole and cut")


class TestPipelines(Explorer):
    TOPIC = "pipelines"
    PRESETS = {
        # 20 × (90 + 10) s in turn, 100 + 19 × 90 s overlapped
        ASYNC: (
            "Overlapped, 20 batches take 1,810 s in place of 2,000 s: 1.105 times as fast, and 1.111 times in a run",
            "In turn: 2,000 s. Overlapped: 1,810 s, after the first a batch every 90 s",
        ),
        # 900/9 and 100/1 card-seconds a batch: 200 + 99 × 100 s; 900/5 and 100/5: 200 + 99 × 180 s
        SPLIT: (
            "9 + 1 cards for rollout + training are quickest: 100 batches take 10,100 s, and 10,000 s with all 10 in",
            "5 + 5: 18,020 s",
        ),
        # 55 of 8 × 20 card-seconds, 43 of 8 × 8
        SLOW: (
            "Cut at 8 s, the group ends after 8 s in place of 20 s: its cards work 67.2% of the time in place of 34.4%",
            "If no card had to wait (partial rollouts): 6.9 s",
        ),
        # 40 / (14 - 10) min; 1 - 10/14, and that of 20 of 30 min
        QUEUE: (
            "The queue is full after 10.0 min: workers are paused 19.0% of the first 30 min, and 28.6% in the long run",
            "a new rollout waits 4.0 min for the trainer",
        ),
    }
    FEATURES = {
        # 20 × 20 s, 20 + 19 × 10 s
        "two equal stages": (
            ASYNC,
            (("rollout", ["Home", "ArrowRight"]),),
            "210 s in place of 400 s: 1.905 times as fast, and 2.000 times",
        ),
        # 20 × 390 s, 390 + 19 × 300 s
        "training is the longer stage": (ASYNC, (("training", ["End"]),), "6,090 s in place of 7,800 s: 1.281 times"),
        # 100 + 99 × 90 s
        "more batches": (ASYNC, (("batches", ["End"]),), "100 batches take 9,010 s in place of 10,000 s"),
        # 1800 and 200 of 1810 s
        "stage balance: how busy each is": (ASYNC, (("picture", "stage balance"),), "rollout 99.4%, training 11.0%"),
        # 220 + 19 × 120 s, and with 60 s of verification 160 + 19 × 90 s
        "stage balance: verification bounds": (
            ASYNC,
            (("picture", "stage balance"), ("verification", ["End"])),
            "Verification bounds the run: 20 batches take 2,500 s, and 1,870 s with half of it",
        ),
        # 24 × 90 / 21 and 24 × 10 / 3 s a batch: 182.9 + 99 × 102.9 s
        "more cards": (SPLIT, (("cards", ["End"]),), "21 + 3 cards for rollout + training are quickest: 100 batches"),
        # 112.5 + 120 + 50 + 99 × 120 s, and 100 × 220 s
        "verification beside the cards": (
            SPLIT,
            (("verification", ["End"]),),
            "100 batches take 12,162.5 s, and 22,000 s with all 10 in turn",
        ),
        "a group without a limit": (
            SLOW,
            (("limit", ["End"]),),
            "The group ends after 20 s, with its slowest rollout: its cards work 34.4% of the time",
        ),
        # 2 + 3 + 4 + 5 + 4 × 6 = 38 of 48 card-seconds
        "a lower limit": (SLOW, (("limit", ["ArrowLeft"]),), "its cards work 79.2% of the time in place of 34.4%"),
        # 3 + 3 + 4 + 4 + 5 + 5 + 6 + 8 = 38 of 64 card-seconds, 48 of 144
        "another group": (SLOW, (("group", "8 of 3 to 18 s"),), "its cards work 59.4% of the time in place of 33.3%"),
        # 8 ln 128 s
        "a larger group": (SLOW, (("group", "64, a long tail"),), "the group ends after 8 s in place of 38.8 s"),
        # 55/8 and 43/8 s
        "truncation shortens the lengths": (SLOW, (LENGTHS,), "the mean length falls from 6.9 s to 5.4 s"),
        # 3 of 11 are hard, and 8 of 16; rewards 10/16, 8/11 and 8/16
        "truncation hits the hard tasks": (
            SLOW,
            (LENGTHS, ("group", "16, easy and hard")),
            "cuts 5 of 16 rollouts: 27% of what finishes are hard tasks, and 50% without it",
        ),
        "truncation moves the mean reward": (
            SLOW,
            (LENGTHS, ("group", "16, easy and hard")),
            "Mean reward: 0.62 without a limit, 0.73 over what finishes, 0.50 with 0 for what is cut",
        ),
        # 30 × 4 and 400 / 4
        "more room in the queue": (
            QUEUE,
            (("capacity", ["End"]),),
            "After 30 min 120.0 million tokens wait: it is full after 100.0 min",
        ),
        # 470 of 480 min, times 4/14
        "backpressure in the long run": (QUEUE, (("watched", ["End"]),), "28.0% of the first 480 min, and 28.6%"),
        # 40/2 min; 2/14, and that of 10 of 30 min
        "a faster trainer": (
            QUEUE,
            (("tokens out", ["ArrowRight"]),),
            "full after 20.0 min: workers are paused 4.8% of the first 30 min, and 14.3% in the long run",
        ),
        "fewer workers": (QUEUE, (("tokens in", ["Home"]),), "The queue never fills up"),
    }
    # at the left end 2 s, as long as the shortest rollout: all eight run for 2 s
    BY_MOUSE = (
        SLOW,
        "limit",
        "Cut at 2 s, the group ends after 2 s in place of 20 s: its cards work 100.0% of the time",
    )
