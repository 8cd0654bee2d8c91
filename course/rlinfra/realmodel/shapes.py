"""Models whose weights are drawn: the shape of Qwen3-0.6B, a small one, and one with absolute positions.

What is measured on them is real (bytes, seconds, log-probabilities); what they say is noise.
"""

from __future__ import annotations

from typing import Any

QWEN3_0_6B = {
    "vocab_size": 151_936,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 40_960,
    "initializer_range": 0.02,
}
# Small, and still with a head_dim that is not hidden_size / heads. The wider initial weights give logits a standard
# deviation near the big shape's 0.64 (0.02 · √1024): with flatter ones, no mistake would cost anything.
TINY = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 1024,
    "initializer_range": 0.1,
}


def random_qwen3(*, seed: int, dtype: Any, device: Any, vocabulary: int | None = None) -> Any:
    """Return a Qwen3 with drawn weights: a small one over `vocabulary` tokens, or where it is `None` the true shape.

    596,049,920 parameters in the true shape: embedding and output head are one table.
    """
    from transformers import Qwen3Config

    shape = QWEN3_0_6B if vocabulary is None else {**TINY, "vocab_size": vocabulary}
    config = Qwen3Config(
        **shape,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0},
        bos_token_id=None,
        eos_token_id=None,
    )
    return drawn(config, seed=seed, dtype=dtype, device=device)


def random_gpt2(*, vocabulary: int, seed: int, dtype: Any, device: Any) -> Any:
    """Return a small GPT-2 with drawn weights: a model that learns one vector a position, and so minds where it is."""
    from transformers import GPT2Config

    config = GPT2Config(
        vocab_size=vocabulary,
        n_positions=1024,
        n_embd=64,
        n_layer=2,
        n_head=4,
        initializer_range=TINY["initializer_range"],
        bos_token_id=None,
        eos_token_id=None,
    )
    return drawn(config, seed=seed, dtype=dtype, device=device)


def drawn(config: Any, *, seed: int, dtype: Any, device: Any) -> Any:
    """Return the model of a configuration with weights drawn from the seed, on the device, ready to be evaluated.

    Built without memory first: torch draws weights when a layer is made and transformers draws them again, and of
    two billion numbers a processor's core makes some two hundred million a second.
    """
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    model.to_empty(device=device)
    model.tie_weights()  # memory was taken for each name: a table that has two of them became two
    torch.manual_seed(seed)
    model.init_weights()
    return model.eval()
