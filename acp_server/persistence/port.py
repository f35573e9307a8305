"""The port through which everything above stores sessions, and the values it speaks in.

Owns the contract `SessionPersistence`, which one suite (tests/contracts/test_persistence.py) holds every
implementation to. Refuses any word about files: what a log looks like on disk is docs/log-format.md's matter.

Every method is called from the event loop's thread. `attach` and `room`'s fast path never block; work on the disk
runs in worker threads, in order for one session.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Literal, Protocol, TypeAlias

from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.ports import Journal
from acp_server.base.values import value
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from acp_server.session.log import EventLog

Origin: TypeAlias = Literal["subagent"] | None
"""Who made a session: a sub-agent's parent, or the person."""


class ObservedSession(Protocol):
    """What `attach` needs of a live session."""

    @property
    def id(self) -> SessionId:
        """Return the session's id."""
        ...

    @property
    def header(self) -> SessionHeader:
        """Return the session's header."""
        ...

    @property
    def events(self) -> EventLog:
        """Return the session's events so far."""
        ...

    def observe(self, observer: Callable[[SessionEvent], None]) -> Callable[[], None]:
        """Call `observer` with each event committed from here on; return what ends that."""
        ...


class PersistenceError(ServerError):
    """A session could not be stored or read; `data` holds facts that a client may show or match on.

    Codes: SESSION_NOT_FOUND, SESSION_ALREADY_EXISTS, SESSION_BUSY (data: pid, host, start, alive), SESSION_READ_ONLY,
    SESSION_CORRUPT (data: file, offset, lastSeq), SESSION_UNSUPPORTED (a format or a required event type of another
    version), DISK_FULL, DISK_FAILED, DISK_POISONED, LOCK_UNSUPPORTED, INVALID_BOUNDARY, OPEN_TURN, INVALID_CURSOR,
    ATTACHMENT_NOT_FOUND, ATTACHMENT_CORRUPT, EVENT_TOO_LARGE.
    """

    def __init__(self, code: str, message: str, data: Mapping[str, str | int | bool | None] | None = None) -> None:
        super().__init__(code, message)
        self.data = dict(data or {})


@value
class LoadedSession:
    """A stored session, ready to become a live one.

    `log` holds the stored events and the closers of an interrupted turn. `notices` are plain sentences for the
    person, for instance that the torn end of the log was set aside. `read_only` is why nothing can be written, or
    None; a read-only session shows its history and refuses to flush.
    """

    header: SessionHeader
    log: EventLog
    notices: tuple[str, ...] = ()
    read_only: str | None = None


@value
class SessionEntry:
    """One line of the list. Times are wall-clock milliseconds; `title` and the counts are None while not known."""

    id: SessionId
    cwd: str | None
    created_at: int
    updated_at: int
    title: str | None = None
    events: int | None = None
    turns: int | None = None
    parent_session: SessionId | None = None
    origin: Origin = None


@value
class BrokenEntry:
    """A stored session that cannot be listed: `place` names it, `reason` is one plain sentence."""

    place: str
    reason: str


@value
class SessionPage:
    """One page of the list, newest `updated_at` first; `next_cursor` is None on the last page."""

    entries: tuple[SessionEntry, ...]
    next_cursor: str | None = None
    broken: tuple[BrokenEntry, ...] = ()


@value
class VerifyReport:
    """What reading every byte of a log found; `sound` is whether nothing is wrong.

    `offset` is the byte where the good part ends and `last_seq` the last good event, -1 when there is none.
    """

    sound: bool
    events: int
    last_seq: int
    offset: int
    problem: str | None = None


@value
class SalvageReport:
    """A new session made from what could be read of a damaged one; `lost` names what could not, in plain words."""

    id: SessionId
    events: int
    lost: tuple[str, ...] = ()


@value
class StorageHealth:
    """How writing one session goes: `failing` is retried by itself, `poisoned` keeps the events in memory only."""

    session_id: SessionId
    state: Literal["ok", "failing", "poisoned"]
    reason: str | None = None
    pending: int = 0


HealthListener = Callable[[StorageHealth], None]


@value
class Keeping:
    """Whether sessions outlive the process, and the sentence the person is told when they do not."""

    durable: bool
    notice: str | None = None


class SessionPersistence(Protocol):
    """Where sessions are kept. See the module's docstring for threads."""

    @property
    def keeping(self) -> Keeping:
        """Return whether anything outlives this process."""
        ...

    async def create(self, header: SessionHeader) -> None:
        """Announce a session that has no events yet. Nothing is written before its first event.

        Raises:
            PersistenceError: SESSION_ALREADY_EXISTS.
        """
        ...

    def attach(self, session: ObservedSession, on_health: HealthListener | None = None) -> Journal:
        """Write what the session holds beyond what is stored, and every later event, behind its back.

        The session was created by `create`, loaded by `prepare` or made by `fork` on this store. Never blocks and
        never raises for the disk: failures show in `on_health`, in `flush` and in `room`. Returns the session's
        own side of it: the same `flush` and `room` for who knows only the session, raising the same errors.

        Raises:
            PersistenceError: SESSION_NOT_FOUND when the store never heard of the id.
        """
        ...

    async def flush(self, session: ObservedSession | SessionId) -> None:
        """Return once every event appended before this call is on stable storage; concurrent callers share it.

        Raises:
            PersistenceError: DISK_FULL or DISK_FAILED (the events are kept and tried again), DISK_POISONED or
                SESSION_READ_ONLY (they stay in memory; a fork is the way on), SESSION_NOT_FOUND.
        """
        ...

    async def room(self, session: ObservedSession | SessionId) -> None:
        """Return when the session's write queue has room for more; whoever produces events awaits it first.

        Raises:
            PersistenceError: DISK_POISONED, since such a queue never empties.
        """
        ...

    async def prepare(self, session_id: SessionId) -> LoadedSession:
        """Take the session's lock, repair its log, close an interrupted turn, and return what is stored.

        Hold it until `close`. A failing disk or missing permission gives a read-only session.

        Raises:
            PersistenceError: SESSION_NOT_FOUND, SESSION_BUSY, SESSION_CORRUPT, SESSION_UNSUPPORTED.
        """
        ...

    async def inspect(self, session_id: SessionId) -> LoadedSession:
        """Return what is stored, closers included, without writing a byte and without the lock.

        Of a damaged log the good prefix is returned, read-only, with the damage in `notices`.

        Raises:
            PersistenceError: SESSION_NOT_FOUND, SESSION_UNSUPPORTED, SESSION_CORRUPT when not even the header is
                readable.
        """
        ...

    def read_from(self, session_id: SessionId, seq: int) -> AsyncIterator[SessionEvent]:
        """Iterate over the stored events from `seq` on, without closers; past the end there is nothing.

        Raises:
            PersistenceError: as inspect.
        """
        ...

    async def list(
        self, cwd: str | None = None, cursor: str | None = None, limit: int = 50, *, origin: Origin = None
    ) -> SessionPage:
        """Return sessions that have events, newest `updated_at` first, of one `cwd` or of all.

        Those of the person, or, with `origin`, those of sub-agents instead.

        A session that cannot be listed is named in `broken` of the first page and never stops the others.

        Raises:
            PersistenceError: INVALID_CURSOR.
        """
        ...

    async def delete(self, session_id: SessionId) -> None:
        """Move the session to the trash. A session that nobody knows is no error.

        Raises:
            PersistenceError: SESSION_BUSY while another process holds it, DISK_FAILED.
        """
        ...

    async def fork(self, source: SessionId, header: SessionHeader, boundary: int | None = None) -> LoadedSession:
        """Store a child with the source's events up to and including `boundary` (None: all), held as by `prepare`.

        `header` is the child's; its `parent_session` and `seed_length` are filled in here. The source may be live or
        cold; what is pending in memory of a live one is included, also after its disk failed.

        Raises:
            PersistenceError: SESSION_NOT_FOUND, SESSION_ALREADY_EXISTS, INVALID_BOUNDARY, OPEN_TURN, SESSION_CORRUPT.
        """
        ...

    async def verify(self, session_id: SessionId) -> VerifyReport:
        """Read every byte, change nothing.

        Raises:
            PersistenceError: SESSION_NOT_FOUND.
        """
        ...

    async def salvage(self, session_id: SessionId, header: SessionHeader) -> SalvageReport:
        """Store what can be read of a damaged log as the session of `header`; the damaged one stays as it is.

        Raises:
            PersistenceError: SESSION_NOT_FOUND, SESSION_ALREADY_EXISTS, SESSION_CORRUPT when not even one event is
                readable.
        """
        ...

    async def put_attachment(self, session_id: SessionId, content: bytes) -> str:
        """Keep bytes beside the session's log, durably, and return their id, which is made from their content.

        Raises:
            PersistenceError: DISK_FULL, DISK_FAILED, SESSION_READ_ONLY, SESSION_NOT_FOUND.
        """
        ...

    async def get_attachment(self, session_id: SessionId, attachment_id: str) -> bytes:
        """Return the bytes, checked against their id.

        Raises:
            PersistenceError: ATTACHMENT_NOT_FOUND, ATTACHMENT_CORRUPT.
        """
        ...

    def place_beside(self, session_id: SessionId) -> str | None:
        """Return the private directory of an open session, for files that go where it goes; None where there is none.

        It is there once the session has a durable event. What lies in it besides the log's own names is not looked at.

        Raises:
            PersistenceError: SESSION_NOT_FOUND.
        """
        ...

    async def close(self, session_id: SessionId) -> None:
        """Flush what can be flushed, stop observing and give the lock back. A session not held is no error."""
        ...

    async def shutdown(self) -> None:
        """Close every session and end the workers; nothing may be called afterwards."""
        ...
