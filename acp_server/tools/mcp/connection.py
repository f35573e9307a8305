"""One server of one session: its start, its tools, its calls, its end (docs/mcp.md, clauses L-1 to L-7).

Owns the handshake and that a server which has gone is started again when it is called, a few times at most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import quote

from acp_server import __version__
from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.values import value
from acp_server.llm.adapter import Transport
from acp_server.llm.masking import mask_secrets
from acp_server.tools.bounds import one_line
from acp_server.tools.mcp.address import Address
from acp_server.tools.mcp.dialogue import Dialogue, McpError
from acp_server.tools.mcp.offers import Offers, read_offers
from acp_server.tools.mcp.program import Program, start_program
from acp_server.tools.mcp.servers import McpServer

PROTOCOLS: Final = ("2025-06-18", "2025-11-25", "2025-03-26", "2024-11-05")
"""The version that is asked for, and others whose tools are the same."""
START_SECONDS: Final = 60.0
"""For the handshake and for the list of tools, each: a first start may have to download the program."""
LIST_SECONDS: Final = 30.0
MOST_PAGES: Final = 100
MOST_STARTS: Final = 5
"""Starts of a program in one session."""

Progress: TypeAlias = Callable[[str], None]


@value
class Surroundings:
    """What servers of a session live in. `transport` may import what HTTP takes, so it is asked for when needed."""

    cwd: str
    environment: Mapping[str, str]
    transport: Callable[[], Transport]


class Speaker(Protocol):
    """A channel that can be closed."""

    async def close(self) -> None:
        """End it; nothing of it is left."""


class Connection:
    """A server. `listed` gets its tools after each start and look; `changed` is called when it says that they did."""

    def __init__(
        self, server: McpServer, around: Surroundings, listed: Callable[[Offers], None], changed: Callable[[], None]
    ) -> None:
        self.server = server
        self._around = around
        self._listed = listed
        self._changed = changed
        self._dialogue: Dialogue | None = None
        self._speaker: Speaker | None = None
        self._starting = asyncio.Lock()
        self._starts = 0
        self._closed = False
        self._why_gone: str | None = None

    async def wake(self) -> None:
        """Start the server, unless it is there.

        Raises:
            McpError: it cannot be started, does not speak the protocol, or is silent; nothing of it is left then.
        """
        await self._alive()

    async def look(self) -> None:
        """Ask a server that is there for its tools anew; raise McpError."""
        if self._dialogue is not None and self._why_gone is None:
            self._listed(await self._list(self._dialogue))

    async def call(
        self, tool: str, arguments: Mapping[str, Any], cancel: CancelToken, progress: Progress
    ) -> Mapping[str, Any]:
        """Return the result of a call of a tool; the server has to be there.

        Raises:
            McpError: the server refused, is silent, or is gone and cannot be started again.
            Cancelled: the token was cancelled first; the server is told.
        """
        dialogue = self._dialogue
        if dialogue is None:
            raise McpError("MCP_GONE", "it is not there")
        try:
            params = {"name": tool, "arguments": arguments}
            return await dialogue.request("tools/call", params, self.server.call_seconds, cancel, progress)
        except McpError as error:
            raise self._told(error) from error

    async def close(self) -> None:
        """End the server and everything that it has started."""
        self._closed = True
        await self._end()

    async def _alive(self) -> Dialogue:
        async with self._starting:
            if self._dialogue is None or self._why_gone is not None:
                return await self._start()
            return self._dialogue

    async def _start(self) -> Dialogue:
        await self._end()
        self._starts += 1
        if self._closed or self._starts > MOST_STARTS:
            raise self._told(McpError("MCP_GONE", self._why_gone or "it was closed"))
        self._why_gone = None
        if self.server.missing is not None:
            raise McpError("MCP_GONE", f"the variable {self.server.missing} is not set")
        try:
            dialogue = await self._open()
            offers = await self._list(dialogue)
        except ServerError as error:
            await self._end()
            raise self._told(error) from error
        except BaseException:
            await self._end()
            raise
        self._listed(offers)
        return dialogue

    async def _open(self) -> Dialogue:
        """Start the program, or take the address; then shake hands."""
        held: list[Dialogue] = []

        def lost(why: str) -> None:
            self._why_gone = why
            for dialogue in held:
                dialogue.lost(why)

        relay = _Relay()
        dialogue = Dialogue(relay, (_file_uri(self._around.cwd),), self._changed)
        held.append(dialogue)
        self._dialogue = dialogue
        address: Address | None = None
        if self.server.url is None:
            speaker = await start_program(self.server, self._around.cwd, self._around.environment, dialogue.take, lost)
            relay.to, self._speaker = speaker, speaker
        else:
            address = Address(self.server, self._around.transport(), dialogue.take, lost)
            relay.to, self._speaker = address, address
        hello = {
            "protocolVersion": PROTOCOLS[0],
            "capabilities": {"roots": {}},
            "clientInfo": {"name": "acp-server", "version": __version__},
        }
        answer = await dialogue.request("initialize", hello, START_SECONDS)
        version = answer.get("protocolVersion")
        if version not in PROTOCOLS:
            raise McpError("MCP_MALFORMED", f"it speaks the protocol's version {str(version)[:40]!r}")
        if address is not None:
            address.version = str(version)
        dialogue.notify("notifications/initialized")
        if address is not None:
            address.listen()
        return dialogue

    async def _list(self, dialogue: Dialogue) -> Offers:
        entries: list[object] = []
        params: dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            page = await dialogue.request("tools/list", params, LIST_SECONDS)
            tools = page.get("tools")
            entries += tools if isinstance(tools, list) else []
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor:
                break
            params = {"cursor": cursor}
        return read_offers(entries, self.server.tools)

    async def _end(self) -> None:
        dialogue, speaker = self._dialogue, self._speaker
        self._dialogue = self._speaker = None
        if dialogue is not None:
            await dialogue.close()
        if speaker is not None:
            await speaker.close()

    def _told(self, error: ServerError) -> McpError:
        """Return the failure as it may be told: on one line, no secret in it."""
        words = one_line(mask_secrets(error.message, self.server.secrets), 400)
        return McpError(error.code, words)


class _Relay:
    """A channel that is there before what it leads to."""

    def __init__(self) -> None:
        self.to: Program | Address | None = None

    async def send(self, message: Mapping[str, Any], cancel: CancelToken) -> None:
        """See Channel."""
        if self.to is None:
            raise McpError("MCP_GONE", "it has not been started")
        await self.to.send(message, cancel)


def _file_uri(path: str) -> str:
    return f"file://{quote(path)}"
