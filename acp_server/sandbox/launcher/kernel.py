"""System calls that the standard library does not have, for the launcher."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from typing import Final

PR_SET_PDEATHSIG: Final = 1
PR_CAPBSET_DROP: Final = 24
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_NO_NEW_PRIVS: Final = 38
_SET_MODE_FILTER: Final = 1
_LAST_CAPABILITY: Final = 40
_CAPABILITY_VERSION: Final = 0x20080522

_NUMBERS: Final = {
    "x86_64": {"unshare": 272, "seccomp": 317, "capset": 126},
    "aarch64": {"unshare": 97, "seccomp": 277, "capset": 91},
}
_MOUNT_SETATTR: Final = 442
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446

_LIBC: Final = ctypes.CDLL(None, use_errno=True)


def call(number: int, *arguments: object) -> int:
    """Make a system call; raise OSError when it fails."""
    answer: int = _LIBC.syscall(ctypes.c_long(number), *arguments)
    if answer < 0:
        _fail(f"system call {number}")
    return answer


def attempt(number: int, *arguments: object) -> int:
    """Make a system call and return its answer, negative when it failed."""
    answer: int = _LIBC.syscall(ctypes.c_long(number), *arguments)
    return answer


def prctl(option: int, argument: int = 0) -> None:
    """Change a property of this process."""
    words = [ctypes.c_ulong(word) for word in (option, argument, 0, 0, 0)]
    if _LIBC.prctl(*words) != 0:
        _fail("prctl")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Attach a file system, or a part of one."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    if _LIBC.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]) != 0:
        _fail(f"mounting on {target}")


def change_mount(path: str, *, add: int = 0, clear: int = 0, recursive: bool = False) -> None:
    """Set and clear attributes of a mount; the manual's mount_setattr(2)."""
    attributes = struct.pack("<QQQQ", add, clear, 0, 0)
    flags = 0x8000 if recursive else 0
    call(
        _MOUNT_SETATTR,
        ctypes.c_int(-100),
        ctypes.c_char_p(os.fsencode(path)),
        ctypes.c_uint(flags),
        ctypes.c_char_p(attributes),
        ctypes.c_size_t(len(attributes)),
    )


def unshare(machine: str, flags: int) -> None:
    """Leave for namespaces of this process's own. Python has the call from 3.12 on."""
    call(_NUMBERS[machine]["unshare"], ctypes.c_long(flags))


def filter_calls(machine: str, program: bytes) -> None:
    """Install a filter of system calls for good."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    rows = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(rows))
    call(_NUMBERS[machine]["seccomp"], ctypes.c_uint(_SET_MODE_FILTER), ctypes.c_uint(0), ctypes.c_char_p(head))


def keep_capabilities(machine: str, kept: frozenset[int]) -> None:
    """Drop every capability but the kept ones, from what programs may gain as well."""
    for number in range(_LAST_CAPABILITY + 1):
        if number not in kept:
            try:
                prctl(PR_CAPBSET_DROP, number)
            except OSError as error:
                if error.errno not in (errno.EINVAL, errno.EPERM):
                    raise
    mask = sum(1 << number for number in kept)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    head = struct.pack("<Ii", _CAPABILITY_VERSION, 0)
    data = struct.pack("<IIIIII", low, low, 0, high, high, 0)
    call(_NUMBERS[machine]["capset"], ctypes.c_char_p(head), ctypes.c_char_p(data))


def _fail(what: str) -> None:
    number = ctypes.get_errno()
    raise OSError(number, f"{what}: {os.strerror(number)}")
