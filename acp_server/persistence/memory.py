"""Sessions that end with the process, for who asks for that. It says so, and otherwise keeps the port's contract."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from itertools import islice

from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.ports import Journal
from acp_server.persistence.attachment_id import attachment_id
from acp_server.persistence.child import child_header
from acp_server.persistence.cursor import decode_cursor, encode_cursor
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
from acp_server.persistence.summary import summarize
from acp_server.session.events import SessionEvent
from acp_server.session.fork import fork_boundary
from acp_server.session.header import SessionHeader
from acp_server.session.log import EventLog, MemoryLog
from acp_server.session.repair import closing_events

NOTICE = "Sessions are kept in memory only: nothing of this conversation outlives the server."


@dataclass(slots=True)
class _Kept:
    """One session: its stored events, and what it is attached to while it is open."""

    header: SessionHeader
    log: MemoryLog = field(default_factory=MemoryLog)
    open: bool = True
    changed: int = 0
    attached: bool = False
    unobserve: Callable[[], None] = field(default=lambda: None)

    def take(self, event: SessionEvent) -> None:
        """Keep an event."""
        if event.seq == len(self.log):
            self.log.append(event)
            self.changed = event.time


class _MemoryJournal:
    """Nothing waits where nothing is written."""

    behind = False

    async def room(self) -> None:
        """See Journal."""

    async def flush(self) -> None:
        """See Journal."""

    async def barrier(self) -> None:
        """See Journal."""


class MemoryPersistence:
    """SessionPersistence without a disk."""

    def __init__(self) -> None:
        self._kept: dict[SessionId, _Kept] = {}
        self._attachments: dict[tuple[SessionId, str], bytes] = {}

    @property
    def keeping(self) -> Keeping:
        """See SessionPersistence."""
        return Keeping(durable=False, notice=NOTICE)

    async def create(self, header: SessionHeader) -> None:
        """See SessionPersistence."""
        self._require_absent(header.id)
        self._kept[header.id] = _Kept(header)

    def attach(self, session: ObservedSession, on_health: HealthListener | None = None) -> Journal:
        """See SessionPersistence."""
        _ = on_health
        kept = self._open(session.id)
        if kept.attached:
            raise PersistenceError("SESSION_ALREADY_EXISTS", f"The session {session.id} is attached already.")
        kept.attached = True
        for event in session.events.since(len(kept.log)):
            kept.take(event)
        kept.unobserve = session.observe(kept.take)
        return _MemoryJournal()

    async def flush(self, session: ObservedSession | SessionId) -> None:
        """See SessionPersistence."""
        self._open(_id_of(session))

    async def room(self, session: ObservedSession | SessionId) -> None:
        """See SessionPersistence."""
        self._open(_id_of(session))

    async def prepare(self, session_id: SessionId) -> LoadedSession:
        """See SessionPersistence."""
        kept = self._stored(session_id)
        if kept.open:
            raise PersistenceError("SESSION_BUSY", f"The session {session_id} is open in this process.")
        for event in closing_events(kept.log):
            kept.take(event)
        kept.open = True
        return LoadedSession(kept.header, _copy(kept.log, len(kept.log)))

    async def inspect(self, session_id: SessionId) -> LoadedSession:
        """See SessionPersistence."""
        kept = self._stored(session_id)
        log = _copy(kept.log, len(kept.log))
        if not kept.open:
            for event in closing_events(log):
                log.append(event)
        return LoadedSession(kept.header, log, read_only="The session was opened for reading only.")

    async def read_from(self, session_id: SessionId, seq: int) -> AsyncIterator[SessionEvent]:
        """See SessionPersistence."""
        for event in self._stored(session_id).log.since(max(seq, 0)):
            yield event

    async def list(
        self, cwd: str | None = None, cursor: str | None = None, limit: int = 50, *, origin: Origin = None
    ) -> SessionPage:
        """See SessionPersistence."""
        after = (1, "") if cursor is None else decode_cursor(cursor)
        wanted = [(ident, kept) for ident, kept in self._kept.items() if kept.header.origin == origin and len(kept.log)]
        ordered = sorted((-kept.changed, session_id) for session_id, kept in wanted)
        keys = [
            key
            for key in ordered
            if (cursor is None or key > (-after[0], after[1])) and cwd in (None, self._kept[key[1]].header.cwd)
        ]
        page = keys[: max(1, limit)]
        more = len(keys) > len(page)
        return SessionPage(
            tuple(self._entry(session_id) for _, session_id in page),
            encode_cursor(-page[-1][0], page[-1][1]) if more else None,
        )

    async def delete(self, session_id: SessionId) -> None:
        """See SessionPersistence."""
        await self.close(session_id)
        self._kept.pop(session_id, None)
        for key in [key for key in self._attachments if key[0] == session_id]:
            del self._attachments[key]

    async def fork(self, source: SessionId, header: SessionHeader, boundary: int | None = None) -> LoadedSession:
        """See SessionPersistence."""
        self._require_absent(header.id)
        kept = self._kept.get(source)
        if kept is None:
            raise PersistenceError("SESSION_NOT_FOUND", f"No session {source} is stored.")
        log = _copy(kept.log, len(kept.log))
        for event in [] if kept.open else closing_events(log):
            log.append(event)
        try:
            length = fork_boundary(log, boundary)
        except ServerError as error:
            raise PersistenceError(error.code, error.message) from error
        child = _Kept(child_header(header, source, length))
        for event in islice(log.since(0), length):
            child.take(event)
        self._kept[header.id] = child
        for (owner, ident), content in list(self._attachments.items()):
            if owner == source:
                self._attachments[header.id, ident] = content
        return LoadedSession(child.header, _copy(child.log, length))

    async def verify(self, session_id: SessionId) -> VerifyReport:
        """See SessionPersistence."""
        length = len(self._stored(session_id).log)
        return VerifyReport(sound=True, events=length, last_seq=length - 1, offset=0)

    async def salvage(self, session_id: SessionId, header: SessionHeader) -> SalvageReport:
        """See SessionPersistence."""
        self._stored(session_id)
        loaded = await self.fork(session_id, header)
        await self.close(header.id)
        return SalvageReport(header.id, len(loaded.log))

    async def put_attachment(self, session_id: SessionId, content: bytes) -> str:
        """See SessionPersistence."""
        self._open(session_id)
        ident = attachment_id(content)
        self._attachments[session_id, ident] = content
        return ident

    async def get_attachment(self, session_id: SessionId, attachment_id: str) -> bytes:
        """See SessionPersistence."""
        content = self._attachments.get((session_id, attachment_id))
        if content is None:
            raise PersistenceError("ATTACHMENT_NOT_FOUND", f"The attachment {attachment_id} is not stored.")
        return content

    def place_beside(self, session_id: SessionId) -> str | None:
        """See SessionPersistence."""
        self._open(session_id)
        return None

    async def close(self, session_id: SessionId) -> None:
        """See SessionPersistence."""
        kept = self._kept.get(session_id)
        if kept is None:
            return
        kept.unobserve()
        kept.unobserve = lambda: None
        kept.open = kept.attached = False
        if not len(kept.log):
            del self._kept[session_id]

    async def shutdown(self) -> None:
        """See SessionPersistence."""
        for session_id in tuple(self._kept):
            await self.close(session_id)

    def _entry(self, session_id: SessionId) -> SessionEntry:
        kept = self._kept[session_id]
        summary = summarize(kept.log.milestones(), len(kept.log))
        return SessionEntry(
            session_id,
            kept.header.cwd,
            kept.header.created_at,
            kept.changed,
            summary.title,
            summary.events,
            summary.turns,
            kept.header.parent_session,
            kept.header.origin,
        )

    def _require_absent(self, session_id: SessionId) -> None:
        if session_id in self._kept:
            raise PersistenceError("SESSION_ALREADY_EXISTS", f"A session {session_id} is kept already.")

    def _open(self, session_id: SessionId) -> _Kept:
        kept = self._kept.get(session_id)
        if kept is None or not kept.open:
            raise PersistenceError("SESSION_NOT_FOUND", f"The session {session_id} is not open.")
        return kept

    def _stored(self, session_id: SessionId) -> _Kept:
        kept = self._kept.get(session_id)
        if kept is None or not len(kept.log):
            raise PersistenceError("SESSION_NOT_FOUND", f"No session {session_id} is stored.")
        return kept


def _copy(log: EventLog, length: int) -> MemoryLog:
    return MemoryLog(list(islice(log.since(0), length)))


def _id_of(session: ObservedSession | SessionId) -> SessionId:
    return SessionId(session) if isinstance(session, str) else session.id
