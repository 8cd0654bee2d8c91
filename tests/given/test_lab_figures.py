"""The lab's figures: each is a picture whose text alternative states the number that is the message."""

from __future__ import annotations

import base64
import html
import re

import pytest

from rlinfra.given import lab_figures as figures
from rlinfra.given.lab import QueueSample, recorded_queue
from rlinfra.realmodel import recorded_run
from rlinfra.simulator import PipelineConfig, simulate_pipeline

GIB = 2**30


def run(**chosen):
    """A run of a loop without chance: completions of 1,000 tokens, at 100 a second."""
    alike = {
        "workers": 2,
        "worker_tokens_per_second": 100,
        "rollout_overhead_seconds": 0,
        "median_completion_tokens": 1_000,
        "completion_spread": 0,
        "batch_tokens": 2_000,
        "train_overhead_seconds": 0,
        "trainer_tokens_per_second": 200,
        "publish_seconds": 0,
        "max_queue_tokens": 3_000,
        "max_policy_lag": 9,
        "mismatch_sigma": 0,
    }
    return simulate_pipeline(PipelineConfig(**{**alike, "duration_seconds": 41, **chosen}))


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were made, to look at their axes."""
    seen = []
    kind = figures.Picture
    monkeypatch.setattr(figures, "Picture", lambda title, figure: (seen.append(figure), kind(title, figure))[1])
    return seen


def is_picture(image):
    """Whether it is a PNG that says its title where it cannot be seen; the notebook gets nothing but this HTML."""
    source, alternative = re.fullmatch(
        r'<img src="data:image/png;base64,(.+)" alt="(.+)">', image._repr_html_()
    ).groups()
    assert html.unescape(alternative) == repr(image) == image.title
    return base64.b64decode(source, validate=True).startswith(b"\x89PNG")


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_the_largest_phase_and_the_sum_stand_in_the_title():
    phases = {
        "rollout": {"always there": 10 * GIB, "rollout": 4 * GIB},
        "training": {"always there": 10 * GIB, "training": 20 * GIB},
    }
    image = figures.phase_peaks(phases, card_gib=40)
    assert image.title == "Training needs most: 30.0 of 40 GiB. No moment needs the sum, 44.0 GiB"
    assert is_picture(image)


def test_a_phase_that_does_not_fit_stays_inside_the_axes(drawn):
    figures.phase_peaks({"training": {"always there": 10 * GIB, "training": 50 * GIB}}, card_gib=48)
    assert drawn[0].axes[0].get_xlim()[1] > 60


def test_the_share_of_time_that_the_trainer_trains():
    """By turns, 10 s of rollout and 10 s of training alternate: in 40 s it trains for 20."""
    by_turns = run(mode="sequential", duration_seconds=40)
    overlapped = run(duration_seconds=40)  # waits for the first 10 s alone
    image = figures.trainer_time({"by turns": by_turns, "a queue": overlapped})
    assert image.title == "The trainer trains 50% of the time by turns, and 75% with a queue"
    assert is_picture(image)


def test_the_deepest_queue_stands_in_the_title_and_each_run_has_its_axes(drawn):
    """Four workers bring 4,000 tokens at 10 s, of which the trainer takes 2,000. So admission stays open.

    At 20 s 4,000 more arrive before the next batch is taken: 6,000 at its deepest.
    """
    image = figures.queue_depth({"wide": run(workers=4, duration_seconds=25), "narrow": run(duration_seconds=25)})
    assert (
        image.title
        == "No rollout starts at 3,000 tokens or more. The queue reaches 6,000: what is in flight still arrives"
    )
    assert len(drawn[0].axes) == 2
    assert sum("worker-seconds" in text for text in texts(drawn[0])) == 2
    assert is_picture(image)


def test_without_noise_every_batch_is_even():
    image = figures.lag_against_ess({"one": run(lag_sigma=0), "other": run(lag_sigma=0, workers=4)})
    assert image.title == "Older batches are less even: a normalised ESS of 1.00 with one, 1.00 with other"
    assert is_picture(image)


def test_the_dashed_line_is_the_limit_of_many_log_normal_weights(drawn):
    """At lag 0 with a mismatch of 0.5 it starts at exp(−0.25) = 0.7788."""
    figures.lag_against_ess({"one": run(mismatch_sigma=0.5), "other": run(mismatch_sigma=0.5, workers=4)})
    dashed = next(line for line in drawn[0].axes[0].lines if line.get_linestyle() == "--")
    assert dashed.get_ydata()[0] == pytest.approx(0.7788, abs=1e-4)


def test_failures_and_the_tokens_that_last_are_those_of_the_chosen_run(drawn):
    whole = run(duration_seconds=600)
    broken = run(duration_seconds=600, mtbf_seconds=100, checkpoint_interval_seconds=30)
    image = figures.trained_over_time({"no failures": whole, "every 30 s": broken}, "every 30 s")
    tokens = broken.trained_tokens / 1e6
    assert broken.failures > 1
    assert (
        image.title == f"{broken.failures} failures in 10 minutes. Every 30 s, {tokens:.2f} million trained tokens last"
    )
    assert texts(drawn[0]) == ["no failures", "every 30 s"]
    assert is_picture(image)


def test_a_sweep_says_what_its_ends_trade(drawn):
    """One worker brings 100 tokens a second and two bring 200, of which the first 10 s (of 41) see none trained on."""
    image = figures.knob_sweep("workers", {1: run(workers=1, lag_sigma=0), 2: run(lag_sigma=0)})
    # one worker: a batch at 20 s and one at 40 s, done at 30 s: 2,000 of 41 s; two: done at 20, 30 and 40 s
    assert image.title == "workers, 1 to 2: from 49 to 146 tokens/s, normalised ESS from 1.00 to 1.00"
    assert [axes.get_ylim()[0] for axes in drawn[0].axes] == [0, 0]
    assert is_picture(image)


def test_the_recorded_pauses_are_counted_over_all_samples():
    samples = [QueueSample(minute, 39e6, paused=minute > 10) for minute in range(1, 21)]
    image = figures.recorded_depth(samples, limit_tokens=40e6)
    assert image.title == "Over the first 20 minutes workers are paused 50% of the time, and never in the first ten"
    assert is_picture(image)


def test_the_control_and_the_worst_comparison_of_a_report_stand_in_the_title(drawn):
    """Each comparison has its bar, in the colour of its kind."""
    report = recorded_run()
    image = figures.zero_lag(report)
    control = report.comparison("control").max_abs_delta
    worst = max(row.max_abs_delta for row in report.control)
    assert image.title.startswith(f"Nothing wrong: at most {control:.2g} nats a token. ")
    assert image.title.endswith(f": up to {worst:.2g}")
    bars = drawn[0].axes[0].patches
    assert [bar.get_width() for bar in bars] == [max(row.max_abs_delta, 1e-8) for row in report.control]
    assert len({bar.get_facecolor() for bar in bars}) == len({row.kind for row in report.control})
    assert is_picture(image)


def test_the_titles_claim_on_the_first_ten_minutes_holds_for_what_the_lab_shows():
    assert not any(sample.paused for sample in recorded_queue(120) if sample.minute <= 10)


def test_every_axis_says_what_it_shows_and_in_which_unit(drawn):
    results = {"one": run(), "other": run(workers=4)}
    figures.trainer_time(results)
    figures.queue_depth(results)
    figures.lag_against_ess(results)
    figures.trained_over_time(results, "one")
    figures.knob_sweep("workers", {2: results["one"], 4: results["other"]})
    figures.recorded_depth(recorded_queue(15), limit_tokens=40e6)
    for figure in drawn:
        assert figure.axes[-1].get_xlabel()
        for axes in figure.axes:
            assert axes.get_ylabel() or axes.get_yticklabels()[0].get_text() in results
