"""The importance-weights explorer on a page. The worked weights are 1, 2, 2 and 8; a drift of 1.2 nats is e^1.2."""

from .every import Explorer

CLIPPED, LENGTH, PARTS, SUPPORT = (
    "How many samples is my batch worth, once clipped?",
    "How off-policy is it by token and by sequence?",
    "Is it the engine, or is it lag?",
    "Can a batch with an ESS of 1 be wrong?",
)
LOOP, RATIO, SHARE = "toy loop: weights", "by length: the ratio", "by length: the ESS"
FIRST = ["Home"]


class TestEss(Explorer):
    TOPIC = "ess"
    PRESETS = {
        # truncated 7²/13 = 3.769, of 4 0.942; as they are 13²/73 = 2.315; a reward of 4/7
        CLIPPED: (
            "Truncated at 2, the four completions are worth 3.77 samples in place of 2.32: a normalised ESS of 0.942",
            "Weighted mean reward 0.571, unweighted 0.500",
        ),
        LENGTH: (
            "Over 100 tokens of 0.012 nats each the ratio of a completion is 3.320, that of a token 1.012",
            "A whole completion: 1 token 1.012, 25 tokens 1.350, 50 tokens 1.822, 75 tokens 2.460, 100 tokens 3.320",
        ),
        # the notebook's toy loop; e^0.072 × e^−2.057 = e^−1.985
        PARTS: (
            "At lag 4 a completion has, in mean size, 0.14 nats of mismatch and 0.57 nats of lag",
            "3, 57 tokens: 0.072 − 2.057 = −1.985",
            "As ratios the parts multiply: 1.074 × 0.128 = 0.137 for completion 3",
        ),
        # the worked problem: 0.6439/0.6652 = 0.968 for A, B and C
        SUPPORT: (
            "Token A has the ratio 0.968 although the weights are the same, the normalised ESS is 1.000, "
            "and 3.2 % of the policy (D) can never be sampled",
            "The engine samples A 0.665, B 0.245, C 0.090, D 0.000",
        ),
    }
    FEATURES = {
        # the fourth of the weights: 8/13 = 62 %
        "weights as bars with their ESS": (CLIPPED, (("cap", FIRST),), "4, reward 0: 8.000, 62 % of the sum"),
        # 5²/9 = 2.778, of 4 0.694
        "masked outside a band": (
            CLIPPED,
            (("beyond cap", "masked"),),
            "Masked outside 0.5 to 2, the four completions are worth 2.78 samples in place of 2.32: "
            "a normalised ESS of 0.694",
        ),
        # weights of 1, 1.5, 1.5 and 1.5: 5.5²/7.75 = 3.903
        "a lower cap": (CLIPPED, (("cap", ["ArrowRight"]),), "Truncated at 1.5, the four completions are worth 3.90"),
        "a cap of 1 makes the weights equal": (CLIPPED, (("cap", ["End"]),), "Weighted mean reward 0.500, unweighted"),
        "twice the tokens square the ratio: e^2.4": (
            LENGTH,
            (("tokens", ["ArrowRight"]),),
            "Over 200 tokens of 0.012 nats each the ratio of a completion is 11.023, that of a token 1.012",
        ),
        "more drift a token: e^2": (
            LENGTH,
            (("drift a token", ["ArrowRight"]),),
            "Over 100 tokens of 0.02 nats each the ratio of a completion is 7.389, that of a token 1.020",
        ),
        # e^(−0.012² · 100) = e^−0.0144 = 0.986; a token's e^−0.000144
        "the ESS by length at both levels": (
            LENGTH,
            (("picture", SHARE),),
            "At 100 tokens that each drift by 0.012 nats, the normalised ESS is 0.986",
        ),
        "no lag leaves mismatch": (PARTS, (("lag", FIRST),), "0.14 nats of mismatch and 0.00 nats of lag"),
        # twice as many versions: twice 0.246 for the eighth completion, beside the same mismatch
        "twice the lag adds to the same mismatch": (
            PARTS,
            (("lag", ["End"]),),
            "8, 26 tokens: −0.168 + 0.492 = 0.324",
        ),
        "no mismatch leaves lag": (PARTS, (("mismatch", FIRST),), "0.00 nats of mismatch and 0.57 nats of lag"),
        # neither: every weight is 1
        "the toy loop without either is on-policy": (
            PARTS,
            (("picture", LOOP), ("mismatch", FIRST), ("lag", FIRST)),
            "The 12 completions at lag 0 are worth 12.00 samples: a normalised ESS of 1.000",
        ),
        # 0.6439/0.7773 = 0.828 at a temperature of 0.8
        "temperature is part of who sampled": (
            SUPPORT,
            (("temperature", ["ArrowLeft"]),),
            "Token A has the ratio 0.828",
        ),
        "without top-p every token can be sampled": (SUPPORT, (("top-p", ["End"]),), "and every token can be sampled"),
    }
    # at the left end there is no cap
    BY_MOUSE = (CLIPPED, "cap", "The four completions are worth 2.32 samples: a normalised ESS of 0.579")
