"""With the reference installed, as staff have it: beside what the notebook says, and in place of what it lacks."""

import pytest
from playwright.sync_api import expect

from tests.conftest import ROOT

from .every import Shown, solution

WITH_REFERENCE = f"import sys\nsys.path.append({str(ROOT / 'autograder' / 'reference')!r})\n"
HALF = """def half(batch, *args, **kwargs):
    return logits_bytes(batch, *args, **kwargs) / 2
explore("memory", globals(), logits_bytes=half)
"""


@pytest.fixture(scope="module")
def lab(shared_lab):
    """A page with an explorer of which one function says half of what it should, and with one of nothing."""
    return shared_lab.open("overlay", [WITH_REFERENCE + solution("memory"), HALF, 'explore("memory", {})'], 2)


def test_compared_with_the_reference_a_wrong_function_stands_out_and_a_right_one_agrees(lab):
    """Half of the logits' 18.55 GiB is 9.27 GiB; the state is right."""
    shown = Shown(lab.page, 0)
    shown.says("Training needs most, 12.9 GiB")
    alone = shown.picture.locator("svg").inner_html()
    expect(shown.all).to_contain_text("✓ logits_bytes 9.27 GiB of logits")
    shown.all.get_by_label("compare with the reference").check()
    expect(shown.all).to_contain_text("≠ logits_bytes 9.27 GiB of logits; the reference: 18.55 GiB of logits")
    expect(shown.all).to_contain_text(
        "✓ model_state_bytes 8.88 GiB of state, before it is divided; the reference agrees"
    )
    expect(shown.all).to_contain_text("What the reference says is grey in the picture.")
    shown.screenshot("explorer-memory-overlay")
    assert shown.picture.locator("svg").inner_html() != alone
    assert shown.faults() == []


def test_the_reference_stands_in_for_what_is_not_there(lab):
    shown = Shown(lab.page, 1)
    shown.says("Scoring needs most, 19.7 GiB")
    expect(shown.all).to_contain_text(
        "○ logits_bytes is not there yet: run its cell. The reference stands in: 18.55 GiB of logits."
    )
    shown.screenshot("explorer-memory-stands-in")


def test_nothing_was_asked_of_another_host_and_the_console_has_no_error(lab):
    assert (lab.outside, lab.errors) == ([], [])
