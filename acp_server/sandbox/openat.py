"""Opening files beneath a held directory, decided by the kernel while it walks (docs/sandbox.md, clauses F-1 to F-3).

Owns the one raw system call, openat2, and the walk that stands in for it. Refuses nothing by name: what a path may
touch is the fence's matter.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
from contextlib import suppress
from functools import lru_cache
from typing import Final

OPENAT2: Final = 437
"""The number is the same on every machine of Linux."""

PATH_ONLY: Final[int] = getattr(os, "O_PATH", os.O_RDONLY)
TEMPORARY: Final[int] = getattr(os, "O_TMPFILE", 0)
"""Flags that only Linux has; without the second one a file has a name from the start."""

NO_MAGIC_LINKS: Final = 0x02
NO_SYMLINKS: Final = 0x04
_NO_REPLACE: Final = ctypes.c_uint(1)
_HOW: Final = struct.Struct("=QQQ")
_TRIES: Final = 64
"""EAGAIN says that something was renamed during the walk; somebody who renames all the time gets an error."""


@lru_cache(maxsize=1)
def has_openat2() -> bool:
    """Return whether the kernel walks for us, found out by doing it."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        os.close(_openat2(-100, b"/", PATH_ONLY | os.O_DIRECTORY, 0, 0))
    except OSError:
        return False
    return True


def open_strictly(path: str, flags: int, mode: int = 0, *, directory: int | None = None) -> int:
    """Return a descriptor of a path in whose way no symbolic link lies; ELOOP when one does."""
    start = os.open("/", PATH_ONLY | os.O_DIRECTORY | os.O_CLOEXEC) if directory is None else directory
    try:
        if has_openat2():
            return _retried(start, path.lstrip("/") or ".", flags, mode, NO_SYMLINKS | NO_MAGIC_LINKS)
        return _walk(start, path.lstrip("/") or ".", flags, mode)
    finally:
        if directory is None:
            os.close(start)


def rename_to_free_name(old_directory: int, old: str, new_directory: int, new: str) -> None:
    """Rename without ever replacing anything. Raise OSError: ENOSYS where the system cannot, EEXIST, EXDEV."""
    if not hasattr(_libc(), "renameat2"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    names = (ctypes.c_char_p(os.fsencode(old)), ctypes.c_char_p(os.fsencode(new)))
    answer = _libc().renameat2(
        ctypes.c_int(old_directory), names[0], ctypes.c_int(new_directory), names[1], _NO_REPLACE
    )
    if answer != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), old)


def _retried(directory: int, path: str, flags: int, mode: int, resolve: int) -> int:
    name = os.fsencode(path)
    for _ in range(_TRIES - 1):
        with suppress(BlockingIOError, InterruptedError):
            return _openat2(directory, name, flags | os.O_CLOEXEC, mode, resolve)
    return _openat2(directory, name, flags | os.O_CLOEXEC, mode, resolve)


def _openat2(directory: int, path: bytes, flags: int, mode: int, resolve: int) -> int:
    how = _HOW.pack(flags, mode if flags & os.O_CREAT or _makes_unnamed(flags) else 0, resolve)
    if b"\0" in path:
        raise ValueError("embedded null byte")
    descriptor: int = _libc().syscall(
        ctypes.c_long(OPENAT2),
        ctypes.c_int(directory),
        ctypes.c_char_p(path),
        ctypes.c_char_p(how),
        ctypes.c_size_t(24),
    )
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), os.fsdecode(path))
    return descriptor


def _makes_unnamed(flags: int) -> bool:
    """The flag for unnamed files holds the one for directories."""
    return TEMPORARY != 0 and flags & TEMPORARY == TEMPORARY


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _walk(directory: int, path: str, flags: int, mode: int) -> int:
    """Open each component without following links; `..` is refused, and so is every link on the way."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    held = os.dup(directory)
    try:
        for part in parts[:-1]:
            step = os.open(part, PATH_ONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=held)
            os.close(held)
            held = step
        last = parts[-1] if parts else "."
        found = os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=held)
    except NotADirectoryError as error:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path) from error
    finally:
        os.close(held)
    if stat.S_ISLNK(os.fstat(found).st_mode):  # a descriptor for the path alone is given of a link as well
        os.close(found)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return found
