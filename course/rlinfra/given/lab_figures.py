"""The lab's figures: each function draws one and returns it as a picture whose title is also its text alternative.

They stand here and not in the notebook so that a cell there shows what is measured, and not how a line is drawn. The
colours mean the same everywhere. Matplotlib is imported where it is used: the package itself does not need it.
"""

from __future__ import annotations

import base64
import html
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..realmodel import Report
    from ..simulator import PipelineConfig, PipelineResult
    from .lab import QueueSample

# The colours of Okabe and Ito, which the colour-blind can tell apart.
TRAINER, ROLLOUT, TRANSFER, LIMIT = "#0072B2", "#009E73", "#E69F00", "#D55E00"
REFERENCE, OTHER, INK = "#999999", "#56B4E9", "#000000"
GIB = 2**30
WIDTH = 8.0  # inches
SMALLEST_DELTA = 1e-8  # nats, where the logarithmic axis of differences begins: 0 has no logarithm


@dataclass(frozen=True)
class Picture:
    """A figure, with the sentence that stands for it where it cannot be seen.

    It shows itself as HTML: JupyterLab drops the text alternative of a plain PNG output. It is drawn when it is shown,
    which takes longer than all else, and in a run that is only judged nobody looks.
    """

    title: str
    figure: Figure

    @property
    def png(self) -> bytes:
        """The drawn figure."""
        file = io.BytesIO()
        self.figure.savefig(file, format="png", dpi=110)
        return file.getvalue()

    def __repr__(self) -> str:
        return self.title

    def _repr_html_(self) -> str:
        source = base64.b64encode(self.png).decode("ascii")
        return f'<img src="data:image/png;base64,{source}" alt="{html.escape(self.title)}">'


def _canvas(
    title: str, *, rows: int = 1, height: float = 3.0, left: float = 0.09, right: float = 0.98
) -> tuple[Figure, list[Axes]]:
    """Return a figure of so many rows that share their x axis, and the axes of each row.

    Margins are fixed: a layout engine draws everything twice, and a class that is graded draws thousands of figures.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - only a notebook has it

    figure = Figure(figsize=(WIDTH, height))
    figure.subplots_adjust(left=left, right=right, bottom=0.5 / height, top=1 - 0.35 / height, hspace=0.12)
    axes = [line[0] for line in figure.subplots(rows, sharex=True, squeeze=False)]
    figure.suptitle(title, fontsize=10, y=1 - 0.1 / height, va="top")
    return figure, axes


def _within(axes: Axes, text: str, colour: str = INK, *, top: float = 0.95) -> None:
    """Write a text at the right edge of the axes, on a ground that keeps lines away from it."""
    ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5}
    axes.text(0.99, top, text, color=colour, fontsize=9, bbox=ground, ha="right", va="top", transform=axes.transAxes)


# --- memory ------------------------------------------------------------------------------------------------------

PARTS = {
    "always there": ("base, adapter, optimizer", REFERENCE, INK),
    "rollout": ("KV cache, buffers", ROLLOUT, INK),
    "training": ("activations, logits", TRAINER, "white"),
    "transfer": ("second adapter, buffers", TRANSFER, INK),
}


def phase_peaks(phases: Mapping[str, Mapping[str, int]], card_gib: float) -> Picture:
    """Return what is resident in each phase, in bytes by part, as bars beside what a card holds."""
    totals = {phase: sum(parts.values()) / GIB for phase, parts in phases.items()}
    largest = max(totals, key=lambda phase: totals[phase])
    title = (
        f"{largest.capitalize()} needs most: {totals[largest]:.1f} of {card_gib:g} GiB. "
        f"No moment needs the sum, {sum(totals.values()):.1f} GiB"
    )
    figure, (axes,) = _canvas(title, height=2.6, left=0.12)
    for row, parts in enumerate(phases.values()):
        left = 0.0
        for part, size in parts.items():
            label, colour, ink = PARTS[part]
            width = size / GIB
            axes.barh(row, width, left=left, color=colour)
            inside = width > card_gib / 8
            at = left + card_gib / 120 + (0 if inside else width)
            axes.text(at, row, label, va="center", color=ink if inside else INK, fontsize=8)
            left += width
    axes.axvline(card_gib, color=LIMIT, linestyle="--")
    axes.text(card_gib * 0.99, len(phases) - 1, "the card", color=LIMIT, ha="right", va="center")
    axes.set_yticks(range(len(phases)), list(phases))
    axes.invert_yaxis()
    axes.set_xlim(0, max(card_gib, *totals.values()) * 1.04)
    axes.set_xlabel("resident, GiB")
    return Picture(title, figure)


# --- the simulated loop ------------------------------------------------------------------------------------------


def trainer_time(results: Mapping[str, PipelineResult]) -> Picture:
    """Return which share of the time the trainer trains and waits, and what is trained a second, run by run."""
    shares = {
        name: result.trainer_seconds["training"] / result.config.duration_seconds for name, result in results.items()
    }
    least, most = min(shares, key=lambda name: shares[name]), max(shares, key=lambda name: shares[name])
    title = f"The trainer trains {shares[least]:.0%} of the time {least}, and {shares[most]:.0%} with {most}"
    figure, (axes,) = _canvas(title, height=2.4, left=0.12)
    for row, (name, result) in enumerate(results.items()):
        axes.barh(row, shares[name], color=TRAINER)
        axes.barh(row, 1 - shares[name], left=shares[name], color=REFERENCE)
        axes.text(0.01, row, f"trains {shares[name]:.0%}", va="center", color="white", fontsize=9)
        if shares[name] < 0.8:
            axes.text(0.99, row, "waits", va="center", ha="right", fontsize=9)
        axes.text(1.02, row, f"{result.trained_tokens_per_second:,.0f} tokens/s", va="center", fontsize=9)
    axes.set_yticks(range(len(results)), list(results))
    axes.invert_yaxis()
    axes.set_xlim(0, 1.22)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.set_xlabel("share of the trainer's time")
    return Picture(title, figure)


def queue_depth(results: Mapping[str, PipelineResult]) -> Picture:
    """Return the depth of each run's queue over time, with the threshold above which no rollout starts."""
    deepest = max(results.values(), key=lambda result: result.max_queue_tokens_observed)
    limit, most = deepest.config.max_queue_tokens, deepest.max_queue_tokens_observed
    title = (
        f"No rollout starts at {limit:,} tokens or more. The queue reaches {most:,}: what is in flight still arrives"
    )
    figure, lines = _canvas(title, rows=len(results), height=0.8 + 1.7 * len(results), left=0.11)
    for axes, (name, result) in zip(lines, results.items(), strict=True):
        times = [row["time"] for row in result.timeline]
        depths = [row["queue_tokens"] for row in result.timeline]
        threshold = result.config.max_queue_tokens
        axes.plot(times, depths, color=ROLLOUT, linewidth=1.2)
        closed = [depth >= threshold for depth in depths]
        axes.fill_between(times, 0, threshold, where=closed, step="pre", color=LIMIT, alpha=0.2, linewidth=0)
        axes.axhline(threshold, color=LIMIT, linestyle="--")
        axes.text(times[-1] * 0.002, threshold, "admission closes", color=LIMIT, fontsize=8, va="bottom")
        paused = result.backpressure_seconds
        _within(axes, f"{name}\nworkers paused (shaded) for {paused:,.0f} worker-seconds")
        axes.set_ylim(0, most * 1.35)
        axes.set_ylabel("tokens in queue")
        axes.margins(x=0)
    lines[-1].set_xlabel("simulated time, s")
    return Picture(title, figure)


def lag_against_ess(results: Mapping[str, PipelineResult]) -> Picture:
    """Return mean lag and normalised ESS of every batch of two runs, and what the simulator's model of weights says."""
    means = {name: result.mean_normalized_ess or 0.0 for name, result in results.items()}
    title = "Older batches are less even: a normalised ESS of " + ", ".join(
        f"{mean:.2f} with {name}" for name, mean in means.items()
    )
    figure, (axes,) = _canvas(title, height=3.4)
    config = next(iter(results.values())).config
    oldest = max(batch.mean_lag for result in results.values() for batch in result.batches)
    for (name, result), colour, marker in zip(results.items(), (ROLLOUT, OTHER), ("o", "^"), strict=False):
        lags = [batch.mean_lag for batch in result.batches]
        sizes = [batch.normalized_ess for batch in result.batches]
        axes.scatter(lags, sizes, s=22, color=colour, marker=marker, alpha=0.75, linewidth=0)
        axes.text(sum(lags) / len(lags), 1.02, name, ha="center", va="bottom", fontsize=9, color=_darker(colour))
    grid = [oldest * step / 50 for step in range(51)]
    axes.plot(grid, [_model_ess(config, lag) for lag in grid], color=REFERENCE, linestyle="--")
    axes.text(0.02, 0.1, "dashed: many rollouts, all of this lag", color="#666666", transform=axes.transAxes)
    axes.set_xlim(0, oldest * 1.05)
    least = min(batch.normalized_ess for result in results.values() for batch in result.batches)
    axes.set_ylim(math.floor(10 * least - 0.5) / 10, 1.08)
    axes.set_xlabel("mean lag of a batch, versions")
    axes.set_ylabel("normalised ESS")
    return Picture(title, figure)


def _model_ess(config: PipelineConfig, lag: float) -> float:
    """Return exp(−s²), the normalised ESS of many weights whose logarithms are normal with variance s²."""
    return math.exp(-(config.mismatch_sigma**2) - lag * config.lag_sigma**2)


def _darker(colour: str) -> str:
    """Return the colour of a text that stands for a mark: sky blue is too light to be read."""
    return "#2B7FB0" if colour == OTHER else colour


def trained_over_time(results: Mapping[str, PipelineResult], chosen: str) -> Picture:
    """Return the trained tokens that last, over time, of three runs at most; the title tells of the `chosen` one."""
    result = results[chosen]
    minutes = result.config.duration_seconds / 60
    title = (
        f"{result.failures} failures in {minutes:g} minutes. {chosen.capitalize()}, "
        f"{result.trained_tokens / 1e6:.2f} million trained tokens last"
    )
    figure, (axes,) = _canvas(title, height=3.2, left=0.07, right=0.86)
    for (name, run), colour in zip(results.items(), (REFERENCE, TRAINER, LIMIT), strict=False):
        times = [row["time"] / 60 for row in run.timeline]
        tokens = [row["trained_tokens"] / 1e6 for row in run.timeline]
        axes.plot(times, tokens, color=colour, linewidth=1.5)
        ink = "#666666" if colour == REFERENCE else colour
        axes.text(minutes * 1.01, tokens[-1], name, color=ink, va="center", fontsize=9)
    axes.set_xlim(0, minutes)
    axes.set_ylim(0, max(run.trained_tokens for run in results.values()) / 1e6 * 1.12)
    axes.set_xlabel("simulated time, minutes")
    axes.set_ylabel("trained tokens, million")
    return Picture(title, figure)


def knob_sweep(knob: str, results: Mapping[int, PipelineResult]) -> Picture:
    """Return throughput and mean normalised ESS over the values of one knob, which the title names."""
    values = list(results)
    speeds = [result.trained_tokens_per_second for result in results.values()]
    sizes = [result.mean_normalized_ess or 0.0 for result in results.values()]
    smallest = [result.min_normalized_ess or 0.0 for result in results.values()]
    title = (
        f"{knob}, {values[0]:,} to {values[-1]:,}: from {speeds[0]:,.0f} to {speeds[-1]:,.0f} tokens/s, "
        f"normalised ESS from {sizes[0]:.2f} to {sizes[-1]:.2f}"
    )
    figure, (above, below) = _canvas(title, rows=2, height=4.0)
    above.plot(values, speeds, color=TRAINER, marker="o")
    above.set_ylim(0, max(speeds) * 1.15)
    above.set_ylabel("trained tokens/s")
    below.plot(values, sizes, color=INK, marker="o")
    below.plot(values, smallest, color=REFERENCE, marker="o")
    below.text(values[-1], sizes[-1] + 0.06, "mean", ha="right", fontsize=9)
    below.text(values[-1], smallest[-1] - 0.06, "worst batch", ha="right", va="top", fontsize=9, color="#666666")
    below.set_ylim(0, 1)
    below.set_ylabel("normalised ESS")
    below.set_xlim(0, max(values) * 1.04)
    below.set_xlabel(knob)
    return Picture(title, figure)


# --- the recorded queue ------------------------------------------------------------------------------------------


def recorded_depth(samples: Sequence[QueueSample], limit_tokens: float) -> Picture:
    """Return Thursday's queue over time, with its limit and the moments in which workers were paused."""
    minutes = [sample.minute for sample in samples]
    share = sum(sample.paused for sample in samples) / len(samples)
    title = (
        f"Over the first {minutes[-1]:g} minutes workers are paused {share:.0%} of the time, and never in the first ten"
    )
    figure, (axes,) = _canvas(title)
    axes.plot(minutes, [sample.tokens / 1e6 for sample in samples], color=ROLLOUT)
    paused = [sample.paused for sample in samples]
    axes.fill_between(minutes, 0, 3, where=paused, color=LIMIT, step="pre", linewidth=0)
    limit = limit_tokens / 1e6
    axes.axhline(limit, color=LIMIT, linestyle="--")
    axes.text(0, limit + 0.6, "limit", color=LIMIT, va="bottom")
    axes.text(minutes[-1], 4, "workers paused", color=LIMIT, ha="right")
    axes.text(minutes[-1], limit * 0.8, "tokens in the queue", color=ROLLOUT, ha="right", va="top")
    axes.set_ylim(0, limit * 1.2)
    axes.set_xlabel("minutes since the start")
    axes.set_ylabel("million tokens")
    return Picture(title, figure)


# --- the measured model ------------------------------------------------------------------------------------------

KINDS = {"control": TRAINER, "mistake": LIMIT, "lag": TRANSFER}


def zero_lag(report: Report) -> Picture:
    """Return the largest difference of a token's log-probability in each comparison of a report, on a log axis."""
    control = report.comparison("control")
    worst = max(report.control, key=lambda row: row.max_abs_delta)
    title = (
        f"Nothing wrong: at most {control.max_abs_delta:.2g} nats a token. "
        f"{worst.says[0].upper()}{worst.says[1:]}: up to {worst.max_abs_delta:.2g}"
    )
    figure, (axes,) = _canvas(title, height=0.9 + 0.3 * len(report.control), left=0.04)
    for row, comparison in enumerate(report.control):
        size = max(comparison.max_abs_delta, SMALLEST_DELTA)
        axes.barh(row, size, left=0, height=0.35, color=KINDS[comparison.kind], align="edge")
        label = f"{comparison.kind}: {comparison.says}, {comparison.max_abs_delta:.2g}"
        axes.text(SMALLEST_DELTA * 1.2, row - 0.05, label, va="bottom", fontsize=8)
    axes.set_xscale("log")
    axes.set_xticks([1e-8, 1e-6, 1e-4, 1e-2, 1], ["1e-8", "1e-6", "1e-4", "0.01", "1"])  # mathtext takes long
    axes.set_xticks([], minor=True)
    axes.set_xlim(SMALLEST_DELTA, 10 * max(worst.max_abs_delta, 1))
    axes.set_ylim(len(report.control), -0.6)
    axes.set_yticks([])
    axes.set_xlabel("largest |Δ| of a token, nats (logarithmic axis)")
    return Picture(title, figure)
