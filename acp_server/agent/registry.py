"""The agents of a process by session id: how they come, how they are announced, how they go.

An agent and its session live and go together. Whoever observes hears of an agent after it is complete, and of its
disposal exactly once if it was announced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from acp_server.agent.agent import Agent
from acp_server.agent.services import AgentServices
from acp_server.base.ids import SessionId
from acp_server.messages.request import CallConfig
from acp_server.session.header import SessionHeader
from acp_server.session.session import Session
from acp_server.session.store import SessionStore

ServicesFor: TypeAlias = Callable[[Session], AgentServices]
Listener: TypeAlias = Callable[[Agent], None]


class AgentRegistry:
    """Creates, finds and disposes agents; `services_for` gives each session's agent what it needs."""

    def __init__(self, store: SessionStore, services_for: ServicesFor) -> None:
        self._store = store
        self._services_for = services_for
        self._agents: dict[SessionId, tuple[Agent, Callable[[], None]]] = {}
        self._created: list[Listener] = []
        self._disposed: list[Listener] = []

    def observe(self, *, created: Listener, disposed: Listener) -> None:
        """Call the listeners for every agent from here on. A listener that raises vetoes a creation."""
        self._created.append(created)
        self._disposed.append(disposed)

    def get(self, ident: SessionId) -> Agent | None:
        """Return the agent of that session, or None."""
        found = self._agents.get(ident)
        return None if found is None else found[0]

    def create(self, header: SessionHeader, config: CallConfig) -> Agent:
        """Start a session that has no history.

        Raises:
            ServerError: SESSION_ALREADY_EXISTS, or what a listener raised; nothing is left behind then.
        """
        return self._enter(self._store.prepare(header=header), config)

    def resume(self, session: Session, config: CallConfig) -> Agent:
        """Start an agent for a session whose history was loaded; raises as `create`."""
        return self._enter(session, config)

    async def dispose(self, ident: SessionId) -> None:
        """Cancel the agent, wait until it is quiet, take it and its session out. Unknown ids are passed over."""
        found = self._agents.get(ident)
        if found is None:
            return
        agent, detach = found
        await agent.dispose()
        if self._agents.pop(ident, None) is not None:
            detach()
            for listener in self._disposed:
                listener(agent)

    async def dispose_all(self) -> None:
        """Dispose every agent; all are cancelled before the first is waited for."""
        agents = list(self._agents)
        for ident in agents:
            self._agents[ident][0].stop()
        for ident in agents:
            await self.dispose(ident)

    def _enter(self, session: Session, config: CallConfig) -> Agent:
        agent = Agent(session, self._services_for(session), config)
        detach = self._store.enter(session)
        try:
            self._store.announce(session)
            for listener in self._created:
                listener(agent)
        except BaseException:
            detach()
            raise
        self._agents[session.id] = (agent, detach)
        return agent
