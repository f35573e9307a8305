"""What the system says about a disk, as codes and plain sentences (docs/log-format.md, clause W-7)."""

from __future__ import annotations

import errno
from typing import Final

from acp_server.persistence.port import PersistenceError

RETRIED: Final = frozenset({"DISK_FULL", "DISK_FAILED"})
"""Codes of a disk that takes nothing at the moment."""

_FULL: Final = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would exceed the largest size allowed",
}
_READ_ONLY: Final = {
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission is missing",
    errno.EPERM: "permission is missing",
}


def may_pass(error: PersistenceError) -> bool:
    """Return whether writing may succeed later without anybody opening the session again.

    A disk is given room and a directory its rights back. Only the system's own refusal names a file: a session that was
    opened for reading stays so.
    """
    return error.code in RETRIED or (error.code == "SESSION_READ_ONLY" and "file" in error.data)


def disk_error(error: OSError, path: str) -> PersistenceError:
    """Return DISK_FULL, SESSION_READ_ONLY or DISK_FAILED with the path and the system's own words."""
    number = error.errno or 0
    if number in _FULL:
        return PersistenceError("DISK_FULL", f"Cannot write {path}: {_FULL[number]}.", {"file": path})
    if (reason := read_only_reason(error)) is not None:
        return PersistenceError("SESSION_READ_ONLY", f"Cannot write {path}: {reason}.", {"file": path})
    words = error.strerror or "the disk failed"
    return PersistenceError("DISK_FAILED", f"Cannot use {path}: {words[:1].lower()}{words[1:]}.", {"file": path})


def read_only_reason(error: OSError) -> str | None:
    """Return why nothing can be written here at all, or None when it is another failure."""
    return _READ_ONLY.get(error.errno or 0)


def poisoned(path: str, why: str) -> PersistenceError:
    """Return the error of a log that this process must not write again; its events stay in memory."""
    message = f"{why}. What is not stored yet is kept in memory; continue in a fork of the session."
    return PersistenceError("DISK_POISONED", message, {"file": path})
