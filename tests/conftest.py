"""What many tests share: the repository's root, the student's environment, and a runner with short limits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from rlinfra_autograder.sandbox.limits import Limits
from rlinfra_autograder.sandbox.runner import ZygoteRunner
from rlinfra_autograder.sandbox.zygote import CHILD, ChildSettings

ROOT = Path(__file__).parent.parent
STUDENT_PYTHON = ROOT / ".venv-student" / "bin" / "python"
THOROUGH = "RLINFRA_THOROUGH" in os.environ  # `make coverage`: also what takes long and seldom tells more
settings.register_profile("ours", deadline=None, max_examples=100 if THOROUGH else 25)  # a busy machine is no failure
settings.load_profile("ours")
# Short for what loops, patient with what waits: on a busy machine an import may take seconds.
QUICK = Limits(cell_cpu_seconds=1.0, call_cpu_seconds=0.5, grace_seconds=0.3, wall_factor=20.0)


class _Together(LoadFileScheduling):
    """Gives a worker a file at a time, and one worker all explorers in the browser, which share a page."""

    def _split_scope(self, nodeid: str) -> str:
        file = PurePosixPath(nodeid.partition("::")[0])
        return str(file.parent if file.parent.name == "explorers" and "e2e" in file.parts else file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Together | None:
    """Let workers take the tests as they belong together."""
    return _Together(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository, which is an nbgrader course root."""
    return ROOT


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> ChildSettings:
    """Children of the student's environment under short limits, measured where the tests themselves are."""
    if not STUDENT_PYTHON.exists():
        pytest.fail("the student's environment is missing: run the tests by `make test`")
    if "COVERAGE_PROCESS_CONFIG" not in os.environ:
        return ChildSettings(STUDENT_PYTHON, QUICK)
    data = ROOT / "build" / "coverage"
    rc_file = tmp_path_factory.mktemp("coverage") / "coveragerc"
    rc_file.write_text(
        f"[run]\nparallel = true\ndata_file = {data / 'data'}\nsource_pkgs = rlinfra\nsource = {CHILD}\npatch = _exit\n"
    )
    return ChildSettings(STUDENT_PYTHON, QUICK, environment={"COVERAGE_PROCESS_START": str(rc_file)}, writable=(data,))


@pytest.fixture(scope="session")
def runner(settings: ChildSettings) -> Iterator[ZygoteRunner]:
    """A runner of such children."""
    with ZygoteRunner(settings) as runner:
        yield runner
