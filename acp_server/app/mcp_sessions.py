"""The MCP servers of all open sessions: a session without any costs a look at an empty table.

Owns which servers a session has, those of the settings and those that its client names, and that the client's code is
loaded in a thread once a session has one. docs/mcp.md, section L.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from acp_server.acp.commands import Command
from acp_server.agent.agent import Agent
from acp_server.app.places import account_home, find_places
from acp_server.base.errors import ServerError
from acp_server.session.session import Session
from acp_server.tools.mcp.servers import McpServer

if TYPE_CHECKING:
    from acp_server.llm.http import HttpTransport
    from acp_server.tools.mcp.roster import Roster
    from acp_server.tools.tool import AnyTool


class McpSessions:
    """Rosters by session id. `settings` gives the servers of the settings, `tell` tells a session's person."""

    def __init__(
        self,
        environment: Mapping[str, str],
        settings: Callable[[], Sequence[McpServer]],
        tell: Callable[[str, str], None],
    ) -> None:
        self._environment = environment
        self._settings = settings
        self._tell = tell
        self._open: dict[str, _Held] = {}
        self._transport: HttpTransport | None = None

    def open(self, session: Session, asked: Sequence[McpServer]) -> None:
        """Let a session have these servers beside those of the settings; start those that are new, wait for nothing."""
        ident, servers = str(session.id), (*self._settings(), *asked)
        held = self._open.get(ident)
        if held is not None and held.servers == servers:
            return
        if held is None and not servers:
            return
        self._open[ident] = _Held(servers, asyncio.get_running_loop().create_task(self._start(session, servers, held)))

    def tools(self, session_id: str) -> Sequence[AnyTool]:
        """Return the tools of the session's servers; the same tuple until they change."""
        held = self._open.get(session_id)
        return () if held is None or held.roster is None else held.roster.tools

    async def ready(self, session_id: str) -> None:
        """Return once the session's servers have started or failed, or have had their time."""
        held = self._open.get(session_id)
        if held is not None:
            await asyncio.wait([held.starting])
            if held.roster is not None:
                await held.roster.ready()

    async def close(self, session_id: str) -> None:
        """End the session's servers."""
        held = self._open.pop(session_id, None)
        if held is not None:
            await held.close()

    async def shutdown(self) -> None:
        """Give back what all sessions shared."""
        if self._transport is not None:
            await self._transport.close()

    def command(self) -> Command:
        """Return the slash command."""
        return Command("mcp", "Shows the MCP servers, or accepts tools that changed.", self._run, "accept SERVER")

    def _run(self, agent: Agent, args: str) -> str:
        held = self._open.get(str(agent.session.id))
        if held is None or not held.servers:
            return "This session has no MCP servers."
        if held.roster is None:
            return "\n".join(f"- {server.name}: is starting" for server in held.servers)
        word, _, label = args.partition(" ")
        return held.roster.accept(label.strip()) if word == "accept" else held.roster.describe()

    async def _start(self, session: Session, servers: tuple[McpServer, ...], before: _Held | None) -> None:
        ident = str(session.id)
        if before is not None:
            await before.close()
        roster = await asyncio.to_thread(_roster_class)
        held = self._open.get(ident)
        if held is None or held.servers is not servers:
            return  # closed or asked for others meanwhile
        from acp_server.tools.mcp.connection import Surroundings  # noqa: PLC0415 - loaded by the thread

        around = Surroundings(session.header.cwd or "/", self._environment, self._http)
        held.roster = roster(servers, around, self._pins(), partial(self._tell, ident))
        held.roster.start()

    def _http(self) -> HttpTransport:
        from acp_server.llm.http import HttpTransport  # noqa: PLC0415 - for who has a server at an address
        from acp_server.llm.limits import HttpLimits  # noqa: PLC0415 - likewise

        if self._transport is None:
            self._transport = HttpTransport(HttpLimits(first_byte=600.0, silence=600.0))
        return self._transport

    def _pins(self) -> str | None:
        try:
            return f"{find_places(self._environment, account_home).state}/mcp"
        except ServerError:
            return None


class _Held:
    """What one session has: its servers, their roster once it is loaded, and the task that loads and starts it."""

    def __init__(self, servers: tuple[McpServer, ...], starting: asyncio.Task[None]) -> None:
        self.servers = servers
        self.starting = starting
        self.roster: Roster | None = None

    async def close(self) -> None:
        """End the servers."""
        await asyncio.gather(self.starting, return_exceptions=True)
        if self.roster is not None:
            await self.roster.close()


def _roster_class() -> type[Roster]:
    """Runs in a thread: the import is what takes the time."""
    from acp_server.tools.mcp.roster import Roster  # noqa: PLC0415 - for who has servers

    return Roster
