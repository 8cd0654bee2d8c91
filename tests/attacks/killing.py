"""Ending the process that the notebook runs in: the grader must go on, and the rest of the notebook too."""

from __future__ import annotations

from .attack import Attack, Goal, all_functions, cell

KIND = "ending the process"
FAULT = "an ended process costs one cell"

ATTACKS = (
    Attack("exit", KIND, "Ends the process at once.", cell("import os\nos._exit(0)"), Goal.GRADER, FAULT),
    Attack(
        "exit in every call",
        KIND,
        "Every function ends the process.",
        all_functions("def NAME(*args, **kwargs):\n    import os\n    os._exit(0)"),
        Goal.GRADER,
        FAULT,
    ),
    Attack(
        "SIGKILL to itself",
        KIND,
        "Kills its own process.",
        cell("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
        Goal.GRADER,
        FAULT,
    ),
    Attack("crash", KIND, "Reads address 0.", cell("import ctypes\nctypes.string_at(0)"), Goal.GRADER, FAULT),
    Attack(
        "closes the grader's channel",
        KIND,
        "Closes every descriptor.",
        cell("import os\nos.closerange(0, 1000)"),
        Goal.GRADER,
        FAULT,
    ),
    Attack(
        "forbidden system call",
        KIND,
        "Calls the kernel in the old 32-bit way, which the filter answers by ending the process.",
        cell("""
import ctypes, mmap
code = bytes.fromhex("b814000000cd80c3")  # mov eax, 20; int 0x80; ret
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
"""),
        Goal.GRADER,
        FAULT,
    ),
)
