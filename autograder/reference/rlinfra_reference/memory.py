"""Bytes per parameter: what full training, LoRA, sharding and each phase of the loop hold in memory.

All quantities are logical bytes: activations, buffers and fragmentation come on top. Where bytes an element and
counts are integers, so is every result that counts bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlinfra.given import require_count, require_nonnegative

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "ModelState",
    "PeakMemory",
    "bytes_per_parameter",
    "ideal_sharded_memory",
    "logits_bytes",
    "lora_state_bytes",
    "model_state_bytes",
    "peak_memory",
    "sharded_state_bytes",
]


@dataclass(frozen=True)
class ModelState:
    """The bytes that a model's state takes, by component."""

    parameter_bytes: float
    gradient_bytes: float
    optimizer_state_bytes: float
    master_parameter_bytes: float

    @property
    def total_bytes(self) -> float:
        """The sum of the four components, in bytes."""
        return self.parameter_bytes + self.gradient_bytes + self.optimizer_state_bytes + self.master_parameter_bytes


@dataclass(frozen=True)
class PeakMemory:
    """The phase that needs most, its bytes, and the bytes of every phase."""

    phase: str
    peak_bytes: float
    phase_totals: Mapping[str, float]


def bytes_per_parameter(
    *, parameter_bytes: float, gradient_bytes: float, optimizer_state_bytes: float, master_parameter_bytes: float
) -> float:
    """Return the bytes that one trainable parameter takes.

    The mixed-precision profile of the ZeRO paper (Rajbhandari et al. 2020, section 3.1) is 2 + 2 + 8 + 4 = 16.
    Raises `ValueError` where a component is negative or not finite.
    """
    require_nonnegative("parameter_bytes", parameter_bytes)
    require_nonnegative("gradient_bytes", gradient_bytes)
    require_nonnegative("optimizer_state_bytes", optimizer_state_bytes)
    require_nonnegative("master_parameter_bytes", master_parameter_bytes)
    return parameter_bytes + gradient_bytes + optimizer_state_bytes + master_parameter_bytes


def model_state_bytes(
    parameters: int,
    *,
    trainable_parameters: int | None = None,
    parameter_bytes: float,
    gradient_bytes: float,
    optimizer_state_bytes: float,
    master_parameter_bytes: float,
) -> ModelState:
    """Return the bytes of a model's state by component.

    Weights are held for all parameters; gradients, optimizer states and master copies for the trainable ones alone
    (all of them where `trainable_parameters` is None). The four `_bytes` arguments are bytes a parameter.
    Raises `ValueError` where a count is negative or no integer, where more parameters are trainable than there are,
    and where bytes are negative or not finite.
    """
    require_count("parameters", parameters)
    trainable = parameters if trainable_parameters is None else trainable_parameters
    require_count("trainable_parameters", trainable)
    if trainable > parameters:
        raise ValueError(f"trainable_parameters must be at most parameters ({parameters}), not {trainable}")
    require_nonnegative("parameter_bytes", parameter_bytes)
    require_nonnegative("gradient_bytes", gradient_bytes)
    require_nonnegative("optimizer_state_bytes", optimizer_state_bytes)
    require_nonnegative("master_parameter_bytes", master_parameter_bytes)
    return ModelState(
        parameter_bytes=parameters * parameter_bytes,
        gradient_bytes=trainable * gradient_bytes,
        optimizer_state_bytes=trainable * optimizer_state_bytes,
        master_parameter_bytes=trainable * master_parameter_bytes,
    )


def lora_state_bytes(
    base_parameters: int, adapter_parameters: int, *, base_parameter_bytes: float, bytes_per_trainable_parameter: float
) -> float:
    """Return the bytes of a frozen base model with a trainable adapter beside it.

    The base keeps its weights alone; each adapter parameter takes `bytes_per_trainable_parameter`, its own weight
    included. Raises `ValueError` where a count is negative or no integer, or bytes are negative or not finite.
    """
    require_count("base_parameters", base_parameters)
    require_count("adapter_parameters", adapter_parameters)
    require_nonnegative("base_parameter_bytes", base_parameter_bytes)
    require_nonnegative("bytes_per_trainable_parameter", bytes_per_trainable_parameter)
    return base_parameters * base_parameter_bytes + adapter_parameters * bytes_per_trainable_parameter


def ideal_sharded_memory(total_bytes: float, ranks: int) -> float:
    """Return the bytes a rank where everything is divided evenly: a lower bound that no real layout reaches.

    Raises `ValueError` where `total_bytes` is negative or not finite, or `ranks` is below 1.
    """
    require_nonnegative("total_bytes", total_bytes)
    require_count("ranks", ranks, minimum=1)
    return total_bytes / ranks


def sharded_state_bytes(
    stage: int,
    ranks: int,
    *,
    parameters: int,
    parameter_bytes: float,
    gradient_bytes: float,
    optimizer_bytes: float,
) -> float:
    """Return the model-state bytes a rank at a ZeRO stage (Rajbhandari et al. 2020, figure 1).

    Stage 0 replicates all, 1 divides the optimizer states (master copy included), 2 the gradients as well, 3 the
    parameters too. The three `_bytes` arguments are bytes a parameter. Raises `ValueError` where `stage` is not 0 to
    3, `ranks` is below 1, or another argument is negative or not finite.
    """
    require_count("stage", stage)
    if stage > 3:
        raise ValueError(f"stage must be 0, 1, 2 or 3, not {stage}")
    require_count("ranks", ranks, minimum=1)
    require_count("parameters", parameters)
    require_nonnegative("parameter_bytes", parameter_bytes)
    require_nonnegative("gradient_bytes", gradient_bytes)
    require_nonnegative("optimizer_bytes", optimizer_bytes)
    optimizer = parameters * optimizer_bytes / (ranks if stage >= 1 else 1)
    gradients = parameters * gradient_bytes / (ranks if stage >= 2 else 1)
    weights = parameters * parameter_bytes / (ranks if stage == 3 else 1)
    return optimizer + gradients + weights


def peak_memory(phases: Mapping[str, Sequence[float]]) -> PeakMemory:
    """Return the phase whose components take most together; the first such phase where several do.

    `phases` maps a phase's name to the bytes of what is resident in it. Raises `ValueError` where there is no phase,
    or a component is negative or not finite.
    """
    if not phases:
        raise ValueError("phases must hold at least one phase")
    for components in phases.values():
        for component in components:
            require_nonnegative("phases", component)
    totals = {phase: sum(components) for phase, components in phases.items()}
    phase = max(totals, key=totals.__getitem__)
    return PeakMemory(phase, totals[phase], totals)


def logits_bytes(batch: int, tokens: int, vocabulary: int, *, element_bytes: float, copies: int) -> float:
    """Return the bytes that scoring holds for logits: one number for each sequence, position and vocabulary entry.

    `copies` counts every tensor of that shape alive at once, the logits themselves included: log-softmax adds one,
    its gradient another. Raises `ValueError` where a count is negative or no integer, or bytes are negative or not
    finite.
    """
    require_count("batch", batch)
    require_count("tokens", tokens)
    require_count("vocabulary", vocabulary)
    require_nonnegative("element_bytes", element_bytes)
    require_count("copies", copies)
    return batch * tokens * vocabulary * element_bytes * copies
