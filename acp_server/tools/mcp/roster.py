"""The servers of one session: started side by side, named when they fail, ended together (docs/mcp.md, L and R).

Owns which tools a session has of them at the moment, and what the person is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.llm.waiting import until
from acp_server.tools.bounds import one_line
from acp_server.tools.mcp.connection import Connection, Progress, Surroundings
from acp_server.tools.mcp.dialogue import McpError
from acp_server.tools.mcp.names import server_keys, server_labels, tool_names
from acp_server.tools.mcp.offers import Offer, Offers, within_bounds
from acp_server.tools.mcp.pins import Pins, sort_offers
from acp_server.tools.mcp.servers import McpServer
from acp_server.tools.mcp.tool import McpTool
from acp_server.tools.tool import ToolError

Connect: TypeAlias = Callable[[Callable[[Offers], None], Callable[[], None]], Connection]
WAIT_SECONDS: Final = 10.0
"""How long the first request to a model waits for servers that are still starting."""
MOST_TOLD: Final = 3


class Roster:
    """The servers of one session. `tell` tells the person; `pins` is the folder of Pins."""

    def __init__(
        self, servers: Sequence[McpServer], around: Surroundings, pins: str | None, tell: Callable[[str], None]
    ) -> None:
        labels = server_labels([server.name for server in servers])
        rows = zip(servers, labels, server_keys(labels), strict=True)
        self.servers = tuple(servers)
        self._tell = tell
        self._members = [
            Member(label, key, Pins(server, pins), self, partial(Connection, server, around))
            for server, label, key in rows
        ]
        self._starting: list[asyncio.Task[None]] = []
        self._due = 0.0
        self._waited = False
        self.tools: tuple[McpTool, ...] = ()
        """The tools that can be offered; another tuple after each change."""

    def start(self) -> None:
        """Start all servers, each by itself."""
        loop = asyncio.get_running_loop()
        self._due = loop.time() + WAIT_SECONDS
        self._starting = [loop.create_task(member.start()) for member in self._members]

    async def ready(self) -> None:
        """Return once every server has started or failed, or the time for that is over; then those are named."""
        if self._waited:
            return
        late = [task for task in self._starting if not task.done()]
        if late:
            left = self._due - asyncio.get_running_loop().time()
            _, pending = await asyncio.wait(late, timeout=max(left, 0.0))
            if pending and not self._waited:
                names = ", ".join(repr(member.label) for member in self._members if member.state == STARTING)
                self.tell(f"Still starting, without tools so far: {names} (MCP).")
        self._waited = True

    async def close(self) -> None:
        """End all servers, side by side."""
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(member.close() for member in self._members))

    def describe(self) -> str:
        """Return one line a server for a person."""
        return "\n".join(member.describe() for member in self._members)

    def accept(self, label: str) -> str:
        """Take what that server has changed, because the person says so; return what they are told."""
        member = next((member for member in self._members if member.label == label), None)
        return f"There is no MCP server {label!r} in this session." if member is None else member.accept()

    def tell(self, sentence: str) -> None:
        """Tell the person."""
        self._tell(sentence)

    def changed(self) -> None:
        """Make the tools anew: one of the servers has others."""
        tools: dict[str, McpTool] = {}
        size = 0
        for member in self._members:
            kept = within_bounds(tuple(member.trusted.values()), len(tools), size)
            size += sum(offer.size for offer in kept)
            member.used = len(kept)
            names = tool_names(member.key, [offer.name for offer in kept])
            for offer in kept:
                name = names[offer.name]
                tools.setdefault(name, McpTool(name, member.label, offer, member.call))
        self.tools = tuple(tools.values())


STARTING: Final = "starting"
READY: Final = "ready"
FAILED: Final = "failed"


class Member:
    """One server of a roster. `trusted` are the tools that the person has seen, or that are new."""

    def __init__(self, label: str, key: str, pins: Pins, roster: Roster, connect: Connect) -> None:
        self.label = label
        self.key = key
        self.state = STARTING
        self.trusted: Mapping[str, Offer] = {}
        self.used = 0
        self._changed: Mapping[str, Offer] = {}
        self._why = ""
        self._pins = pins
        self._roster = roster
        self._told: set[str] = set()
        self._connection = connect(self._listed, self._look_soon)
        self._look: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the server; what fails is told."""
        try:
            await self._connection.wake()
        except ServerError as error:
            self.state, self._why = FAILED, error.message
            self._tell_once(f"The MCP server {self.label!r} is not used: {error.message.rstrip('.')}.")

    async def call(
        self, offer: Offer, arguments: Mapping[str, Any], cancel: CancelToken, progress: Progress
    ) -> Mapping[str, Any]:
        """See tool.Call."""
        await until(self._connection.wake(), cancel)  # one that is started again may have other tools
        self._require_same(offer)
        return await self._connection.call(offer.name, arguments, cancel, progress)

    def accept(self) -> str:
        """See Roster.accept."""
        if not self._changed:
            return f"Nothing of the MCP server {self.label!r} waits for your consent."
        names = ", ".join(self._changed)
        self.trusted = {**self.trusted, **self._changed}
        self._pins.keep({offer.name: offer.digest for offer in self._changed.values()})
        self._changed = {}
        self._roster.changed()
        return f"From here on the MCP server {self.label!r} has these tools as they are: {names}."

    def describe(self) -> str:
        """Return one line for a person."""
        told = {
            STARTING: "is starting",
            READY: f"{self.used} tool(s)",
            FAILED: f"is not used: {self._why}",
        }[self.state]
        waits = (
            f"; changed, send `/mcp accept {self.label}` to use: {', '.join(self._changed)}" if self._changed else ""
        )
        return f"- {self.label}: {told}{waits}"

    async def close(self) -> None:
        """End the server."""
        if self._look is not None:
            self._look.cancel()
            await asyncio.gather(self._look, return_exceptions=True)
        await self._connection.close()

    def _require_same(self, offer: Offer) -> None:
        """Raise ToolError TOOL_CHANGED unless the tool still is what was offered."""
        if offer.name in self._changed:
            words = f"{offer.name} of the MCP server {self.label!r} has changed; it is refused until the person agrees"
            raise ToolError("TOOL_CHANGED", words)
        current = self.trusted.get(offer.name)
        if current is None or current.digest != offer.digest:
            raise ToolError("TOOL_CHANGED", f"the MCP server {self.label!r} has no such tool any more")

    def _listed(self, offers: Offers) -> None:
        """Take the tools that the server lists."""
        found = sort_offers(offers.tools, self.trusted, self._pins.read())
        self.state, self.trusted, self._changed = READY, found.trusted, found.changed
        self._pins.keep({name: offer.digest for name, offer in found.trusted.items() if name not in found.changed})
        self._roster.changed()
        for sentence in offers.refused[:MOST_TOLD]:
            self._tell_once(f"About the MCP server {self.label!r}: {one_line(sentence, 300)}.")
        if self.used < len(found.trusted):
            many = f"{len(found.trusted):,} tools; the first {self.used} are used"
            self._tell_once(f"The MCP server {self.label!r} offers {many}.")
        if found.changed:
            names = one_line(", ".join(found.changed), 300)
            self._tell_once(
                f"The MCP server {self.label!r} has changed tools that were used before: {names}. They are refused "
                f"until you agree: `/mcp accept {self.label}`."
            )

    def _look_soon(self) -> None:
        if self._look is None or self._look.done():
            self._look = asyncio.get_running_loop().create_task(self._look_again())

    async def _look_again(self) -> None:
        try:
            await self._connection.look()
        except McpError:
            return  # a server that is gone is told of when it is called

    def _tell_once(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self._roster.tell(sentence)
