"""Sessions as log files below one root directory (docs/log-format.md).

Owns which sessions this process holds, and that work on one session is done in order. What a file goes through is
told in `opening`, `journal` and `recovery`; what a list shows in `catalog`.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from acp_server.base.ids import SessionId
from acp_server.base.ports import Journal
from acp_server.base.values import replace, value
from acp_server.persistence import opening
from acp_server.persistence.attachments import get_attachment
from acp_server.persistence.batches import Encoding
from acp_server.persistence.catalog import Catalog
from acp_server.persistence.catalog_db import Row, Wanted
from acp_server.persistence.cursor import decode_cursor
from acp_server.persistence.held_session import HeldSession
from acp_server.persistence.io_port import LogIo
from acp_server.persistence.learning import learn
from acp_server.persistence.listing import entry_of, page_of
from acp_server.persistence.lock import Owner
from acp_server.persistence.port import (
    HealthListener,
    Keeping,
    LoadedSession,
    ObservedSession,
    Origin,
    PersistenceError,
    SalvageReport,
    SessionEntry,
    SessionPage,
    VerifyReport,
)
from acp_server.persistence.posix_io import PosixIo
from acp_server.persistence.workers import Workers
from acp_server.persistence.write_queue import QueueLimits
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from acp_server.session.log import EventLog

LARGEST_PAGE: Final = 200
_DURABLE: Final = Keeping(durable=True)
_Result = TypeVar("_Result")


@value
class _Held:
    """A held session and the events it was loaded with."""

    files: HeldSession
    log: EventLog | None


class JsonlPersistence:
    """SessionPersistence on a disk. `root` is made when the first event is written; it and all below are private.

    `compression` decides how logs are written from here on; logs of both kinds are read.
    """

    def __init__(
        self,
        root: Path | str,
        *,
        compression: Encoding = "zstd",
        io: LogIo | None = None,
        limits: QueueLimits | None = None,
        owner: Owner | None = None,
    ) -> None:
        self._io: LogIo = PosixIo() if io is None else io
        self._store = opening.Store(
            self._io,
            str(Path(root).absolute()),
            compression,
            owner or Owner(os.getpid(), socket.gethostname(), time.time_ns() // 1_000_000),
        )
        self._limits = limits or QueueLimits()
        self._catalog = Catalog(self._io, self._store.root)
        self._workers = Workers()
        self._held: dict[SessionId, _Held] = {}
        self._learning: asyncio.Future[None] | None = None
        self._stopping = False
        self._gates: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()

    @property
    def keeping(self) -> Keeping:
        """See SessionPersistence."""
        return _DURABLE

    async def create(self, header: SessionHeader) -> None:
        """See SessionPersistence."""
        async with self._gate(header.id):
            self._require_free(header.id)
            await self._run(lambda: self._store.require_absent(header.id))
            self._held[header.id] = _Held(self._store.fresh(header), None)

    def attach(self, session: ObservedSession, on_health: HealthListener | None = None) -> Journal:
        """See SessionPersistence."""
        files = self._known(session.id).files
        if files.queue is not None:
            raise PersistenceError("SESSION_ALREADY_EXISTS", f"The session {session.id} is attached already.")
        return files.attach(session, self._workers, self._limits, on_health)

    async def flush(self, session: ObservedSession | SessionId) -> None:
        """See SessionPersistence."""
        queue = self._known(_id_of(session)).files.queue
        if queue is not None:
            await queue.flush()

    async def room(self, session: ObservedSession | SessionId) -> None:
        """See SessionPersistence."""
        queue = self._known(_id_of(session)).files.queue
        if queue is not None:
            await queue.room()

    async def prepare(self, session_id: SessionId) -> LoadedSession:
        """See SessionPersistence."""
        async with self._gate(session_id):
            if session_id in self._held:
                raise PersistenceError("SESSION_BUSY", f"The session {session_id} is open in this process.")
            files, loaded = await self._run(lambda: self._store.open(session_id))
            self._held[session_id] = _Held(files, loaded.log)
        await self._note(files)
        return loaded

    async def inspect(self, session_id: SessionId) -> LoadedSession:
        """See SessionPersistence."""
        held = self._held.get(session_id)
        if held is not None and (log := _events(held)) is not None:
            length = len(log)
            copy = await self._run(lambda: opening.copy_of(log, length))
            return LoadedSession(held.files.header, copy, read_only="The session is open in this process.")
        return await self._run(lambda: self._store.inspect(session_id))

    async def read_from(self, session_id: SessionId, seq: int) -> AsyncIterator[SessionEvent]:
        """See SessionPersistence."""
        log = await self._run(lambda: self._store.suffix(session_id, max(seq, 0)))
        for event in log.since(max(seq, 0)):
            yield event

    async def list(
        self, cwd: str | None = None, cursor: str | None = None, limit: int = 50, *, origin: Origin = None
    ) -> SessionPage:
        """See SessionPersistence."""
        after = None if cursor is None else decode_cursor(cursor)
        size = max(1, min(limit, LARGEST_PAGE))
        changed = [held.files for held in self._held.values() if held.files.summary != held.files.noted]
        rows, more, broken = await self._run(lambda: self._page(changed, (cwd, origin), after, size))
        entries = tuple(_entry(row, self._held.get(SessionId(row.id))) for row in rows)
        self._learn([row for row in rows if row.events is None and row.id not in self._held])
        return page_of(entries, rows, broken, more=more)

    async def delete(self, session_id: SessionId) -> None:
        """See SessionPersistence."""
        async with self._gate(session_id):
            held = self._held.pop(session_id, None)
            if held is not None:
                await held.files.detach()
                await self._run(held.files.release)
            place = await self._run(lambda: self._store.delete(session_id))
            if place is not None:
                await self._run(lambda: self._catalog.forget(place))

    async def fork(self, source: SessionId, header: SessionHeader, boundary: int | None = None) -> LoadedSession:
        """See SessionPersistence."""
        held = self._held.get(source)
        log = None if held is None else _events(held)
        length = 0 if log is None else len(log)
        async with self._gate(header.id):
            self._require_free(header.id)
            files, loaded = await self._run(
                lambda: self._store.fork(source, None if log is None else (log, length), header, boundary)
            )
            self._held[header.id] = _Held(files, loaded.log)
        await self._note(files)
        return loaded

    async def verify(self, session_id: SessionId) -> VerifyReport:
        """See SessionPersistence."""
        return await self._run(lambda: self._store.verify(session_id))

    async def salvage(self, session_id: SessionId, header: SessionHeader) -> SalvageReport:
        """See SessionPersistence."""
        async with self._gate(header.id):
            self._require_free(header.id)
            return await self._run(lambda: self._store.salvage(session_id, header))

    async def put_attachment(self, session_id: SessionId, content: bytes) -> str:
        """See SessionPersistence."""
        files = self._known(session_id).files
        async with self._gate(session_id):
            return await self._run(lambda: files.put_attachment(content))

    async def get_attachment(self, session_id: SessionId, attachment_id: str) -> bytes:
        """See SessionPersistence."""
        held = self._held.get(session_id)
        place = held.files.place if held is not None else await self._run(lambda: self._store.place_of(session_id))
        return await self._run(lambda: get_attachment(self._io, place.directory, attachment_id))

    def place_beside(self, session_id: SessionId) -> str | None:
        """See SessionPersistence."""
        return self._known(session_id).files.place.directory

    async def close(self, session_id: SessionId) -> None:
        """See SessionPersistence."""
        async with self._gate(session_id):
            held = self._held.get(session_id)
            if held is None:
                return
            await held.files.detach()
            await self._note(held.files)
            await self._run(held.files.release)
            del self._held[session_id]

    async def shutdown(self) -> None:
        """See SessionPersistence."""
        self._stopping = True
        await asyncio.gather(*(self.close(session_id) for session_id in tuple(self._held)))
        if self._learning is not None:
            await asyncio.wait([self._learning])
        await self._run(self._catalog.close)
        self._workers.stop()

    def _learn(self, rows: Sequence[Row]) -> None:
        """Find out the titles that this list could not tell, for the next one."""
        if rows and not self._stopping and (self._learning is None or self._learning.done()):
            root, catalog = self._store.root, self._catalog
            self._learning = self._run(lambda: learn(self._io, root, catalog, rows, lambda: self._stopping))

    def _page(
        self, changed: Sequence[HeldSession], of: Wanted, after: tuple[int, str] | None, limit: int
    ) -> opening.CatalogPage:
        for files in changed:
            self._note_now(files)
        return self._catalog.page(of[0], after, limit, of[1])

    async def _note(self, files: HeldSession) -> None:
        if files.summary != files.noted:
            await self._run(lambda: self._note_now(files))

    def _note_now(self, files: HeldSession) -> None:
        if files.stored:
            files.noted = files.summary
            self._catalog.note(files.place, files.header, replace(files.summary, events=files.stored))

    def _run(self, action: Callable[[], _Result]) -> asyncio.Future[_Result]:
        return self._workers.run(action)

    def _gate(self, session_id: SessionId) -> asyncio.Lock:
        return self._gates.setdefault(session_id, asyncio.Lock())

    def _known(self, session_id: SessionId) -> _Held:
        held = self._held.get(session_id)
        if held is None:
            raise PersistenceError("SESSION_NOT_FOUND", f"The session {session_id} is not open.")
        return held

    def _require_free(self, session_id: SessionId) -> None:
        if session_id in self._held:
            raise PersistenceError("SESSION_ALREADY_EXISTS", f"The session {session_id} is open in this process.")


def _entry(row: Row, held: _Held | None) -> SessionEntry:
    """Return a line of the list; of a session that is held here, what it is known to be and not what a row says."""
    entry = entry_of(row)
    if held is None:
        return entry
    summary = held.files.summary
    return replace(entry, title=summary.title, events=held.files.stored, turns=summary.turns)


def _events(held: _Held) -> EventLog | None:
    return held.log if held.files.session is None else held.files.session.events


def _id_of(session: ObservedSession | SessionId) -> SessionId:
    return SessionId(session) if isinstance(session, str) else session.id
