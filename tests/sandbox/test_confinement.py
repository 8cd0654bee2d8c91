"""What student code can reach: its own environment and its own empty folder, and nothing of the course's."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import rlinfra_autograder
import rlinfra_reference
from rlinfra_autograder.sandbox.runner import ZygoteRunner
from rlinfra_autograder.sandbox.zygote import CHILD, ChildSettings, RunnerError
from tests.conftest import ROOT


def said(runner: ZygoteRunner, source: str) -> str:
    cell = runner.run([(0, source)], None).cells[0]
    return "".join(output.get("text", "") or output.get("ename", "") for output in cell.outputs)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        str(ROOT / "source" / "memory" / "memory.ipynb"),
        str(ROOT / "pyproject.toml"),
        str(Path(rlinfra_reference.__file__).parent / "memory.py"),
        str(Path(rlinfra_autograder.__file__).parent / "judge.py"),
    ],
)
def test_a_file_outside_cannot_be_read(runner, path):
    assert Path(path).is_file()
    assert said(runner, f"open({path!r}).read()") == "PermissionError"


def test_a_folder_outside_can_neither_be_listed_nor_written(runner, tmp_path):
    assert said(runner, f"import os; os.listdir({str(ROOT)!r})") == "PermissionError"
    assert said(runner, f"open({str(tmp_path / 'mine')!r}, 'w')") == "PermissionError"
    assert not list(tmp_path.iterdir())


def test_the_staff_packages_cannot_be_imported(runner):
    assert said(runner, "import rlinfra_reference") == "ModuleNotFoundError"
    assert said(runner, "import rlinfra_autograder") == "ModuleNotFoundError"


def test_the_working_directory_is_empty_writable_and_gone_afterwards(runner):
    source = "import os\nprint(os.listdir())\nopen('note', 'w').write('x')\nos.chmod('.', 0)\nprint(os.getcwd())"
    listing, folder = said(runner, source).splitlines()
    assert listing == "[]"
    assert not Path(folder).exists()


def test_the_environment_holds_nothing_of_the_graders(runner, monkeypatch):
    monkeypatch.setenv("A_SECRET_OF_THE_GRADER", "token")
    assert "A_SECRET" not in said(runner, "import os\nprint(dict(os.environ))")


def test_no_process_outlives_its_run(runner):
    pid = int(said(runner, "import os\nprint(os.getpid())"))
    assert not psutil.pid_exists(pid)


def test_the_canary_passes_the_students_environment_and_says_its_versions(settings):
    packages = tuple(Path(module.__file__).parent for module in (rlinfra_reference, rlinfra_autograder))
    with ZygoteRunner(settings, forbidden=(*packages, ROOT / "source")) as runner:
        assert {"python", "rlinfra", "ipython", "numpy"} <= set(runner.verify())


def test_the_grader_refuses_an_environment_that_holds_the_answers():
    with (
        ZygoteRunner(ChildSettings(Path(sys.executable), confined=False)) as staff,
        pytest.raises(RunnerError, match="import rlinfra_reference, import rlinfra_autograder"),
    ):
        staff.verify()


def test_the_grader_refuses_when_a_forbidden_path_can_be_read(settings, tmp_path):
    (tmp_path / "answers.txt").write_text("42")
    careless = replace(settings, writable=(*settings.writable, tmp_path))
    with (
        ZygoteRunner(careless, (tmp_path / "answers.txt",)) as runner,
        pytest.raises(RunnerError, match=r"read .*answers\.txt"),
    ):
        runner.verify()


def test_an_environment_that_is_not_there_is_named():
    with pytest.raises(RunnerError, match=r"/nowhere/python.*make install"):
        ZygoteRunner(ChildSettings(Path("/nowhere/python"))).verify()


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        ("_LIBC = type('Libc', (), {'syscall': staticmethod(lambda *a: -1)})", "no Landlock"),
        ("sys.platform = 'darwin'", "confinement needs Linux, this is darwin"),
        ("seccomp.platform.machine = lambda: 'riscv64'", "no seccomp filter for the architecture riscv64"),
    ],
    ids=["Landlock", "Linux", "a known architecture"],
)
def test_what_confinement_lacks_is_named_and_nothing_runs(settings, tmp_path, missing, named):
    program = shutil.copytree(CHILD, tmp_path / "child")
    with (program / "confinement.py").open("a") as source:
        source.write(f"\n{missing}\n")
    with (
        ZygoteRunner(replace(settings, program=program)) as runner,
        pytest.raises(RunnerError, match=f"cannot be confined here: .*{named}.*RLINFRA_UNSAFE_NO_SANDBOX"),
    ):
        runner.run([(0, "1 + 1")], None)


def test_without_confinement_a_notebook_still_runs_in_its_own_environment(settings):
    with ZygoteRunner(replace(settings, confined=False)) as runner:
        assert said(runner, "print(open('/etc/hostname').read() != '')") == "True\n"
        assert said(runner, "import rlinfra_reference") == "ModuleNotFoundError"
