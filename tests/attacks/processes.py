"""Starting processes: what is started could outlive the notebook, or run without its limits."""

from __future__ import annotations

from .attack import Attack, Goal, cell
from .others import LIBC

KIND = "starting processes"
CALLS = "new processes: seccomp"

# what a child says reaches the cell's outputs through a file in the folder
CHILD = """
import os, sys, time
def own_child():
    open("own", "w").write("«tag»"[::-1])
    os._exit(0)
def own_wait():
    deadline = time.time() + 2
    while time.time() < deadline and not os.path.exists("own"):
        time.sleep(0.01)
    time.sleep(0.02)
    print(open("own").read())
"""

ATTACKS = (
    Attack(
        "fork",
        KIND,
        "Forks; the child writes a file.",
        cell(CHILD + "if os.fork() == 0: own_child()\nown_wait()"),
        Goal.PROCESS,
        CALLS,
    ),
    Attack(
        "subprocess",
        KIND,
        "Starts a command by the module subprocess.",
        cell("import subprocess\nprint(subprocess.run(['/bin/echo', '«tag»'[::-1]], capture_output=True).stdout)"),
        Goal.PROCESS,
        CALLS,
    ),
    Attack(
        "posix_spawn",
        KIND,
        "Starts a command by posix_spawn.",
        cell("import os, time\n"
             "os.posix_spawn('/bin/sh', ['sh', '-c', 'echo «tag» | rev > own'], {'PATH': '/usr/bin:/bin'})\n"
             "time.sleep(0.5)\nprint(open('own').read())"),
        Goal.PROCESS,
        CALLS,
    ),
    Attack(
        "detached process that writes later",
        KIND,
        "Forks twice into a session of its own and sleeps: it would outlive the grading and write afterwards.",
        cell("""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(20)
    os._exit(0)
os.wait()
"""),
        Goal.PROCESS,
        CALLS,
    ),
    Attack(
        "clone by its number",
        KIND,
        "Asks the kernel for a child by number, past the C library's fork.",
        cell(CHILD + LIBC + "if own_call(56, 17, 0, 0, 0, 0) == 0: own_child()\nown_wait()"),
        Goal.PROCESS,
        CALLS,
    ),
    Attack(
        "clone3 by its number",
        KIND,
        "Asks for a child by the newer call that filters often forget.",
        cell(CHILD + LIBC + """
arguments = ctypes.create_string_buffer(88)
arguments[32:40] = (17).to_bytes(8, "little")
if own_call(435, arguments, 88) == 0: own_child()
own_wait()
"""),
        Goal.PROCESS,
        CALLS,
    ),
    Attack(
        "another program in its place",
        KIND,
        "Replaces its own process by a program that writes where the grader reads.",
        cell("""
import os, stat, sys
wires = [n for n in range(3, 64) if os.path.exists(f"/proc/self/fd/{n}")
         and (stat.S_ISFIFO(os.stat(n).st_mode) or stat.S_ISSOCK(os.stat(n).st_mode))]
text = '{"output": {"output_type": "stream", "name": "stdout", "text": "' + "«tag»"[::-1] + '"}}'
for number in wires:
    os.set_inheritable(number, True)
script = '''
import os, sys
for number in sys.argv[2:]:
    try:
        os.write(int(number), (sys.argv[1] + chr(10)).encode())
    except OSError:
        pass
'''
os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", script, text, *map(str, wires)])
"""),
        Goal.PROCESS,
        CALLS,
    ),
    Attack(
        "fifty forks",
        KIND,
        "Forks fifty times, each child sleeping: a fork bomb that ends by itself.",
        cell("import os, time\n"
             "for _ in range(50):\n    if os.fork() == 0:\n        time.sleep(3)\n        os._exit(0)\n«say»"),
        Goal.PROCESS,
        CALLS,
    ),
)  # fmt: skip
