"""What the browser tests of every explorer have in common; a topic's file adds its numbers.

Each number is worked out by hand where it is listed. What an explorer computes at other settings, tests/course knows.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, ClassVar

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.conftest import ROOT
from tests.e2e.browser import SCREENSHOTS

if TYPE_CHECKING:
    from .conftest import Lab

OUTPUT = ".jp-OutputArea-output:has(.rlinfra-explorer)"
AS_WIDE = "picture => picture.querySelector('svg').getBoundingClientRect().width > 0.9 * picture.clientWidth"
PAUSE_MS = 330  # as slowly as a person moves: ipywidgets sends one move at a time


def solution(topic: str) -> str:
    """Return the setup and the functions of a topic's solved notebook, as one cell."""
    cells = json.loads((ROOT / "source" / topic / f"{topic}.ipynb").read_text())["cells"]
    sources = {cell["id"]: "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"}
    functions = [source for name, source in sources.items() if name.endswith("-code") and "def " in source]
    return "\n".join(["from rlinfra.explorers import explore", sources["setup"], *functions])


class Shown:
    """One explorer on the page."""

    def __init__(self, page: Page, place: int) -> None:
        self.page = page
        self.all = page.locator(OUTPUT).nth(place)
        self.picture = self.all.get_by_role("img")

    def ask(self, question: str) -> None:
        """Press the button of a preset."""
        self.all.get_by_role("button", name=question, exact=True).click()

    def unfold(self) -> None:
        """Show all controls that the picture depends on."""
        more = self.all.get_by_role("button", name=re.compile(r"^More: \d+ controls?$"))
        if more.count() and "mod-active" not in (more.get_attribute("class") or ""):
            more.click()

    def slider(self, label: str) -> Locator:
        """Return the handle of a slider."""
        return self.all.get_by_role("slider", name=label, exact=True)

    def press(self, label: str, *keys: str) -> None:
        """Move a slider by keys."""
        self.unfold()
        slider = self.slider(label)
        slider.scroll_into_view_if_needed()
        slider.focus()
        for number, key in enumerate(keys):
            self.pause(number)
            slider.press(key)

    def pause(self, moves: int) -> None:
        """Wait, where there were moves before the next one."""
        if moves:
            self.page.wait_for_timeout(PAUSE_MS)

    def choose(self, label: str, choice: str) -> None:
        """Choose from a list."""
        self.unfold()
        self.all.get_by_label(label, exact=True).select_option(choice)

    def click_at_the_left_end(self, label: str) -> None:
        """Move a slider to its first choice, by the mouse."""
        self.unfold()
        named = self.page.get_by_role("slider", name=label, exact=True)
        track = self.all.locator(".widget-hslider", has=named).locator(".noUi-target")
        track.scroll_into_view_if_needed()
        box = track.bounding_box()
        assert box is not None
        self.page.mouse.click(box["x"] + 1, box["y"] + box["height"] / 2)

    def says(self, text: str) -> None:
        """Wait until the text alternative holds a text."""
        expect(self.picture).to_have_attribute("aria-label", re.compile(re.escape(text)), timeout=10_000)

    def screenshot(self, name: str) -> None:
        """Keep the explorer as a picture."""
        self.all.scroll_into_view_if_needed()
        self.all.screenshot(path=SCREENSHOTS / f"{name}.png")

    def faults(self) -> list[str]:
        """Return the serious faults that axe finds in it."""
        self.all.evaluate("element => element.id = 'looked-at'")
        found = Axe().run(self.page, context="#looked-at").response["violations"]
        self.all.evaluate("element => element.removeAttribute('id')")
        return [fault["id"] for fault in found if fault["impact"] in ("serious", "critical")]


class Explorer:
    """The tests of one explorer: of the solved notebook, and below it of one in which nothing is written.

    PRESETS hold, by its question, what the text alternative then says. FEATURES hold, by a name, the question that is
    asked first, moves, and what is then said; a move is a slider's label and keys, or a list's label and a choice.
    BY_MOUSE is a question, a slider that is clicked at its left end, and what is then said.
    """

    TOPIC: ClassVar[str]
    PRESETS: ClassVar[dict[str, tuple[str, ...]]]
    FEATURES: ClassVar[dict[str, tuple[str, tuple[tuple[str, str | list[str]], ...], str]]]
    BY_MOUSE: ClassVar[tuple[str, str, str]]

    @pytest.fixture
    def shown(self, lab: Lab) -> Shown:
        return Shown(lab.page, 0)

    def test_the_first_question_is_answered_when_the_cell_is_run(self, shown: Shown) -> None:
        for told in next(iter(self.PRESETS.values())):
            shown.says(told)
        expect(shown.all.locator("figcaption")).not_to_be_empty()

    def test_a_preset_tells_its_numbers(self, shown: Shown, question: str) -> None:
        shown.ask(question)
        for told in self.PRESETS[question]:
            shown.says(told)
        place = list(self.PRESETS).index(question) + 1
        shown.screenshot(f"explorer-{self.TOPIC}-{place}")

    def test_a_feature_is_moved_by_key_and_its_number_is_told(self, shown: Shown, feature: str) -> None:
        question, moves, told = self.FEATURES[feature]
        shown.ask(question)
        shown.says(self.PRESETS[question][0])
        for number, (label, move) in enumerate(moves):
            shown.pause(number)
            if isinstance(move, str):
                shown.choose(label, move)
            else:
                shown.press(label, *move)
        shown.says(told)

    def test_a_click_moves_a_control_the_picture_and_its_text(self, shown: Shown) -> None:
        question, label, told = self.BY_MOUSE
        shown.ask(question)
        shown.says(self.PRESETS[question][0])
        before = shown.picture.inner_html()
        shown.click_at_the_left_end(label)
        shown.says(told)
        assert shown.picture.inner_html() != before
        expect(shown.all).to_contain_text(f"{label}: ")

    def test_nothing_written_is_a_page_that_says_what_to_do(self, lab: Lab) -> None:
        blank = Shown(lab.page, 1)
        blank.says("Nothing is written yet")
        expect(blank.all).to_contain_text("is not there yet: run its cell")
        blank.screenshot(f"explorer-{self.TOPIC}-blank")

    def test_it_takes_the_theme_of_the_page(self, shown: Shown) -> None:
        shown.ask(next(iter(self.PRESETS)))
        inks = set()
        for theme in ("JupyterLab Dark", "JupyterLab Light"):
            shown.page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
            light = str(theme.endswith("Light")).lower()
            shown.page.wait_for_function("light => document.body.dataset.jpThemeLight === light", arg=light)
            ink = shown.page.evaluate("getComputedStyle(document.body).getPropertyValue('--jp-ui-font-color1').trim()")
            expect(shown.picture.locator(".role-axis-label text").first).to_have_attribute("fill", ink)
            shown.page.wait_for_function(AS_WIDE, arg=shown.picture.element_handle(), timeout=10_000)
            shown.screenshot(f"explorer-{self.TOPIC}-{theme.split()[-1].lower()}")
            inks.add(ink)
        assert len(inks) == 2

    @pytest.mark.parametrize("place", [0, 1])
    def test_axe_finds_no_serious_fault(self, lab: Lab, place: int) -> None:
        assert Shown(lab.page, place).faults() == []

    def test_nothing_was_asked_of_another_host_and_the_console_has_no_error(self, lab: Lab) -> None:
        """The last of the tests on this page."""
        assert lab.outside == []
        assert lab.errors == []
