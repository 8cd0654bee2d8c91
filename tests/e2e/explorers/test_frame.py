"""What all explorers have from their frame, on the page of the memory explorer: what fails, narrow pages, saving."""

import pytest
from playwright.sync_api import expect

from rlinfra.chart import bundle
from tests.e2e.browser import SCREENSHOTS, run_all_cells

from .every import Shown, solution

WRONG = """def hangs(batch, *args, **kwargs):
    while batch > 8:
        pass
    return batch * 2**27
def raises(*args, **kwargs):
    return 1 / 0
def odd(*args, **kwargs):
    return "<b>16 GB</b>"
explore("memory", globals(), logits_bytes=hangs, peak_memory=raises, bytes_per_parameter=odd)
"""
WHY = "Why does a 0.6B model run out of memory?"


@pytest.fixture(scope="module")
def lab(shared_lab):
    """A page with the explorer of the solution, and with one of functions that fail."""
    lab = shared_lab.open("frame", [solution("memory"), 'explore("memory", globals())', WRONG], 2)
    Shown(lab.page, 0).unfold()
    yield lab
    lab.page.unroute_all()


@pytest.fixture
def shown(lab):
    """The explorer of the solution, with its first question asked."""
    found = Shown(lab.page, 0)
    found.ask(WHY)
    found.says("Scoring needs most, 19.7 GiB")
    return found


def test_the_wheel_was_built_without_node_and_the_page_loads_its_bundle_once(lab):
    static = lab.server.unpacked / "rlinfra" / "chart" / "static"
    assert (static / bundle().name).read_bytes() == bundle().read_bytes()
    assert len(lab.bundles) == 1
    assert lab.bundles[0].startswith(f"{lab.server.address}/lab/extensions/rlinfra/")


def test_what_each_function_said_stands_under_the_picture_and_a_move_is_told(shown):
    expect(shown.all.locator("figcaption")).to_have_text(
        "Scoring needs most, 19.7 GiB: 3.7 GiB too much for this card of 16 GiB"
    )
    expect(shown.all).to_contain_text("logits_bytes 18.55 GiB of logits")
    shown.press("scored", "ArrowRight")
    expect(shown.all).to_contain_text("scored: 8 sequences → 16 sequences; before: Scoring needs most")


def test_what_fails_is_named_and_the_rest_goes_on(lab):
    """The state of 0.6B parameters is drawn. The peak raises, the price is no number, and from 9 on logits hang."""
    wrong = Shown(lab.page, 1)
    wrong.says("optimizer, master 6.66 GiB")
    wrong.says("logits 1.00 GiB")
    expect(wrong.all).to_contain_text("peak_memory raises ZeroDivisionError: division by zero in line 6: return 1 / 0")
    expect(wrong.all).to_contain_text("bytes_per_parameter returns '<b>16 GB</b>'; expected is a number of bytes")
    wrong.press("scored", "ArrowRight")
    expect(wrong.all).to_contain_text("logits_bytes is still running after 1 s: stopped")
    wrong.press("ranks", "ArrowRight")
    expect(wrong.all).to_contain_text("logits_bytes ran too long, and is not called again until its cell is run anew")
    wrong.says("Scoring: weights 1.11 GiB, logits unknown")


def test_axe_finds_no_serious_fault_where_functions_fail(lab):
    assert Shown(lab.page, 1).faults() == []


def test_axe_finds_the_fault_of_a_slider_without_a_name(shown):
    """So that the tests with axe can fail."""
    labelled = shown.slider("ranks").get_attribute("aria-labelledby")
    handle = shown.slider("ranks").element_handle()
    handle.evaluate("slider => slider.removeAttribute('aria-labelledby')")
    assert "aria-input-field-name" in shown.faults()
    handle.evaluate("(slider, name) => slider.setAttribute('aria-labelledby', name)", labelled)
    expect(shown.slider("ranks")).to_have_count(1)


@pytest.mark.parametrize(("kind", "begin"), [("PNG", b"\x89PNG"), ("SVG", b"<svg")])
def test_the_chart_is_saved_with_its_title(shown, tmp_path, kind, begin):
    with shown.page.expect_download() as download:
        shown.all.get_by_role("button", name=f"Save {kind}").click()
    download.value.save_as(tmp_path / "chart")
    content = (tmp_path / "chart").read_bytes()
    assert download.value.suggested_filename == f"chart.{kind.lower()}"
    assert content.startswith(begin)
    assert kind == "PNG" or "Scoring needs most, 19.7 GiB" in content.decode()


def test_on_a_narrow_page_the_controls_stand_above_and_nothing_overflows(shown):
    size = shown.page.viewport_size
    shown.page.set_viewport_size({"width": 560, "height": 1400})
    try:
        inside = (
            "svg => svg.getBoundingClientRect().right <= svg.closest('.rlinfra-explorer').getBoundingClientRect().right"
        )
        drawing = shown.picture.locator("svg")
        shown.page.wait_for_function(inside, arg=drawing.element_handle())
        assert shown.slider("activations").bounding_box()["y"] < drawing.bounding_box()["y"]
        shown.all.scroll_into_view_if_needed()
        shown.page.screenshot(path=SCREENSHOTS / "explorer-memory-narrow.png")
    finally:
        shown.page.set_viewport_size(size)


def test_nothing_was_asked_of_another_host_and_the_console_has_no_error(lab):
    assert lab.outside == []
    assert lab.errors == []


def test_where_the_server_lacks_the_bundle_the_kernel_sends_it(lab):
    """As in another front end, or where kernel and server have different versions."""
    lab.page.route(f"**/{bundle().name}", lambda route: route.fulfill(status=404))
    lab.page.reload()
    run_all_cells(lab.page)
    expect(lab.page.locator("figure.rlinfra-chart svg")).to_have_count(2, timeout=60_000)
    Shown(lab.page, 0).says("Scoring needs most, 19.7 GiB")
