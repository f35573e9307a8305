"""One writer a session, across processes (docs/log-format.md, clauses O-1 to O-5).

Owns the advisory lock on `session.lock` and what a second opener is told. The lock is the kernel's: it ends with its
owner however the owner ends. The file's text only says who it was and is believed only while the lock is held.
"""

from __future__ import annotations

import errno
import json
from contextlib import suppress
from os import kill
from typing import Final

from acp_server.base.values import value
from acp_server.persistence.io_port import LogIo, write_all
from acp_server.persistence.paths import LOCK_NAME
from acp_server.persistence.port import PersistenceError

_UNSUPPORTED: Final = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_OWNER_LIMIT: Final = 4096
_ATTEMPTS: Final = 10


@value
class Owner:
    """Who holds a lock: process id, host name and when the process opened its store, in milliseconds."""

    pid: int
    host: str
    start: int


def take_lock(io: LogIo, directory: str, owner: Owner) -> int:
    """Return the handle of a session's lock, which `io.close` gives back.

    Raises:
        PersistenceError: SESSION_BUSY with the holder's pid, host, start and whether it is alive; LOCK_UNSUPPORTED
            on a file system without locks; SESSION_NOT_FOUND when the directory goes away meanwhile.
        OSError: the lock file cannot be made or opened, for instance on a read-only disk.
    """
    path = f"{directory}/{LOCK_NAME}"
    for _ in range(_ATTEMPTS):
        handle = io.open(path, "lock")
        try:
            if _claim(io, handle, path, owner):
                return handle
        except BaseException:
            io.close(handle)
            raise
        io.close(handle)
    raise PersistenceError("SESSION_NOT_FOUND", "The session was moved away while it was being opened.")


def _claim(io: LogIo, handle: int, path: str, owner: Owner) -> bool:
    if not _lock(io, handle, path):
        raise _busy(io, handle, owner)
    if not _is_still_there(io, handle, path):
        return False
    _sign(io, handle, owner)
    return True


def _lock(io: LogIo, handle: int, path: str) -> bool:
    try:
        return io.lock(handle)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            message = f"The file system of {path} has no locks, so that two processes could write one session."
            raise PersistenceError("LOCK_UNSUPPORTED", message, {"file": path}) from error
        raise


def _is_still_there(io: LogIo, handle: int, path: str) -> bool:
    """Return whether the locked file is the one that others will find; a deleted session's is not."""
    try:
        found = io.facts(path)
    except FileNotFoundError:
        return False
    held = io.handle_facts(handle)
    return (found.inode, found.device) == (held.inode, held.device)


def _sign(io: LogIo, handle: int, owner: Owner) -> None:
    """Say who holds the lock. On a full disk it stays unsaid, which makes the lock no weaker."""
    text = json.dumps({"pid": owner.pid, "host": owner.host, "start": owner.start}).encode()
    with suppress(OSError):
        io.truncate(handle, 0)
        write_all(io, handle, text, 0)


def _busy(io: LogIo, handle: int, asking: Owner) -> PersistenceError:
    try:
        facts = json.loads(io.read(handle, _OWNER_LIMIT, 0))
        pid, host, start = int(facts["pid"]), str(facts["host"]), int(facts["start"])
    except (OSError, ValueError, KeyError, TypeError):
        return PersistenceError("SESSION_BUSY", "Another process has this session open; it did not say which.")
    alive = _is_alive(pid) if host == asking.host else None
    where = "this process" if (pid, host) == (asking.pid, asking.host) else f"process {pid} on {host}"
    return PersistenceError(
        "SESSION_BUSY",
        f"The session is open in {where}; it can be read, or continued as a fork.",
        {"pid": pid, "host": host, "start": start, "alive": alive},
    )


def _is_alive(pid: int) -> bool:
    try:
        kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
