"""The place of one language server in a session: started at its first use, again when it died, and ended with it.

Owns that it costs no more than its time, whatever it does (docs/lsp.md, clauses L-1 to L-6).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from lsprotocol import types

from acp_server.base.errors import ServerError
from acp_server.lsp.client import Client
from acp_server.lsp.process import ServerProcess, start_process
from acp_server.lsp.running import RunningServer
from acp_server.lsp.servers import LanguageServer
from acp_server.sandbox.confine import ConfinedCommand
from acp_server.tools.bounds import one_line

T = TypeVar("T")
START_SECONDS: Final = 30.0
MOST_STARTS: Final = 3
"""Starts of one server in a session."""
MOST_SILENCES: Final = 3
"""Waits in a row that a server may leave without an answer before it is ended."""
SHORT_SECONDS: Final = 0.5
"""How long is waited for a server that was silent the last time."""
SLOW: Final = frozenset({"LSP_SILENT", "LSP_STARTING"})
"""Codes of a server that may still speak."""
_REASON: Final = 200

Box = Callable[[LanguageServer], Awaitable[ConfinedCommand]]
"""Gives a server's program in its box; raises ServerError."""


class Slot:
    """One server of one session."""

    def __init__(self, server: LanguageServer, workspace: str, box: Box) -> None:
        self.server = server
        self._workspace = workspace
        self._box = box
        self._starting: asyncio.Task[RunningServer] | None = None
        self._process: ServerProcess | None = None
        self._why: str | None = None
        self._starts = 0
        self._silences = 0
        self._late = False
        self._closed = False

    @property
    def running(self) -> RunningServer | None:
        """Return the server where it runs and has shaken hands."""
        task = self._starting
        if self._why is not None or task is None or not task.done() or task.cancelled() or task.exception():
            return None
        return task.result()

    def warm(self) -> None:
        """Start the server, unless it runs or has had its starts."""
        if self._closed or self._starts >= MOST_STARTS or not (self._starting is None or self._over()):
            return
        self._starts += 1
        self._why = None
        self._silences = 0
        before, self._process = self._process, None
        self._starting = asyncio.ensure_future(self._start(before))
        self._starting.add_done_callback(_seen)

    async def use(
        self,
        action: Callable[[RunningServer, float], Awaitable[T]],
        seconds: float,
        *,
        patient: bool = False,
        counted: bool = True,
    ) -> T:
        """Return what the action gives, which is told how many seconds it has; all is over in about `seconds`.

        One that was silent the last time gets half a second, unless the caller is patient. A silence counts against it
        where it is `counted`.

        Raises:
            ServerError: LSP_GONE, LSP_SILENT, LSP_REFUSED; the sentence is short and tells what is with the server.
        """
        seconds = min(seconds, SHORT_SECONDS) if self._late and not patient else seconds
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        try:
            running = await self._ready(seconds)
            result = await action(running, max(until - loop.time(), 0.1))
        except ServerError as error:
            self._late = error.code in SLOW
            if error.code == "LSP_SILENT" and counted:
                await self._silent()
            raise ServerError(error.code, one_line(error.message, _REASON)) from error
        self._silences, self._late = 0, False
        return result

    async def close(self) -> None:
        """End the server and everything that it has started."""
        self._closed = True
        self._kill_if_closed()
        if self._starting is not None:
            await asyncio.wait({self._starting})
        if self._process is not None:
            await self._process.close()

    def _kill_if_closed(self) -> None:
        if self._closed and self._process is not None:
            self._process.kill()

    def _over(self) -> bool:
        return self._why is not None and self._starting is not None and self._starting.done()

    async def _ready(self, seconds: float) -> RunningServer:
        self.warm()
        if self._starting is None or (self._why is not None and self._over()):
            raise ServerError("LSP_GONE", self._why or "it was closed")
        await asyncio.wait({self._starting}, timeout=seconds)
        if not self._starting.done():
            raise ServerError("LSP_STARTING", f"it has not started within {seconds:g} s")
        return self._starting.result()

    async def _silent(self) -> None:
        self._silences += 1
        if self._silences >= MOST_SILENCES and self._process is not None:
            self._why = "it answered nothing and was ended"
            await self._process.close()

    async def _start(self, before: ServerProcess | None) -> RunningServer:
        if before is not None:
            await before.close()
        held: list[RunningServer] = []

        def published(params: types.PublishDiagnosticsParams) -> None:
            for running in held:
                running.published(params)

        try:
            client = await self._connect(published)
            can = await client.initialize(START_SECONDS)
        except ServerError as error:
            self._why = error.message
            if self._process is not None:
                await self._process.close()
            raise ServerError("LSP_GONE", self._why) from error
        held.append(RunningServer(self.server, client, can))
        return held[0]

    async def _connect(self, published: Callable[[types.PublishDiagnosticsParams], None]) -> Client:
        command = await self._box(self.server)
        if self._closed:
            command.close()
            raise ServerError("LSP_GONE", "it was closed")
        started: list[ServerProcess] = []

        def send(data: bytes) -> None:
            for process in started:
                process.write(data)

        def broken(why: str) -> None:
            self._why = why
            for process in started:
                process.kill()

        def lost(why: str) -> None:
            if not started or self._process is started[0]:
                self._why = self._why or why
            client.lost(self._why or why)

        client = Client(self.server, self._workspace, send, published, broken)
        process = await start_process(command, client.take, lost)
        started.append(process)
        self._process = process
        self._kill_if_closed()
        return client


def _seen(task: asyncio.Task[RunningServer]) -> None:
    """Take note of a failure that nobody may ask for."""
    if not task.cancelled():
        task.exception()
