"""The device, its dtype, its clock and its memory: what differs between a CPU and a GPU stands here alone."""

from __future__ import annotations

import platform
import time
from itertools import pairwise
from statistics import median, quantiles
from typing import Any

from .problem import ModelProblem
from .report import Spread


def chosen_device(name: str) -> Any:
    """Return the torch device of "auto", "cpu" or "cuda"; raises `ModelProblem` where there is no such device."""
    import torch

    has_gpu = torch.cuda.is_available()
    if name == "cuda" and not has_gpu:
        if torch.version.cuda is None:
            why, mend = f"torch {torch.__version__} is a build without CUDA", "install a build with it"
        else:
            why, mend = "torch sees no GPU", "see whether nvidia-smi lists one"
        raise ModelProblem(f"CUDA was asked for, and {why}: {mend}, or take --device cpu.")
    return torch.device("cuda" if has_gpu and name != "cpu" else "cpu")


def chosen_dtype(name: str, device: Any) -> Any:
    """Return the torch dtype; "auto" is bfloat16 on a GPU that has it, float16 on one that has not, float32 on a CPU.

    Raises `ModelProblem` where the device cannot multiply matrices of the dtype.
    """
    import torch

    if name == "auto":
        if device.type != "cuda":
            return torch.float32
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    dtype = getattr(torch, name)
    try:
        square = torch.ones((8, 8), dtype=dtype, device=device)
        torch.nn.functional.scaled_dot_product_attention(square[None], square[None], square[None])
        (square @ square).softmax(-1)
    except RuntimeError as error:
        raise ModelProblem(f"{device.type} cannot compute in {name} here ({error}): take --dtype float32.") from error
    return dtype


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory is full, of a GPU or of the machine."""
    import torch

    is_full = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return is_full or (isinstance(error, RuntimeError) and "can't allocate memory" in str(error))


def device_name(device: Any) -> str:
    """Return what people call the device, with the number of cores that torch uses on a CPU."""
    import torch

    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    threads = torch.get_num_threads()
    return f"CPU ({platform.machine()}, {threads} thread{'s' * (threads > 1)})"


def free(device: Any) -> None:
    """Give back to the device what torch keeps for later, as after running out of memory."""
    import torch

    if device.type == "cuda":
        torch.cuda.empty_cache()


class Clock:
    """Marks on the device's own time line: CUDA events on a GPU, where work is queued and not yet done."""

    def __init__(self, device: Any) -> None:
        self._on_gpu = device.type == "cuda"
        self._device = device

    def mark(self) -> Any:
        """Return a mark at this point; on a GPU it does not wait."""
        if not self._on_gpu:
            return time.perf_counter()
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, marks: list[Any]) -> list[float]:
        """Return the seconds between neighbouring marks; on a GPU it waits until the last is reached."""
        if not self._on_gpu:
            return [later - earlier for earlier, later in pairwise(marks)]
        marks[-1].synchronize()
        return [earlier.elapsed_time(later) / 1000 for earlier, later in pairwise(marks)]

    def forget_peak(self) -> None:
        """Begin to watch for a new peak of the device's memory."""
        if self._on_gpu:
            import torch

            torch.cuda.synchronize(self._device)
            torch.cuda.reset_peak_memory_stats(self._device)

    def peak_bytes(self) -> int | None:
        """Return the peak of what tensors took on the device since then, in bytes; `None` on a CPU."""
        if not self._on_gpu:
            return None
        import torch

        return int(torch.cuda.max_memory_allocated(self._device))


def spread_of(seconds: list[float]) -> Spread:
    """Return the median of timings and their quartiles (inclusive method); one timing is its own quartiles."""
    if len(seconds) == 1:
        first = third = seconds[0]
    else:
        first, _, third = quantiles(seconds, n=4, method="inclusive")
    return Spread(
        median_seconds=median(seconds), first_quartile_seconds=first, third_quartile_seconds=third, samples=len(seconds)
    )
