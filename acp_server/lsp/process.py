"""One language server's processes in their box, and the two pipes to them (docs/lsp.md, clauses P-1 to P-6).

Owns what the box shows it, and the certain end of everything that it started.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.values import replace
from acp_server.lsp.servers import LanguageServer
from acp_server.sandbox.confine import Backend, ConfinedCommand, confine
from acp_server.sandbox.limits import LIMITS
from acp_server.sandbox.lists import within
from acp_server.sandbox.policy import Policy
from acp_server.sandbox.started import Pipes, Started

MOST_UNSENT: Final = 32 * 1024 * 1024
"""Bytes that may wait for a server that reads nothing."""
_STDERR_KEPT: Final = 4096
_LIMITS: Final = replace(LIMITS, wall_seconds=None, head_bytes=_STDERR_KEPT, tail_bytes=_STDERR_KEPT)
_HIDDEN: Final = ("/tmp", "/run")  # noqa: S108 - what a box has of its own

Take = Callable[[bytes], None]
Lost = Callable[[str], None]


def boxed_server(server: LanguageServer, program: str, workspace: str, backend: Backend) -> ConfinedCommand:
    """Return the server in its box: it reads, writes nothing, and reaches nothing; blocks for a moment.

    Raises:
        ServerError: what `confine` gives.
    """
    policy = Policy("read-only", workspace, _shown(program), hide_secrets=True)
    return confine(policy, (program, *server.command[1:]), workspace, backend)


def _shown(program: str) -> tuple[str, ...]:
    """Return the places that have to be shown in the box for a program that the box would hide."""
    found = []
    for spelled in dict.fromkeys((program, os.path.realpath(program))):
        if any(within(spelled, place) for place in _HIDDEN):
            before, inside, _ = spelled.partition("/node_modules/")
            found.append(f"{before}{inside.rstrip('/')}" if inside else str(PurePosixPath(spelled).parent.parent))
    return tuple(dict.fromkeys(place for place in found if place not in _HIDDEN))


class ServerProcess:
    """A server that runs. `take` gets what it writes; `lost` hears once that it has ended, and how."""

    def __init__(self, running: Started, take: Take, lost: Lost) -> None:
        self._running = running
        self._lost = lost
        self._take = take
        self._reading: asyncio.ReadTransport | None = None
        self._writing: asyncio.WriteTransport | None = None
        self._task = asyncio.ensure_future(self._to_end())

    async def connect(self, stdin: int, stdout: int) -> None:
        """Take the ends of the pipes."""
        loop = asyncio.get_running_loop()
        self._reading, _ = await loop.connect_read_pipe(lambda: _Reading(self._take), os.fdopen(stdout, "rb", 0))
        self._writing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(stdin, "wb", 0))

    def write(self, data: bytes) -> None:
        """Send to it; one that reads nothing is ended."""
        if self._writing is None or self._writing.is_closing():
            return
        self._writing.write(data)
        if self._writing.get_write_buffer_size() > MOST_UNSENT:
            self._running.kill()

    def kill(self) -> None:
        """Let it end; `close` waits for that."""
        if not self._task.done():
            self._running.kill()

    async def close(self) -> None:
        """End it and everything that it has started; return when nothing is left."""
        self.kill()
        await asyncio.wait({self._task})

    async def _to_end(self) -> None:
        said = ""
        try:
            code = await self._running.ended()
            said = self._running.captured.output(None).text
            how = f"it was ended by signal {-code}" if code < 0 else f"it ended with code {code}"
        except ServerError as error:
            how = error.message
        if self._reading is not None:
            self._reading.close()
        if self._writing is not None and not self._writing.is_closing():
            self._writing.abort()
        lines = said.strip().splitlines()
        self._lost(f"{how}: {lines[-1].strip()}" if lines else how)


async def start_process(command: ConfinedCommand, take: Take, lost: Lost) -> ServerProcess:
    """Start the server.

    Raises:
        ServerError: SANDBOX_FAILED, it cannot be started; the command is closed then.
    """
    ours: list[int] = []
    theirs: list[int] = []
    try:
        for ends in (os.pipe(), os.pipe()[::-1]):
            theirs.append(ends[0])
            ours.append(ends[1])
        running = Started(command, _LIMITS, pipes=Pipes(theirs[0], theirs[1]))
    except BaseException:
        for end in ours:
            os.close(end)
        raise
    finally:
        for end in theirs:
            os.close(end)
    process = ServerProcess(running, take, lost)
    await process.connect(*ours)
    return process


class _Reading(asyncio.Protocol):
    """Gives on what comes."""

    def __init__(self, take: Take) -> None:
        self._take = take

    def data_received(self, data: bytes) -> None:
        with suppress(ServerError):
            self._take(data)
