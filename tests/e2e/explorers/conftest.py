"""One wheel for all workers of a test run, one JupyterLab for all tests of a worker, one page for those of a file."""

from __future__ import annotations

import fcntl
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
    from collections.abc import Callable, Iterator
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
def unpacked(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of the wheel's content; whoever of the workers is first builds it."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    with (shared / "wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = shared / "isolated-wheel"
        if not folder.exists():
            folder.mkdir()
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
    """An open notebook that was run, and what its page asked for and complained of since."""

    page: Page
    server: Server
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    bundles: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def open_lab(server: Server) -> Iterator[Callable[..., Lab]]:
    """Opens a notebook of cells, of which so many show a chart, and runs it; one a file."""
    outside: list[str] = []
    with chromium_page(outside) as page:

        def open_(name: str, cells: list[str], charts: int) -> Lab:
            lab = Lab(page, server, outside)
            page.on("pageerror", lambda error: lab.errors.append(str(error)))
            page.on("console", lambda message: lab.errors.append(message.text) if message.type == "error" else None)
            page.on("response", lambda got: lab.bundles.append(got.url) if bundle().name in got.url else None)
            _write(server.folder / f"{name}.ipynb", cells)
            # in a workspace of its own: the notebook of another file would be opened again, hidden
            page.goto(f"{server.address}/lab/workspaces/{name}/tree/{name}.ipynb?token={TOKEN}")
            run_all_cells(page)
            page.locator("figure.rlinfra-chart svg").nth(charts - 1).wait_for(timeout=60_000)
            page.evaluate('jupyterapp.commands.execute("application:toggle-left-area")')
            return lab

        yield open_


@pytest.fixture(scope="class")
def lab(request: pytest.FixtureRequest, open_lab: Callable[..., Lab]) -> Lab:
    """The notebook of a class's topic: the explorer of the solution, all controls unfolded, and one of nothing."""
    topic = request.cls.TOPIC
    lab = open_lab(topic, [solution(topic), f'explore("{topic}", globals())', f'explore("{topic}", {{}})'], 2)
    Shown(lab.page, 0).unfold()
    return lab


def _write(path: Path, cells: list[str]) -> None:
    made: Any = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    made.cells[0].metadata["jupyter"] = {"source_hidden": True}
    nbformat.write(made, path)
