"""What the kernel refuses a student's process, whatever the file system says; and what honest work needs is not."""

from __future__ import annotations

import importlib.util
import json
import platform
import re
from dataclasses import replace
from pathlib import Path

import pytest

from rlinfra_autograder.sandbox.limits import Limits
from rlinfra_autograder.sandbox.runner import ZygoteRunner
from rlinfra_autograder.sandbox.zygote import CHILD

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def load_seccomp():
    spec = importlib.util.spec_from_file_location("the_childs_seccomp", CHILD / "seccomp.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SECCOMP = load_seccomp()
ALONE = {
    "clone": SECCOMP._CLONE,
    "clone3": SECCOMP._CLONE3,
    "kill": SECCOMP._KILL,
    "tgkill": SECCOMP._TGKILL,
    "prlimit64": SECCOMP._PRLIMIT,
    "socketpair": SECCOMP._SOCKETPAIR,
    "prctl": SECCOMP._PRCTL,
    "fcntl": SECCOMP._FCNTL,
    "ioctl": SECCOMP._IOCTL,
}
CALLS = {name: call for calls in [*SECCOMP.REFUSED.values(), SECCOMP.PRETENDED, ALONE] for name, call in calls.items()}


@pytest.fixture(scope="module")
def runner(settings):
    """A runner with the time that a student has: a long traceback takes a good part of a second to show."""
    with ZygoteRunner(replace(settings, limits=Limits(wall_factor=20.0))) as runner:
        yield runner


def said(runner, source):
    cell = runner.run([(0, source)], None).cells[0]
    assert not cell.fault
    return "".join(output.get("text", "") or output.get("evalue", "") for output in cell.outputs)


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_are_those_of_linuxs_own_headers(machine):
    if not HEADERS[machine].exists():
        pytest.skip(f"{HEADERS[machine]} is not installed (Debian: linux-libc-dev)")
    text = HEADERS[machine].read_text()
    numbers = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    ours = {name: getattr(call, machine) for name, call in CALLS.items()}
    assert {name: number for name, number in ours.items() if number is not None} == {
        name: numbers[name] for name in ours if name in numbers
    }
    assert numbers.get("cachestat", SECCOMP.FIRST_UNKNOWN) == SECCOMP.FIRST_UNKNOWN  # headers may be older than it


@pytest.mark.skipif(platform.machine() not in HEADERS, reason="there is a filter for x86_64 and aarch64")
@pytest.mark.parametrize("group", SECCOMP.REFUSED)
def test_every_call_of_a_refused_group_is_refused_in_a_child(runner, group):
    numbers = {name: getattr(call, platform.machine()) for name, call in SECCOMP.REFUSED[group].items()}
    source = f"""
import ctypes, errno, json
libc = ctypes.CDLL(None, use_errno=True)
found = {{}}
for name, number in {numbers!r}.items():
    if number is not None:
        result = libc.syscall(number, -1, 0, 0, 0, 0, 0)
        found[name] = errno.errorcode[ctypes.get_errno()] if result == -1 else "done"
print(json.dumps(found))
"""
    assert json.loads(said(runner, source)) == {name: "EPERM" for name, number in numbers.items() if number is not None}


@pytest.mark.skipif(platform.machine() not in HEADERS, reason="there is a filter for x86_64 and aarch64")
@pytest.mark.parametrize(("number", "why"), [(451, "younger than the tables"), (0x40000000 + 39, "getpid, as x32")])
def test_calls_that_the_tables_do_not_know_are_not_there(runner, number, why):
    source = f"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall({number}, 0, 0, 0, 0), errno.errorcode[ctypes.get_errno()])
"""
    assert said(runner, source) == "-1 ENOSYS\n"


NOT_PERMITTED = "[Errno 1] Operation not permitted"


@pytest.mark.parametrize(
    "source",
    [
        "import os; os.fork()",
        "import os; os.posix_spawn('/bin/true', ['true'], {})",
        "import subprocess; subprocess.run(['/bin/true'])",
        "import multiprocessing as m; m.get_context('fork').Process(target=print).start()",
        "import os; os.execv('/bin/true', ['true'])",
        "import socket; socket.socket()",
        "import socket; socket.socket(socket.AF_UNIX)",
        "import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:1')",
        "import os, signal; os.kill(os.getppid(), 0)",
        "import os, signal; os.kill(1, 0)",
        "import os, signal; os.kill(-1, 0)",
        "import os, signal; os.kill(0, 0)",
        "import os; os.pidfd_open(os.getpid())",
        "import os; os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
        "import os; os.sched_setaffinity(0, {0})",
        "import os; os.memfd_create('x')",
        "import os; open('x', 'w').close(); os.chown('x', 0, 0)",
        "import os; open('x', 'w').close(); os.setxattr('x', 'user.a', b'b')",
        "import os; os.setuid(0)",
        "import resource, os; resource.prlimit(os.getppid(), resource.RLIMIT_CPU)",
        "import fcntl, os; fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())",
        "import time; time.clock_settime(time.CLOCK_REALTIME, 0)",
        "import os; os.chroot('.')",
    ],
)
def test_what_reaches_beyond_the_process_is_not_permitted(runner, source):
    assert NOT_PERMITTED in said(runner, source)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("import threading\nthreads = [threading.Thread(target=print, args='x', kwargs={'end': ''}) for _ in 'abc']\n"
         "[(thread.start(), thread.join()) for thread in threads]\nprint()", "xxx\n"),
        ("from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as pool:\n"
         "    print(list(pool.map(abs, [-1, -2])))", "[1, 2]\n"),
        ("import asyncio\nprint(await asyncio.gather(asyncio.to_thread(abs, -1), asyncio.sleep(0, 2)))", "[1, 2]\n"),
        ("import socket\na, b = socket.socketpair()\na.send(b'x')\nprint(b.recv(1))", "b'x'\n"),
        ("import os, signal\nos.kill(os.getpid(), 0)\nsignal.raise_signal(signal.SIGCHLD)\nprint('alive')", "alive\n"),
        ("import resource\nprint(resource.getrlimit(resource.RLIMIT_CORE))", "(0, 0)\n"),
        ("import signal, time\nrang = []\nsignal.signal(signal.SIGALRM, lambda *_: rang.append(1))\n"
         "signal.setitimer(signal.ITIMER_REAL, 0.01)\nwhile not rang: time.sleep(0.001)\nprint(rang)", "[1]\n"),
        ("import os, pathlib\npathlib.Path('x').touch(); pathlib.Path('x').touch(); print(os.listdir())", "['x']\n"),
        ("import tempfile\nwith tempfile.NamedTemporaryFile('w+') as file:\n"
         "    file.write('kept'); file.seek(0); print(file.read())", "kept\n"),
        ("import sqlite3\nwith sqlite3.connect('x.db') as db:\n"
         "    db.execute('create table t (a)'); db.execute('insert into t values (5)')\n"
         "print(sqlite3.connect('x.db').execute('select a from t').fetchall())", "[(5,)]\n"),
        ("import json, os, pathlib\npathlib.Path('a/b').mkdir(parents=True)\n"
         "pathlib.Path('a/b/x.tmp').write_text(json.dumps({'step': 3}))\nos.replace('a/b/x.tmp', 'a/x.json')\n"
         "print(json.loads(pathlib.Path('a/x.json').read_text()), os.listdir('a/b'))", "{'step': 3} []\n"),
        ("import os\nfd = os.open('x', os.O_CREAT | os.O_RDWR)\n"
         "os.write(fd, b'abc'); os.fsync(fd); os.ftruncate(fd, 1)\n"
         "print(os.stat('x').st_size)", "1\n"),
        ("import mmap\nopen('x', 'wb').write(b'abc')\nfile = open('x', 'r+b')\n"
         "with mmap.mmap(file.fileno(), 0) as view:\n    view[0] = 65\nprint(open('x').read())", "Abc\n"),
        ("import shutil\nopen('a', 'w').write('x')\nshutil.copy('a', 'b'); shutil.copy2('a', 'c')\n"
         "shutil.copytree('.', 'd'); shutil.move('a', 'e'); shutil.make_archive('z', 'zip', 'd')\n"
         "print(open('b').read(), open('d/c').read())\nshutil.rmtree('d')", "x x\n"),
        ("import numpy as np\nnp.save('x.npy', np.eye(3))\nprint(float(np.linalg.det(np.load('x.npy'))))", "1.0\n"),
        ("import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.savefig('x.png'); plt.close()\n"
         "print(open('x.png', 'rb').read(4))", "b'\\x89PNG'\n"),
        ("import pickle, gzip, csv, zipfile, uuid, secrets, hashlib, random, decimal, zoneinfo\n"
         "with gzip.open('x.gz', 'wb') as file:\n    pickle.dump([1], file)\nprint(pickle.load(gzip.open('x.gz')))",
         "[1]\n"),
    ],
    ids=["threads", "a thread pool", "asyncio", "a pair of sockets", "signals to itself", "its own limits", "a timer",
         "touch", "a temporary file", "sqlite3", "pathlib, json and os.replace", "a descriptor", "a mapped file",
         "shutil", "NumPy", "matplotlib", "other modules"],
)  # fmt: skip
def test_honest_work_is_not_disturbed(runner, source, text):
    assert said(runner, source) == text


def test_permissions_and_times_are_said_to_change_and_do_not(runner):
    source = """
import os, pathlib
path = pathlib.Path("x")
path.touch()
before = path.stat()
os.chmod("x", 0o777); path.chmod(0o4777); os.fchmod(os.open("x", os.O_RDONLY), 0o777)
os.utime("x", (0, 0))
after = path.stat()
print((before.st_mode, before.st_mtime_ns) == (after.st_mode, after.st_mtime_ns))
"""
    assert said(runner, source) == "True\n"


def test_a_file_of_the_graders_keeps_its_permissions_and_times(runner, tmp_path):
    """Landlock lets these calls through to any file that the user owns, which as root is every file."""
    theirs = tmp_path / "theirs"
    theirs.touch()
    before = theirs.stat()
    said(runner, f"import os\nos.chmod({str(theirs)!r}, 0o777)\nos.utime({str(theirs)!r}, (0, 0))")
    after = theirs.stat()
    assert (before.st_mode, before.st_mtime_ns) == (after.st_mode, after.st_mtime_ns)


def test_a_lock_is_pretended_so_that_nobody_can_be_told_anything_by_one(runner):
    source = """
import fcntl
with open("own", "w") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("lock:" in open(f"/proc/self/fdinfo/{file.fileno()}").read())
"""
    assert said(runner, source) == "False\n"
