"""The memory explorer in a real JupyterLab, from a wheel that was built without Node. Screenshots: build/screenshots.

Each number is worked out by hand where it is asserted. What it computes at other settings, tests/course knows.
"""

from __future__ import annotations

import re
from types import SimpleNamespace

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from rlinfra.chart import bundle
from tests.conftest import ROOT
from tests.e2e.browser import SCREENSHOTS, TOKEN, chromium_page, jupyter_lab, run_all_cells
from tests.e2e.isolated import build_isolated
from tests.preflight import chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="Chromium is missing: README, “Tests” (CI fails in preflight)"),
]
SETUP = "from rlinfra.explorers import explore\nfrom rlinfra.given import require_count, require_nonnegative\n"
BLANK = "def logits_bytes(batch, tokens, vocabulary, *, element_bytes, copies):\n    pass  # YOUR CODE HERE\n"
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
OUTPUT = ".jp-OutputArea-output:has(.rlinfra-explorer)"
WHY, STAGES, LORA = (
    "Why does a 0.6B model run out of memory?",
    "What does each ZeRO stage take off a rank?",
    "What does LoRA save, and what stays?",
)


def notebook():
    """Return a notebook with three explorers: of the solution, of nothing, and of functions that fail."""
    source = nbformat.read(ROOT / "source" / "memory" / "memory.ipynb", as_version=4)
    solution = [cell.source for cell in source.cells if cell.id.endswith("-code") and "\ndef " in f"\n{cell.source}"]
    cells = (
        SETUP + "\n".join(solution),
        'explore("memory", globals())',
        f'blank = {{}}\nexec({BLANK!r}, blank)\nexplore("memory", blank)',
        WRONG,
    )
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    made.cells[0].metadata["jupyter"] = {"source_hidden": True}
    return made


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab of the student's environment, whose kernels and pages take the wheel that was built in isolation."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    folder = tmp_path_factory.mktemp("explorers")
    unpacked = build_isolated(tmp_path_factory.mktemp("wheel"))
    nbformat.write(notebook(), folder / "mine.ipynb")
    data = unpacked / "rlinfra-0.1.0.data" / "data" / "share" / "jupyter"
    found = {"PYTHONPATH": str(unpacked), "JUPYTER_PATH": str(data)}
    outside, errors, bundles = [], [], []
    jupyter = ROOT / ".venv-student" / "bin" / "jupyter"
    with jupyter_lab(jupyter, folder, **found) as address, chromium_page(outside) as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("response", lambda answer: bundles.append(answer.url) if bundle().name in answer.url else None)
        page.goto(f"{address}/lab/tree/mine.ipynb?token={TOKEN}")
        run_all_cells(page)
        expect(page.locator("figure.rlinfra-chart svg")).to_have_count(3, timeout=60_000)
        page.evaluate('jupyterapp.commands.execute("application:toggle-left-area")')
        yield SimpleNamespace(
            page=page, address=address, unpacked=unpacked, outside=outside, errors=errors, bundles=bundles
        )


class Shown:
    """One explorer on the page."""

    def __init__(self, page, place):
        self.page = page
        self.all = page.locator(OUTPUT).nth(place)
        self.picture = self.all.get_by_role("img")

    def ask(self, question):
        self.all.get_by_role("button", name=question).click()

    def slider(self, label):
        return self.all.get_by_role("slider", name=label, exact=True)

    def press(self, label, *keys):
        """Move a slider by keys, as slowly as a person does: ipywidgets sends one move at a time."""
        slider = self.slider(label)
        slider.scroll_into_view_if_needed()
        slider.focus()
        for key in keys:
            slider.press(key)
            self.page.wait_for_timeout(330)

    def says(self, text):
        """Wait until the text alternative holds a text."""
        expect(self.picture).to_have_attribute("aria-label", re.compile(re.escape(text)), timeout=10_000)


@pytest.fixture
def shown(lab):
    """The explorer of the solution, with its first question asked and all controls unfolded."""
    found = Shown(lab.page, 0)
    more = found.all.get_by_role("button", name="More: 11 controls")
    if not found.slider("card").is_visible():
        more.click()
    found.ask(WHY)
    found.says("Scoring needs most, 19.7 GiB")
    return found


def test_the_wheel_was_built_without_node_and_the_page_loads_its_bundle_once(lab):
    assert (lab.unpacked / "rlinfra" / "chart" / "static" / bundle().name).read_bytes() == bundle().read_bytes()
    assert len(lab.bundles) == 1
    assert lab.bundles[0].startswith(f"{lab.address}/lab/extensions/rlinfra/")


def test_the_first_question_is_answered_when_the_cell_is_run(lab):
    """8 sequences × 2,048 tokens × 151,936 entries × 4 bytes × 2 copies are 19.91 GB, 18.55 GiB; weights 1.11 GiB."""
    shown = Shown(lab.page, 0)
    shown.says("Scoring needs most, 19.7 GiB: 3.7 GiB too much for this card of 16 GiB")
    shown.says("Scoring: weights 1.11 GiB, logits 18.55 GiB")
    expect(shown.all.locator("figcaption")).to_have_text(re.compile("^Scoring needs most"))
    expect(shown.all).to_contain_text("logits_bytes 18.55 GiB of logits")
    shown.all.scroll_into_view_if_needed()
    lab.page.screenshot(path=SCREENSHOTS / "explorer-memory.png")


def test_the_second_question_has_the_numbers_of_the_zero_paper(shown):
    """Figure 1 there: 120, 31.4, 16.6 and 1.9 GB; 16.6 GB are 15.5 GiB, and weights of 15 GB are 13.97 GiB."""
    shown.ask(STAGES)
    shown.says("At stage 2 each of 64 ranks holds 15.5 GiB: 2.2 bytes a parameter")
    shown.says("Stage 2: weights 13.97 GiB, gradients 0.22 GiB, optimizer, master 1.31 GiB")
    expect(shown.all.locator("svg")).to_contain_text("grey line: divided evenly")


def test_the_third_question_tells_what_lora_saves(shown):
    """7.021B weights of 2 bytes are 13.08 GiB; 21M adapter parameters take 12 bytes, 0.23 GiB, beside gradients."""
    shown.ask(LORA)
    shown.says("Training needs most, 17.4 GiB: it fits on this card of 24 GiB, with 6.6 GiB to spare")
    shown.says("Training: weights 13.08 GiB, gradients 0.04 GiB, optimizer, master 0.23 GiB, activations 4.00 GiB")


def test_a_click_moves_a_control_the_picture_and_its_text(shown):
    """At the left end of its track: 1 sequence, an eighth of 18.55 GiB. Training is then what needs most."""
    before = shown.picture.inner_html()
    named = shown.page.get_by_role("slider", name="scored", exact=True)
    track = shown.all.locator(".widget-hslider", has=named).locator(".noUi-target")
    track.scroll_into_view_if_needed()
    box = track.bounding_box()
    shown.page.mouse.click(box["x"] + 1, box["y"] + box["height"] / 2)
    shown.says("Training needs most, 12.9 GiB: it fits on this card of 16 GiB, with 3.1 GiB to spare")
    shown.says("logits 2.32 GiB")
    assert shown.picture.inner_html() != before
    expect(shown.all).to_contain_text("scored: 8 sequences → 1 sequence; before: Scoring needs most")


FEATURES = {
    "parameters: 671 B of 2 bytes": ("parameters", ["End"], "Rollout: weights 1,249.83 GiB"),
    "weights of half a byte": ("a weight", ["Home"], "Training: weights 0.28 GiB"),
    "gradients of 4 bytes": ("a gradient", ["End"], "gradients 2.22 GiB"),
    "8-bit Adam: 2 + 4 bytes": ("optimizer", ["Home", "ArrowRight"], "optimizer, master 3.33 GiB"),
    "no master copy: 8 bytes": ("master copy", ["Home"], "optimizer, master 4.44 GiB"),
    "the card": ("card", ["End"], "it fits on this card of 192 GiB, with 172.3 GiB to spare"),
    "logits of 2 bytes": ("a logit", ["Home"], "logits 9.27 GiB"),
    "one copy of the logits": ("copies", ["Home"], "logits 9.27 GiB"),
    "twice the tokens": ("tokens", ["ArrowRight"], "logits 37.09 GiB"),
    "twice the sequences": ("scored", ["ArrowRight"], "Scoring needs most, 38.2 GiB: 22.2 GiB too much"),
    "the KV cache makes another peak": ("KV cache", ["End"], "Rollout needs most, 129.1 GiB"),
}


@pytest.mark.parametrize("feature", FEATURES)
def test_each_control_moves_by_key_and_its_number_is_told(shown, feature):
    """Of 596,049,920 parameters, a byte each is 0.555 GiB."""
    label, keys, told = FEATURES[feature]
    shown.press(label, *keys)
    shown.says(told)


def test_ranks_and_stage_divide_together(shown):
    """Stage 1 on 2 ranks halves the 12 bytes of optimizer states: 6.66 → 3.33 GiB; stage 2 the gradients: 0.56."""
    shown.press("ranks", "ArrowRight")
    shown.says("gradients 1.11 GiB, optimizer, master 6.66 GiB")
    shown.press("ZeRO stage", "ArrowRight")
    shown.says("gradients 1.11 GiB, optimizer, master 3.33 GiB")
    shown.press("ZeRO stage", "ArrowRight")
    shown.says("gradients 0.56 GiB, optimizer, master 3.33 GiB")


def test_a_larger_share_is_trained(shown):
    """1 % of 7B: 70M adapter parameters of 12 bytes are 0.78 GiB."""
    shown.ask(LORA)
    shown.press("trained", "ArrowRight")
    shown.says("optimizer, master 0.78 GiB")


def test_nothing_written_is_a_page_that_says_what_to_do(lab):
    blank = Shown(lab.page, 1)
    blank.says("Nothing is written yet: the bars grow with each function that you write")
    expect(blank.all).to_contain_text("logits_bytes is not written yet")
    expect(blank.all).to_contain_text("peak_memory is not there yet: run its cell")
    expect(blank.all).to_contain_text("card: 16 GiB")
    blank.all.scroll_into_view_if_needed()
    lab.page.screenshot(path=SCREENSHOTS / "explorer-memory-blank.png")


def test_what_fails_is_named_and_the_rest_goes_on(lab):
    """The state of 0.6B parameters is drawn. The peak raises, the price is no number, and from 9 on logits hang."""
    wrong = Shown(lab.page, 2)
    wrong.says("optimizer, master 6.66 GiB")
    wrong.says("logits 1.00 GiB")
    expect(wrong.all).to_contain_text("peak_memory raises ZeroDivisionError: division by zero in line 6: return 1 / 0")
    expect(wrong.all).to_contain_text("bytes_per_parameter returns '<b>16 GB</b>'; expected is a number of bytes")
    wrong.press("scored", "ArrowRight")
    expect(wrong.all).to_contain_text("logits_bytes is still running after 1 s: stopped")
    wrong.press("ranks", "ArrowRight")
    expect(wrong.all).to_contain_text("logits_bytes ran too long, and is not called again until its cell is run anew")
    wrong.says("Scoring: weights 1.11 GiB, logits unknown")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_axe_finds_no_serious_fault(lab, place):
    lab.page.locator(OUTPUT).nth(place).evaluate("(element, place) => element.id = `explorer-${place}`", place)
    found = Axe().run(lab.page, context=f"#explorer-{place}").response["violations"]
    assert [fault["id"] for fault in found if fault["impact"] in ("serious", "critical")] == []


def test_axe_finds_the_fault_of_a_slider_without_a_name(shown):
    """So that the test above can fail."""
    shown.slider("ranks").evaluate("slider => slider.removeAttribute('aria-labelledby')")
    shown.all.evaluate("element => element.id = 'explorer-0'")
    found = Axe().run(shown.page, context="#explorer-0").response["violations"]
    shown.all.locator(".widget-hslider").first.evaluate("one => one.append(document.createElement('i'))")  # names anew
    assert "aria-input-field-name" in [fault["id"] for fault in found]
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


def test_the_picture_takes_the_theme_of_the_page_and_keeps_its_data(shown):
    themes = {}
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        shown.page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
        light = str(theme.endswith("Light")).lower()
        shown.page.wait_for_function("light => document.body.dataset.jpThemeLight === light", arg=light)
        ink = shown.page.evaluate("getComputedStyle(document.body).getPropertyValue('--jp-ui-font-color1').trim()")
        expect(shown.picture.locator(".role-axis-label text").first).to_have_attribute("fill", ink)
        shown.says("Scoring needs most, 19.7 GiB")
        themes[theme] = ink
        shown.all.scroll_into_view_if_needed()
        shown.page.screenshot(path=SCREENSHOTS / f"explorer-memory-{theme.split()[-1].lower()}.png")
    assert len(set(themes.values())) == 2


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
    """The last of the tests on this page."""
    assert lab.outside == []
    assert lab.errors == []


def test_where_the_server_lacks_the_bundle_the_kernel_sends_it(lab):
    """As in another front end, or where kernel and server have different versions."""
    lab.page.route(f"**/{bundle().name}", lambda route: route.fulfill(status=404))
    lab.page.reload()
    run_all_cells(lab.page)
    expect(lab.page.locator("figure.rlinfra-chart svg")).to_have_count(3, timeout=60_000)
    Shown(lab.page, 0).says("Scoring needs most, 19.7 GiB")
