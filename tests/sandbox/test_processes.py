"""The processes behind a runner: a lonely zygote, that may be lost, and of which nothing is left in the end."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from rlinfra_autograder.sandbox.runner import ZygoteRunner
from rlinfra_autograder.sandbox.zygote import ChildSettings
from tests.conftest import QUICK, ROOT, STUDENT_PYTHON

PLAIN = ChildSettings(STUDENT_PYTHON, QUICK)  # not measured, for that takes a descriptor
DEADLINE_SECONDS = 30
ZYGOTES_DESCRIPTORS = 4  # the standard three and its socket
WAITS = "import time; time.sleep(0.5); print('waited')"
HOSTILE = (
    "import os; os._exit(0)",
    "import threading, time\nfor _ in range(5): threading.Thread(target=time.sleep, args=(60,)).start()",
    "import os\nfor _ in range(300): os.mkdir('d'); os.chdir('d')",
    "import os\nos.mkfifo('pipe'); os.symlink('/', 'root')",
    "import atexit; atexit.register(open, 'left', 'w')",
    "import os\nos.close(3)",
    "import os\nos.write(3, b'no message' * 100 + b'\\n')",
    "open('\\n', 'wb').write(bytes(1 << 20))",
)


def eventually(condition) -> bool:
    """Return whether a condition comes true before the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(found)


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def printed(runner, source):
    (cell,) = runner.run([(0, source)], None).cells.values()
    assert not cell.fault
    return "".join(output.get("text", "") for output in cell.outputs)


@pytest.fixture(scope="module")
def runner():
    with ZygoteRunner(PLAIN) as runner:
        yield runner


def test_the_zygote_has_one_thread(runner):
    """A fork takes only one along, and whatever lock another one holds stays locked for ever."""
    printed(runner, WAITS)
    assert psutil.Process(runner.zygote().pid).num_threads() == 1


def test_the_zygote_holds_no_file_open(runner):
    """A child closes all descriptors; an object that still has one would later close what has its number by then."""
    assert psutil.Process(runner.zygote().pid).num_fds() == ZYGOTES_DESCRIPTORS


def test_after_the_zygote_was_killed_the_next_run_has_a_new_one(runner):
    first = runner.zygote().pid
    psutil.Process(first).kill()
    assert printed(runner, "print(6 * 7)") == "42\n"
    assert runner.zygote().pid != first


def test_runs_in_progress_are_repeated_when_the_zygote_is_killed(runner):
    zygote = psutil.Process(runner.zygote().pid)
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(printed, runner, WAITS) for _ in range(2)]
        assert eventually(lambda: len(zygote.children()) == 2)
        zygote.kill()
        assert [run.result() for run in runs] == ["waited\n"] * 2
    assert runner.zygote().pid != zygote.pid


def test_closing_a_runner_leaves_no_process_no_folder_and_no_descriptor(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # runners of other tests make their folders elsewhere

    def held():
        folders = {path.name for path in Path(tempfile.gettempdir()).glob("rlinfra-*")}
        return folders, psutil.Process().num_fds(), {child.pid for child in psutil.Process().children(recursive=True)}

    folders, descriptors, processes = held()
    with ZygoteRunner(PLAIN) as runner:
        for number in range(20):
            runner.run([(0, HOSTILE[number % len(HOSTILE)]), (1, "1 + 1")], None)
        zygote = runner.zygote()
        assert not psutil.Process(zygote.pid).children()
        assert not list(zygote.folder.glob("run-*"))
        assert psutil.Process().num_fds() == descriptors + 1  # the socket to the zygote
        assert psutil.Process(zygote.pid).num_fds() == ZYGOTES_DESCRIPTORS
        assert printed(runner, "print(6 * 7)") == "42\n"
    after_folders, after_descriptors, after_processes = held()
    assert not zygote.folder.exists()
    assert (after_folders - folders, after_descriptors) == (set(), descriptors)
    assert after_processes - processes == set()


GRADER = """
import sys
from pathlib import Path
from rlinfra_autograder.sandbox.limits import Limits
from rlinfra_autograder.sandbox.runner import ZygoteRunner
from rlinfra_autograder.sandbox.zygote import ChildSettings
runner = ZygoteRunner(ChildSettings(Path(sys.argv[1]), Limits(cell_cpu_seconds=60)))
runner.run([(0, "'the zygote is warm'")], None)
print(runner.zygote().pid, runner.zygote().folder, flush=True)
runner.run([(0, sys.argv[2])], None)
"""


@pytest.mark.parametrize("cell", ["while True: pass", "import time; time.sleep(60)"], ids=["busy", "waiting"])
def test_a_grader_that_is_killed_takes_the_zygote_and_its_child_along(cell):
    command = [sys.executable, "-c", GRADER, str(STUDENT_PYTHON), cell]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as grader:
        pid, folder = grader.stdout.readline().split()
        zygote = psutil.Process(int(pid))
        assert eventually(zygote.children)
        (child,) = zygote.children()
        grader.kill()
    assert eventually(lambda: is_gone(zygote.pid) and is_gone(child.pid) and not Path(folder).exists())


# --- twins ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def twin(runner):
    """A runner whose zygote is a twin of the other runner's."""
    runner.zygote().warm_up()
    with ZygoteRunner(PLAIN, first=runner.zygote().control) as twin:
        yield twin


def test_a_twin_is_a_zygote_of_its_own_with_one_thread_and_no_file(runner, twin):
    first, second = runner.zygote(), twin.zygote()
    assert (second.pid != first.pid, second.folder != first.folder) == (True, True)
    assert psutil.Process(second.pid).parent().pid == first.pid
    where = "import os; print(os.environ['HOME'], os.getcwd(), os.environ['TMPDIR'])"
    assert {Path(place).parent for place in printed(twin, where).split()} == {second.folder}
    assert psutil.Process(second.pid).num_threads() == 1
    assert psutil.Process(second.pid).num_fds() == ZYGOTES_DESCRIPTORS


def test_a_twin_ends_with_its_runner_and_the_first_one_goes_on(runner, twin):
    pid, folder = twin.zygote().pid, twin.zygote().folder
    twin.close()
    assert eventually(lambda: is_gone(pid))
    assert not folder.exists()
    assert printed(runner, "print(6 * 7)") == "42\n"


def test_where_the_first_zygote_is_gone_a_runner_starts_its_own(runner):
    with ZygoteRunner(PLAIN) as other:
        control = other.zygote().control
    with ZygoteRunner(PLAIN, first=control) as alone:
        assert printed(alone, "print(6 * 7)") == "42\n"
        assert psutil.Process(alone.zygote().pid).parent().pid == psutil.Process().pid


def test_after_a_twin_was_killed_the_next_run_has_a_new_one(runner, twin):
    first = twin.zygote().pid
    psutil.Process(first).kill()
    assert printed(twin, "print(6 * 7)") == "42\n"
    assert psutil.Process(twin.zygote().pid).parent().pid == runner.zygote().pid


def test_the_first_zygote_leaves_no_dead_twin_to_whoever_inherits_them():
    with ZygoteRunner(PLAIN) as runner:
        with ZygoteRunner(PLAIN, first=runner.zygote().control) as twin:
            pid = twin.zygote().pid
        assert eventually(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    assert not psutil.pid_exists(pid)
