"""A server's tool as the agent has it: judged like every other, its result data (docs/mcp.md, clauses C-1 to C-6)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from pydantic import JsonValue, RootModel

from acp_server.base.cancel import CancelToken
from acp_server.messages.request import ToolSchema
from acp_server.tools.bounds import cut_line
from acp_server.tools.mcp.content import error_text, result_blocks
from acp_server.tools.mcp.dialogue import McpError
from acp_server.tools.mcp.offers import Offer
from acp_server.tools.tool import Card, Effect, ToolContext, ToolError, ToolResult

LONGEST_ERROR: Final = 20_000
Call: TypeAlias = Callable[[Offer, Mapping[str, Any], CancelToken, Callable[[str], None]], Awaitable[Mapping[str, Any]]]
"""Calls the tool of an offer; raises McpError, Cancelled, and ToolError where the tool may not be called."""


class AnyObject(RootModel[dict[str, JsonValue]]):
    """The arguments of a call as the model wrote them; the server checks them itself."""


class McpTool:
    """See Tool. `label` is what people call the server."""

    def __init__(self, name: str, label: str, offer: Offer, call: Call) -> None:
        self.name: Final = name
        self.offer: Final = offer
        self.description: Final = f"[MCP server {label}] {offer.description}".rstrip()
        self.schema: Final = ToolSchema(name, self.description, offer.schema)
        self.arguments: Final = AnyObject
        self._label = label
        self._call = call

    def effect(self, arguments: AnyObject, cwd: str) -> Effect:  # noqa: ARG002 - the port's signature
        """See Tool."""
        words = json.dumps(arguments.root, ensure_ascii=False)
        return Effect("mcp", server=self._label, tool=self.offer.name, arguments=words)

    def card(self, arguments: AnyObject, cwd: str) -> Card:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return Card(f"{self._label}: {self.offer.name}", "other")

    def parallel(self, arguments: AnyObject) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool; what a server does beside another call is not known."""
        return False

    async def run(self, arguments: AnyObject, context: ToolContext) -> ToolResult:
        """See Tool."""
        try:
            result = await self._call(self.offer, arguments.root, context.cancel, context.progress)
        except McpError as error:
            words = f"the MCP server {self._label!r} did not do it: {error.message}"
            raise ToolError(error.code, words) from error
        if result.get("isError") is True:
            raise ToolError("MCP_TOOL_FAILED", cut_line(f"{self._label}: {error_text(result)}", LONGEST_ERROR))
        return ToolResult(result_blocks(self._label, result))
