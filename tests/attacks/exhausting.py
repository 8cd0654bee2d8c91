"""Using up the machine: memory, disk, threads, outputs and time. Bounded by construction, so that none does harm.

An attack that gets what it wants holds on to it for a moment before it says so, so that a grader that watches sees it.
"""

from __future__ import annotations

from .attack import Attack, Goal, all_functions, cell

MEMORY, DISK, OUTPUT, TIME = "exhausting memory", "exhausting the disk", "flooding with output", "using up time"
HOLD = "\nimport time\ntime.sleep(0.6)\n«say»"

ATTACKS = (
    Attack(
        "300 MB of memory",
        MEMORY,
        "Fills more private memory than it may have.",
        cell("own = bytearray(300 << 20)" + HOLD),
        Goal.BOUNDS,
        "limit of memory",
    ),
    Attack(
        "shared memory without a name",
        MEMORY,
        "Maps shared memory, which counts as nobody's data, and writes to every MB of it.",
        cell("import mmap\nown = [mmap.mmap(-1, 64 << 20) for _ in range(24)]\n"
             "for one in own:\n    for place in range(0, 64 << 20, 1 << 20):\n        one[place] = 1" + HOLD),
        Goal.BOUNDS,
        "limit of memory",
    ),
    Attack(
        "a hundred threads",
        MEMORY,
        "Starts a hundred threads that wait.",
        cell("import threading\nthreading.stack_size(1 << 16)\nstop = threading.Event()\n"
             "for _ in range(100):\n    threading.Thread(target=stop.wait, daemon=True).start()" + HOLD),
        Goal.BOUNDS,
        "limit of threads",
    ),
    Attack(
        "one large file",
        DISK,
        "Writes a file larger than a file may be.",
        cell("open('own', 'wb').write(bytes(6 << 20))" + HOLD),
        Goal.BOUNDS,
        "limit of a file",
    ),
    Attack(
        "sparse file",
        DISK,
        "Makes a file of a large size without writing it.",
        cell("open('own', 'wb').truncate(64 << 20)" + HOLD),
        Goal.BOUNDS,
        "limit of a file",
    ),
    Attack(
        "several files",
        DISK,
        "Writes files of an allowed size that are too much together.",
        cell("for number in range(8):\n    open(f'own{number}', 'wb').write(bytes(4 << 20))" + HOLD),
        Goal.BOUNDS,
        "limit of the disk",
    ),
    Attack(
        "many small files",
        DISK,
        "Makes more files than it may, each with a byte.",
        cell("for number in range(400):\n    open(f'own{number}', 'w').write('x')" + HOLD),
        Goal.BOUNDS,
        "limit of files",
    ),
    Attack(
        "many folders in one another",
        DISK,
        "Makes more folders than it may, each in the one before.",
        cell("import os\nfor number in range(400):\n    os.mkdir('own')\n    os.chdir('own')" + HOLD),
        Goal.BOUNDS,
        "limit of files",
    ),
    Attack(
        "folder hidden from the count",
        DISK,
        "Writes too much into a folder that nobody may list.",
        cell("""
import os
os.mkdir("own", 0o300)
for number in range(8):
    open(f"own/{number}", "wb").write(bytes(4 << 20))
""" + HOLD),
        Goal.BOUNDS,
        "limit of the disk",
    ),
    Attack(
        "files outside of sight",
        DISK,
        "Deletes the files that it writes, and keeps them alive by a map of one page each.",
        cell("""
import mmap, os
own = []
for number in range(12):
    with open("own", "wb+") as file:
        file.write(bytes(4 << 20))
        file.flush()
        own.append(mmap.mmap(file.fileno(), 4096))
    os.unlink("own")
""" + HOLD),
        Goal.BOUNDS,
        "limit of the disk",
    ),
    Attack(
        "open files outside of sight",
        DISK,
        "Deletes the files that it writes, and keeps them open.",
        cell("""
import os
own = []
for number in range(8):
    own.append(open("own", "wb"))
    own[-1].write(bytes(4 << 20))
    os.unlink("own")
""" + HOLD),
        Goal.BOUNDS,
        "limit of the disk",
    ),
    Attack(
        "flood of text",
        OUTPUT,
        "Prints 8 MB.",
        cell("for _ in range(8):\n    print('x' * (1 << 20))"),
        Goal.BOUNDS,
        "limit of outputs",
    ),
    Attack(
        "flood of displays",
        OUTPUT,
        "Displays 800 tables.",
        cell("from IPython.display import HTML, display\nfor _ in range(800):\n    display(HTML('<b>x</b>' * 800))"),
        Goal.BOUNDS,
        "limit of outputs",
    ),
    Attack(
        "flood of one traceback",
        OUTPUT,
        "Raises an exception with a message of 1 MB.",
        cell("raise ValueError('x' * (1 << 20))"),
        Goal.BOUNDS,
        "limit of outputs",
    ),
    Attack(
        "flood of every cell",
        OUTPUT,
        "Prints just less than a cell may, in every cell there is.",
        cell("get_ipython().events.register('post_run_cell', lambda *a: print('y' * 120_000))"),
        Goal.BOUNDS,
        "limit of outputs",
    ),
    Attack(
        "slow drip",
        TIME,
        "Prints a letter five times a second and sleeps in between: no CPU time is used.",
        cell("import time\ndeadline = time.time() + 12\nwhile time.time() < deadline:\n"
             "    print('.', end='', flush=True)\n    time.sleep(0.2)"),
        Goal.GRADER,
        "limit of time",
    ),
    Attack(
        "loop that swallows interrupts",
        TIME,
        "Loops, and goes on when it is interrupted.",
        cell("""
import time
deadline = time.time() + 12
while time.time() < deadline:
    try:
        while time.time() < deadline:
            pass
    except BaseException:
        pass
"""),
        Goal.GRADER,
        "limit of time",
    ),
    Attack(
        "signals ignored",
        TIME,
        "Blocks every signal that can be blocked, and waits.",
        cell("import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
             "signal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(12)"),
        Goal.GRADER,
        "limit of time",
    ),
    Attack(
        "stops itself",
        TIME,
        "Sends itself SIGSTOP: it uses no time and never ends.",
        cell("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"),
        Goal.GRADER,
        "limit of time",
    ),
    Attack(
        "regular expression",
        TIME,
        "Matches a pattern with exponentially many ways to fail, in C, where no interrupt gets through.",
        cell("import re\nre.match(r'(a+)+$', 'a' * 27 + 'b')"),
        Goal.GRADER,
        "limit of time",
    ),
    Attack(
        "huge power",
        TIME,
        "Computes a power of ten million digits, which no interrupt stops.",
        cell("own = 7 ** 12_000_000"),
        Goal.GRADER,
        "limit of time",
    ),
    Attack(
        "every call waits",
        TIME,
        "Each call of each function waits a little less than it may.",
        all_functions("def NAME(*args, **kwargs):\n    import time\n    time.sleep(0.9)"),
        Goal.GRADER,
        "limit of time",
    ),
)  # fmt: skip
