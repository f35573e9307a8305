"""The registered tools as the toolbox of one session.

Owns checking arguments and turning what a tool does into an outcome. A tool that would change something, run something
or reach the network is refused here: only a toolbox that can ask for consent may run it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from acp_server.agent.tools import CallPlace, ToolOutcome, failed
from acp_server.base.cancel import Cancelled, CancelToken
from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.base.registered import Registered
from acp_server.base.values import value
from acp_server.messages.blocks import ToolCallBlock
from acp_server.messages.request import ToolSchema
from acp_server.sandbox.policy import Policy
from acp_server.session.session import Session
from acp_server.tools.tool import AnyTool, ToolError

FREELY: Final = frozenset({"none", "read"})
"""Kinds of effect that need nobody's consent."""


@value
class _Context:
    """See ToolContext; progress is dropped."""

    session_id: str
    call_id: str
    cwd: str
    policy: Policy
    cancel: CancelToken
    session: Session

    def record(self, kind: str, data: JsonObject) -> None:
        """See ToolContext."""
        self.session.append(kind, data)

    def progress(self, text: str) -> None:
        """See ToolContext."""


class Toolbox:
    """See ToolBox; the tools of one session."""

    def __init__(self, tools: Registered[AnyTool], session: Session) -> None:
        self._tools = tools
        self._session = session
        self._cwd = session.header.cwd or "/"
        self._schemas: tuple[tuple[AnyTool, ...], Sequence[ToolSchema]] = ((), ())

    def schemas(self) -> Sequence[ToolSchema]:
        """See ToolBox; by name, so that the order in which components are built changes no request."""
        if self._schemas[0] is not self._tools.items:
            made = [ToolSchema(t.name, t.description, t.arguments.model_json_schema()) for t in self._tools.items]
            self._schemas = (self._tools.items, sorted(made, key=lambda schema: schema.name))
        return self._schemas[1]

    def parallel(self, call: ToolCallBlock) -> bool:
        """See ToolBox; what cannot be told runs alone."""
        tool = self._tools.find(call.name)
        try:
            return tool is not None and tool.parallel(_arguments(tool, call)) is True
        except Exception:  # noqa: BLE001 - whatever is wrong with the call, its own run tells
            return False

    def view(self, call: ToolCallBlock) -> JsonValue:  # noqa: ARG002 - the port's signature
        """See ToolBox; nothing is drawn before the call runs."""
        return None

    async def run(self, place: CallPlace, cancel: CancelToken) -> ToolOutcome:
        """See ToolBox."""
        tool = self._tools.find(place.call.name)
        if tool is None:
            return failed("UnknownToolError", "UNKNOWN_TOOL", f"there is no tool named {place.call.name!r}")
        try:
            arguments = _arguments(tool, place.call)
        except ValueError as error:
            return failed("InvalidArgumentsError", "INVALID_ARGS", f"the arguments are not as they must be: {error}")
        kind = tool.effect(arguments, self._cwd).kind
        if kind not in FREELY:
            return failed(
                "DeniedError", "DENIED", f"the call was not allowed: {kind} needs consent that nobody can give"
            )
        policy = Policy("read-only", self._cwd)
        context = _Context(place.session_id, place.call.id, self._cwd, policy, cancel, self._session)
        try:
            result = await tool.run(arguments, context)
        except ToolError as error:
            return failed(type(error).__name__, error.code, error.message)
        except Cancelled:
            return failed("AbortedError", "ABORTED", "the turn was cancelled")
        return ToolOutcome(result.content, contexts=result.contexts)


def _arguments(tool: AnyTool, call: ToolCallBlock) -> Any:
    return tool.arguments.model_validate_json(call.arguments or "{}")
