"""What a graded notebook does in a browser: our feedback page and nbgrader's own, in Chromium, watched."""

from __future__ import annotations

import contextlib
import copy
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbgrader
from nbconvert.exporters import HTMLExporter
from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from playwright.sync_api import Browser, Error, Route, sync_playwright
from traitlets.config import Config

from rlinfra_autograder.feedback import SUMMARY_ID
from rlinfra_autograder.pages.exporter import FeedbackExporter
from rlinfra_autograder.pages.grades import Top
from tests.e2e.browser import FLAGS
from tests.preflight import chromium

ADDRESS = "http://feedback.invalid/"
# counts by name; what is there once more than in the page of a harmless notebook is the attack's
WATCH = """() => {
    const all = [...document.querySelectorAll("*")];
    const count = (selector) => document.querySelectorAll(selector).length;
    const links = all.filter((one) => ["href", "src", "action", "formaction", "xlink:href", "data"].some(
        (name) => /^(java|vb)script:|^data:text/i.test((one.getAttribute(name) || "").replace(/[\\x00-\\x20]/g, ""))));
    const formulas = document.body.cloneNode(true);  // MathJax looks for them everywhere but here:
    formulas.querySelectorAll("pre, code, script, style, textarea").forEach((one) => one.remove());
    const result = [...document.querySelectorAll("h2, h4")].find((one) => /^Result: 0 of/.test(one.textContent));
    const hidden = !result || result.getClientRects().length === 0;
    if (result) result.scrollIntoView();
    const box = result ? result.getBoundingClientRect() : {left: 0, top: 0, height: 0};
    const top = document.elementFromPoint(box.left + 5, box.top + box.height / 2);
    return {
        "ran a script": window.attacked ? 1 : 0,
        "holds a script": count("script"),
        "links to a script": links.length,
        "has handlers": all.filter((one) => [...one.attributes].some((a) => a.name.startsWith("on"))).length,
        "holds a frame": count("iframe, object, embed, frame"),
        "asks for input": count("form, input[type=password]"),
        "leads elsewhere": count("meta[http-equiv], base"),
        "has a script in a formula": (formulas.textContent.match(/\\\\href\\{javascript:/g) || []).length,
        "hides the result": hidden ? 1 : 0,
        "covers the result": result && !hidden && top !== result && !result.contains(top) ? 1 : 0,
    };
}"""


def _nbgraders_page() -> HTMLExporter:
    """Return an exporter to nbgrader's own page, which is as the formgrader's is: with scripts."""
    formgrader = Path(nbgrader.__file__).parent / "server_extensions" / "formgrader"
    config = Config()
    config.HTMLExporter.template_name = "feedback"
    config.HTMLExporter.extra_template_basedirs = [str(formgrader / "templates")]
    styles = formgrader / "static" / "node_modules" / "bootstrap" / "dist" / "css"
    config.HTMLExporter.extra_template_paths = [str(styles)]
    return HTMLExporter(config=config)


def _render(exporter: HTMLExporter, notebook: Any) -> str:
    """Return the page of a notebook in which nothing is marked by hand."""
    page = copy.deepcopy(notebook)
    for cell in page.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.update(score=0, points=cell.metadata.nbgrader.get("points", 0), comment=None)
    if isinstance(exporter, FeedbackExporter):  # which tells the points by a table of its own
        page.cells = [cell for cell in page.cells if not cell.id.startswith(SUMMARY_ID)]
    ours = {"notebook": "memory", "score": 0, "max_score": 20, "late_penalty": 0, "comments": {}}
    resources = {"nbgrader": ours, "rlinfra": Top("Memory", "0 of 20 points")}
    return exporter.from_notebook_node(page, resources=resources)[0]


class FeedbackReader:
    """A browser in which pages are opened; `harmless` is the notebook that others are compared with."""

    def __init__(self, browser: Browser, harmless: Any) -> None:
        self._browser = browser
        self._requests: set[str] = set()
        self._html = ""
        self._exporters = (FeedbackExporter(), _nbgraders_page())
        for exporter in self._exporters:
            exporter.register_preprocessor(CSSHTMLHeaderPreprocessor(), enabled=True)
        self._usual = [self._open(exporter, harmless) for exporter in self._exporters]

    def _answer(self, route: Route) -> None:
        if route.request.url == ADDRESS:
            route.fulfill(body=self._html, content_type="text/html; charset=utf-8")
            return
        if not re.match(r"data:|blob:", route.request.url):
            self._requests.add(route.request.url)
        route.abort()

    def _open(self, exporter: HTMLExporter, notebook: Any) -> tuple[dict[str, int], set[str]]:
        self._html = _render(exporter, notebook)
        self._requests.clear()
        page = self._browser.new_page()
        page.route("**/*", self._answer)
        page.on("dialog", lambda dialog: (self._requests.add("a dialog"), dialog.dismiss()))
        page.on("popup", lambda popup: self._requests.add("another window"))
        try:
            page.goto(ADDRESS, wait_until="load")
            return page.evaluate(WATCH), set(self._requests)
        except Error:  # the page is gone: it went elsewhere
            return {"leads elsewhere": 1}, set(self._requests)
        finally:
            page.close()

    def touched(self, notebook: Any) -> list[str]:
        """Return what a notebook's pages did or hold that a harmless one's do not."""
        found: set[str] = set()
        for exporter, (usual_counts, usual_requests) in zip(self._exporters, self._usual, strict=True):
            counts, requests = self._open(exporter, notebook)
            found |= {what for what, count in counts.items() if count > usual_counts.get(what, 0)}
            found |= {f"asked for {url}" for url in requests - usual_requests}
        return sorted(found)


@contextlib.contextmanager
def feedback_reader(harmless: Any) -> Iterator[FeedbackReader | None]:
    """Open a browser for feedback pages; None where there is no Chromium."""
    if chromium() is None:
        yield None
        return
    with sync_playwright() as playwright:
        elsewhere = {**os.environ, "TMPDIR": "/tmp"}  # its temporary folders are no leftovers of an attack's
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS, env=elsewhere)
        try:
            yield FeedbackReader(browser, harmless)
        finally:
            browser.close()
