"""Tokenizers: one that is made on the spot for random weights, and what one that is loaded must be able to do."""

from __future__ import annotations

import hashlib
from typing import Any

from .problem import ModelProblem

PROMPTS = (
    "Explain why an unbounded rollout queue is dangerous.",
    "Give one invariant for atomic rollout weight publication.",
    "Distinguish policy lag from training-inference mismatch.",
)
FEWEST_ENTRIES = 256  # a byte-level tokenizer has at least every byte
ROUND_TRIP = "Rollouts: 16 GiB, Δ = 0.02.\n"
PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
# Qwen3's form for single turns; with thinking off, an empty thought is given.
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
CORPUS = (
    "A rollout worker samples tokens from the behaviour policy, and the trainer scores the same tokens again.",
    "The queue holds tokens, the lag counts updates, the cache holds keys and values of every layer.",
    "Explain, give, distinguish: user and assistant speak by turns. Thinking is off.",
    "Prefill reads the prompt at once; decode writes one token at a time; scoring is one forward pass.",
)


def made_on_the_spot() -> Any:
    """Return a byte-level BPE tokenizer of a few hundred entries with a Qwen-style chat template; every text fits."""
    import tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=512, special_tokens=[PAD, START, END], initial_alphabet=sorted(alphabet), show_progress=False
    )
    plain = tokenizers.Tokenizer(tokenizers.models.BPE())
    plain.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = tokenizers.decoders.ByteLevel()
    plain.train_from_iterator(CORPUS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=plain, eos_token=END, pad_token=PAD, chat_template=TEMPLATE, padding_side="left"
    )


def require_usable(tokenizer: Any, name: str) -> None:
    """Raise `ModelProblem` where a tokenizer is empty, loses text, or has no chat template; give it a padding token.

    A folder without tokenizer files loads a silent empty tokenizer, so its size is not taken on trust.
    """
    mend = "copy tokenizer.json and tokenizer_config.json from the model's own repository into the folder"
    if len(tokenizer) < FEWEST_ENTRIES:
        raise ModelProblem(
            f"The tokenizer of {name} has {len(tokenizer)} entries, fewer than {FEWEST_ENTRIES}: it is empty or "
            f"incomplete; {mend}."
        )
    back = tokenizer.decode(tokenizer(ROUND_TRIP, add_special_tokens=False)["input_ids"], skip_special_tokens=False)
    if back.strip() != ROUND_TRIP.strip():
        raise ModelProblem(f"The tokenizer of {name} turns {ROUND_TRIP!r} into {back!r}: it is incomplete; {mend}.")
    if not tokenizer.chat_template:
        raise ModelProblem(
            f"The tokenizer of {name} has no chat template: take an instruction-tuned checkpoint, or add its template."
        )
    if tokenizer.pad_token_id is None:
        if tokenizer.eos_token_id is None:
            raise ModelProblem(f"The tokenizer of {name} has neither a padding nor an end token; {mend}.")
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "left"


def encoded_prompts(tokenizer: Any, batch: int, device: Any) -> tuple[Any, Any]:
    """Return token ids and attention mask of `batch` chat prompts, padded on the left, each of shape (batch, width).

    The three prompts of the course by turns, with thinking off.
    """
    texts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": PROMPTS[row % len(PROMPTS)]}],
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,
        )
        for row in range(batch)
    ]
    batch_of = tokenizer(texts, add_special_tokens=False, return_tensors="pt", padding=True)
    return batch_of["input_ids"].to(device), batch_of["attention_mask"].to(device)


def template_sha256(tokenizer: Any) -> str:
    """Return the SHA-256 of the chat template, which belongs to what was measured."""
    return hashlib.sha256(str(tokenizer.chat_template).encode()).hexdigest()
