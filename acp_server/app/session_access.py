"""The sessions as components see them: the live ones, the stored ones, and what happens in them.

Owns what of a session leaves the server's own modules. Observers' failures are contained and told to the log.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from acp_server.agent.agent import Agent
from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.json_value import JsonValue
from acp_server.base.registered import Registered
from acp_server.base.values import value
from acp_server.persistence.port import SessionPage, SessionPersistence
from acp_server.session.events import SessionEvent
from acp_server.session.log import EventLog

if TYPE_CHECKING:
    from acp_server.session.projections import Projection


@value
class HotSession:
    """A session that is live in this process."""

    id: str
    cwd: str | None
    model: str
    events: int
    idle: bool


Opened: TypeAlias = Callable[[HotSession], None]
Happened: TypeAlias = Callable[[str, SessionEvent], None]
Closed: TypeAlias = Callable[[str], None]


@value
class SessionObserver:
    """What is called as sessions open, as each event is committed, and as they close; None: not interested.

    `event` is called for every event but the chunks of an answer, unless `chunks` asks for those too. It must not
    append to a session.
    """

    opened: Opened | None = None
    event: Happened | None = None
    closed: Closed | None = None
    chunks: bool = False


class SessionAccess:
    """Listing and observing the sessions of one process."""

    def __init__(
        self, store: Callable[[], Awaitable[SessionPersistence]], report: Callable[[BaseException], None]
    ) -> None:
        self._store = store
        self._report = report
        self._agents: dict[str, Agent] = {}
        self._watched: dict[str, Callable[[], None]] = {}
        self._observers: Registered[SessionObserver] | None = None
        self._projections: Registered[Projection] | None = None

    def serve(self, observers: Registered[SessionObserver], projections: Registered[Projection]) -> None:
        """Take the tables that components register in."""
        self._observers = observers
        self._projections = projections
        observers.subscribe(self._watch)

    def hot(self) -> tuple[HotSession, ...]:
        """Return the live sessions, the oldest first."""
        return tuple(_seen(agent) for agent in self._agents.values())

    def events(self, session_id: str) -> EventLog | None:
        """Return the log of a live session, to be read alone; None for one that is not live."""
        agent = self._agents.get(session_id)
        return None if agent is None else agent.session.events

    async def cold(self, cwd: str | None = None, cursor: str | None = None, limit: int = 50) -> SessionPage:
        """Return a page of the stored sessions, the newest first, as the store lists them.

        Raises:
            ServerError: INVALID_CURSOR.
        """
        return await (await self._store()).list(cwd, cursor, limit)

    def projection(self, session_id: str, key: str) -> JsonValue:
        """Return a registered projection's view of a live session.

        Raises:
            ServerError: SESSION_NOT_FOUND; UNKNOWN_PROJECTION.
        """
        from acp_server.session.projections import ProjectionSet  # noqa: PLC0415 - not for the start path

        agent = self._agents.get(session_id)
        if agent is None:
            raise ServerError("SESSION_NOT_FOUND", f"There is no open session {session_id}.")
        projections = ProjectionSet(agent.session.events)
        for projection in self._projections.items if self._projections else ():
            projections.register(projection)
        return projections.view(key)

    def cwd(self, session_id: str) -> str | None:
        """Return a live session's directory, None where there is none."""
        agent = self._agents.get(session_id)
        return None if agent is None else agent.session.header.cwd

    def record(self, kind: str, session_id: str, data: dict[str, JsonValue]) -> None:
        """Append an event to a live session's log; raise ServerError when the log refuses. Others are passed over."""
        agent = self._agents.get(session_id)
        if agent is not None:
            agent.session.append(kind, data)

    def opened(self, agent: Agent) -> None:
        """Take an agent in and tell the observers."""
        self._agents[agent.session.id] = agent
        for observer in self._items():
            if observer.opened is not None:
                self._contained(observer.opened, _seen(agent))
        self._watch()

    def closed(self, agent: Agent) -> None:
        """Let the agent go and tell the observers."""
        self._agents.pop(agent.session.id, None)
        self._watched.pop(agent.session.id, lambda: None)()
        for observer in self._items():
            if observer.closed is not None:
                self._contained(observer.closed, str(agent.session.id))

    def _watch(self) -> None:
        """Observe the live sessions while somebody wants their events: a chunk costs nothing otherwise."""
        if not any(observer.event is not None for observer in self._items()):
            for end in self._watched.values():
                end()
            self._watched.clear()
            return
        for ident, agent in self._agents.items():
            if ident not in self._watched:
                happened = partial(self._happened, agent.session.id)
                self._watched[ident] = agent.session.observe(happened)

    def _happened(self, ident: SessionId, event: SessionEvent) -> None:
        for observer in self._items():
            if observer.event is not None and (observer.chunks or event.type != "assistant/chunk"):
                self._contained(observer.event, ident, event)

    def _items(self) -> tuple[SessionObserver, ...]:
        return self._observers.items if self._observers else ()

    def _contained(self, call: Callable[..., None], *given: object) -> None:
        try:
            call(*given)
        except Exception as error:  # noqa: BLE001 - an observer's failure is its own
            self._report(error)


def _seen(agent: Agent) -> HotSession:
    session = agent.session
    model = f"{agent.config.provider}/{agent.config.model}"
    return HotSession(session.id, session.header.cwd, model, session.seq, agent.idle)
