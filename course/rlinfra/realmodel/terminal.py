"""A report as tables at the command line: a row a comparison, a row a batch. Plain text where there is no terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..given.units import human_bytes

if TYPE_CHECKING:
    from .report import BatchPoint, Phase, Report

SIGNS = {"control": "control", "mistake": "MISTAKE", "lag": "lag"}


def show(report: Report, console: Any) -> None:
    """Write the tables of a report and its notes to a Rich console; each title says whether weights are random."""
    console.print(_control_table(report))
    if report.sweep:
        console.print(_sweep_table(report))
    if roof := report.roofline:
        console.print(
            f"Roofline: {roof.bytes_per_second / 1e9:,.4g} GB/s and {roof.flops_per_second / 1e12:,.4g} TFLOP/s, "
            f"measured here in {report.setup.dtype}. Decode times are those of one step.",
            markup=False,
            highlight=False,
        )
    for note in report.notes:
        console.print(note, markup=False, highlight=False)


def _control_table(report: Report) -> Any:
    from rich.table import Table

    table = Table(title=f"Log-probabilities, teacher-forced minus behaviour, nats a token: {report.headline()}")
    table.add_column("")
    table.add_column("what differs")
    for head in ("tokens", "max |Δ|", "mean |Δ|", "mean Δ", "k3"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in report.control:
        figures = (row.max_abs_delta, row.mean_abs_delta, row.mean_delta, row.k3)
        table.add_row(SIGNS[row.kind], row.says, f"{row.tokens:,}", *(f"{figure:.2g}" for figure in figures))
    return table


def _sweep_table(report: Report) -> Any:
    from rich.table import Table

    setup = report.setup
    table = Table(
        title=f"Medians (and quartiles), {setup.new_tokens} new tokens, repeats: {setup.repeats}. {report.headline()}"
    )
    heads = ["batch", "prefill, ms", "decode, ms", "scoring, ms", "decode, tokens/s", "of the roofline", "KV cache"]
    peaks = any(point.decode.peak_bytes is not None for point in report.sweep)
    for head in [*heads, *(["peaks: prefill", "decode", "scoring"] if peaks else [])]:
        table.add_column(head, justify="right")
    for point in report.sweep:
        table.add_row(*_cells(point, peaks=peaks))
    return table


def _cells(point: BatchPoint, *, peaks: bool) -> list[str]:
    phases = (point.prefill, point.decode, point.scoring)
    agrees = "= formula" if point.kv_cache_bytes == point.kv_formula_bytes else "NOT the formula's"
    cells = [
        str(point.batch),
        *map(_milliseconds, phases),
        f"{point.decode_tokens_per_second:,.4g}",
        f"{point.decode.roofline_share:.1%}",
        f"{human_bytes(point.kv_cache_bytes)} {agrees}",
    ]
    return cells + ([human_bytes(phase.peak_bytes or 0) for phase in phases] if peaks else [])


def _milliseconds(phase: Phase) -> str:
    seconds = phase.seconds
    text = f"{seconds.median_seconds * 1000:.4g}"
    if seconds.samples == 1:
        return text
    return f"{text} ({seconds.first_quartile_seconds * 1000:.3g}–{seconds.third_quartile_seconds * 1000:.3g})"
