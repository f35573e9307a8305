"""The language servers of all open sessions, and their end. Loading this loads pygls: it happens at the first use.

Joins the servers to the box of this machine and to the files behind the fence. docs/lsp.md, section L.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from acp_server.app.machine import Machine
from acp_server.base.errors import ServerError
from acp_server.base.values import value
from acp_server.lsp.process import boxed_server
from acp_server.lsp.programs import find_program
from acp_server.lsp.servers import LanguageServer
from acp_server.lsp.session import SessionServers
from acp_server.sandbox.confine import ConfinedCommand
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.roots import Roots
from acp_server.tools.files import Files
from acp_server.tools.local_files import LocalFiles
from acp_server.tools.tool import ToolContext, ToolError


@value
class _Held:
    servers: SessionServers
    roots: Roots


class LspSessions:
    """Servers by session id."""

    def __init__(self, machine: Machine, servers: Sequence[LanguageServer]) -> None:
        self._machine = machine
        self._servers = servers
        self._held: dict[str, _Held] = {}
        self._ending: set[asyncio.Future[None]] = set()

    async def of(self, session_id: str, directory: str) -> SessionServers:
        """Return the servers of a session in its directory; none of them is started by this."""
        workspace = await asyncio.to_thread(self._resolved, directory)
        return self._hold(session_id, workspace).servers

    async def open(self, context: ToolContext) -> tuple[SessionServers, Files]:
        """See OpenServers."""
        await asyncio.to_thread(self._machine.host)
        try:
            held = self._hold(context.session_id, context.cwd)
        except ServerError as error:
            raise ToolError(error.code, error.message) from error
        return held.servers, LocalFiles(held.roots, context.policy, self._machine.host())

    def closed(self, session_id: str) -> None:
        """End a session's servers, behind the back of the caller."""
        held = self._held.pop(session_id, None)
        if held is not None:
            held.roots.close()
            ending = asyncio.ensure_future(held.servers.close())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """End all servers; return when nothing of them is left."""
        for session_id in tuple(self._held):
            self.closed(session_id)
        if self._ending:
            await asyncio.wait(self._ending)

    def _resolved(self, directory: str) -> str:
        self._machine.host()
        return os.path.realpath(directory)

    def _hold(self, session_id: str, workspace: str) -> _Held:
        held = self._held.get(session_id)
        if held is None:
            roots = Roots((workspace,))
            files = LocalFiles(roots, Policy("read-only", workspace), self._machine.host())

            async def box(server: LanguageServer) -> ConfinedCommand:
                return await asyncio.to_thread(self._boxed, server, workspace)

            held = self._held[session_id] = _Held(SessionServers(workspace, self._servers, box, files), roots)
        return held

    def _boxed(self, server: LanguageServer, workspace: str) -> ConfinedCommand:
        program = find_program(server, self._machine.host().path, workspace)
        if program is None:
            raise ServerError("LSP_GONE", f"there is no program {server.command[0]!r}")
        return boxed_server(server, program, workspace, self._machine.backend())
