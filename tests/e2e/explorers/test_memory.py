"""The memory explorer on a page. Of 596,049,920 parameters, a byte each is 0.555 GiB."""

from .every import Explorer

WHY, STAGES, LORA = (
    "Why does a 0.6B model run out of memory?",
    "What does each ZeRO stage take off a rank?",
    "What does LoRA save, and what stays?",
)


class TestMemory(Explorer):
    TOPIC = "memory"
    PRESETS = {
        # 8 sequences × 2,048 tokens × 151,936 entries × 4 bytes × 2 copies are 19.91 GB, 18.55 GiB; weights 1.11 GiB
        WHY: (
            "Scoring needs most, 19.7 GiB: 3.7 GiB too much for this card of 16 GiB",
            "Scoring: weights 1.11 GiB, logits 18.55 GiB",
        ),
        # figure 1 of the ZeRO paper: 120, 31.4, 16.6 and 1.9 GB; 16.6 GB are 15.5 GiB, weights of 15 GB 13.97 GiB
        STAGES: (
            "At stage 2 each of 64 ranks holds 15.5 GiB: 2.2 bytes a parameter",
            "Stage 2: weights 13.97 GiB, gradients 0.22 GiB, optimizer, master 1.31 GiB",
        ),
        # 7.021B weights of 2 bytes are 13.08 GiB; 21M adapter parameters take 12 bytes, 0.23 GiB, beside gradients
        LORA: (
            "Training needs most, 17.4 GiB: it fits on this card of 24 GiB, with 6.6 GiB to spare",
            "Training: weights 13.08 GiB, gradients 0.04 GiB, optimizer, master 0.23 GiB, activations 4.00 GiB",
        ),
    }
    FEATURES = {
        "parameters: 671 B of 2 bytes": (WHY, (("parameters", ["End"]),), "Rollout: weights 1,249.83 GiB"),
        "weights of half a byte": (WHY, (("a weight", ["Home"]),), "Training: weights 0.28 GiB"),
        "gradients of 4 bytes": (WHY, (("a gradient", ["End"]),), "gradients 2.22 GiB"),
        "8-bit Adam: 2 + 4 bytes": (WHY, (("optimizer", ["Home", "ArrowRight"]),), "optimizer, master 3.33 GiB"),
        "no master copy: 8 bytes": (WHY, (("master copy", ["Home"]),), "optimizer, master 4.44 GiB"),
        "the card": (WHY, (("card", ["End"]),), "it fits on this card of 192 GiB, with 172.3 GiB to spare"),
        "logits of 2 bytes": (WHY, (("a logit", ["Home"]),), "logits 9.27 GiB"),
        "one copy of the logits": (WHY, (("copies", ["Home"]),), "logits 9.27 GiB"),
        "twice the tokens": (WHY, (("tokens", ["ArrowRight"]),), "logits 37.09 GiB"),
        "twice the sequences": (
            WHY,
            (("scored", ["ArrowRight"]),),
            "Scoring needs most, 38.2 GiB: 22.2 GiB too much",
        ),
        "the KV cache makes another peak": (WHY, (("KV cache", ["End"]),), "Rollout needs most, 129.1 GiB"),
        # stage 1 on 2 ranks halves the 12 bytes of optimizer states, 6.66 GiB; stage 2 the gradients too, 1.11 GiB
        "ranks and stage 1 divide the optimizer": (
            WHY,
            (("ranks", ["ArrowRight"]), ("ZeRO stage", ["ArrowRight"])),
            "gradients 1.11 GiB, optimizer, master 3.33 GiB",
        ),
        "stage 2 divides the gradients": (
            WHY,
            (("ranks", ["ArrowRight"]), ("ZeRO stage", ["ArrowRight", "ArrowRight"])),
            "gradients 0.56 GiB, optimizer, master 3.33 GiB",
        ),
        "all stages beside each other": (WHY, (("bars", "ZeRO stages"),), "At stage 0 the one rank holds 8.9 GiB"),
        # 1 % of 7B: 70M adapter parameters of 12 bytes
        "a larger share is trained": (LORA, (("trained", ["ArrowRight"]),), "optimizer, master 0.78 GiB"),
    }
    # at the left end 1 sequence, an eighth of 18.55 GiB: training is then what needs most
    BY_MOUSE = (
        WHY,
        "scored",
        "Training needs most, 12.9 GiB: it fits on this card of 16 GiB, with 3.1 GiB to spare",
    )
