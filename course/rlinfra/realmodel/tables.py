"""A report as rows of what, value and unit: whether weights are random comes first, then the control, then timings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..given.units import BYTES_PER_GIB

if TYPE_CHECKING:
    from .report import BatchPoint, Phase, Report


def rows_of(report: Report) -> list[list[Any]]:
    """Return the rows of a report; bytes are exact where they are compared."""
    setup = report.setup
    rows: list[list[Any]] = [
        ["weights", "RANDOM" if setup.weights == "random" else "trained", ""],
        ["model", setup.model, ""],
        ["revision", setup.revision, ""],
        ["parameters", setup.parameters, "parameters"],
        ["device", setup.device, ""],
        ["dtype", setup.dtype, ""],
    ]
    for row in report.control:
        rows.append([f"{row.kind}: {row.says}: max |Δ|", row.max_abs_delta, "nats a token"])
        rows.append([f"{row.kind}: {row.says}: mean |Δ|", row.mean_abs_delta, "nats a token"])
        rows.append([f"{row.kind}: {row.says}: k3", row.k3, "nats a token"])
    if report.roofline:
        rows.append(["measured bandwidth", report.roofline.bytes_per_second / 1e9, "GB/s"])
        rows.append([f"measured {setup.dtype} matrix rate", report.roofline.flops_per_second / 1e12, "TFLOP/s"])
    for point in report.sweep:
        rows += _rows_of_batch(point)
    return rows


def _rows_of_batch(point: BatchPoint) -> list[list[Any]]:
    name = f"batch {point.batch}"
    phases = (("prefill", point.prefill), ("decode, one step", point.decode), ("scoring", point.scoring))
    rows: list[list[Any]] = [
        [f"{name}: {what}", phase.seconds.median_seconds * 1000, f"ms{_quartiles(phase)}"] for what, phase in phases
    ]
    rows.append([f"{name}: decoded", point.decode_tokens_per_second, "tokens/s"])
    rows.append([f"{name}: decode reaches of the roofline", 100 * point.decode.roofline_share, "%"])
    rows.append([f"{name}: scored", point.scored_tokens_per_second, "tokens/s"])
    rows += [
        [f"{name}: peak memory of {what}", phase.peak_bytes / BYTES_PER_GIB, "GiB"]
        for what, phase in phases
        if phase.peak_bytes is not None
    ]
    agrees = "equal to the formula" if point.kv_cache_bytes == point.kv_formula_bytes else "NOT what the formula says"
    rows.append([f"{name}: KV cache", point.kv_cache_bytes, f"bytes, {agrees}"])
    return rows


def _quartiles(phase: Phase) -> str:
    seconds = phase.seconds
    if seconds.samples == 1:
        return ", measured once"
    low, high = seconds.first_quartile_seconds * 1000, seconds.third_quartile_seconds * 1000
    return f" (quartiles {low:.4g} to {high:.4g}, {seconds.samples} samples)"
