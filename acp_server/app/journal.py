"""The journal of one session: the store's own once there is something to keep (docs/log-format.md, clauses W and O).

A session that never has an event never meets the store: `session/new` writes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

from acp_server.base.errors import ServerError
from acp_server.persistence.port import HealthListener, SessionPersistence
from acp_server.session.events import SessionEvent
from acp_server.session.session import Session

Store: TypeAlias = Callable[[], Awaitable[SessionPersistence]]


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

    async def close(self) -> None:
        """See base.ports.Journal."""
        self._forget()
        if self._opening is None:
            return
        with suppress(ServerError):  # a session that could not be created has nothing to close
            await (await self._opened()).close()

    def _first(self, _event: SessionEvent) -> None:
        self._forget()
        self._opening = asyncio.create_task(self._open())
        self._opening.add_done_callback(lambda done: done.cancelled() or done.exception())  # told by `flush`

    async def _opened(self) -> StoredJournal:
        """Return the store's journal; a creation that failed is tried again."""
        if self._opening is None or (self._opening.done() and self._opening.exception() is not None):
            self._opening = asyncio.create_task(self._open())
        return await asyncio.shield(self._opening)

    async def _open(self) -> StoredJournal:
        store = await self._store()
        await store.create(self._session.header)
        self._journal = StoredJournal(self._session, store, self._on_health)
        return self._journal


class StoredJournal:
    """The journal of a session that the store holds already."""

    def __init__(self, session: Session, store: SessionPersistence, on_health: HealthListener) -> None:
        self._session = session
        self._store = store
        self._journal = store.attach(session, on_health)

    @property
    def behind(self) -> bool:
        """See base.ports.Journal."""
        return self._journal.behind

    async def room(self) -> None:
        """See base.ports.Journal."""
        await self._journal.room()

    async def flush(self) -> None:
        """See base.ports.Journal."""
        await self._journal.flush()

    async def close(self) -> None:
        """See base.ports.Journal."""
        await self._store.close(self._session.id)


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
        raise ServerError("SESSION_READ_ONLY", f"This session can be read but not continued: {self._reason}")

    async def close(self) -> None:
        """Give back the lock, if one was taken."""
        await self._release()
