"""One batch, timed: prefill, decode step by step, scoring, and the bytes that its cache holds.

A loop of our own, so that the phases can be told apart; it samples as `generate` does and never stops early.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import tokens
from .devices import Clock, spread_of
from .report import BatchPoint, Phase, Roofline, Setup
from .roofline import decode_work, floor_seconds, forward_work
from .scoring import Generated, cache_name, positions_of, teacher_forced

if TYPE_CHECKING:
    from .loading import Loaded
    from .roofline import Work
    from .scoring import Watch


@dataclass
class Timings:
    """Seconds of all repeats, and the peaks of the device's memory."""

    prefill: list[float]
    decode_steps: list[float]
    scoring: list[float]
    peaks: dict[str, int | None]
    cache_bytes: int = 0


@dataclass(frozen=True)
class Once:
    """A batch that was generated already, with what was noted of its time: it need not be generated again."""

    made: Generated
    watch: Watch


def measured_batch(loaded: Loaded, setup: Setup, roof: Roofline, batch: int, once: Once | None = None) -> BatchPoint:
    """Return the timings of a batch; of `once`, what was generated at this batch already, scoring alone is run.

    On a GPU a run of two tokens that does not count goes before: it chooses kernels and takes memory for each new size.
    """
    import torch

    prompts, prompt_mask = tokens.encoded_prompts(loaded.tokenizer, batch, loaded.model.device)
    timings = Timings([], [], [], {})
    with torch.inference_mode():
        if once:
            first, *steps = once.watch.clock.seconds(once.watch.marks)
            timings = Timings([first], steps, [], {"prefill": None, "decode": None}, cache_bytes(once.watch.cache))
            _score(loaded, setup, once.made, into=timings)
        else:
            if loaded.model.device.type == "cuda":
                _run(loaded, setup, prompts, prompt_mask, new_tokens=2, into=Timings([], [], [], {}))
            for repeat in range(setup.repeats):
                torch.manual_seed(setup.seed + repeat)
                _run(loaded, setup, prompts, prompt_mask, new_tokens=setup.new_tokens, into=timings)
    width, new = int(prompts.shape[1]), setup.new_tokens

    def phase(name: str, seconds: list[float], work: Work) -> Phase:
        return Phase(
            seconds=spread_of(seconds), floor_seconds=floor_seconds(work, roof), peak_bytes=timings.peaks[name]
        )

    return BatchPoint(
        batch=batch,
        prompt_width=width,
        new_tokens=new,
        prefill=phase("prefill", timings.prefill, forward_work(setup, batch=batch, tokens=width, scored_tokens=1)),
        decode=phase("decode", timings.decode_steps, decode_work(setup, batch=batch, context_tokens=width + new / 2)),
        scoring=phase(
            "scoring", timings.scoring, forward_work(setup, batch=batch, tokens=width + new, scored_tokens=new + 1)
        ),
        kv_cache_bytes=timings.cache_bytes,
        kv_formula_bytes=formula_bytes(setup, sequences=batch, cached_tokens=width + new - 1),
    )


def _run(loaded: Loaded, setup: Setup, prompts: Any, prompt_mask: Any, *, new_tokens: int, into: Timings) -> None:
    """Prefill, decode and score once, and write down when each was done."""
    import torch
    from transformers import DynamicCache

    model, clock = loaded.model, Clock(loaded.model.device)
    batch, width = prompts.shape
    mask = torch.cat((prompt_mask, prompt_mask.new_ones((batch, new_tokens))), 1)
    positions = positions_of(mask)
    cache = DynamicCache(config=model.config)
    with_cache = {cache_name(model): cache, "use_cache": True}

    clock.forget_peak()
    marks = [clock.mark()]
    logits = model(
        input_ids=prompts,
        attention_mask=prompt_mask,
        position_ids=positions[:, :width],
        logits_to_keep=1,
        **with_cache,
    ).logits
    made = [_sampled(logits, setup.temperature)]
    marks.append(clock.mark())
    into.prefill += clock.seconds(marks)
    into.peaks["prefill"] = clock.peak_bytes()

    clock.forget_peak()
    marks = [clock.mark()]
    for column in range(width, width + new_tokens - 1):
        logits = model(
            input_ids=made[-1],
            attention_mask=mask[:, : column + 1],
            position_ids=positions[:, column : column + 1],
            **with_cache,
        ).logits
        made.append(_sampled(logits, setup.temperature))
        marks.append(clock.mark())
    into.decode_steps += clock.seconds(marks)
    into.peaks["decode"] = clock.peak_bytes()
    into.cache_bytes = cache_bytes(cache)
    del cache, with_cache, logits

    sampled = torch.cat(made, 1)
    nothing = torch.empty(0)  # the timing needs no behaviour log-probabilities
    counted = torch.ones_like(sampled, dtype=torch.bool)
    _score(loaded, setup, Generated(prompts, prompt_mask, sampled, counted, nothing, nothing), into=into)


def _score(loaded: Loaded, setup: Setup, completed: Generated, *, into: Timings) -> None:
    """Score completions once, and write down how long it took."""
    clock = Clock(loaded.model.device)
    clock.forget_peak()
    marks = [clock.mark()]
    teacher_forced(loaded.model, completed, temperature=setup.temperature)
    marks.append(clock.mark())
    into.scoring += clock.seconds(marks)
    into.peaks["scoring"] = clock.peak_bytes()


def _sampled(logits: Any, temperature: float) -> Any:
    """Return one sampled token a row, of shape (batch, 1)."""
    import torch

    return torch.multinomial((logits[:, -1].float() / temperature).softmax(-1), 1)


def cache_bytes(cache: Any) -> int:
    """Return the bytes that a cache object holds: keys and values of every layer, as tensors count them."""
    return sum(
        tensor.numel() * tensor.element_size() for layer in cache.layers for tensor in (layer.keys, layer.values)
    )


def formula_bytes(setup: Setup, *, sequences: int, cached_tokens: int) -> int:
    """Return what the cache of the model must take: a key and a value of each KV head in each layer for each token."""
    per_token = 2 * setup.layers * setup.kv_heads * setup.head_dim * setup.element_bytes
    return per_token * sequences * cached_tokens
