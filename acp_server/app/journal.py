"""The journal of one session: the store's own once there is something to keep (docs/log-format.md, clauses W and O).

A session that never has an event never meets the store: `session/new` writes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeAlias

from acp_server.base.errors import ServerError
from acp_server.persistence.disk_errors import may_pass
from acp_server.persistence.port import HealthListener, PersistenceError, SessionPersistence, StorageHealth
from acp_server.session.events import SessionEvent
from acp_server.session.session import Session

Store: TypeAlias = Callable[[], Awaitable[SessionPersistence]]

PATIENCE: Final = 3.0
"""Seconds of an outage in which a flush waits for the disk."""
ANOTHER_TRY: Final = 0.25
"""Seconds between the tries of a flush that waits."""


class NewJournal:
    """Creates the stored session at its first event, behind the back of whoever appends."""

    def __init__(self, session: Session, store: Store, on_health: HealthListener) -> None:
        self._session = session
        self._store = store
        self._on_health = on_health
        self._journal: StoredJournal | None = None
        self._opening: asyncio.Task[StoredJournal] | None = None
        self._forget = session.observe(self._first)

    @property
    def behind(self) -> bool:
        """See base.ports.Journal."""
        return self._journal is not None and self._journal.behind

    async def room(self) -> None:
        """See base.ports.Journal."""
        if self._journal is not None:
            await self._journal.room()

    async def flush(self) -> None:
        """See base.ports.Journal."""
        if self._session.seq > 0:
            await (await self._opened()).flush()

    async def barrier(self) -> None:
        """See base.ports.Journal. A session that cannot even be created is told of."""
        if self._session.seq > 0:
            await (await self._opened()).barrier()

    async def close(self) -> None:
        """See base.ports.Journal."""
        self._forget()
        if self._opening is None:
            return
        with suppress(ServerError):  # a session that could not be created has nothing to close
            await (await self._opened()).close()

    async def put(self, content: bytes) -> str:
        """See base.ports.Attachments; the store hears of the session then, though it has no event."""
        return await (await self._opened()).put(content)

    def _first(self, _event: SessionEvent) -> None:
        self._forget()
        if self._opening is None or self._failed:
            self._begin()

    @property
    def _failed(self) -> bool:
        opening = self._opening
        return opening is not None and opening.done() and (opening.cancelled() or opening.exception() is not None)

    def _begin(self) -> asyncio.Task[StoredJournal]:
        self._opening = asyncio.create_task(self._open())
        self._opening.add_done_callback(lambda done: done.cancelled() or done.exception())  # told by `flush`
        return self._opening

    async def _opened(self) -> StoredJournal:
        """Return the store's journal; a creation that failed is tried again."""
        opening = self._begin() if self._opening is None or self._failed else self._opening
        return await asyncio.shield(opening)

    async def _open(self) -> StoredJournal:
        store = await self._store()
        await store.create(self._session.header)
        self._journal = StoredJournal(self._session, store, self._on_health)
        return self._journal


class StoredJournal:
    """The journal of a session that the store holds already.

    A disk that stops taking events is given a little time by a flush; once that is over, every flush tells at once that
    they are not durable. A barrier waits for as long as it takes, unless nothing of the session was ever stored: then
    there is no conversation yet that waiting could save, and the person learns soon why there will be none.
    """

    def __init__(self, session: Session, store: SessionPersistence, on_health: HealthListener) -> None:
        self._session = session
        self._store = store
        self._on_health = on_health
        self._failing_since: float | None = None
        self._kept = session.first_live_seq > 0
        self._journal = store.attach(session, self._hear)

    @property
    def behind(self) -> bool:
        """See base.ports.Journal."""
        return self._journal.behind

    async def room(self) -> None:
        """See base.ports.Journal."""
        await self._journal.room()

    async def flush(self) -> None:
        """See base.ports.Journal."""
        while True:
            try:
                await self._journal.flush()
            except PersistenceError as error:
                if not may_pass(error) or self._outage() >= PATIENCE:
                    raise
            else:
                self._failing_since = None
                self._kept = True
                return
            await asyncio.sleep(ANOTHER_TRY)

    async def barrier(self) -> None:
        """See base.ports.Journal."""
        if self._kept:
            await self._journal.barrier()
        else:
            await self.flush()

    async def put(self, content: bytes) -> str:
        """See base.ports.Attachments."""
        return await self._store.put_attachment(self._session.id, content)

    async def close(self) -> None:
        """See base.ports.Journal."""
        await self._store.close(self._session.id)

    def _hear(self, health: StorageHealth) -> None:
        if health.state == "ok":
            self._failing_since = None
        else:
            self._outage()
        self._on_health(health)

    def _outage(self) -> float:
        """Return for how many seconds the disk has refused, from now on if it took everything so far."""
        now = asyncio.get_running_loop().time()
        self._failing_since = now if self._failing_since is None else self._failing_since
        return now - self._failing_since


def words_of(health: StorageHealth) -> str | None:
    """Return what the person is told when the state of writing a session changes."""
    if health.state == "ok":
        return "The disk takes this session's events again; nothing is missing."
    if health.state == "failing" and health.reason is not None:
        return f"{health.reason} What is said meanwhile is kept in memory, and turns wait until it can be written."
    return health.reason


class ReadOnlyJournal:
    """The journal of a session that nothing can be added to; every flush says why."""

    behind = False

    def __init__(self, reason: str, release: Callable[[], Awaitable[None]]) -> None:
        self._reason = reason
        self._release = release

    async def room(self) -> None:
        """See base.ports.Journal."""

    async def flush(self) -> None:
        """Raise ServerError SESSION_READ_ONLY."""
        raise self._refusal()

    async def put(self, content: bytes) -> str:  # noqa: ARG002 - the port's signature
        """Raise ServerError SESSION_READ_ONLY."""
        raise self._refusal()

    async def barrier(self) -> None:
        """Raise as `flush`."""
        await self.flush()

    async def close(self) -> None:
        """Give back the lock, if one was taken."""
        await self._release()

    def _refusal(self) -> ServerError:
        return ServerError("SESSION_READ_ONLY", f"This session can be read but not continued: {self._reason}")
