"""Confinement of the current process: Landlock for files, resource limits for the rest (Linux, by ctypes).

From here on the process reads the given folders, writes the given ones, and sees nothing else of the file system.
A kernel that cannot do it is an error that says so: nothing runs unconfined by accident. (seccomp, a uid of its own
and a warm zygote belong to the fast runner.)
"""

from __future__ import annotations

import ctypes
import os
import resource
import stat
import struct
import sys

_LIBC = ctypes.CDLL(None, use_errno=True)
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_PR_SET_NO_NEW_PRIVS, _PR_SET_DUMPABLE = 38, 4
_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_WRITE_FILE, _TRUNCATE, _IOCTL = 1 << 1, 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL

SYSTEM_FOLDERS = (
    "/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime", "/etc/fonts", "/etc/alternatives",
    "/etc/mime.types", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/proc/self", "/proc/cpuinfo",
    "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu", "/sys/fs/cgroup",
)  # fmt: skip


class ConfinementError(RuntimeError):
    """The kernel or the platform lacks what confinement needs."""


def confine(read: list[str], write: list[str], limits: dict[str, int]) -> None:
    """Confine this process, for good: files, then memory, CPU time, file size and the number of descriptors."""
    _restrict_files([*SYSTEM_FOLDERS, sys.prefix, sys.base_prefix, *read], [*write, "/dev/null"])
    _restrict_resources(limits)


def _syscall(what: str, number: int, *arguments: object) -> int:
    result: int = _LIBC.syscall(number, *arguments)
    if result < 0:
        raise ConfinementError(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def _restrict_files(read: list[str], write: list[str]) -> None:
    if not sys.platform.startswith("linux"):
        raise ConfinementError(f"confinement needs Linux, this is {sys.platform}")
    version = _LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 1:
        raise ConfinementError("this kernel has no Landlock (Linux 5.13 or newer, with landlock in its CONFIG_LSM)")
    handled = (1 << 13) - 1
    for since, right in ((2, 1 << 13), (3, _TRUNCATE), (5, _IOCTL)):
        handled |= right if version >= since else 0
    network = 3 if version >= 4 else 0  # TCP bind and connect
    scoped = 3 if version >= 6 else 0  # abstract sockets of others, signals to others
    attribute = struct.pack("=QQQ", handled, network, scoped)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = _syscall("Landlock rules", _CREATE_RULESET, attribute, ctypes.c_size_t(len(attribute)), 0)
    for path in read:
        _allow(rules, path, (_EXECUTE | _READ_FILE | _READ_DIR) & handled)
    for path in write:
        _allow(rules, path, handled & ~_EXECUTE)
    if _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0:
        raise ConfinementError("no_new_privs is refused")
    _syscall("Landlock", _RESTRICT_SELF, rules, 0)
    os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= _FILE_RIGHTS
    _syscall(f"Landlock rule for {path}", _ADD_RULE, rules, 1, struct.pack("=Qi", rights, descriptor), 0)
    os.close(descriptor)


def _restrict_resources(limits: dict[str, int]) -> None:
    for name, value in {**limits, "RLIMIT_CORE": 0}.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))
