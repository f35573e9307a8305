"""The sessions that are live in this process (docs/sessions.md, clauses L-1 to L-5).

Owns who is entered under which id and who is told of it. Holds no file and starts no task: what is stored is given in
as a log, and listeners of `flush` are what waits for disks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import islice
from typing import TypeAlias

from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.values import record
from acp_server.session.fork import fork_boundary, fork_header
from acp_server.session.header import SessionHeader
from acp_server.session.log import EventLog, MemoryLog
from acp_server.session.session import ObserverErrors, Session

Listener: TypeAlias = Callable[[Session], None]
FlushListener: TypeAlias = Callable[[Session], Awaitable[None]]


@record
class _Entry:
    session: Session
    announced: bool = False
    announcing: bool = False
    leaving: bool = False


class SessionStore:
    """Live sessions by id, in order of entry. `now` gives wall-clock milliseconds."""

    def __init__(self, now: Callable[[], int], on_observer_error: ObserverErrors | None = None) -> None:
        self._now = now
        self._on_observer_error = on_observer_error
        self._entries: dict[SessionId, _Entry] = {}
        self._minted = 0
        self.on_created: list[Listener] = []
        """Called in order when a session is announced; what one raises refuses the session."""
        self.on_disposed: list[Listener] = []
        """Called in order, once, when an announced session is detached; failures are contained."""
        self.on_flush: list[FlushListener] = []
        """Awaited by `flush`."""

    def prepare(
        self,
        session_id: SessionId | None = None,
        *,
        header: SessionHeader | None = None,
        log: EventLog | None = None,
        cwd: str | None = None,
        seeded: bool = True,
    ) -> Session:
        """Return a session that nobody knows of yet: a restored one with `header` and `log`, else a fresh one.

        Without an id it is given `session-<n>`. Several may be prepared under one id; one of them can enter.
        A restored log gets its `session/end-seed` unless `seeded` is False, for a log that nothing can be added to.

        Raises:
            ServerError: SESSION_ALREADY_EXISTS, or what `Session` raises of a log that breaks a rule.
        """
        if header is None:
            header = SessionHeader(session_id or self._mint(), self._now(), cwd)
        self._require_free(header.id)
        seeded = seeded and log is not None
        return Session(header, now=self._now, log=log, seeded=seeded, on_observer_error=self._on_observer_error)

    def enter(self, session: Session) -> Callable[[], None]:
        """Take the session's id; return what gives it up again, as often as one likes, and never another's.

        Raises:
            ServerError: SESSION_ALREADY_EXISTS; SESSION_ATTACHED for a session that is in a store already.
        """
        self._require_free(session.id)
        session.attach()
        entry = self._entries[session.id] = _Entry(session)
        return lambda: session.after_append(lambda: self._detach(entry))

    def announce(self, session: Session) -> None:
        """Tell that the session is there, once; raise what a listener raises, the caller then detaches.

        Raises:
            ServerError: SESSION_NOT_LIVE; SESSION_ANNOUNCED when it was told before.
        """
        entry = self._live(session)
        if entry.announced:
            raise ServerError("SESSION_ANNOUNCED", f"The session {session.id} was announced before.")
        entry.announced = entry.announcing = True
        try:
            for listener in tuple(self.on_created):
                listener(session)
        finally:
            entry.announcing = False
            if entry.leaving:
                self._detach(entry)

    def create(
        self,
        session_id: SessionId | None = None,
        *,
        header: SessionHeader | None = None,
        log: EventLog | None = None,
        cwd: str | None = None,
    ) -> tuple[Session, Callable[[], None]]:
        """Prepare, enter and announce; return the session and what detaches it. A failure leaves nothing behind."""
        session = self.prepare(session_id, header=header, log=log, cwd=cwd)
        detach = self.enter(session)
        try:
            self.announce(session)
        except BaseException:
            detach()
            raise
        return session, detach

    def get(self, session_id: SessionId) -> Session:
        """Return the live session; raise ServerError SESSION_NOT_FOUND."""
        entry = self._entries.get(session_id)
        if entry is None:
            raise ServerError("SESSION_NOT_FOUND", f"There is no open session {session_id}.")
        return entry.session

    def list(self) -> tuple[Session, ...]:
        """Return the live sessions in order of entry."""
        return tuple(entry.session for entry in self._entries.values())

    async def flush(self, session: Session) -> bool:
        """Await every listener, then raise the first failure in their order; return whether there was a listener."""
        self._live(session)
        listeners = tuple(self.on_flush)
        failures: list[Exception] = []
        for listener in listeners:
            try:
                await listener(session)
            except Exception as error:  # noqa: BLE001 - the others are awaited all the same
                failures.append(error)
        if failures:
            raise failures[0]
        return bool(listeners)

    def fork(self, source: Session, boundary: int | None = None, child: SessionId | None = None) -> Session:
        """Return a prepared child that inherits the events up to `boundary`, included, or all.

        Raises:
            ServerError: SESSION_NOT_LIVE, SESSION_ALREADY_EXISTS, INVALID_BOUNDARY, OPEN_TURN.
        """
        self._live(source)
        length = fork_boundary(source.events, boundary)
        header = fork_header(source.header, child or self._mint(), self._now(), length)
        return self.prepare(header=header, log=MemoryLog(list(islice(source.events.since(0), length))))

    def _mint(self) -> SessionId:
        while True:
            self._minted += 1
            minted = SessionId(f"session-{self._minted}")
            if minted not in self._entries:
                return minted

    def _require_free(self, session_id: SessionId) -> None:
        if session_id in self._entries:
            raise ServerError("SESSION_ALREADY_EXISTS", f"The session {session_id} is open already.")

    def _live(self, session: Session) -> _Entry:
        entry = self._entries.get(session.id)
        if entry is None or entry.session is not session:
            raise ServerError("SESSION_NOT_LIVE", f"The session {session.id} is not open.")
        return entry

    def _detach(self, entry: _Entry) -> None:
        if self._entries.get(entry.session.id) is not entry:
            return
        if entry.announcing:
            entry.leaving = True
            return
        del self._entries[entry.session.id]
        entry.session.release()
        if entry.announced:
            for listener in tuple(self.on_disposed):
                with suppress(Exception):
                    listener(entry.session)
