"""The sessions that a connection has open, and those that are being opened.

Each method's synchronous part runs in the order in which requests come, so that a prompt finds the session that an
earlier line opened, or waits for it (clause T-58).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from acp_server.acp import params
from acp_server.acp.controller import Controller
from acp_server.acp.failures import session_not_found
from acp_server.agent.agent import Agent
from acp_server.agent.registry import AgentRegistry
from acp_server.base.ids import SessionId
from acp_server.jsonrpc.outbox import Outbox
from acp_server.jsonrpc.peer import Inbound, Pending

Answer: TypeAlias = Mapping[str, Any] | Pending
Route: TypeAlias = Callable[[params.Params, Inbound], Answer]


class OpenSessions:
    """Controllers by session id."""

    def __init__(self, registry: AgentRegistry, outbox: Outbox) -> None:
        self._registry = registry
        self._outbox = outbox
        self._open: dict[str, Controller] = {}
        self._opening: dict[str, asyncio.Future[None]] = {}
        self.takes_notices = False
        """Whether the client offered to show notices."""

    def add(self, agent: Agent) -> Controller:
        """Return the controller of a session that is open from here on; it is not live yet."""
        controller = Controller(agent, self._outbox, takes_notices=lambda: self.takes_notices)
        self._open[controller.id] = controller
        return controller

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

    def in_turn(self, route: Route) -> Callable[[params.Params, Inbound], Answer | Awaitable[Answer]]:
        """Return the route so that a call waits for a session that is being opened, in the order of calls."""

        def call(given: params.Params, request: Inbound) -> Answer | Awaitable[Answer]:
            opening = self._opening.get(str(given.get("sessionId")))
            return route(given, request) if opening is None else _later(opening, route, given, request)

        return call

    @contextmanager
    def opening(self, ident: str) -> Iterator[None]:
        """Hold back calls for that session until the end of the context."""
        done = self._opening[ident] = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            if self._opening.get(ident) is done:
                del self._opening[ident]
            done.set_result(None)

    async def opened(self, ident: str) -> None:
        """Return when nobody opens that session any more."""
        while (opening := self._opening.get(ident)) is not None:
            await asyncio.wait([opening])

    async def close(self, ident: str) -> None:
        """End the session's turns, send nothing more for it, give its log back; unknown ids are passed over."""
        await self.opened(ident)
        await self._registry.dispose(SessionId(ident))
        controller = self._open.pop(ident, None)
        if controller is not None:
            controller.close()

    async def close_all(self) -> None:
        """Cancel every turn, wait until all is quiet, close every log."""
        await self._registry.dispose_all()
        for controller in self._open.values():
            controller.close()

    async def when_idle(self) -> None:
        """Return once no session runs a turn."""
        for controller in tuple(self._open.values()):
            await controller.agent.when_idle()


async def _later(opening: asyncio.Future[None], route: Route, given: params.Params, request: Inbound) -> Answer:
    await asyncio.wait([opening])
    return route(given, request)
