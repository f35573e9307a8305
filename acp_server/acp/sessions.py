"""The sessions that a connection has open, and what the session methods do to them.

Each method's synchronous part runs in the order in which requests come, so that a prompt finds the session that an
earlier line opened (clause T-58).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from acp_server.acp import params
from acp_server.acp.access import Access
from acp_server.acp.commands import find_command
from acp_server.acp.content import blocks_of
from acp_server.acp.controller import Controller
from acp_server.acp.failures import invalid, prompt_result, refused, session_not_found
from acp_server.acp.handshake import AUTH_METHODS
from acp_server.agent.registry import AgentRegistry
from acp_server.agent.turns import TurnEnd
from acp_server.base.cancel import BY_USER
from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.ports import Clock, Ids
from acp_server.jsonrpc.errors import RpcError
from acp_server.jsonrpc.outbox import Outbox
from acp_server.jsonrpc.peer import PENDING, Inbound, Pending
from acp_server.messages.blocks import Message, UserSource
from acp_server.session.header import SessionHeader

END_TURN: Final = {"stopReason": "end_turn"}


class Sessions:
    """The open sessions by id, and the routes that open, prompt and cancel them."""

    def __init__(self, registry: AgentRegistry, access: Access, outbox: Outbox, *, clock: Clock, ids: Ids) -> None:
        self._registry = registry
        self._access = access
        self._outbox = outbox
        self._clock = clock
        self._ids = ids
        self._open: dict[str, Controller] = {}
        self.takes_notices = False
        """Whether the client offered to show notices."""

    def new(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:
        """Open a session: `session/new`. Nothing is written for it before its first prompt."""
        asked = params.new_session(given)
        config = self._access.config()
        header = SessionHeader(id=SessionId(self._ids.new()), created_at=self._clock.now_ms(), cwd=asked.cwd)
        agent = self._registry.create(header, config)
        controller = self._open[header.id] = Controller(agent, self._outbox, self._ids)
        unused = [f"The MCP server {server.name!r} is not used: MCP is not offered." for server in asked.mcp_servers]
        request.after_response(lambda: controller.greet(unused, tell=self.takes_notices))
        return {"sessionId": header.id}

    def prompt(self, given: params.Params, request: Inbound) -> Mapping[str, Any] | Pending:
        """Run a turn: `session/prompt`. The answer comes when the turn has ended."""
        controller = self._find(given)
        prompt = params.prompt_blocks(given)
        found = find_command(prompt)
        blocks = blocks_of(prompt)
        if found is not None:
            controller.run_command(*found)
        if found is not None or not blocks:
            return END_TURN
        message = Message(self._ids.new(), "user", blocks, UserSource())
        stop = request.cancel.subscribe(lambda: controller.agent.cancel(BY_USER))

        def settle(end: TurnEnd) -> None:
            stop()
            try:
                request.respond(prompt_result(end, AUTH_METHODS))
            except RpcError as error:
                request.fail(error)

        try:
            controller.agent.followup(message, settle)
        except ServerError as error:
            stop()
            raise refused(error) from error
        return PENDING

    def steer(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:  # noqa: ARG002 - a route's signature
        """Let a message join the running turn: `_acp_server/session/steer`."""
        controller = self._find(given)
        blocks = blocks_of(params.prompt_blocks(given))
        if not blocks:
            raise invalid("prompt", "is empty")
        try:
            controller.agent.steer(Message(self._ids.new(), "user", blocks, UserSource()))
        except ServerError as error:
            raise refused(error) from error
        return {}

    def cancel(self, given: params.Params) -> None:
        """End the session's turns: `session/cancel`. Unknown and idle sessions are passed over (clause C-07)."""
        controller = self._open.get(str(given.get("sessionId")))
        if controller is not None:
            controller.agent.cancel(BY_USER)

    async def close(self) -> None:
        """Cancel every turn, wait until all is quiet."""
        await self._registry.dispose_all()
        for controller in self._open.values():
            controller.close()

    async def when_idle(self) -> None:
        """Return once no session runs a turn."""
        for controller in self._open.values():
            await controller.agent.when_idle()

    def _find(self, given: params.Params) -> Controller:
        ident = params.session_id(given)
        controller = self._open.get(ident)
        if controller is None:
            raise session_not_found(ident)
        return controller
