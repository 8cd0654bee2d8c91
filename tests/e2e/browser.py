"""A real Jupyter server and a real Chromium for the browser tests; every foreign host is blocked."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import time
import urllib.request
from typing import TYPE_CHECKING

from playwright.sync_api import Page, Route, sync_playwright

from tests.conftest import ROOT
from tests.preflight import chromium

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCREENSHOTS = ROOT / "build" / "screenshots"
SETTINGS = {
    "apputils-extension/notification": '{"fetchNews": "false"}',
    "notebook-extension/tracker": '{"windowingMode": "none"}',  # a cell off the screen stays on the page
}
TOKEN = "a-token-for-the-tests"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def jupyter_lab(jupyter: Path, folder: Path, **environment: str) -> Iterator[str]:
    """Run JupyterLab on a folder, with more variables of its environment, and yield its address."""
    port = _free_port()
    address = f"http://127.0.0.1:{port}"
    path = f"{jupyter.parent}{os.pathsep}{os.environ['PATH']}"
    home = {"HOME": str(folder), "JUPYTER_CONFIG_DIR": str(folder / ".jupyter"), "PATH": path}
    for name, text in SETTINGS.items():
        file = folder / ".jupyter" / "lab" / "user-settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    log = (folder / "jupyter.log").open("w")
    server = subprocess.Popen(
        [
            jupyter,
            "lab",
            "--no-browser",
            "--allow-root",
            "--expose-app-in-browser",
            f"--port={port}",
            f"--IdentityProvider.token={TOKEN}",
        ],
        cwd=folder,
        env={**os.environ, **home, **environment},
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        for _ in range(240):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/api?token={TOKEN}", timeout=2):
                break
            time.sleep(0.25)
        else:
            raise AssertionError((folder / "jupyter.log").read_text())
        yield address
    finally:
        server.terminate()
        server.wait(timeout=20)
        log.close()


def run_all_cells(page: Page) -> None:
    """Run the open notebook once its kernel is there, by JupyterLab's own command."""
    page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=60_000)
    page.evaluate(
        """async () => {
            const panel = jupyterapp.shell.currentWidget;
            await panel.context.ready;
            await panel.sessionContext.ready;
            await jupyterapp.commands.execute("notebook:run-all-cells");
        }"""
    )


@contextlib.contextmanager
def chromium_page(outside: list[str]) -> Iterator[Page]:
    """Yield a page of a fresh Chromium; requests to foreign hosts are refused and noted in `outside`."""

    def guard(route: Route) -> None:
        if re.match(r"(https?|wss?)://(127\.0\.0\.1|localhost)[:/]|data:|blob:", route.request.url):
            route.continue_()
        else:
            outside.append(route.request.url)
            route.abort()

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.route("**/*", guard)
        try:
            yield page
        except Exception:
            page.screenshot(path=SCREENSHOTS / "failure.png")
            raise
        finally:
            browser.close()
