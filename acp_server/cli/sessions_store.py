"""The stored sessions as the commands need them: found by the start of an id, read without a lock.

Owns what the commands say on stderr, and the sentence for an id that names no session or several.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from dataclasses import dataclass
from typing import Final

from acp_server.app.clock import RandomIds, SystemClock
from acp_server.app.places import account_home, find_places
from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.printable import visible
from acp_server.persistence.header_frame import read_header
from acp_server.persistence.holder import holder_of
from acp_server.persistence.inventory import stored_sessions
from acp_server.persistence.jsonl import JsonlPersistence
from acp_server.persistence.lock import Owner
from acp_server.persistence.opening import Store
from acp_server.persistence.posix_io import PosixIo
from acp_server.persistence.recovery import Found, look
from acp_server.session.header import SessionHeader

CANDIDATES: Final = 10
"""Ids that are named when the start of one is not enough."""


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """One root of sessions: `store` for looking without a lock, `persistence` for everything else."""

    store: Store
    persistence: JsonlPersistence

    def resolve(self, given: str) -> SessionId:
        """Return the id of which `given` is the whole or the only matching start.

        Raises:
            ServerError: SESSION_NOT_FOUND, AMBIGUOUS_SESSION naming the candidates, or a failure of the disk.
        """
        stored = stored_sessions(self.store.io, self.store.root, given) if given else []
        ids = sorted({entry.id for entry in stored if entry.id is not None})
        if given in ids:
            return SessionId(given)
        if not ids:
            raise ServerError("SESSION_NOT_FOUND", f"No stored session has an id that begins with {given!r}.")
        if len(ids) > 1:
            more = f" and {len(ids) - CANDIDATES} more" if len(ids) > CANDIDATES else ""
            named = ", ".join(ids[:CANDIDATES])
            raise ServerError("AMBIGUOUS_SESSION", f"{given!r} begins the ids of several sessions: {named}{more}.")
        return ids[0]

    def look(self, session_id: SessionId) -> Found:
        """Return what a log holds, without a lock and without closers; raises as `recovery.look`."""
        return look(self.store.io, self.store.place_of(session_id), session_id)

    def header(self, session_id: SessionId) -> SessionHeader:
        """Return a stored header; raises as `header_frame.read_header`."""
        place = self.store.place_of(session_id)
        return read_header(self.store.io, place.path, place.encoding)[0]

    def holder(self, session_id: SessionId) -> Owner | None:
        """Return who has the session open, None when nobody does."""
        return holder_of(self.store.place_of(session_id).directory)


def open_files() -> SessionFiles:
    """Return the sessions of the environment's home; nothing is opened or made.

    Raises:
        ServerError: NO_HOME, INVALID_HOME.
    """
    root = find_places(os.environ, account_home).sessions
    io, owner = PosixIo(), Owner(os.getpid(), socket.gethostname(), time.time_ns() // 1_000_000)
    return SessionFiles(Store(io, root, "zstd", owner), JsonlPersistence(root, io=io, owner=owner))


def fresh_id() -> SessionId:
    """Return an id for a session that a command makes."""
    return SessionId(RandomIds().new())


def now_ms() -> int:
    """Return the wall clock in milliseconds."""
    return SystemClock().now_ms()


def note(text: str) -> None:
    """Say one sentence on stderr, whatever is in it."""
    print(f"acp-server sessions: {visible(text)}", file=sys.stderr)


def holder_text(owner: Owner) -> str:
    """Return who has a session open, in words."""
    return f"process {owner.pid} on {owner.host}" if owner.pid else "a process that did not say which"
