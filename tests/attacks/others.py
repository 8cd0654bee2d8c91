"""Reaching other processes: their memory, their signals, their priority, what they share."""

from __future__ import annotations

from .attack import Attack, Goal, cell

KIND = "reaching other processes"
SHARED = "shared memory and queues"
CALLS = "other processes: seccomp, uid, Landlock"
IPC = "shared memory: seccomp"

LIBC = """
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
def own_call(*arguments):
    result = libc.syscall(*[ctypes.c_long(a) if type(a) is int else a for a in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
"""

ATTACKS = (
    Attack(
        "ptrace",
        KIND,
        "Attaches to another process as a debugger, which stops it.",
        cell(LIBC + "own_call(101, 16, «victim», 0, 0)\ntime.sleep(0.3)"),
        Goal.VICTIM,
        CALLS,
    ),
    Attack(
        "process_vm_readv",
        KIND,
        "Reads the secret from another process's memory.",
        cell(
            LIBC
            + """
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
mine = ctypes.create_string_buffer(«length»)
here, there = Vector(ctypes.addressof(mine), «length»), Vector(«address», «length»)
own_call(310, «victim», ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
print(mine.raw.decode())
"""
        ),
        Goal.READ,
        CALLS,
    ),
    Attack(
        "SIGKILL",
        KIND,
        "Kills another process.",
        cell("import os, signal\nos.kill(«victim», signal.SIGKILL)"),
        Goal.VICTIM,
        CALLS,
    ),
    Attack(
        "SIGSTOP by tgkill",
        KIND,
        "Stops a thread of another process.",
        cell(LIBC + "own_call(234, «victim», «victim», 19)\ntime.sleep(0.2)"),
        Goal.VICTIM,
        CALLS,
    ),
    Attack(
        "SIGKILL by a descriptor of the process",
        KIND,
        "Opens another process as a descriptor and sends a signal through it.",
        cell(LIBC + "one = own_call(434, «victim», 0)\nown_call(424, one, 9, 0, 0)"),
        Goal.VICTIM,
        CALLS,
    ),
    Attack(
        "limits of another process",
        KIND,
        "Takes from another process the right to open files.",
        cell("import resource\nresource.prlimit(«victim», resource.RLIMIT_NOFILE, (5, 5))"),
        Goal.VICTIM,
        CALLS,
    ),
    Attack(
        "priority of another process",
        KIND,
        "Gives another process the lowest priority.",
        cell("import os\nos.setpriority(os.PRIO_PROCESS, «victim», 19)"),
        Goal.VICTIM,
        CALLS,
    ),
    Attack(
        "processor of another process",
        KIND,
        "Binds another process to one processor.",
        cell("import os\nos.sched_setaffinity(«victim», {0})"),
        Goal.VICTIM,
        CALLS,
    ),
    Attack(
        "System V shared memory",
        SHARED,
        "Writes into a segment of shared memory that another process uses.",
        cell(
            LIBC
            + """
libc.shmat.restype = ctypes.c_void_p
at = libc.shmat(«segment», None, 0)
ctypes.memmove(at, b"mine now", 8)
"""
        ),
        Goal.VICTIM,
        IPC,
    ),
    Attack(
        "POSIX shared memory",
        SHARED,
        "Writes into a file of shared memory that another process uses.",
        cell("open('«posix»', 'w').write('mine now')"),
        Goal.VICTIM,
        "files: Landlock and uid",
    ),
    Attack(
        "POSIX shared memory read",
        SHARED,
        "Reads shared memory of another process.",
        cell("print(open('«posix»').read())"),
        Goal.READ,
        "files: Landlock and uid",
    ),
    Attack(
        "message queue left behind",
        SHARED,
        "Leaves a message queue in the kernel, for an accomplice to read.",
        cell(LIBC + "own_call(240, b'«tag»', 0o102, 0o666, None)"),
        Goal.LEFTOVER,
        IPC,
    ),
    Attack(
        "key left behind",
        SHARED,
        "Leaves a key in the user's keyring, for an accomplice to read.",
        cell(LIBC + "own_call(248, b'user', b'«tag»', b'hidden', 6, -4)"),
        Goal.LEFTOVER,
        "keys: seccomp and uid",
    ),
)
