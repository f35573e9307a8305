"""Deleted sessions, and how they go for good (docs/log-format.md, clauses N-5, N-7 and N-8). Blocking.

Owns since when a session is deleted, and that whoever takes one back gets all of it or nothing.
"""

from __future__ import annotations

import errno
from typing import Final

from acp_server.base.values import value
from acp_server.persistence.io_port import LogIo
from acp_server.persistence.paths import LOCK_NAME, TRASH_NAME

CLAIMED: Final = "~gone~"
"""In front of the name of what is being removed; no segment begins so."""
_NOT_CLAIMED: Final = (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST)


@value
class Emptied:
    """How many deleted sessions went for good, and how many were deleted too lately."""

    gone: int = 0
    kept: int = 0


def empty_trash(io: LogIo, root: str, before_ns: int) -> Emptied:
    """Remove the sessions that were deleted before that moment, in nanoseconds since the epoch; raises OSError.

    Several may do so at once, and others may delete or take back sessions meanwhile.
    """
    trash = f"{root}/{TRASH_NAME}"
    try:
        names = io.list_dir(trash)
    except FileNotFoundError:
        return Emptied()
    gone = kept = 0
    for name in [name for name in names if name.startswith(CLAIMED)]:
        io.remove_tree(f"{trash}/{name}")  # whoever claimed it was stopped, or is removing it as well
    for name in [name for name in names if not name.startswith(CLAIMED)]:
        moment = _deleted_ns(io, f"{trash}/{name}")
        if moment is not None and moment >= before_ns:
            kept += 1
        elif moment is not None and _claim(io, trash, name):
            io.remove_tree(f"{trash}/{CLAIMED}{name}")
            gone += 1
    if len(names) > kept:
        io.sync_dir(trash)
    return Emptied(gone, kept)


def _deleted_ns(io: LogIo, directory: str) -> int | None:
    """Return when it was deleted, None when it is gone: whoever deletes a session signs its lock file."""
    for path in (f"{directory}/{LOCK_NAME}", directory):
        try:
            return io.facts(path).mtime_ns
        except (FileNotFoundError, NotADirectoryError):
            continue
    return None


def _claim(io: LogIo, trash: str, name: str) -> bool:
    """Take it out of reach by one call; return False when somebody was faster."""
    try:
        io.rename(f"{trash}/{name}", f"{trash}/{CLAIMED}{name}")
    except OSError as error:
        if error.errno in _NOT_CLAIMED:
            return False
        raise
    return True
