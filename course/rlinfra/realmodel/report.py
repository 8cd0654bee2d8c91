"""What a measurement comes to: a frozen report that JSON, a table and a figure are made of. It needs no model.

Log-probabilities are natural logarithms. Δ is teacher-forced minus behaviour log-probability of a token, r = exp(Δ),
and k3 is the mean of r − 1 − log r, which estimates KL(behaviour‖teacher) from the behaviour's own tokens
(Schulman 2020).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from .strict import decoded, encoded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = 1
WEIGHTS = ("random", "trained")
KINDS = ("control", "mistake", "lag")


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What was measured and where: enough to do it again.

    `revision` is a commit, "random", or "local" for a folder that names none. `template_sha256` is that of the chat
    template. `weight_change` is ‖ΔW‖/‖W‖ over all weight matrices, as measured after rounding to `dtype`; `None` where
    the run was stopped before. `embedding_parameters` are those of the table that is looked up and not multiplied: 0
    where it is the output head as well.
    """

    weights: str
    model: str
    revision: str
    parameters: int
    embedding_parameters: int
    head_parameters: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    element_bytes: int
    dtype: str
    device: str
    attention: str
    template_sha256: str
    seed: int
    temperature: float
    new_tokens: int
    repeats: int
    weight_change: float | None
    versions: dict[str, str]
    recorded_at: str


@dataclass(frozen=True, kw_only=True)
class Sequence:
    """One completion with its log-probabilities, all rows equally long.

    `tokens` are padded at the end to the trainer's width; `mask` is 1 through the first end-of-sequence token
    inclusive and 0 after. `behavior_logprobs` are those that the token was sampled with, 0.0 at padding;
    `teacher_logprobs` are teacher-forced at the same temperature, `teacher_logprobs_raw` with the temperature
    forgotten.
    """

    prompt: str
    prompt_tokens: int
    tokens: tuple[int, ...]
    mask: tuple[int, ...]
    behavior_logprobs: tuple[float, ...]
    teacher_logprobs: tuple[float, ...]
    teacher_logprobs_raw: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class ControlRow:
    """One comparison of log-probabilities over `tokens` tokens, in nats a token (`k3` too).

    `kind` is "control" (nothing is wrong: what is left is training–inference mismatch), "mistake" or "lag".
    """

    name: str
    kind: str
    says: str
    tokens: int
    max_abs_delta: float
    mean_abs_delta: float
    mean_delta: float
    k3: float


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The median of `samples` timings and their quartiles, in seconds."""

    median_seconds: float
    first_quartile_seconds: float
    third_quartile_seconds: float
    samples: int


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One phase at one batch: its time, the least time that the roofline allows, and its peak of device memory.

    The time is that of the whole phase for prefill and scoring, and of one step for decode. `peak_bytes` is `None`
    where the device does not count it (a CPU).
    """

    seconds: Spread
    floor_seconds: float
    peak_bytes: int | None

    @property
    def roofline_share(self) -> float:
        """How near the phase comes to the roofline: least over median time, 1 at best."""
        return self.floor_seconds / self.seconds.median_seconds


@dataclass(frozen=True, kw_only=True)
class BatchPoint:
    """One batch of the sweep: `batch` sequences of `prompt_width` prompt tokens (padding counts) and `new_tokens` more.

    No row ends early here: the lengths are fixed, so that batches can be compared. `kv_cache_bytes` is what the cache
    object holds after the last step, `kv_formula_bytes` what the formula says for its tokens.
    """

    batch: int
    prompt_width: int
    new_tokens: int
    prefill: Phase
    decode: Phase
    scoring: Phase
    kv_cache_bytes: int
    kv_formula_bytes: int

    @property
    def generation_seconds(self) -> float:
        """Prefill and all decode steps, by their medians."""
        return self.prefill.seconds.median_seconds + (self.new_tokens - 1) * self.decode.seconds.median_seconds

    @property
    def generated_tokens_per_second(self) -> float:
        """New tokens over the time of prefill and decode."""
        return self.batch * self.new_tokens / self.generation_seconds

    @property
    def decode_tokens_per_second(self) -> float:
        """Tokens a second while decoding."""
        return self.batch / self.decode.seconds.median_seconds

    @property
    def floor_decode_tokens_per_second(self) -> float:
        """Tokens a second while decoding, if the roofline were reached."""
        return self.batch / self.decode.floor_seconds

    @property
    def scored_tokens_per_second(self) -> float:
        """Tokens of prompt and completion over the time of scoring."""
        return self.batch * (self.prompt_width + self.new_tokens) / self.scoring.seconds.median_seconds


@dataclass(frozen=True, kw_only=True)
class Roofline:
    """What this device did at its best: a big copy (bytes read and written) and a big matrix product in `dtype`."""

    bytes_per_second: float
    flops_per_second: float
    copied_bytes: int
    matrix_side: int


@dataclass(frozen=True, kw_only=True)
class Report:
    """A measurement. `complete` is false where it was stopped, with what was done by then. `notes` are sentences."""

    format: int
    setup: Setup
    sequences: tuple[Sequence, ...]
    control: tuple[ControlRow, ...]
    roofline: Roofline | None
    sweep: tuple[BatchPoint, ...]
    complete: bool
    notes: tuple[str, ...]

    def comparison(self, name: str) -> ControlRow:
        """Return the row of `control` with this name; raises `KeyError` that lists the names."""
        for row in self.control:
            if row.name == name:
                return row
        raise KeyError(f"{name!r} is not in this report; it has {', '.join(row.name for row in self.control)}")

    def headline(self) -> str:
        """Return what was measured, in one sentence that says whether weights are random."""
        setup = self.setup
        weights = "random weights" if setup.weights == "random" else f"revision {setup.revision[:12]}"
        stopped = "" if self.complete else "; stopped before the end"
        return f"{setup.model}, {weights}, {setup.dtype} on {setup.device}{stopped}"

    def rows(self) -> list[list[Any]]:
        """Return the figures as rows of what, value and unit."""
        from .tables import rows_of  # tables import this module

        return rows_of(self)

    def figure(self) -> Figure:
        """Return a matplotlib figure: the control, throughput against the roofline, and the time of each phase."""
        from .figures import figure_of  # matplotlib is needed for this alone

        return figure_of(self)

    def to_json(self) -> str:
        """Return the report as JSON text, as `report.schema.json` describes it."""
        return json.dumps(encoded(self), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Return the report from JSON text; raises `ValueError` that names the first field which is not as it must be.

        Strict: no field may be missing or unknown, no number NaN or infinite, no list of a sequence of another length.
        """
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"this is no JSON ({error}): give the file that `rlinfra measure` wrote") from error
        report = decoded(cls, data, "report")
        _require_sense(report)
        return report


def _require_sense(report: Report) -> None:
    """Raise `ValueError` where fields that are right by themselves do not fit together."""
    if report.format != FORMAT:
        raise ValueError(f"report.format must be {FORMAT}, not {report.format}: measure again with this version")
    if report.setup.weights not in WEIGHTS:
        raise ValueError(f"report.setup.weights must be one of {', '.join(WEIGHTS)}, not {report.setup.weights!r}")
    for place, comparison in enumerate(report.control):
        if comparison.kind not in KINDS:
            raise ValueError(f"report.control[{place}].kind must be one of {', '.join(KINDS)}, not {comparison.kind!r}")
    for place, row in enumerate(report.sequences):
        rows = (row.mask, row.behavior_logprobs, row.teacher_logprobs, row.teacher_logprobs_raw)
        if {len(values) for values in rows} != {len(row.tokens)}:
            raise ValueError(f"report.sequences[{place}]: tokens, mask and log-probabilities differ in length")
        if not set(row.mask) <= {0, 1}:
            raise ValueError(f"report.sequences[{place}].mask must hold 0 and 1 alone")


def recorded_run() -> Report:
    """Return the run that comes with the course. It needs no model, no torch and no NumPy."""
    return Report.from_json((files(__package__) / "recorded.json").read_text(encoding="utf-8"))
