"""Gaining rights: owners and modes of files, devices, mounts, namespaces."""

from __future__ import annotations

from .attack import Attack, Goal, cell
from .others import LIBC

KIND = "gaining rights"
MODES = "owners and modes: seccomp and uid"
NAMESPACES = "the kernel: seccomp, uid, Landlock"

ATTACKS = (
    Attack(
        "mode of a file outside",
        KIND,
        "Makes the course seed readable and writable for everybody.",
        cell("import os\nos.chmod('«seed»', 0o777)"),
        Goal.WRITE,
        MODES,
    ),
    Attack(
        "owner of a file outside",
        KIND,
        "Gives the course seed to another user.",
        cell("import os\nos.chown('«seed»', 12345, 12345)"),
        Goal.WRITE,
        MODES,
    ),
    Attack(
        "times of a file outside",
        KIND,
        "Sets back the time at which the neighbour handed in, or forward.",
        cell("import os\nos.utime('«neighbour»', (0, 0))"),
        Goal.WRITE,
        MODES,
    ),
    Attack(
        "mount",
        KIND,
        "Mounts an empty folder over one outside.",
        cell(
            LIBC + "own_call(165, b'none', b'«outside»', b'tmpfs', 0, b'size=4k')\n«say»\n"
            "own_call(166, b'«outside»', 2)"
        ),
        Goal.WRITE,
        NAMESPACES,
    ),
    Attack(
        "namespace of its own",
        KIND,
        "Makes a user namespace in which it is root.",
        cell(LIBC + "own_call(272, 0x10000000)\n«say»"),
        Goal.BOUNDS,
        NAMESPACES,
    ),
    Attack(
        "chroot",
        KIND,
        "Makes another folder its root.",
        cell("import os\nos.mkdir('own')\nos.chroot('own')\n«say»"),
        Goal.BOUNDS,
        NAMESPACES,
    ),
    Attack(
        "program in the kernel",
        KIND,
        "Loads a map for a BPF program into the kernel.",
        cell(
            LIBC
            + """
attribute = b"".join(n.to_bytes(4, "little") for n in (2, 4, 4, 1)) + bytes(56)
own_call(321, 0, attribute, len(attribute))
«say»
"""
        ),
        Goal.BOUNDS,
        NAMESPACES,
    ),
    Attack(
        "file outside overwritten",
        KIND,
        "Writes into a file that everybody may write.",
        cell("open('«file»', 'w').write('mine now')"),
        Goal.WRITE,
        "files: Landlock and uid",
    ),
    Attack(
        "file outside added",
        KIND,
        "Adds a file to a folder in which everybody may write.",
        cell("open('«outside»/own', 'w').write('mine')"),
        Goal.WRITE,
        "files: Landlock and uid",
    ),
    Attack(
        "gradebook rewritten",
        KIND,
        "Writes a grade into the gradebook.",
        cell("open('«gradebook»', 'a').write('mallory 20')"),
        Goal.WRITE,
        "files: Landlock and uid",
    ),
    Attack(
        "neighbour's submission deleted",
        KIND,
        "Deletes what another student handed in.",
        cell("import os\nos.unlink('«neighbour»')"),
        Goal.WRITE,
        "files: Landlock and uid",
    ),
)
