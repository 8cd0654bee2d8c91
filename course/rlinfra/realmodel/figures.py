"""The figure of a report: what each mistake costs, tokens a second against the roofline, and where the time goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .report import BatchPoint, Report

# Okabe–Ito, with the course's meanings: trainer blue, rollout green, failure vermilion, transfer orange.
TRAINER, ROLLOUT, FAILURE, TRANSFER, REFERENCE, PREFILL = (
    "#0072B2",
    "#009E73",
    "#D55E00",
    "#E69F00",
    "#7F7F7F",
    "#56B4E9",
)
COLOURS = {"control": TRAINER, "mistake": FAILURE, "lag": TRANSFER}
SMALLEST = 1e-8  # where a logarithmic axis begins: a difference of 0 has no logarithm


def figure_of(report: Report) -> Figure:
    """Return the figure; its title says whether weights are random. Without a sweep it has the control alone."""
    from matplotlib.figure import Figure

    panels = 3 if report.sweep else 1
    figure = Figure(figsize=(9, 3.6 * panels), layout="constrained")
    axes = figure.subplots(panels, 1, squeeze=False)[:, 0]
    figure.suptitle(report.headline(), fontsize=11, x=0.01, ha="left")
    _draw_control(axes[0], report)
    if report.sweep:
        _draw_throughput(axes[1], report.sweep)
        _draw_phases(axes[2], report.sweep)
    return figure


def control_title(report: Report) -> str:
    """Return the message of the first panel, a sentence with its numbers."""
    right = next((row for row in report.control if row.name == "control"), None)
    mistakes = [row for row in report.control if row.kind == "mistake"]
    if right is None or not mistakes:
        return "The control was not finished"
    worst = max(mistakes, key=lambda row: row.max_abs_delta)
    return (
        f"Zero lag leaves at most {right.max_abs_delta:.2g} nats a token; {worst.says} costs {worst.max_abs_delta:.2g}"
    )


def throughput_title(sweep: tuple[BatchPoint, ...]) -> str:
    """Return the message of the second panel."""
    last = sweep[-1]
    return (
        f"At batch {last.batch} decode makes {last.decode_tokens_per_second:,.0f} tokens/s, "
        f"{last.decode.roofline_share:.1%} of the roofline"
    )


def phases_title(sweep: tuple[BatchPoint, ...]) -> str:
    """Return the message of the third panel."""
    last = sweep[-1]
    ratio = last.generation_seconds / last.scoring.seconds.median_seconds
    return f"At batch {last.batch} generation takes {ratio:.1f} times as long as scoring the same tokens"


def _draw_control(axes: Any, report: Report) -> None:
    """Draw a bar a comparison, named inside the axes above it, so that long names take no width from the bars."""
    rows = report.control[::-1]
    values = [max(row.max_abs_delta, SMALLEST) for row in rows]
    lengths = [value - SMALLEST for value in values]
    axes.barh(range(len(rows)), lengths, height=0.35, left=SMALLEST, color=[COLOURS[row.kind] for row in rows])
    for place, row in enumerate(rows):
        text = f"{row.kind}: {row.says}, {row.max_abs_delta:.2g}"
        axes.annotate(text, (SMALLEST, place), (2, 6), textcoords="offset points", fontsize=8)
    axes.set_xscale("log")
    axes.set_xlim(SMALLEST, 10 * max(values, default=1.0))
    axes.set_ylim(-0.5, max(len(rows), 1) - 0.1)
    axes.set_yticks([])
    axes.set_xlabel("largest |Δ| of a token's log-probability, in nats (logarithmic axis)")
    _title(axes, control_title(report))


def _draw_throughput(axes: Any, sweep: tuple[BatchPoint, ...]) -> None:
    floors = [point.floor_decode_tokens_per_second for point in sweep]
    reached = [point.decode_tokens_per_second for point in sweep]
    _line(axes, sweep, floors, REFERENCE, "roofline")
    _line(axes, sweep, reached, ROLLOUT, "decode, measured")
    _finish(axes, sweep, "tokens a second\n(logarithmic axis)", throughput_title(sweep))


def _draw_phases(axes: Any, sweep: tuple[BatchPoint, ...]) -> None:
    for phase, colour, name in (
        ("prefill", PREFILL, "prefill"),
        ("decode", ROLLOUT, "decode, one step"),
        ("scoring", TRAINER, "scoring"),
    ):
        spreads = [getattr(point, phase).seconds for point in sweep]
        low = [1000 * spread.first_quartile_seconds for spread in spreads]
        high = [1000 * spread.third_quartile_seconds for spread in spreads]
        axes.fill_between([point.batch for point in sweep], low, high, color=colour, alpha=0.25, linewidth=0)
        _line(axes, sweep, [1000 * spread.median_seconds for spread in spreads], colour, name)
    _finish(axes, sweep, "milliseconds, median and quartiles\n(logarithmic axis)", phases_title(sweep))


def _line(axes: Any, sweep: tuple[BatchPoint, ...], values: list[float], colour: str, name: str) -> None:
    axes.plot([point.batch for point in sweep], values, color=colour, marker="o", markersize=4, label=name)


def _finish(axes: Any, sweep: tuple[BatchPoint, ...], label: str, title: str) -> None:
    batches = [point.batch for point in sweep]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(batches, [str(batch) for batch in batches])
    axes.set_xlabel("batch, in sequences (logarithmic axis)")
    axes.set_ylabel(label, fontsize=9)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, labelcolor="linecolor")
    _title(axes, title)


def _title(axes: Any, sentence: str) -> None:
    axes.set_title(sentence, fontsize=10, loc="left")
