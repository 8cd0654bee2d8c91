"""Confinement of the current process, for good: files, resources, identity, system calls (Linux, by ctypes).

From here on the process reads the given folders, writes the given ones, sees nothing else of the file system, starts
no process and reaches no other one. A kernel that lacks a part is an error that names it: nothing runs half confined.
It has to be put on by a single thread, before any student code.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import stat
import struct
import sys
from pathlib import Path

import seccomp

_LIBC = ctypes.CDLL(None, use_errno=True)
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _CLEAR_ALL = 1, 24, 38, 47, 4
_CAPABILITY_VERSION = 0x20080522
_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_WRITE_FILE, _TRUNCATE, _IOCTL = 1 << 1, 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_FIRST_UID, _UIDS = 61_184, 4_336  # the range that systemd keeps for users without a name
_ROOM_FOR_LIBRARIES = 1 << 29  # address space beyond the memory that a process may fill: code, files read into it

SYSTEM_FOLDERS = (
    "/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime", "/etc/fonts", "/etc/alternatives",
    "/etc/mime.types", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/proc/self", "/proc/cpuinfo",
    "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu", "/sys/fs/cgroup",
)  # fmt: skip


class ConfinementError(RuntimeError):
    """The kernel or the platform lacks what confinement needs."""


def confine(folder: str, read: list[str], write: list[str], limits: dict[str, int]) -> None:
    """Confine this process to its own working folder and what it may read besides."""
    if not sys.platform.startswith("linux"):
        raise ConfinementError(f"confinement needs Linux, this is {sys.platform}")
    rules = _file_rules([*SYSTEM_FOLDERS, sys.prefix, sys.base_prefix, *read], [folder, *write, "/dev/null"])
    _restrict_resources(limits)
    _become_nobody(folder)
    _die_with_parent()
    if _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0:
        raise ConfinementError("no_new_privs is refused")
    _syscall("Landlock", _RESTRICT_SELF, rules, 0)
    os.close(rules)
    try:
        seccomp.install()
    except seccomp.SeccompError as error:
        raise ConfinementError(str(error)) from error


def _syscall(what: str, number: int, *arguments: object) -> int:
    result: int = _LIBC.syscall(number, *arguments)
    if result < 0:
        raise ConfinementError(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def _file_rules(read: list[str], write: list[str]) -> int:
    """Return Landlock's rules, opened while the process may still open their paths."""
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
    return rules


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
    """Set the limits; memory counts from what the process holds already, which it shares with the zygote."""
    pages = Path("/proc/self/statm").read_text().split()
    held = {"RLIMIT_AS": int(pages[0]), "RLIMIT_DATA": int(pages[5])}
    room = {"RLIMIT_AS": limits["RLIMIT_DATA"] + _ROOM_FOR_LIBRARIES}
    for name, value in {**limits, **room, "RLIMIT_CORE": 0}.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        wanted = value + held.get(name, 0) * resource.getpagesize()
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (most, most))
    Path("/proc/self/oom_score_adj").write_text("1000")  # should memory run out, this process goes first


def _become_nobody(folder: str) -> None:
    """Give up root: take a uid of its own where Python can be reached by it, else drop every capability."""
    if os.geteuid() != 0:
        return
    uid = _FIRST_UID + os.getpid() % _UIDS
    _drop_bounding_set()
    if _is_mapped(uid) and all(map(_reachable, (sys.prefix, sys.base_prefix, str(Path(folder).parent)))):
        os.chown(folder, uid, uid)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        return
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    if _LIBC.capset(header, bytes(24)) < 0:
        raise ConfinementError(f"capabilities cannot be dropped: {os.strerror(ctypes.get_errno())}")


def _drop_bounding_set() -> None:
    for capability in range(64):
        if _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break
    _LIBC.prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)


def _is_mapped(uid: int) -> bool:
    """Return whether the user namespace knows the uid: a container may map only a few."""
    lines = Path("/proc/self/uid_map").read_text().splitlines()
    return any(int(first) <= uid < int(first) + int(count) for first, _, count in map(str.split, lines))


def _reachable(path: str) -> bool:
    """Return whether every folder on the way to a path can be entered by anybody."""
    real = Path(path).resolve()
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (real, *real.parents))


def _die_with_parent() -> None:
    """End with the zygote. Set after the change of uid, which takes it away."""
    parent = os.getppid()
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
