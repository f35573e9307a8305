"""The agents of a process by session id: how they come, how they are announced, how they go.

An agent and its session live and go together. Whoever observes hears of an agent after it is complete, and of its
disposal exactly once if it was announced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from acp_server.agent.agent import Agent
from acp_server.agent.services import AgentServices
from acp_server.base.ids import SessionId
from acp_server.base.ports import HeldJournal
from acp_server.base.values import value
from acp_server.messages.request import CallConfig
from acp_server.session.header import SessionHeader
from acp_server.session.log import EventLog
from acp_server.session.session import Session
from acp_server.session.store import SessionStore

ServicesFor: TypeAlias = Callable[[Session, str | None], AgentServices]
"""Given a session and, for one that nothing can be added to, the reason."""
Listener: TypeAlias = Callable[[Agent], None]


@value
class _Entry:
    agent: Agent
    journal: HeldJournal
    release: Callable[[], Awaitable[None]]
    detach: Callable[[], None]


class AgentRegistry:
    """Creates, finds and disposes agents. `services_for` gives a session's agent what it needs."""

    def __init__(self, store: SessionStore, services_for: ServicesFor) -> None:
        self._store = store
        self._services_for = services_for
        self._entries: dict[SessionId, _Entry] = {}
        self._created: list[Listener] = []
        self._disposed: list[Listener] = []

    def observe(self, *, created: Listener, disposed: Listener) -> None:
        """Call the listeners for every agent from here on. A `created` listener that raises vetoes the agent."""
        self._created.append(created)
        self._disposed.append(disposed)

    def get(self, ident: SessionId) -> Agent | None:
        """Return the agent of that session, or None."""
        entry = self._entries.get(ident)
        return None if entry is None else entry.agent

    def create(self, header: SessionHeader, config: CallConfig) -> Agent:
        """Start a session that has no history.

        Raises:
            ServerError: SESSION_ALREADY_EXISTS, or what a listener raised; nothing is left behind then.
        """
        return self._enter(self._store.prepare(header=header), config)

    def resume(
        self, header: SessionHeader, log: EventLog, config: CallConfig, *, read_only: str | None = None
    ) -> Agent:
        """Start an agent on a history that was loaded.

        What waited when the history ended is parked: nothing of it runs before the person says so. `read_only` is why
        nothing can be added to the history.

        Raises:
            ServerError: as `create`, or what `Session` raises of a log that breaks a rule.
        """
        return self.enter(self.prepare(header, log, read_only), config, read_only)

    def prepare(self, header: SessionHeader, log: EventLog, read_only: str | None = None) -> Session:
        """Return the session of a history that was loaded, checked event by event; nobody knows of it yet.

        That takes as long as the history, and may be done in another thread. Raises as `resume`.
        """
        return self._store.prepare(header=header, log=log, seeded=read_only is None)

    def enter(self, session: Session, config: CallConfig, read_only: str | None = None) -> Agent:
        """Start an agent on a session that was prepared; the second half of `resume`, which says the rest."""
        agent = self._enter(session, config, read_only)
        if read_only is None:
            agent.inbox.recover()
        return agent

    async def dispose(self, ident: SessionId) -> None:
        """Cancel the agent, wait until it is quiet, close its journal, take it out. Unknown ids are passed over."""
        entry = self._entries.get(ident)
        if entry is None:
            return
        await entry.agent.dispose()
        try:
            await entry.release()
        finally:
            await entry.journal.close()
        if self._entries.pop(ident, None) is not None:
            entry.detach()
            for listener in self._disposed:
                listener(entry.agent)

    async def dispose_all(self) -> None:
        """Dispose every agent; all are cancelled before the first is waited for."""
        for entry in self._entries.values():
            entry.agent.stop()
        await asyncio.gather(*(self.dispose(ident) for ident in tuple(self._entries)))

    def _enter(self, session: Session, config: CallConfig, read_only: str | None = None) -> Agent:
        detach = self._store.enter(session)
        try:
            services = self._services_for(session, read_only)
            agent = Agent(session, services, config)
            self._store.announce(session)
            for listener in self._created:
                listener(agent)
        except BaseException:
            detach()
            raise
        self._entries[session.id] = _Entry(agent, services.journal, services.release, detach)
        return agent
