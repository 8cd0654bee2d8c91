"""The seccomp filter: what the kernel refuses a student's process whatever the file system says (by ctypes).

Landlock governs files; this governs the rest: no new process, no network, nobody else to signal or to look into, no
way back to privileges. What is refused stands in tables by purpose. The numbers are those of Linux's own headers
(`asm/unistd_64.h` and `asm-generic/unistd.h`); a call that is younger than the tables does not exist here.
"""

from __future__ import annotations

import copy
import ctypes
import errno
import os
import platform
import struct
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class SeccompError(RuntimeError):
    """The kernel or the machine's architecture lacks what the filter needs."""


class Call(NamedTuple):
    """The numbers of a system call; None where an architecture lacks it."""

    x86_64: int | None
    aarch64: int | None


REFUSED: dict[str, dict[str, Call]] = {
    "processes": {
        "fork": Call(57, None), "vfork": Call(58, None), "execve": Call(59, 221), "execveat": Call(322, 281),
    },
    "network": {
        "socket": Call(41, 198), "connect": Call(42, 203), "bind": Call(49, 200), "listen": Call(50, 201),
        "accept": Call(43, 202), "accept4": Call(288, 242),
    },
    "others": {
        "ptrace": Call(101, 117), "process_vm_readv": Call(310, 270), "process_vm_writev": Call(311, 271),
        "kcmp": Call(312, 272), "pidfd_open": Call(434, 434), "pidfd_getfd": Call(438, 438),
        "pidfd_send_signal": Call(424, 424), "process_madvise": Call(440, 440), "process_mrelease": Call(448, 448),
        "tkill": Call(200, 130), "rt_sigqueueinfo": Call(129, 138), "rt_tgsigqueueinfo": Call(297, 240),
        "sched_setaffinity": Call(203, 122), "sched_setscheduler": Call(144, 119), "sched_setparam": Call(142, 118),
        "sched_setattr": Call(314, 274), "setpriority": Call(141, 140), "ioprio_set": Call(251, 30),
        "migrate_pages": Call(256, 238), "move_pages": Call(279, 239), "inotify_init": Call(253, None),
        "inotify_init1": Call(294, 26), "fanotify_init": Call(300, 262), "flock": Call(73, 32),
    },
    "shared memory": {
        "shmget": Call(29, 194), "shmat": Call(30, 196), "shmctl": Call(31, 195), "semget": Call(64, 190),
        "semctl": Call(66, 191), "semop": Call(65, 193), "semtimedop": Call(220, 192), "msgget": Call(68, 186),
        "msgctl": Call(71, 187), "msgsnd": Call(69, 189), "msgrcv": Call(70, 188), "mq_open": Call(240, 180),
        "mq_unlink": Call(241, 181), "memfd_create": Call(319, 279), "memfd_secret": Call(447, 447),
    },
    "ownership": {
        "chown": Call(92, None), "fchown": Call(93, 55), "lchown": Call(94, None), "fchownat": Call(260, 54),
        "setxattr": Call(188, 5), "lsetxattr": Call(189, 6), "fsetxattr": Call(190, 7), "removexattr": Call(197, 14),
        "lremovexattr": Call(198, 15), "fremovexattr": Call(199, 16), "setuid": Call(105, 146),
        "setgid": Call(106, 144), "setreuid": Call(113, 145), "setregid": Call(114, 143),
        "setresuid": Call(117, 147), "setresgid": Call(119, 149), "setgroups": Call(116, 159),
        "setfsuid": Call(122, 151), "setfsgid": Call(123, 152), "capset": Call(126, 91),
    },
    "kernel": {
        "unshare": Call(272, 97), "setns": Call(308, 268), "mount": Call(165, 40), "umount2": Call(166, 39),
        "pivot_root": Call(155, 41), "chroot": Call(161, 51), "move_mount": Call(429, 429), "fsopen": Call(430, 430),
        "fsconfig": Call(431, 431), "fsmount": Call(432, 432), "fspick": Call(433, 433), "open_tree": Call(428, 428),
        "mount_setattr": Call(442, 442), "swapon": Call(167, 224), "swapoff": Call(168, 225),
        "reboot": Call(169, 142), "sethostname": Call(170, 161), "setdomainname": Call(171, 162),
        "iopl": Call(172, None), "ioperm": Call(173, None), "init_module": Call(175, 105),
        "finit_module": Call(313, 273), "delete_module": Call(176, 106), "kexec_load": Call(246, 104),
        "kexec_file_load": Call(320, 294), "quotactl": Call(179, 60), "quotactl_fd": Call(443, 443),
        "acct": Call(163, 89), "settimeofday": Call(164, 170), "clock_settime": Call(227, 112),
        "clock_adjtime": Call(305, 266), "adjtimex": Call(159, 171), "syslog": Call(103, 116),
        "vhangup": Call(153, 58), "bpf": Call(321, 280), "perf_event_open": Call(298, 241),
        "userfaultfd": Call(323, 282), "keyctl": Call(250, 219), "add_key": Call(248, 217),
        "request_key": Call(249, 218), "io_uring_setup": Call(425, 425), "io_uring_enter": Call(426, 426),
        "io_uring_register": Call(427, 427), "name_to_handle_at": Call(303, 264),
        "open_by_handle_at": Call(304, 265), "personality": Call(135, 92), "modify_ldt": Call(154, None),
        "lookup_dcookie": Call(212, 18),
    },
}  # fmt: skip

# Landlock lets these through to any file that the user owns. They do nothing and say that they did: what is outside
# must not change, and `shutil.copy` must work.
PRETENDED: dict[str, Call] = {
    "chmod": Call(90, None), "fchmod": Call(91, 52), "fchmodat": Call(268, 53), "utime": Call(132, None),
    "utimes": Call(235, None), "futimesat": Call(261, None), "utimensat": Call(280, 88), "sync": Call(162, 81),
    "syncfs": Call(306, 267),
}  # fmt: skip

FIRST_UNKNOWN = 451  # cachestat, of Linux 6.5: from here on the numbers are the same everywhere
_CLONE, _CLONE3, _KILL, _TGKILL = Call(56, 220), Call(435, 435), Call(62, 129), Call(234, 131)
_PRLIMIT, _SOCKETPAIR, _PRCTL = Call(302, 261), Call(53, 199), Call(157, 167)
_FCNTL, _IOCTL = Call(72, 25), Call(16, 29)

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_CLONE_THREAD, _SOCK_TYPE, _SOCK_STREAM = 0x10000, 0xF, 1
_THREAD_NAMES, _NAMED_MEMORY = (15, 16), 0x53564D41
_SIGNAL_OWNERS = (8, 10, 15)  # F_SETOWN, F_SETSIG, F_SETOWN_EX: signals by way of a descriptor
_LOCKS = (6, 7, 37, 38)  # F_SETLK, F_SETLKW and those of open files: by a lock on a file of all, two could talk
_SIGNAL_OR_TYPE = (0x8901, 0x8902, 0x5412, 0x541C)  # FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
_LIBC = ctypes.CDLL(None, use_errno=True)


class _Program:
    """A filter in the kernel's own instructions; each rule stands alone and is over when it is passed."""

    def __init__(self, machine: str) -> None:
        if machine not in _ARCHITECTURES:
            raise SeccompError(
                f"no seccomp filter for the architecture {machine} (there is one for x86_64 and aarch64)"
            )
        self._machine = machine
        self._code: list[bytes] = []
        self._add(_LOAD, _ARCHITECTURE)
        self._add(_EQUAL, _ARCHITECTURES[machine], 1, 0)
        self._add(_RETURN, _KILL_PROCESS)
        self._add(_LOAD, _NUMBER)
        if machine == "x86_64":
            self._add(_AT_LEAST, _X32, 0, 1)
            self._add(_RETURN, _ERRNO | errno.ENOSYS)
        self._add(_AT_LEAST, FIRST_UNKNOWN, 0, 1)
        self._add(_RETURN, _ERRNO | errno.ENOSYS)

    def refuse(self, call: Call, error: int = errno.EPERM) -> None:
        """Refuse a call with an error; 0 says that it was done."""
        number = getattr(call, self._machine)
        if number is not None:
            self._add(_EQUAL, number, 0, 1)
            self._add(_RETURN, _ERRNO | error)

    def allow_only(self, call: Call, argument: int, *values: int, mask: int = 0) -> None:
        """Refuse a call but where the low half of an argument, masked, is one of the values."""
        self._when(call, argument, [(_EQUAL, value) for value in values], mask, (_ALLOW, _ERRNO | errno.EPERM))

    def allow_with(self, call: Call, argument: int, bit: int) -> None:
        """Refuse a call but where an argument has the bit."""
        self._when(call, argument, [(_ANY_BIT, bit)], 0, (_ALLOW, _ERRNO | errno.EPERM))

    def refuse_only(self, call: Call, argument: int, values: Sequence[int], pretended: Sequence[int] = ()) -> None:
        """Refuse a call just where the low half of an argument is one of the values; pretend it where it is others."""
        if (number := getattr(call, self._machine)) is None:
            return
        errors = [*((value, errno.EPERM) for value in values), *((value, 0) for value in pretended)]
        self._add(_EQUAL, number, 0, 2 * len(errors) + 2)
        self._add(_LOAD, 16 + 8 * argument)
        for value, error in errors:
            self._add(_EQUAL, value, 0, 1)
            self._add(_RETURN, _ERRNO | error)
        self._add(_RETURN, _ALLOW)

    def pretend_unless(self, call: Call, argument: int, value: int) -> None:
        """Say that a call was done, but refuse it where the low half of an argument is the value."""
        self._when(call, argument, [(_EQUAL, value)], 0, (_ERRNO | errno.EPERM, _ERRNO))

    def _when(
        self, call: Call, argument: int, tests: list[tuple[int, int]], mask: int, results: tuple[int, int]
    ) -> None:
        """End with the first result where one of the tests of an argument holds, else with the second."""
        number = getattr(call, self._machine)
        if number is None:
            return
        body = [(_LOAD, 16 + 8 * argument, 0)]
        if mask:
            body.append((_AND, mask, 0))
        body += [(test, value, len(tests) - place) for place, (test, value) in enumerate(tests)]
        body += [(_RETURN, results[1], 0), (_RETURN, results[0], 0)]
        self._add(_EQUAL, number, 0, len(body))
        for instruction in body:
            self._add(*instruction)

    def _add(self, code: int, value: int, if_true: int = 0, if_false: int = 0) -> None:
        self._code.append(struct.pack("=HBBI", code, if_true, if_false, value & 0xFFFFFFFF))

    def install(self) -> None:
        """Put the filter on this process and its threads, for good."""
        self._add(_RETURN, _ALLOW)
        code = ctypes.create_string_buffer(b"".join(self._code))

        class Filter(ctypes.Structure):
            _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

        program = Filter(len(self._code), ctypes.cast(code, ctypes.c_void_p))
        if _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0:
            raise SeccompError("no_new_privs is refused")
        if _LIBC.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) < 0:
            raise SeccompError(f"this kernel refuses a seccomp filter ({os.strerror(ctypes.get_errno())})")


@cache
def common() -> _Program:
    """Return the rules that are the same for every process: the zygote puts them together once for all children."""
    program = _Program(platform.machine())
    for calls in REFUSED.values():
        for call in calls.values():
            program.refuse(call)
    program.pretend_unless(PRETENDED["utimensat"], 2, 0)  # `Path.touch` makes a file only where no time can be set
    for call in PRETENDED.values():
        program.refuse(call, 0)
    program.refuse(_CLONE3, errno.ENOSYS)  # its flags are out of sight; the C library then uses clone
    program.allow_with(_CLONE, 0, _CLONE_THREAD)
    program.allow_only(_SOCKETPAIR, 1, _SOCK_STREAM, mask=_SOCK_TYPE)  # a datagram socket could send to any address
    program.allow_only(_PRCTL, 0, *_THREAD_NAMES, _NAMED_MEMORY)
    program.refuse_only(_FCNTL, 1, _SIGNAL_OWNERS, pretended=_LOCKS)
    program.refuse_only(_IOCTL, 1, _SIGNAL_OR_TYPE)
    return program


def install() -> None:
    """Refuse this process, for good, what the tables name and all that reaches beyond itself."""
    program = copy.deepcopy(common())
    itself = os.getpid()
    program.allow_only(_KILL, 0, itself)
    program.allow_only(_TGKILL, 0, itself)
    program.allow_only(_PRLIMIT, 0, 0, itself)
    program.install()
