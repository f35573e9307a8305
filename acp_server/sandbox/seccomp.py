"""The system calls that a tool may not make, as the bytes of a classic BPF program (docs/sandbox.md, K-1 to K-4). Pure.

Owns the tables of numbers by machine and the program's form. What is not named is allowed; a call of another
architecture's table ends the process, because its numbers mean other calls.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from acp_server.base.errors import ServerError
from acp_server.base.values import value

Sockets: TypeAlias = Literal["any", "unix"]

_ALLOW: Final = 0x7FFF0000
_KILL_PROCESS: Final = 0x80000000
_ERRNO: Final = 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENT_0, _ARGUMENT_1 = 0, 4, 16, 24
_CLONE_NEWUSER: Final = 0x10000000
_AF_UNIX: Final = 1
_X32_BIT: Final = 0x40000000
_TERMINAL_INJECTION: Final = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX

DENIED: Final[tuple[str, ...]] = (
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "pidfd_getfd",
    "kcmp",
    "keyctl",
    "add_key",
    "request_key",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "mount",
    "umount2",
    "pivot_root",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "setns",
    "unshare",
    "chroot",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "swapon",
    "swapoff",
    "reboot",
    "acct",
    "quotactl",
    "quotactl_fd",
    "syslog",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "open_by_handle_at",
    "iopl",
    "ioperm",
)
"""Answered with EPERM. `iopl` and `ioperm` exist on one machine only."""

ABSENT: Final[tuple[str, ...]] = ("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3")
"""Answered with ENOSYS, so that libraries fall back. clone3 hides its flags from a filter."""


@value
class Machine:
    """What a filter has to know of a machine: its audit number, whether x32 calls exist, numbers by name."""

    audit: int
    x32: bool
    numbers: Mapping[str, int]


_SHARED: Final[Mapping[str, int]] = {
    "clone3": 435,
    "fsconfig": 431,
    "fsmount": 432,
    "fsopen": 430,
    "fspick": 433,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "io_uring_setup": 425,
    "mount_setattr": 442,
    "move_mount": 429,
    "open_tree": 428,
    "pidfd_getfd": 438,
    "quotactl_fd": 443,
}

X86_64: Final = Machine(
    audit=0xC000003E,
    x32=True,
    numbers={
        **_SHARED,
        "acct": 163,
        "add_key": 248,
        "adjtimex": 159,
        "bpf": 321,
        "chroot": 161,
        "clock_adjtime": 305,
        "clock_settime": 227,
        "clone": 56,
        "delete_module": 176,
        "finit_module": 313,
        "init_module": 175,
        "ioctl": 16,
        "ioperm": 173,
        "iopl": 172,
        "kcmp": 312,
        "kexec_file_load": 320,
        "kexec_load": 246,
        "keyctl": 250,
        "mount": 165,
        "open_by_handle_at": 304,
        "perf_event_open": 298,
        "pivot_root": 155,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "ptrace": 101,
        "quotactl": 179,
        "reboot": 169,
        "request_key": 249,
        "setns": 308,
        "settimeofday": 164,
        "socket": 41,
        "socketpair": 53,
        "swapoff": 168,
        "swapon": 167,
        "syslog": 103,
        "umount2": 166,
        "unshare": 272,
        "userfaultfd": 323,
    },
)
AARCH64: Final = Machine(
    audit=0xC00000B7,
    x32=False,
    numbers={
        **_SHARED,
        "acct": 89,
        "add_key": 217,
        "adjtimex": 171,
        "bpf": 280,
        "chroot": 51,
        "clock_adjtime": 266,
        "clock_settime": 112,
        "clone": 220,
        "delete_module": 106,
        "finit_module": 273,
        "init_module": 105,
        "ioctl": 29,
        "kcmp": 272,
        "kexec_file_load": 294,
        "kexec_load": 104,
        "keyctl": 219,
        "mount": 40,
        "open_by_handle_at": 265,
        "perf_event_open": 241,
        "pivot_root": 41,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "ptrace": 117,
        "quotactl": 60,
        "reboot": 142,
        "request_key": 218,
        "setns": 268,
        "settimeofday": 170,
        "socket": 198,
        "socketpair": 199,
        "swapoff": 225,
        "swapon": 224,
        "syslog": 116,
        "umount2": 39,
        "unshare": 97,
        "userfaultfd": 282,
    },
)
MACHINES: Final[Mapping[str, Machine]] = {"x86_64": X86_64, "aarch64": AARCH64}


@lru_cache(maxsize=4)
def seccomp_program(machine: str, sockets: Sockets = "any") -> bytes:
    """Return the program for a machine as `uname -m` names it, 8 bytes an instruction.

    `sockets` "unix" refuses every other family, for boxes whose network is not a namespace of its own.

    Raises:
        ServerError: NO_SECCOMP_TABLE for a machine that is not in MACHINES.
    """
    table = MACHINES.get(machine)
    if table is None:
        raise ServerError("NO_SECCOMP_TABLE", f"No filter of system calls is known for the machine {machine!r}.")
    rows = [*_entry(table), *_by_number(table), *_terminal(table), *_user_namespace(table)]
    if sockets == "unix":
        rows += _unix_only(table, "socket") + _unix_only(table, "socketpair")
    return b"".join(struct.pack("<HBBI", *row) for row in [*rows, _row(_RETURN, _ALLOW)])


Row: TypeAlias = tuple[int, int, int, int]


def _row(code: int, constant: int, then: int = 0, otherwise: int = 0) -> Row:
    """Return an instruction; the jumps skip so many of the next ones."""
    return code, then, otherwise, constant


def _refuse(number: int) -> Row:
    return _row(_RETURN, _ERRNO | number)


def _entry(table: Machine) -> list[Row]:
    rows = [_row(_LOAD, _ARCHITECTURE), _row(_EQUAL, table.audit, 1), _row(_RETURN, _KILL_PROCESS)]
    rows.append(_row(_LOAD, _NUMBER))
    if table.x32:
        rows += [_row(_AT_LEAST, _X32_BIT, 0, 1), _refuse(errno.ENOSYS)]
    return rows


def _by_number(table: Machine) -> list[Row]:
    rows = []
    for names, answer in ((DENIED, errno.EPERM), (ABSENT, errno.ENOSYS)):
        for name in names:
            if name in table.numbers:
                rows += [_row(_EQUAL, table.numbers[name], 0, 1), _refuse(answer)]
    return rows


def _terminal(table: Machine) -> list[Row]:
    first, second = _TERMINAL_INJECTION
    return [
        _row(_EQUAL, table.numbers["ioctl"], 0, 5),
        _row(_LOAD, _ARGUMENT_1),
        _row(_EQUAL, first, 1),
        _row(_EQUAL, second, 0, 1),
        _refuse(errno.EPERM),
        _row(_RETURN, _ALLOW),
    ]


def _user_namespace(table: Machine) -> list[Row]:
    return [
        _row(_EQUAL, table.numbers["clone"], 0, 4),
        _row(_LOAD, _ARGUMENT_0),
        _row(_ANY_BIT, _CLONE_NEWUSER, 0, 1),
        _refuse(errno.EPERM),
        _row(_RETURN, _ALLOW),
    ]


def _unix_only(table: Machine, call: str) -> list[Row]:
    return [
        _row(_EQUAL, table.numbers[call], 0, 4),
        _row(_LOAD, _ARGUMENT_0),
        _row(_EQUAL, _AF_UNIX, 0, 1),
        _row(_RETURN, _ALLOW),
        _refuse(errno.EPERM),
    ]
