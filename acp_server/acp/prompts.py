"""The methods that make a session work: new, prompt, steer, cancel."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from acp_server.acp import params
from acp_server.acp.access import Access
from acp_server.acp.commands import Command, expanded, find_command, run_command
from acp_server.acp.content import Content, NewImage, blocks_of
from acp_server.acp.controller import Controller
from acp_server.acp.editor_state import editor_state
from acp_server.acp.failures import invalid, prompt_result, refused
from acp_server.acp.model_words import not_available
from acp_server.acp.open_sessions import Answer, Connect, OpenSessions, connect_nothing
from acp_server.acp.option_routes import OptionRoutes
from acp_server.acp.queue import steers
from acp_server.agent.registry import AgentRegistry
from acp_server.agent.turns import TurnEnd
from acp_server.base.cancel import BY_USER, Cancelled
from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.ports import Clock, Ids
from acp_server.jsonrpc.errors import RpcError
from acp_server.jsonrpc.peer import PENDING, Inbound, Pending
from acp_server.llm.trace_context import trace_of
from acp_server.llm.waiting import until
from acp_server.messages.blocks import Block, ImageBlock, Message, TextBlock, UserSource
from acp_server.session.header import SessionHeader

END_TURN: Final = {"stopReason": "end_turn"}
CANCELLED: Final = {"stopReason": "cancelled"}


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
        connect: Connect = connect_nothing,
    ) -> None:
        self._registry = registry
        self._sessions = sessions
        self._access = access
        self._options = options
        self._clock = clock
        self._ids = ids
        self._arriving: dict[Inbound, str] = {}
        """Prompts with images that have not begun, with their sessions."""
        self._in_turn, self._alone = sessions.in_turn(self.prompt), sessions.alone(self.prompt)
        self._cancel_in_turn = sessions.in_turn(self.cancel)
        self._ready = ready
        """Raises ServerError while no session could be kept."""
        self._connect = connect

    def new(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:
        """Open a session: `session/new`. Nothing is written for it before its first event."""
        asked = params.new_session(given)
        if not os.path.isdir(asked.cwd):  # noqa: PTH112 - pathlib is not on the start path
            raise invalid("cwd", "is no directory that exists")
        roots = params.real_roots(asked.roots)
        config = self._access.config()
        try:
            self._ready()
        except ServerError as error:
            raise refused(error) from error
        header = SessionHeader(id=SessionId(self._ids.new()), created_at=self._clock.now_ms(), cwd=asked.cwd)
        controller = self._sessions.add(self._registry.create(header, config))
        controller.roots = roots
        controller.go_live()
        self._connect(controller.agent.session, asked.mcp_servers)
        request.after_response(controller.greet)
        return {"sessionId": header.id, **self._options.choices(controller)}

    def prompt(self, given: params.Params, request: Inbound) -> Answer | Awaitable[Answer]:
        """Run a turn: `session/prompt`. The answer comes when the turn has ended."""
        controller = self._sessions.find(given)
        prompt = params.prompt_blocks(given)
        found = find_command(prompt, self._sessions.commands(controller.agent))
        if found is not None and found[0].expand is not None:
            prompt, found = expanded(*found, prompt), None
        elif found is not None and found[0].goes_on is not None and found[0].goes_on(found[1]):
            self._require_answers(controller)
            _run_ahead(controller, *found)
            found = None
        blocks = blocks_of(prompt, self._blind(controller))
        if found is None:
            self._require_answers(controller)
            if any(isinstance(block, NewImage) for block in blocks):
                return self._admit(controller, blocks, request)
        return self._begin(controller, found, blocks, request)

    async def _admit(self, controller: Controller, content: Content, request: Inbound) -> Mapping[str, Any] | Pending:
        """Keep the images of a prompt durably, then let it begin; a cancellation meanwhile leaves no prompt."""
        try:
            controller.require_writable()
            blocks = [await until(self._kept(controller, block), request.cancel) for block in content]
            request.cancel.raise_if_cancelled()
        except Cancelled:
            return CANCELLED
        except ServerError as error:
            raise refused(error) from error
        finally:
            self._arriving.pop(request, None)
        return self._begin(controller, None, blocks, request)

    async def _kept(self, controller: Controller, block: TextBlock | NewImage) -> Block:
        if isinstance(block, TextBlock):
            return block
        ident = await controller.agent.keep(block.content)
        return ImageBlock(ident, block.media_type, len(block.content), block.width, block.height, block.name)

    def _blind(self, controller: Controller) -> str | None:
        """Return the name of the session's model when it is known to read no images (clause P-23)."""
        config = controller.agent.config
        return None if self._access.info(config).reads_images else f"{config.provider}/{config.model}"

    def _begin(
        self, controller: Controller, found: tuple[Command, str] | None, blocks: Sequence[Any], request: Inbound
    ) -> Mapping[str, Any] | Pending:
        message = Message(self._ids.new(), "user", tuple(blocks), UserSource())
        settle, stop = self._settling(controller, request, message.id)
        meta = request.params.get("_meta")
        try:
            controller.require_writable()
            if found is not None:
                waits = run_command(controller.agent, *found, self._ids, settle)
            elif blocks and steers(meta):
                controller.agent.steer(message, settle)
                waits = True
            elif blocks:
                controller.agent.followup(message, settle, trace_of(meta))
                waits = True
            else:
                waits = False
        except ServerError as error:
            stop()
            raise refused(error) from error
        if not waits:
            stop()
            return END_TURN
        controller.editor = editor_state(meta) or controller.editor
        controller.begin_turn()
        controller.show_queued(message.id)
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
        self, controller: Controller, request: Inbound, ident: str
    ) -> tuple[Callable[[TurnEnd], None], Callable[[], None]]:
        """Return what answers the request with the end of its turn, and what forgets about that.

        A request that is cancelled takes back its own prompt while that waits, and ends the turn once it runs.
        """

        def cancelled() -> None:
            if not controller.agent.withdraw(ident):
                controller.agent.cancel(BY_USER)

        stop = request.cancel.subscribe(cancelled)

        def settle(end: TurnEnd) -> None:
            stop()
            try:
                request.respond(prompt_result(end, self._access.methods, self._access.place(controller.agent.config)))
            except RpcError as error:
                request.fail(error)

        return settle, stop

    async def steer(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:  # noqa: ARG002 - a route's signature
        """Let a message join the running turn: `_acp_server/session/steer`."""
        controller = self._sessions.find(given)
        content = blocks_of(params.prompt_blocks(given), self._blind(controller))
        if not content:
            raise invalid("prompt", "is empty")
        self._require_answers(controller)
        try:
            controller.require_writable()
            blocks = tuple([await self._kept(controller, block) for block in content])
            controller.agent.steer(Message(self._ids.new(), "user", blocks, UserSource()))
        except ServerError as error:
            raise refused(error) from error
        return {}

    def receive(self, given: params.Params, request: Inbound) -> Answer | Awaitable[Answer]:
        """Take a `session/prompt` in its turn; one with images has its session alone until they are kept."""
        if not params.may_hold_images(given):
            return self._in_turn(given, request)
        self._arriving[request] = str(given.get("sessionId"))
        request.after_response(lambda: (self._arriving.pop(request, None), None)[1])
        return self._alone(given, request)

    def receive_cancel(self, given: params.Params, request: Inbound) -> Answer | Awaitable[Answer]:
        """Take a `session/cancel`: what keeps images ends at once, the rest in its turn."""
        for arriving, ident in tuple(self._arriving.items()):
            if ident == given.get("sessionId"):
                arriving.cancel.cancel(BY_USER)
        return self._cancel_in_turn(given, request)

    def cancel(self, given: params.Params, request: Inbound) -> Mapping[str, Any]:  # noqa: ARG002 - a route's signature
        """End the session's turns: `session/cancel`. Unknown and idle sessions are passed over (clause C-07)."""
        controller: Controller | None = self._sessions.get(str(given.get("sessionId")))
        if controller is not None:
            controller.agent.cancel(BY_USER)
        return {}


def _run_ahead(controller: Controller, command: Command, args: str) -> None:
    """Do what a command does whose prompt goes to the model too."""
    try:
        command.run(controller.agent, args)
    except RpcError:
        raise
    except ServerError as error:
        raise refused(error) from error
