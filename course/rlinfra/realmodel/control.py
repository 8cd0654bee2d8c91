"""The zero-lag control: behaviour against teacher-forced log-probabilities, right, with each mistake, and with lag.

With the same weights on both sides nothing but rounding should be left. What is more, is a mistake. Then the weights
are changed by a known size: that difference is lag, and adds to the mismatch in log-ratios.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import shapes, tokens
from .devices import Clock
from .loading import Loaded
from .report import ControlRow, Sequence
from .scoring import Generated, Watch, completion_logits, generate, padded, selected_logprobs, teacher_forced
from .sweep import Once

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .settings import Settings

TRAINER_PADDING = 16  # a trainer's batch has a fixed width: even the longest completion has padding after it
NOISE_AT_ONCE = 2**20  # numbers; in float32 they stay in a processor's cache between the passes over them


@dataclass
class Controlled:
    """The control's batch with its teacher-forced log-probabilities; `weight_change` once its size is known.

    `once` is the batch before it was padded to the trainer's width, with the times of its generation: kept on a CPU
    where each timing is taken once, for the sweep (on a GPU its cache would count in every peak of memory).
    """

    loaded: Loaded
    settings: Settings
    batch: Generated
    teacher: Any
    teacher_raw: Any
    once: Once | None
    weight_change: float | None = None


def controlled(loaded: Loaded, settings: Settings) -> Controlled:
    """Generate the control's completions, padded to the trainer's width, and score them with the same weights."""
    device = loaded.model.device
    prompts, prompt_mask = tokens.encoded_prompts(loaded.tokenizer, len(tokens.PROMPTS), device)
    watch = Watch(Clock(device)) if device.type == "cpu" and settings.repeats == 1 else None
    made = generate(
        loaded,
        prompts,
        prompt_mask,
        new_tokens=settings.new_tokens,
        temperature=settings.temperature,
        seed=settings.seed,
        watch=watch,
    )
    batch = padded(made, TRAINER_PADDING, loaded.tokenizer.pad_token_id)
    logits = completion_logits(loaded.model, batch)  # the two temperatures differ in what is done with them
    teacher, raw = (selected_logprobs(logits, batch.tokens, at) for at in (settings.temperature, 1.0))
    return Controlled(loaded, settings, batch, teacher, raw, Once(made, watch) if watch else None)


def serves(of: Controlled, batch: int) -> bool:
    """Return whether the control's generation is what the sweep would do at this batch: as many rows, none ended early.

    Each timing is taken once then, and on a CPU steps are long beside what `generate` does between them.
    """
    everything = bool(of.batch.counted[:, : of.settings.new_tokens].all())
    return of.once is not None and batch == len(of.batch.tokens) and everything


def comparisons(of: Controlled) -> list[tuple[str, Callable[[], list[ControlRow]]]]:
    """Return the steps of the control in order, each with what it is about and the rows that it gives."""
    model, batch, temperature = of.loaded.model, of.batch, of.settings.temperature

    def same_tokens() -> list[ControlRow]:
        everything = batch.counted.new_ones(batch.counted.shape)
        t = f"{temperature:g}"
        return [
            row_of("control", "control", f"same temperature ({t}), nothing wrong", of.teacher, batch),
            row_of("control_raw", "control", "raw on both sides", of.teacher_raw, batch, behavior=batch.raw_logprobs),
            row_of("temperature_forgotten", "mistake", f"temperature {t} forgotten", of.teacher_raw, batch),
            row_of("padding_scored", "mistake", "padding scored too", of.teacher, batch, counted=everything),
        ]

    def no_attention_mask() -> list[ControlRow]:
        scored = teacher_forced(model, batch, temperature=temperature, with_attention_mask=False)
        return [row_of("no_attention_mask", "mistake", "no attention mask", scored, batch)]

    def wrong_positions() -> list[ControlRow]:
        scored = teacher_forced(model, batch, temperature=temperature, positions_from_padding=True)
        return [row_of("wrong_positions", "mistake", "positions counted from the padding", scored, batch)]

    def with_absolute_positions() -> list[ControlRow]:
        return absolute_positions(of)

    def lag() -> list[ControlRow]:
        with changed_weights(model, of.settings.weight_change, of.settings.seed) as of.weight_change:
            newer = teacher_forced(model, batch, temperature=temperature)
        size = f"weights changed by {of.weight_change:.2%}"
        return [
            row_of("lag", "lag", f"{size}: lag alone", newer, batch, behavior=of.teacher),
            row_of("lag_and_mismatch", "lag", f"{size}: lag and mismatch", newer, batch),
        ]

    return [
        ("the zero-lag control", same_tokens),
        ("no attention mask", no_attention_mask),
        ("wrong positions", wrong_positions),
        ("wrong positions on absolute ones", with_absolute_positions),
        ("a weight change: lag", lag),
    ]


def absolute_positions(of: Controlled) -> list[ControlRow]:
    """Return the control and the mistake of wrong positions on a small GPT-2 with drawn weights, in the same dtype.

    Rotary positions do not show the mistake: they only enter as differences, and padding shifts a whole row.
    """
    settings, tokenizer = of.settings, tokens.made_on_the_spot()
    model = shapes.random_gpt2(
        vocabulary=len(tokenizer), seed=settings.seed, dtype=of.loaded.model.dtype, device=of.loaded.model.device
    )
    small = Loaded(model, tokenizer, "a tiny GPT-2", "random", (tokenizer.eos_token_id,))
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.generation_config.eos_token_id = list(small.end_ids)
    prompts, prompt_mask = tokens.encoded_prompts(tokenizer, len(tokens.PROMPTS), model.device)
    batch = generate(
        small,
        prompts,
        prompt_mask,
        new_tokens=min(settings.new_tokens, 64),
        temperature=settings.temperature,
        seed=settings.seed,
    )
    right = teacher_forced(model, batch, temperature=settings.temperature)
    wrong = teacher_forced(model, batch, temperature=settings.temperature, positions_from_padding=True)
    which = "a tiny GPT-2, random weights"
    return [
        row_of("control_absolute", "control", f"{which}: nothing wrong", right, batch),
        row_of("wrong_positions_absolute", "mistake", f"positions counted from the padding, on {which}", wrong, batch),
    ]


def row_of(
    name: str,
    kind: str,
    says: str,
    teacher: Any,
    batch: Generated,
    *,
    behavior: Any = None,
    counted: Any = None,
) -> ControlRow:
    """Return one comparison, in double precision, over the tokens that count.

    `behavior` and `counted` are the batch's own unless they are given.
    """
    behavior = batch.logprobs if behavior is None else behavior
    counted = batch.counted if counted is None else counted
    delta = (teacher.double() - behavior.double())[counted]
    return ControlRow(
        name=name,
        kind=kind,
        says=says,
        tokens=delta.numel(),
        max_abs_delta=delta.abs().max().item(),
        mean_abs_delta=delta.abs().mean().item(),
        mean_delta=delta.mean().item(),
        k3=(delta.expm1() - delta).mean().item(),
    )


@contextmanager
def changed_weights(model: Any, size: float, seed: int) -> Iterator[float]:
    """Change each weight matrix by normal noise of `size` times its own root mean square, and put it back afterwards.

    Gives ‖ΔW‖/‖W‖ over all matrices, as it came out after rounding to their dtype. The old weights wait in main memory.
    The noise goes through one small buffer: memory that is taken anew for each matrix costs more than the numbers.
    """
    import torch

    matrices = [parameter for parameter in model.parameters() if parameter.dim() >= 2]
    # Not the seed itself: weights were drawn from it in the same order, and noise equal to them would only scale them.
    source = torch.Generator(model.device).manual_seed(seed + 1)
    buffer = torch.empty(min(NOISE_AT_ONCE, max(map(torch.numel, matrices))), device=model.device)
    kept: list[Any] = []
    changed = total = 0.0
    try:
        with torch.no_grad():
            for matrix in matrices:
                kept.append(matrix.to("cpu", copy=True))
                norm = _norm(matrix)
                for part in matrix.view(-1).split(NOISE_AT_ONCE):
                    noise, old = buffer[: part.numel()], part.clone()
                    part.add_(noise.normal_(generator=source), alpha=size * norm / matrix.numel() ** 0.5)
                    changed += _norm(noise.copy_(part).sub_(old)) ** 2
                total += norm**2
        yield (changed / total) ** 0.5
    finally:
        with torch.no_grad():
            for matrix, old in zip(matrices, kept, strict=False):  # an interrupt may have come half-way
                matrix.copy_(old)


def _norm(tensor: Any) -> float:
    """Return the Euclidean norm of all numbers of a tensor, added up in single precision whatever its dtype."""
    import torch

    return float(torch.linalg.vector_norm(tensor, dtype=torch.float32))


def sequences_of(of: Controlled) -> tuple[Sequence, ...]:
    """Return the completions with their log-probabilities as plain numbers, to eight decimals."""

    def numbers(values: Any) -> tuple[float, ...]:
        return tuple(round(value, 8) for value in values.double().tolist())

    batch = of.batch
    return tuple(
        Sequence(
            prompt=tokens.PROMPTS[row],
            prompt_tokens=int(batch.prompt_mask[row].sum()),
            tokens=tuple(batch.tokens[row].tolist()),
            mask=tuple(batch.counted[row].long().tolist()),
            behavior_logprobs=numbers(batch.logprobs[row]),
            teacher_logprobs=numbers(of.teacher[row]),
            teacher_logprobs_raw=numbers(of.teacher_raw[row]),
        )
        for row in range(len(tokens.PROMPTS))
    )
