"""The methods that make a session work: new, prompt, steer, cancel."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from acp_server.acp import params
from acp_server.acp.access import Access
from acp_server.acp.commands import find_command, run_command
from acp_server.acp.content import blocks_of
from acp_server.acp.controller import Controller
from acp_server.acp.failures import invalid, prompt_result, refused
from acp_server.acp.model_words import not_available
from acp_server.acp.open_sessions import OpenSessions
from acp_server.acp.option_routes import OptionRoutes
from acp_server.agent.registry import AgentRegistry
from acp_server.agent.turns import TurnEnd
from acp_server.base.cancel import BY_USER
from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.ports import Clock, Ids
from acp_server.jsonrpc.errors import RpcError
from acp_server.jsonrpc.peer import PENDING, Inbound, Pending
from acp_server.messages.blocks import Message, UserSource
from acp_server.session.header import SessionHeader

END_TURN: Final = {"stopReason": "end_turn"}


class Prompts:
    """Routes over the open sessions."""

    def __init__(
        self,
        registry: AgentRegistry,
        sessions: OpenSessions,
        access: Access,
        options: OptionRoutes,
        *,
        clock: Clock,
        ids: Ids,
        ready: Callable[[], None],
    ) -> None:
        self._registry = registry
        self._sessions = sessions
        self._access = access
        self._options = options
        self._clock = clock
        self._ids = ids
        self._ready = ready
        """Raises ServerError while no session could be kept."""

    def new(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:
        """Open a session: `session/new`. Nothing is written for it before its first event."""
        asked = params.new_session(given)
        if not os.path.isdir(asked.cwd):  # noqa: PTH112 - pathlib is not on the start path
            raise invalid("cwd", "is no directory that exists")
        config = self._access.config()
        try:
            self._ready()
        except ServerError as error:
            raise refused(error) from error
        header = SessionHeader(id=SessionId(self._ids.new()), created_at=self._clock.now_ms(), cwd=asked.cwd)
        controller = self._sessions.add(self._registry.create(header, config))
        for sentence in params.unused_servers(asked.mcp_servers):
            controller.tell(sentence)
        controller.go_live()
        request.after_response(controller.greet)
        return {"sessionId": header.id, **self._options.choices(controller)}

    def prompt(self, given: params.Params, request: Inbound) -> Mapping[str, Any] | Pending:
        """Run a turn: `session/prompt`. The answer comes when the turn has ended."""
        controller = self._sessions.find(given)
        prompt = params.prompt_blocks(given)
        found = find_command(prompt, self._sessions.commands())
        blocks = blocks_of(prompt)
        if found is None:
            self._require_answers(controller)
        settle, stop = self._settling(controller, request)
        try:
            controller.require_writable()
            if found is not None:
                waits = run_command(controller.agent, *found, self._ids, settle)
            elif blocks:
                controller.agent.followup(Message(self._ids.new(), "user", blocks, UserSource()), settle)
                waits = True
            else:
                waits = False
        except ServerError as error:
            stop()
            raise refused(error) from error
        if not waits:
            stop()
            return END_TURN
        controller.begin_turn()
        return PENDING

    def _require_answers(self, controller: Controller) -> None:
        """Raise RpcError -32000 when nobody can answer in the session.

        One that was opened for reading, because there was no key, goes on with the model that answers by then.
        """
        if not controller.unanswered:
            self._access.require(controller.agent.config)
            return
        config, before = self._access.config(), controller.agent.config
        try:
            controller.require_writable()
            controller.agent.choose(before if self._access.usable(before) else config)
        except ServerError as error:
            raise refused(error) from error
        controller.unanswered = False
        if controller.agent.config != before:
            controller.tell(not_available(before, controller.agent.config))

    def _settling(
        self, controller: Controller, request: Inbound
    ) -> tuple[Callable[[TurnEnd], None], Callable[[], None]]:
        """Return what answers the request with the end of its turn, and what forgets about that."""
        stop = request.cancel.subscribe(lambda: controller.agent.cancel(BY_USER))

        def settle(end: TurnEnd) -> None:
            stop()
            try:
                request.respond(prompt_result(end, self._access.methods, self._access.place(controller.agent.config)))
            except RpcError as error:
                request.fail(error)

        return settle, stop

    def steer(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:  # noqa: ARG002 - a route's signature
        """Let a message join the running turn: `_acp_server/session/steer`."""
        controller = self._sessions.find(given)
        blocks = blocks_of(params.prompt_blocks(given))
        if not blocks:
            raise invalid("prompt", "is empty")
        self._require_answers(controller)
        try:
            controller.require_writable()
            controller.agent.steer(Message(self._ids.new(), "user", blocks, UserSource()))
        except ServerError as error:
            raise refused(error) from error
        return {}

    def cancel(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:  # noqa: ARG002 - a route's signature
        """End the session's turns: `session/cancel`. Unknown and idle sessions are passed over (clause C-07)."""
        controller: Controller | None = self._sessions.get(str(given.get("sessionId")))
        if controller is not None:
            controller.agent.cancel(BY_USER)
        return {}
