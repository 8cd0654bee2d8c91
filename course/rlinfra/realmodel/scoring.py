"""Log-probabilities, from generation and by teacher forcing, with every classic mistake as a switch."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .devices import Clock

MOST_BYTES_AT_ONCE = 2**30


@dataclass(frozen=True)
class Generated:
    """Completions as the engine made them: tensors of shape (batch, new tokens), but the prompts and their mask.

    `tokens` are padded after their end, `counted` is true through the first end token inclusive. `logprobs` are of the
    distribution that was sampled from, `raw_logprobs` those without its temperature.
    """

    prompts: Any
    prompt_mask: Any
    tokens: Any
    counted: Any
    logprobs: Any
    raw_logprobs: Any


@dataclass
class Watch:
    """What is noted while the library's `generate` runs: a mark before it, one after each token, its cache at the end.

    `generate` takes it for a stopping criterion, which is asked after each token; it never stops.
    """

    clock: Clock
    marks: list[Any] = field(default_factory=list)
    cache: Any = None

    def __call__(self, input_ids: Any, _scores: Any, **_: Any) -> Any:
        """Mark the time; return for each row that it goes on."""
        self.marks.append(self.clock.mark())
        return input_ids.new_zeros(len(input_ids)).bool()


def selected_logprobs(logits: Any, tokens: Any, temperature: float = 1.0) -> Any:
    """Return the log-probability of each token in float32, from logits of shape (batch, tokens, vocabulary).

    By groups of rows: a second copy of the logits in float32 is what scoring runs out of memory by.
    """
    import torch

    row_bytes = 4 * logits.shape[1] * logits.shape[2]
    rows = max(1, MOST_BYTES_AT_ONCE // row_bytes)
    parts = [
        torch.log_softmax(part.float() / temperature, -1).gather(-1, chosen[..., None])[..., 0]
        for part, chosen in zip(logits.split(rows), tokens.split(rows), strict=True)
    ]
    return torch.cat(parts)


def through_first_end(tokens: Any, end_ids: tuple[int, ...]) -> Any:
    """Return where a completion counts: true through its first end token inclusive, false after it."""
    import torch

    ends = torch.isin(tokens, torch.tensor(end_ids, device=tokens.device, dtype=tokens.dtype))
    return (ends.long().cumsum(1) - ends.long()) == 0


def generate(
    loaded: Any,
    prompts: Any,
    prompt_mask: Any,
    *,
    new_tokens: int,
    temperature: float,
    seed: int,
    watch: Watch | None = None,
) -> Generated:
    """Return completions sampled by the library's own `generate`, with the log-probabilities that it sampled by."""
    import torch

    torch.manual_seed(seed)
    if watch:
        watch.marks.append(watch.clock.mark())
    with torch.inference_mode():
        made = loaded.model.generate(
            input_ids=prompts,
            attention_mask=prompt_mask,
            max_new_tokens=new_tokens,
            do_sample=True,
            temperature=temperature,
            top_k=0,
            top_p=1.0,
            output_logits=True,
            output_scores=True,
            return_dict_in_generate=True,
            stopping_criteria=[watch] if watch else [],
        )
        if watch:
            watch.cache = made[cache_name(loaded.model)]
        tokens = made.sequences[:, prompts.shape[1] :]
        return Generated(
            prompts=prompts,
            prompt_mask=prompt_mask,
            tokens=tokens,
            counted=through_first_end(tokens, loaded.end_ids),
            logprobs=selected_logprobs(torch.stack(made.scores, 1), tokens),
            raw_logprobs=selected_logprobs(torch.stack(made.logits, 1), tokens),
        )


def cache_name(model: Any) -> str:
    """Return what the model calls its cache: `cache` from transformers 5.24 on, `past_key_values` before."""
    return "cache" if "cache" in inspect.signature(type(model).forward).parameters else "past_key_values"


def teacher_forced(model: Any, batch: Generated, *, temperature: float, **mistakes: bool) -> Any:
    """Return the log-probabilities of the completions by one forward pass; `mistakes` as in `completion_logits`."""
    return selected_logprobs(completion_logits(model, batch, **mistakes), batch.tokens, temperature)


def completion_logits(
    model: Any, batch: Generated, *, with_attention_mask: bool = True, positions_from_padding: bool = False
) -> Any:
    """Return the logits that predict each token of the completions, of shape (batch, tokens, vocabulary).

    The mistakes: `with_attention_mask` off lets real tokens attend to the padding on the left;
    `positions_from_padding` counts positions from the first column, so that a padded prompt does not begin at 0.
    """
    import torch

    tokens = torch.cat((batch.prompts, batch.tokens), 1)
    mask = torch.cat((batch.prompt_mask, batch.counted.to(batch.prompt_mask.dtype)), 1)
    columns = torch.arange(tokens.shape[1], device=tokens.device)[None].expand_as(tokens)
    positions = columns if positions_from_padding or not with_attention_mask else positions_of(mask)
    with torch.inference_mode():
        return model(
            input_ids=tokens,
            attention_mask=mask if with_attention_mask else None,
            position_ids=positions,
            use_cache=False,
            logits_to_keep=batch.tokens.shape[1] + 1,  # the logits of the prompt are not worth their memory
        ).logits[:, :-1]


def positions_of(mask: Any) -> Any:
    """Return the position of each token: 0 at the first that the mask counts, and 0 at padding."""
    return (mask.long().cumsum(-1) - 1).clamp_min(0) * mask.long()


def padded(batch: Generated, extra: int, pad_id: int) -> Generated:
    """Return the batch as a trainer of a fixed width holds it: `extra` tokens of padding more, which do not count.

    The behaviour log-probability of padding is 0.0, as in a record that is filled up.
    """
    import torch

    def wider(values: Any, fill: float) -> Any:
        return torch.nn.functional.pad(values, (0, extra), value=fill)

    counted = wider(batch.counted, False)
    return Generated(
        prompts=batch.prompts,
        prompt_mask=batch.prompt_mask,
        tokens=wider(batch.tokens, pad_id),
        counted=counted,
        logprobs=wider(batch.logprobs, 0.0).masked_fill(~counted, 0.0),
        raw_logprobs=wider(batch.raw_logprobs, 0.0).masked_fill(~counted, 0.0),
    )
