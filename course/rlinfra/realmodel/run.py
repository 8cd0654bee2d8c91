"""The measurement from end to end: its steps in order, what is told while it runs, what is kept if it is stopped."""

from __future__ import annotations

import datetime
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from . import control, roofline, sweep, tokens
from .devices import device_name, free, out_of_memory
from .loading import load
from .problem import ModelProblem
from .report import FORMAT, Report, Setup
from .scoring import generate
from .settings import Settings, source_of, with_batches

if TYPE_CHECKING:
    from .loading import Loaded
    from .report import BatchPoint, ControlRow, Roofline, Sequence

LIBRARIES = ("torch", "transformers", "tokenizers")


@dataclass(frozen=True)
class Step:
    """How far a measurement is: `done` of `total` steps, what comes next, and the seconds since it began."""

    done: int
    total: int
    what: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.done}/{self.total} done after {self.seconds:.1f} s; now {self.what}"


@dataclass
class Draft:
    """What was measured so far."""

    setup: Setup
    sequences: tuple[Sequence, ...] = ()
    control: list[ControlRow] = field(default_factory=list)
    roofline: Roofline | None = None
    sweep: list[BatchPoint] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def report(self, *, complete: bool) -> Report:
        """Return the report of what is there."""
        return Report(
            format=FORMAT,
            setup=self.setup,
            sequences=self.sequences,
            control=tuple(self.control),
            roofline=self.roofline,
            sweep=tuple(self.sweep),
            complete=complete,
            notes=tuple(self.notes),
        )


def measure(settings: Settings | None = None, *, progress: Callable[[Step], None] | None = None) -> Report:
    """Return the report of a measurement; `progress` is told before each step, and `print` will do.

    An interrupt (Ctrl-C) ends it and keeps what is done, in a report that is not `complete`; before anything was
    measured the interrupt goes on. Raises `ModelProblem` where the model cannot be had, with the next step. A batch
    that does not fit into memory ends the sweep, and is a note of the report.
    """
    settings = settings or Settings()
    if not isinstance(settings, Settings):
        raise TypeError(f"settings must be Settings(…), not {type(settings).__name__}")
    began = time.perf_counter()
    known = len(settings.batches or ()) or 1

    def tell(done: int, what: str, total: int) -> None:
        if progress:
            progress(Step(done, total, what, time.perf_counter() - began))

    tell(0, "loading the model", 8 + known)
    source = source_of(settings)
    loaded = load(source, settings)
    require_room(loaded, settings)
    draft = Draft(setup_of(loaded, settings))
    batches = with_batches(settings, loaded.model.device.type)
    total = 8 + len(batches)
    try:
        _all_steps(loaded, settings, draft, batches, lambda done, what: tell(done, what, total))
    except KeyboardInterrupt:
        if not draft.control:
            raise
        draft.notes.append("Stopped by an interrupt: what was done by then is here, the rest is missing.")
        return draft.report(complete=False)
    tell(total, "done", total)
    return draft.report(complete=True)


def _all_steps(
    loaded: Loaded, settings: Settings, draft: Draft, batches: tuple[int, ...], tell: Callable[[int, str], None]
) -> None:
    """Take the steps in order, and write down what each gives as soon as it is there."""
    try:
        tell(1, "warming up and sampling completions")
        warm_up(loaded, settings)
        of = control.controlled(loaded, settings)
        draft.sequences = control.sequences_of(of)
        for place, (what, step) in enumerate(control.comparisons(of), start=2):
            tell(place, what)
            draft.control += step()
            draft.setup = replace(draft.setup, weight_change=of.weight_change)
        draft.notes += notes_on(loaded, draft)
        tell(7, "measuring the roofline")
        draft.roofline = roofline.measured(loaded.model.device, loaded.model.dtype)
    except Exception as error:
        if out_of_memory(error):
            raise ModelProblem(
                f"The control of three sequences does not fit into the memory of {loaded.model.device}: take --dtype "
                f"bfloat16, fewer than {settings.new_tokens} new tokens, or a smaller model."
            ) from error
        raise
    for place, batch in enumerate(batches, start=8):
        tell(place, f"timing a batch of {batch}")
        once = of.once if control.serves(of, batch) else None
        try:
            draft.sweep.append(sweep.measured_batch(loaded, draft.setup, draft.roofline, batch, once))
        except Exception as error:
            if not out_of_memory(error):
                raise
            draft.notes.append(f"A batch of {batch} does not fit into the memory of {draft.setup.device}.")
            free(loaded.model.device)
            return
        if once:
            draft.notes.append(
                f"The batch of {batch} was generated once, for the control: its prefill and decode are timed in the "
                "library's own generate, with what that does between two steps."
            )


def warm_up(loaded: Loaded, settings: Settings) -> None:
    """Generate two tokens that nobody looks at: what is loaded or compiled at the first time is done then."""
    prompts, prompt_mask = tokens.encoded_prompts(loaded.tokenizer, 1, loaded.model.device)
    generate(loaded, prompts, prompt_mask, new_tokens=2, temperature=settings.temperature, seed=settings.seed)


def require_room(loaded: Loaded, settings: Settings) -> None:
    """Raise `ModelProblem` where prompt, completion and padding are longer than the model has positions."""
    prompts, _ = tokens.encoded_prompts(loaded.tokenizer, len(tokens.PROMPTS), "cpu")
    needed = int(prompts.shape[1]) + settings.new_tokens + control.TRAINER_PADDING
    most = getattr(loaded.model.config, "max_position_embeddings", None)
    if most is not None and needed > most:
        raise ModelProblem(
            f"{settings.new_tokens} new tokens need {needed} positions with prompt and padding, and {loaded.name} has "
            f"{most}: take fewer (--new-tokens)."
        )


def setup_of(loaded: Loaded, settings: Settings) -> Setup:
    """Return what is measured, and where, from the model itself."""
    model, config = loaded.model, loaded.model.config
    table, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    heads = config.num_attention_heads
    return Setup(
        weights="random" if loaded.has_random_weights else "trained",
        model=loaded.name,
        revision=loaded.revision,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        embedding_parameters=0 if table is head else table.numel(),
        head_parameters=head.numel(),
        layers=config.num_hidden_layers,
        heads=heads,
        kv_heads=getattr(config, "num_key_value_heads", None) or heads,
        head_dim=getattr(config, "head_dim", None) or config.hidden_size // heads,
        vocabulary=head.shape[0],
        element_bytes=model.dtype.itemsize,
        dtype=str(model.dtype).removeprefix("torch."),
        device=device_name(model.device),
        attention=str(config._attn_implementation),
        template_sha256=tokens.template_sha256(loaded.tokenizer),
        seed=settings.seed,
        temperature=float(settings.temperature),
        new_tokens=settings.new_tokens,
        repeats=settings.repeats,
        weight_change=None,
        versions=versions(),
        recorded_at=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )


def notes_on(loaded: Loaded, draft: Draft) -> list[str]:
    """Return what a reader must know beside the figures."""
    notes = []
    ended = sum(0 in row.mask[: draft.setup.new_tokens] for row in draft.sequences)
    if loaded.has_random_weights:
        notes.append(
            "The weights are random: seconds, bytes and differences of log-probabilities are measured, and the texts "
            "mean nothing."
        )
        notes.append(
            f"With random weights an end-of-sequence token is rare ({ended} of {len(draft.sequences)} completions "
            "ended early here): lengths are nearly all equal, so nothing here shows stragglers."
        )
    notes.append(
        "The sweep decodes the same number of tokens in every row, and no row ends early. There is no backward pass "
        "and no optimizer step: it is no benchmark of a framework or a cluster."
    )
    return notes


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that compute."""
    from importlib.metadata import version  # it imports what opens connections

    return {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}
