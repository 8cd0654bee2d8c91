"""What student code can reach: its own environment and its own empty folder, and nothing of the course's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import rlinfra_autograder
import rlinfra_reference
from rlinfra_autograder.sandbox.runner import ZygoteRunner
from rlinfra_autograder.sandbox.zygote import CHILD, ChildSettings, RunnerError
from tests.conftest import QUICK, ROOT, STUDENT_PYTHON


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


WARMTH = pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])


def made_warm(runner, warm):
    if warm:
        runner.zygote().warm_up()
    return runner


@WARMTH
def test_the_canary_passes_the_students_environment_and_says_its_versions(settings, warm):
    packages = tuple(Path(module.__file__).parent for module in (rlinfra_reference, rlinfra_autograder))
    with ZygoteRunner(settings, forbidden=(*packages, ROOT / "source")) as runner:
        assert {"python", "rlinfra", "ipython", "numpy"} <= set(made_warm(runner, warm).verify())


@WARMTH
def test_the_grader_refuses_an_environment_that_holds_the_answers(warm):
    with (
        ZygoteRunner(ChildSettings(Path(sys.executable), confined=False)) as staff,
        pytest.raises(RunnerError, match="import rlinfra_reference, import rlinfra_autograder"),
    ):
        made_warm(staff, warm).verify()


@WARMTH
def test_the_grader_refuses_when_a_forbidden_path_can_be_read(settings, tmp_path, warm):
    (tmp_path / "answers.txt").write_text("42")
    careless = replace(settings, writable=(*settings.writable, tmp_path))
    with (
        ZygoteRunner(careless, (tmp_path / "answers.txt",)) as runner,
        pytest.raises(RunnerError, match=r"read .*answers\.txt"),
    ):
        made_warm(runner, warm).verify()


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


@pytest.fixture(scope="module")
def plain():
    """A runner whose children are not measured: nothing is open in them and nothing runs but what always does."""
    with ZygoteRunner(ChildSettings(STUDENT_PYTHON, QUICK)) as runner:
        yield runner


def limited(plain, **limits):
    """Return a runner with other limits; the zygote is the same, for limits are put on each child."""
    runner = ZygoteRunner(replace(plain.settings, limits=replace(QUICK, **limits)))
    runner.zygote = plain.zygote
    return runner


def faults(runner, *sources):
    run = runner.run(list(enumerate(sources)), None)
    return [run.cells[place].fault for place in sorted(run.cells)]


def test_a_child_has_no_capability_and_no_way_to_get_one(plain):
    lines = said(plain, "print(open('/proc/self/status').read())").splitlines()
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    gone = ["CapInh", "CapPrm", "CapEff", "CapAmb"] + ["CapBnd"] * (os.geteuid() == 0)
    assert {name: int(status[name], 16) for name in gone} == dict.fromkeys(gone, 0)
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_a_child_holds_its_channel_and_its_own_event_loop_and_no_other_descriptor(plain):
    source = """
import os
for descriptor in range(os.sysconf("SC_OPEN_MAX")):
    try:
        print(descriptor, os.readlink(f"/proc/self/fd/{descriptor}").partition(":[")[0])
    except FileNotFoundError:
        pass
"""
    standard = ["0 /dev/null", "1 /dev/null", "2 /dev/null"]
    loop = ["4 anon_inode", "5 socket", "6 socket"]
    assert said(plain, source).splitlines() == [*standard, "3 socket", *loop]


@pytest.mark.parametrize(
    ("source", "ename"),
    [
        ("block = bytearray(96 << 20)", "MemoryError"),
        ("import mmap; block = mmap.mmap(-1, 96 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)", "OSError"),
        ("import mmap; block = mmap.mmap(-1, 2 << 30)", "OSError"),
        ("import mmap; blocks = [mmap.mmap(-1, 64 << 20) for _ in range(32)]", "OSError"),
        ("import numpy; block = numpy.ones(96 << 17)", "MemoryError"),
        ("import threading; threading.stack_size(96 << 20); threading.Thread(target=print).start()", "RuntimeError"),
    ],
    ids=["the heap", "a private map", "shared memory", "many pieces of shared memory", "NumPy", "a stack"],
)
def test_memory_of_every_kind_is_bounded(plain, source, ename):
    """No block here is ever filled: the limit is met when it is asked for."""
    assert said(limited(plain, memory_bytes=64 << 20), source) == ename


def test_memory_within_the_limit_is_there(plain):
    assert said(limited(plain, memory_bytes=64 << 20), "block = bytearray(32 << 20); print(len(block) >> 20)") == "32\n"


def test_one_big_file_is_an_error_in_its_cell(plain):
    source = "file = open('big', 'wb', buffering=0)\nfor _ in range(5): print(file.write(bytes(1 << 19)))"
    assert said(limited(plain, file_bytes=1 << 20), source) == "524288\n524288\nOSError"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("for n in range(8): open(str(n), 'wb').write(bytes(1 << 20))", "wrote more than 4 MiB"),
        ("for n in range(200): open(str(n), 'w').close()", "made more than 100 files"),
        ("import os\nfor n in range(200): os.makedirs(f'{n % 5}/{n}')", "made more than 100 files"),
        ("import os\nopen('a', 'w').close()\nfor n in range(200): os.link('a', f'b{n}')", "made more than 100 files"),
        ("import os\nfor n in range(200): os.symlink('a', f'b{n}')", "made more than 100 files"),
        ("import os\nfor _ in range(300): os.mkdir('d'); os.chdir('d')", "made more than 100 files"),
        (
            "import threading, time\nfor _ in range(20): threading.Thread(target=time.sleep, args=(60,)).start()",
            "started more than 8 threads",
        ),
    ],
    ids=["disk", "files", "folders", "hard links", "symbolic links", "a deep folder", "threads"],
)
def test_what_is_too_much_stops_its_own_cell_and_says_why(plain, source, why):
    runner = limited(plain, disk_bytes=4 << 20, disk_entries=100, threads=8)
    honest = "import time; time.sleep(0.2)"
    assert faults(runner, honest, source, honest) == ["", why, ""]
    assert faults(runner, honest, f"{source}\nimport time\ntime.sleep(60)", honest) == ["", why, ""]


def test_files_that_are_deleted_while_open_are_as_many_as_descriptors(plain):
    source = """
import os
kept = []
try:
    while True:
        kept.append(open("x", "wb", buffering=0))
        os.unlink("x")
except OSError as error:
    print(error.strerror, len(kept) < 64)
"""
    assert said(limited(plain, descriptors=64), source) == "Too many open files True\n"


TRACES = """
import builtins, json, os, random, sys, numpy
print(json.dumps([1]), len([1]), hasattr(builtins, "mine"), os.environ.get("MINE"), "mine" in sys.modules, os.listdir())
print(random.random(), numpy.random.random(), hash("text"), sys.path, sys.getrecursionlimit(), dir())
"""
LEAVES_TRACES = """
import builtins, json, os, random, sys, numpy
json.dumps = len
builtins.mine = 1
os.environ["MINE"] = "1"
sys.modules["mine"] = sys
random.seed(5); numpy.random.seed(5)
sys.path.append("mine"); sys.setrecursionlimit(99)
open("mine", "w").close()
import rlinfra.checks; rlinfra.checks.check = None
get_ipython().run_line_magic("xmode", "Plain")
builtins.len = None
"""


def test_a_notebook_finds_nothing_of_the_one_before(plain):
    fresh = said(plain, TRACES)
    assert fresh.startswith("[1] 1 False None False []\n")
    said(plain, LEAVES_TRACES)
    assert said(plain, TRACES) == fresh


def test_a_child_neither_runs_as_root_nor_reads_roots_files_where_python_can_be_reached(tmp_path):
    """With the system's Python, which all can reach; a file of root's stays closed though Landlock would open it."""
    python = "/usr/bin/python3"
    if os.geteuid() != 0:
        pytest.skip("only root can take another uid")
    if not Path(python).exists():
        pytest.skip(f"{python} is not installed")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)
        (folder / "own").mkdir(mode=0o700)
        (folder / "secret").write_text("a secret of root's")
        (folder / "secret").chmod(0o600)
        found = subprocess.run(
            [python, "-c", TAKES_A_UID, str(CHILD), str(folder), str(os.getpid())],
            capture_output=True,
            check=False,
            text=True,
            cwd="/",
            timeout=60,
        )
    assert found.stderr == ""
    uid, *outcomes = found.stdout.split("\n")[:-1]
    assert 61_184 <= int(uid) <= 65_519
    assert outcomes == ["written", "PermissionError", "PermissionError", "[]"]


TAKES_A_UID = """
import os, sys
sys.path.insert(0, sys.argv[1])
from confinement import confine
folder, root = sys.argv[2], int(sys.argv[3])
limits = {"RLIMIT_DATA": 1 << 30, "RLIMIT_FSIZE": 1 << 20, "RLIMIT_CPU": 10, "RLIMIT_NOFILE": 64}
confine(folder + "/own", [folder], [], limits)
assert len({*os.getresuid(), *os.getresgid()}) == 1
print(os.getuid())
open(folder + "/own/note", "w").close()
print("written")
for act in (lambda: open(folder + "/secret").read(), lambda: os.kill(root, 0)):
    try:
        print(act())
    except OSError as error:
        print(type(error).__name__)
print(os.getgroups())
"""
