"""What student code can reach: its own environment and its own empty folder, and nothing of the course's."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import rlinfra_autograder
import rlinfra_reference
from rlinfra_autograder.sandbox.process import CHILD, ChildSettings, RunnerError
from rlinfra_autograder.sandbox.runner import SubprocessRunner
from tests.conftest import ROOT


def said(runner: SubprocessRunner, source: str) -> str:
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
    assert listing == "['.ipython']"
    assert not Path(folder).exists()


def test_the_environment_holds_nothing_of_the_graders(runner, monkeypatch):
    monkeypatch.setenv("A_SECRET_OF_THE_GRADER", "token")
    assert "A_SECRET" not in said(runner, "import os\nprint(dict(os.environ))")


def test_no_process_outlives_its_run(runner):
    pid = int(said(runner, "import os\nprint(os.getpid())"))
    assert not psutil.pid_exists(pid)


def test_the_canary_passes_the_students_environment_and_says_its_versions(settings):
    packages = tuple(Path(module.__file__).parent for module in (rlinfra_reference, rlinfra_autograder))
    versions = SubprocessRunner(settings, forbidden=(*packages, ROOT / "source")).verify()
    assert {"python", "rlinfra", "ipython", "numpy"} <= set(versions)


def test_the_grader_refuses_an_environment_that_holds_the_answers():
    staff = SubprocessRunner(ChildSettings(Path(sys.executable), confined=False))
    with pytest.raises(RunnerError, match="import rlinfra_reference, import rlinfra_autograder"):
        staff.verify()


def test_the_grader_refuses_when_a_forbidden_path_can_be_read(settings, tmp_path):
    (tmp_path / "answers.txt").write_text("42")
    runner = SubprocessRunner(replace(settings, writable=(*settings.writable, tmp_path)), (tmp_path / "answers.txt",))
    with pytest.raises(RunnerError, match=r"read .*answers\.txt"):
        runner.verify()


def test_an_environment_that_is_not_there_is_named():
    with pytest.raises(RunnerError, match=r"/nowhere/python.*make install"):
        SubprocessRunner(ChildSettings(Path("/nowhere/python"))).verify()


def test_without_landlock_confinement_is_refused_and_names_it():
    source = (
        "import sys\n"
        f"sys.path.insert(0, {str(CHILD)!r})\n"
        "import confinement\n"
        "confinement._LIBC = type('Libc', (), {'syscall': staticmethod(lambda *a: -1)})\n"
        "try:\n    confinement.confine([], [], {})\n"
        "except confinement.ConfinementError as error:\n    print(error)\n"
    )
    result = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert "no Landlock" in result.stdout


def test_without_confinement_a_notebook_still_runs_in_its_own_environment(settings):
    runner = SubprocessRunner(replace(settings, confined=False))
    assert said(runner, "print(open('/etc/hostname').read() != '')") == "True\n"
    assert said(runner, "import rlinfra_reference") == "ModuleNotFoundError"
