"""Which files a session has read and others have changed since (docs/others.md, clauses W-1 to W-4). Blocks.

Owns how a change is told from a file that was only touched, and that a change is found once. Gives names alone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from acp_server.sandbox.replacing import Version, digest_of

MOST: Final = 500
"""Files that are looked at, those that were seen first left out."""
MOST_BYTES: Final = 8 * 1024 * 1024
"""Of a larger file other facts are another state, whatever is in it."""
NAMED: Final = 20
CHANGES: Final = "acp-server/changes"
"""The source of messages that tell of changes."""

Stand: TypeAlias = tuple[int, int, int] | None
"""Time, size and inode of a regular file; None when there is none."""


class Watch:
    """How the files stood at the last look. `restored`: what was seen first was seen in an earlier life."""

    def __init__(self, *, restored: bool = False) -> None:
        self._restored = restored
        self._known: dict[str, tuple[Version, Stand]] = {}

    def changed(self, seen: Mapping[str, Version]) -> list[str]:
        """Return the files that are not what the session has seen and were not found so before."""
        found: list[str] = []
        for path, version in list(seen.items())[-MOST:]:
            now, known = stand_of(path), self._known.get(path)
            self._known[path] = (version, now)
            if known is not None and known[0] is version:
                before, compares = known[1], True
            else:  # a call has seen it since the last look
                before = (version.mtime_ns, version.size, version.inode)
                compares = version.mtime_ns != 0 or self._restored
            if compares and now != before and not same_bytes(path, now, version):
                found.append(path)
        self._restored = False
        return found


def stand_of(path: str) -> Stand:
    """Return how a file stands; no link is followed."""
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return (facts.st_mtime_ns, facts.st_size, facts.st_ino) if stat.S_ISREG(facts.st_mode) else None


def same_bytes(path: str, now: Stand, version: Version) -> bool:
    """Return whether the file certainly holds what the session saw."""
    if now is None or version.digest is None or now[1] != version.size or now[1] > MOST_BYTES:
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return digest_of(file.read(MOST_BYTES + 1)) == version.digest
    except OSError:
        return False


def words_of(changed: Sequence[str]) -> str:
    """Return what the model is told."""
    lines = [f"- {path}" if Path(path).exists() else f"- {path} (gone)" for path in changed[:NAMED]]
    if len(changed) > NAMED:
        lines.append(f"- and {len(changed) - NAMED} more")
    head = "These files are no longer what you saw, and no call of yours has changed them:"
    return "\n".join([head, *lines, "Read them again before you rely on them or change them."])
