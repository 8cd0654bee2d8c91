"""One wheel, one JupyterLab and one page for all files: one worker of a test run gets them all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

from rlinfra.chart import bundle
from tests.conftest import ROOT
from tests.e2e.browser import SCREENSHOTS, TOKEN, chromium_page, jupyter_lab, run_all_cells
from tests.e2e.isolated import build_isolated
from tests.preflight import chromium

from .every import Shown, solution

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page

JUPYTER = ROOT / ".venv-student" / "bin" / "jupyter"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder: they need a browser, and take long."""
    here = [item for item in items if "e2e/explorers" in item.nodeid]
    for item in here:
        item.add_marker(pytest.mark.browser)
        item.add_marker(pytest.mark.slow)
        if chromium() is None:
            item.add_marker(pytest.mark.skip(reason="Chromium is missing: README, “Tests” (CI fails in preflight)"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let the tests of every explorer run on what its class lists: a question of PRESETS, a feature of FEATURES."""
    for name, table in (("question", "PRESETS"), ("feature", "FEATURES")):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, list(getattr(metafunc.cls, table)))


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the wheel's content."""
    folder = tmp_path_factory.mktemp("isolated-wheel")
    build_isolated(folder)
    return folder / "unpacked"


@dataclass
class Server:
    """A JupyterLab of the student's environment, whose kernels and pages take the wheel's content."""

    address: str
    folder: Path
    unpacked: Path


@pytest.fixture(scope="session")
def server(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The one that runs as long as the tests do."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    folder = tmp_path_factory.mktemp("explorers")
    data = unpacked / "rlinfra-0.1.0.data" / "data" / "share" / "jupyter"
    with jupyter_lab(JUPYTER, folder, PYTHONPATH=str(unpacked), JUPYTER_PATH=str(data)) as address:
        yield Server(address, folder, unpacked)


@dataclass
class Lab:
    """JupyterLab in a page, and what the page asked for and complained of since a notebook was opened."""

    page: Page
    server: Server
    outside: list[str]
    errors: list[str] = field(default_factory=list)
    bundles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        page = self.page
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("response", lambda got: self.bundles.append(got.url) if bundle().name in got.url else None)

    def open(self, name: str, cells: list[str], charts: int) -> Lab:
        """Open a notebook of cells, of which so many show a chart, in a workspace of its own, and run it."""
        for noted in (self.outside, self.errors, self.bundles):
            noted.clear()
        _write(self.server.folder / f"{name}.ipynb", cells)
        self.page.goto(f"{self.server.address}/lab/workspaces/{name}/tree/{name}.ipynb?token={TOKEN}")
        run_all_cells(self.page)
        self.page.locator("figure.rlinfra-chart svg").nth(charts - 1).wait_for(timeout=60_000)
        self.page.evaluate('jupyterapp.commands.execute("application:toggle-left-area")')
        return self


@pytest.fixture(scope="package")
def shared_lab(server: Server) -> Iterator[Lab]:
    """One page for all files: its browser keeps JupyterLab's scripts, which take longest to load."""
    outside: list[str] = []
    with chromium_page(outside) as page:
        yield Lab(page, server, outside)


@pytest.fixture(scope="class")
def lab(request: pytest.FixtureRequest, shared_lab: Lab) -> Lab:
    """The notebook of a class's topic: the explorer of the solution, all controls unfolded, and one of nothing."""
    topic = request.cls.TOPIC
    lab = shared_lab.open(topic, [solution(topic), f'explore("{topic}", globals())', f'explore("{topic}", {{}})'], 2)
    Shown(lab.page, 0).unfold()
    return lab


def _write(path: Path, cells: list[str]) -> None:
    made: Any = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    made.cells[0].metadata["jupyter"] = {"source_hidden": True}
    nbformat.write(made, path)
