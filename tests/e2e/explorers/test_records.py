"""The records explorer on a page. Its completion has 250 tokens, its toy loops six batches of 6 + 2 + 1 s."""

from .every import Explorer

WHICH, BORDER, SERVER = (
    "Which policy chose these tokens?",
    "What does the border let through?",
    "Are we asynchronous now that a server generates?",
)


class TestRecords(Explorer):
    TOPIC = "records"
    PRESETS = {
        # new weights from the 181st token on: 250 - 180; beside 250 tokens stand 32 of padding
        WHICH: (
            "Of 250 tokens in the loss, 70 were chosen by another version than their record names",
            "16 prompt tokens, 250 response tokens, version 120, stop reason eos; in the loss 250",
        ),
        # 10 each of missing, empty, NaN and True; 2 of cut short; 8 of −1; 60 - 50 - 1 get through
        BORDER: (
            "the record has 1 error, in behavior_logprobs; of 60 such faults 9 get through",
            "of 60 faults 50 are named, at 1 another field is named",
        ),
        # 6 · (6 + 2 + 1) s; the server that runs ahead 6 · 6 s, and an update and a loading at the end
        SERVER: (
            "waiting is synchronous, 1 batch ahead asynchronous; the server's 54 s become 39 s",
            "Server, ahead: asynchronous, 6 batches in 39 s, at most 1 version behind",
        ),
    }
    FEATURES = {
        "running completions finish": (
            WHICH,
            (("new weights", "running ones finish"),),
            "All 250 tokens in the loss were chosen by the version that their record names",
        ),
        "new weights come later: 10 of 250": (WHICH, (("after token", ["End"]),), "Of 250 tokens in the loss, 10 were"),
        # the completion has no EOS, so the mask goes on to the first one that is padding
        "cut at the limit, padded with EOS": (
            WHICH,
            (("new weights", "none come"), ("ends by", "the token limit")),
            "Of 251 tokens in the loss, 1 is padding",
        ),
        "cut at the limit, padded with another token": (
            WHICH,
            (("new weights", "none come"), ("ends by", "the token limit"), ("padding is", "a token of its own, 0")),
            "Of 282 tokens in the loss, 32 are padding",
        ),
        "twice the padding": (WHICH, (("padding", ["ArrowRight"]),), "padded to 314 tokens with token 2"),
        # 16 read, 125 chosen, 1 of the template, 16 of the tool
        "a second turn reads the first": (
            WHICH,
            (("turns", ["ArrowRight"]),),
            "158 prompt tokens, 250 response tokens, version 120",
        ),
        # a question of 3 and a completion of 2: each token has its id
        "a short completion, token by token": (
            WHICH,
            (("reading", ["Home"]), ("completion", ["Home"]), ("after token", ["Home"])),
            "Of 2 tokens in the loss, 1 was chosen by another version",
        ),
        "a field is missing": (
            BORDER,
            (("broken field", "verifier_version"), ("fault", "missing")),
            "With verifier_version broken (missing), the record has 1 error, in verifier_version",
        ),
        "an empty response is two faults": (
            BORDER,
            (("fault", "empty"),),
            "With response_tokens broken (empty), the record has 2 errors",
        ),
        "all ten fields": (
            BORDER,
            (("broken field", "all ten"), ("fault", "True")),
            "With all ten fields broken (True), the record has 10 errors",
        ),
        "a reward of −1 gets through": (
            BORDER,
            (("broken field", "reward"), ("fault", "−1")),
            "With reward broken (−1), the record has 0 errors",
        ),
        "two batches ahead are older": (SERVER, (("ahead", ["ArrowRight"]),), "in 39 s, at most 2 versions behind"),
        # six times 6 + 2 s and one loading; batch 3 is rolled out by version 0
        "published every 4th update": (
            SERVER,
            (("published", ["End"]),),
            "Server, waits: synchronous, 6 batches in 49 s, at most 3 versions behind",
        ),
        # the first rollout, then six times 24 + 1 s
        "a slow trainer": (SERVER, (("an update", ["End"]),), "the server's 186 s become 156 s"),
        "a loop of the worked problem": (
            SERVER,
            (("loops", "server, during the second step"),),
            "is asynchronous: batch 1 starts at 9 s, and the update on batch 0 has ended at 10 s",
        ),
    }
    # at the left end 0 batches ahead: the same loop twice
    BY_MOUSE = (
        SERVER,
        "ahead",
        "waiting is synchronous, 0 batches ahead synchronous; the server's 54 s become 54 s",
    )
