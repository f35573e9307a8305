"""Who has a session open, seen from outside (docs/log-format.md, clauses O-1 to O-5). Blocking; writes nothing.

Owns the look at a lock that leaves it to its owner. Taking it is `lock`'s matter.
"""

from __future__ import annotations

import fcntl
import json
import os

from acp_server.persistence.lock import Owner
from acp_server.persistence.paths import LOCK_NAME

_OWNER_LIMIT = 4096
_UNNAMED = Owner(0, "", 0)


def holder_of(directory: str) -> Owner | None:
    """Return who holds the session of that directory, with pid 0 when it did not say; None when nobody does.

    Where the file system has no locks or the lock cannot be read, nobody is seen. The look asks for a shared lock and
    gives it back at once; only when the file names an owner, so that a session that is being made is left alone.
    """
    try:
        handle = os.open(f"{directory}/{LOCK_NAME}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        text = os.pread(handle, _OWNER_LIMIT, 0)
        return _read_owner(text) if text and _is_locked(handle) else None
    except OSError:
        return None
    finally:
        os.close(handle)


def _is_locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _read_owner(text: bytes) -> Owner:
    try:
        facts = json.loads(text)
        return Owner(int(facts["pid"]), str(facts["host"]), int(facts["start"]))
    except (ValueError, KeyError, TypeError):
        return _UNNAMED
