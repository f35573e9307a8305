"""The sessions that a connection has open, and the order of calls for one of them.

A route's synchronous part runs in the order in which requests come. A call that opens or closes a session has it alone
from the moment it came until it is done; what comes for that session meanwhile waits behind it, first in, first out
(clause T-58).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from acp_server.acp import params
from acp_server.acp.commands import SHIPPED, Command, CommandSource, commands_of
from acp_server.acp.controller import Controller
from acp_server.acp.failures import session_not_found
from acp_server.acp.offered import NOTHING
from acp_server.acp.picture_updates import NO_PICTURES, Pictures
from acp_server.agent.agent import Agent
from acp_server.agent.registry import AgentRegistry
from acp_server.base.cancel import BY_USER
from acp_server.base.ids import SessionId
from acp_server.jsonrpc.outbox import Outbox
from acp_server.jsonrpc.peer import Inbound, Pending
from acp_server.session.session import Session
from acp_server.tools.mcp.servers import McpServer

Answer: TypeAlias = Mapping[str, Any] | Pending
Connect: TypeAlias = Callable[[Session, Sequence[McpServer]], None]
"""Lets a session have these MCP servers and no others from here on; waits for nothing (clauses S-07, S-08, S-27)."""
Route: TypeAlias = Callable[[params.Params, Inbound], Answer | Awaitable[Answer]]


def connect_nothing(_session: Session, _servers: Sequence[McpServer]) -> None:
    """Pass over the servers: for who has no client of them."""


class OpenSessions:
    """Controllers by session id."""

    def __init__(
        self,
        registry: AgentRegistry,
        outbox: Outbox,
        commands: Callable[[], Sequence[Command]] = lambda: SHIPPED,
        pictures: Pictures = NO_PICTURES,
        sources: Callable[[], Sequence[CommandSource]] = lambda: (),
    ) -> None:
        self._registry = registry
        self._pictures = pictures
        self._outbox = outbox
        self._commands = commands
        self._sources = sources
        self._open: dict[str, Controller] = {}
        self._last: dict[str, asyncio.Future[None]] = {}
        """By session: what is done once the newest of the calls that wait or have the session alone is."""
        self.offered = NOTHING
        """What the client said that it can do."""

    def add(self, agent: Agent) -> Controller:
        """Return the controller of a session that is open from here on; it is not live yet."""
        controller = Controller(
            agent,
            self._outbox,
            takes_notices=lambda: self.offered.notices,
            commands=lambda: self.commands(agent),
            pictures=self._pictures,
            compactions=self.offered.compactions,
            draws_terminals=lambda: self.offered.terminal_meta,
            shows_queue=lambda: self.offered.queue,
        )
        self._open[controller.id] = controller
        return controller

    def commands(self, agent: Agent) -> Sequence[Command]:
        """Return the slash commands of a session; where two have a name, the earlier one has it."""
        return commands_of(self._commands(), self._sources(), agent.session.header.cwd)

    def tell_all(self, sentence: str) -> None:
        """Tell the person in every open session."""
        for controller in self._open.values():
            controller.tell(sentence)

    def show_commands(self) -> None:
        """Send the slash commands anew in every open session."""
        for controller in self._open.values():
            controller.show_commands()

    def all(self) -> tuple[Controller, ...]:
        """Return every open session, the oldest first."""
        return tuple(self._open.values())

    def get(self, ident: str) -> Controller | None:
        """Return the open session, or None."""
        return self._open.get(ident)

    def find(self, given: params.Params) -> Controller:
        """Return the open session that `sessionId` names; raise RpcError -32602 or -32002."""
        ident = params.session_id(given)
        controller = self._open.get(ident)
        if controller is None:
            raise session_not_found(ident)
        return controller

    def in_turn(self, route: Route) -> Route:
        """Return the route so that a call waits for those that have its session alone, in the order of calls."""

        def call(given: params.Params, request: Inbound) -> Answer | Awaitable[Answer]:
            ident = str(given.get("sessionId"))
            return self._queued(ident, route, given, request) if ident in self._last else route(given, request)

        return call

    def alone(self, route: Route) -> Route:
        """Return the route so that a call has its session alone, from the moment it comes until it is done."""

        def call(given: params.Params, request: Inbound) -> Awaitable[Answer]:
            return self._queued(params.session_id(given), route, given, request, alone=True)

        return call

    def _queued(
        self, ident: str, route: Route, given: params.Params, request: Inbound, *, alone: bool = False
    ) -> Awaitable[Answer]:
        before = self._last.get(ident)
        done = self._last[ident] = asyncio.get_running_loop().create_future()

        def release() -> None:
            if self._last.get(ident) is done:
                del self._last[ident]
            if not done.done():
                done.set_result(None)

        async def run() -> Answer:
            try:
                if before is not None:
                    await asyncio.wait([before])
                answer = route(given, request)
                if alone:
                    answer = await answer if isinstance(answer, Awaitable) else answer
            finally:
                if before is None or before.done():
                    release()
                else:  # cancelled while it waited: its place in the row stays
                    before.add_done_callback(lambda _: release())
            return await answer if isinstance(answer, Awaitable) else answer

        return run()

    async def close(self, ident: str) -> None:
        """End the session's turns, send nothing more for it, give its log back; unknown ids are passed over."""
        await self._registry.dispose(SessionId(ident))
        controller = self._open.pop(ident, None)
        if controller is not None:
            controller.close()

    def cancel_all(self) -> None:
        """End the turns of every session, as the person does it."""
        for controller in self._open.values():
            controller.agent.cancel(BY_USER)

    async def close_all(self) -> None:
        """Cancel every turn, wait until all is quiet, close every log."""
        await self._registry.dispose_all()
        for controller in self._open.values():
            controller.close()

    async def when_idle(self) -> None:
        """Return once no session runs a turn."""
        for controller in tuple(self._open.values()):
            await controller.agent.when_idle()
