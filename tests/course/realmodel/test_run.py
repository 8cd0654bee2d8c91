"""The run from end to end: what is told, what is kept when it is stopped, and what ends the sweep."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest

from rlinfra.realmodel import ModelProblem, Settings, measure, sweep
from rlinfra.realmodel.control import controlled, serves
from rlinfra.realmodel.loading import load
from rlinfra.realmodel.settings import Source

from .conftest import TINY


def test_a_measurement_has_everything_and_says_that_weights_are_random(measured):
    report, _ = measured
    assert report.complete
    assert (report.setup.weights, report.setup.revision, report.setup.dtype) == ("random", "random", "float32")
    assert "random weights" in report.headline()
    assert any("weights are random" in note for note in report.notes)
    assert any("end-of-sequence token is rare (" in note for note in report.notes)
    assert [row.name for row in report.control] == [
        "control",
        "control_raw",
        "temperature_forgotten",
        "padding_scored",
        "no_attention_mask",
        "wrong_positions",
        "control_absolute",
        "wrong_positions_absolute",
        "lag",
        "lag_and_mismatch",
    ]
    assert report.setup.weight_change == pytest.approx(0.01, rel=0.02)
    assert {"python", "torch", "transformers"} <= set(report.setup.versions)
    assert len(report.sequences) == 3


def test_the_same_seed_gives_the_same_tokens_and_log_probabilities(measured):
    again = measure(replace(TINY, batches=(1,), repeats=1))
    assert again.sequences == measured[0].sequences
    other = measure(replace(TINY, batches=(1,), repeats=1, seed=1))
    assert other.sequences != again.sequences


def test_every_step_is_told_before_it_is_taken(measured):
    _, steps = measured
    assert [step.done for step in steps] == list(range(11))
    assert {step.total for step in steps} == {10}
    assert [step.what for step in steps][-3:] == ["timing a batch of 1", "timing a batch of 3", "done"]
    assert str(replace(steps[2], seconds=1.25)) == "2/10 done after 1.2 s; now the zero-lag control"
    assert [step.seconds for step in steps] == sorted(step.seconds for step in steps)


def test_a_batch_that_the_control_generated_is_not_generated_again(monkeypatch):
    """Three prompts of 24 tokens, timed once: the sweep's own loop runs for batch 1 alone, and scoring for both."""
    looped, real = [], sweep._run

    def run(loaded, setup, prompts, *rest, **options):
        looped.append(len(prompts))
        real(loaded, setup, prompts, *rest, **options)

    monkeypatch.setattr("rlinfra.realmodel.sweep._run", run)
    report = measure(replace(TINY, repeats=1, seed=2))
    assert all(sequence.mask == (1,) * 24 + (0,) * 16 for sequence in report.sequences)  # with this seed, no early end
    assert looped == [1]
    one, three = report.sweep
    for point in (one, three):
        assert [getattr(point, name).seconds.samples for name in ("prefill", "decode", "scoring")] == [1, 23, 1]
        assert point.decode.seconds.first_quartile_seconds > 0
        assert point.kv_cache_bytes == point.kv_formula_bytes == point.batch * (point.prompt_width + 23) * 1536
    assert report.notes[-1].startswith("The batch of 3 was generated once, for the control: its prefill and decode")
    assert measure(replace(TINY, repeats=2, seed=2)).notes == report.notes[:-1]
    assert looped == [1, 1, 1, 3, 3]


def test_a_generation_whose_rows_end_early_does_not_serve_the_sweep(tiny):
    """Every second token ends a row: `generate` may stop before the last step, and its steps are fewer."""
    ends = tuple(range(0, len(tiny.tokenizer), 2))
    of = controlled(tiny, replace(TINY, repeats=1, seed=2))
    assert serves(of, 3)
    assert not serves(of, 2)
    model = load(Source("random"), TINY).model
    model.generation_config.eos_token_id = list(ends)
    assert not serves(controlled(replace(tiny, model=model, end_ids=ends), replace(TINY, repeats=1)), 3)


def interrupt_at(what):
    def progress(step):
        if step.what == what:
            signal.raise_signal(signal.SIGINT)

    return progress


@pytest.mark.parametrize(
    ("what", "comparisons", "batches"),
    [("no attention mask", 4, 0), ("measuring the roofline", 10, 0), ("timing a batch of 3", 10, 1)],
)
def test_an_interrupt_keeps_what_is_done(what, comparisons, batches):
    report = measure(replace(TINY, repeats=1), progress=interrupt_at(what))
    assert not report.complete
    assert (len(report.control), len(report.sweep)) == (comparisons, batches)
    assert "Stopped by an interrupt" in report.notes[-1]
    assert (report.setup.weight_change is None) == (comparisons == 4)
    assert type(report).from_json(report.to_json()) == report


def test_an_interrupt_before_anything_is_measured_goes_on():
    with pytest.raises(KeyboardInterrupt):
        measure(TINY, progress=interrupt_at("the zero-lag control"))


def run_out_of_memory(*_, **__):
    import torch

    return torch.empty(2**55, dtype=torch.uint8)  # raises what torch raises where memory is full


def test_a_batch_that_does_not_fit_ends_the_sweep_and_is_a_note(monkeypatch):
    real = sweep.measured_batch

    def up_to_one(loaded, setup, roof, batch, once):
        return real(loaded, setup, roof, batch, once) if batch == 1 else run_out_of_memory()

    monkeypatch.setattr("rlinfra.realmodel.sweep.measured_batch", up_to_one)
    report = measure(replace(TINY, repeats=1, batches=(1, 2, 4)))
    assert report.complete
    assert [point.batch for point in report.sweep] == [1]
    assert any(note.startswith("A batch of 2 does not fit into the memory of CPU") for note in report.notes)


def test_a_control_that_does_not_fit_is_a_problem(monkeypatch):
    monkeypatch.setattr("rlinfra.realmodel.control.generate", run_out_of_memory)
    with pytest.raises(
        ModelProblem, match=r"control of three sequences does not fit .*: take --dtype bfloat16, fewer th"
    ):
        measure(TINY)


def test_more_tokens_than_the_model_has_positions_is_a_problem():
    with pytest.raises(ModelProblem, match=r"2000 new tokens need 20\d\d positions .*has 1024: take fewer"):
        measure(replace(TINY, new_tokens=2000))


def test_settings_that_are_none_are_refused():
    with pytest.raises(TypeError, match="settings must be Settings"):
        measure({"tiny": True})


def test_a_checkpoint_is_measured_as_trained(saved):
    report = measure(Settings(model=saved, device="cpu", new_tokens=8, repeats=1, batches=(1,)))
    assert (report.setup.weights, report.setup.model, report.setup.revision) == ("trained", "tiny", "local")
    assert "random" not in report.headline()
    assert not any("weights are random" in note for note in report.notes)
