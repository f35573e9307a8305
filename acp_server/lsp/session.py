"""The language servers of one session: which serve a file, what they find in it, and their certain end.

Owns that servers work side by side within one limit of time, and that they see the files as they are on the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from acp_server.base.errors import ServerError
from acp_server.lsp.problems import Found
from acp_server.lsp.running import RunningServer
from acp_server.lsp.servers import LanguageServer, serving
from acp_server.lsp.slot import SLOW, Box, Slot
from acp_server.tools.files import Files
from acp_server.tools.text_file import NotTextError, decode
from acp_server.tools.tool import ToolError

T = TypeVar("T")
MOST_BYTES: Final = 4 * 1024 * 1024
"""Bytes of a file that is shown to a server."""
ASK_SECONDS: Final = 30.0
"""How long a question of the model may take."""


class SessionServers:
    """The servers of one session in its directory."""

    def __init__(self, workspace: str, servers: Sequence[LanguageServer], box: Box, files: Files) -> None:
        self.workspace = workspace
        self._servers = servers
        self._slots = {server.name: Slot(server, workspace, box) for server in servers}
        self._files = files
        self._stamps: dict[str, tuple[int, int]] = {}
        """When the files that servers know were changed, and their sizes."""

    def serves(self, path: str) -> bool:
        """Return whether there is a server for the file."""
        return bool(serving(self._servers, path))

    def warm(self, path: str) -> None:
        """Start the servers of a file, without waiting for them."""
        for server in serving(self._servers, path):
            self._slots[server.name].warm()

    async def read(self, path: str, files: Files | None = None) -> str:
        """Return a file's text as it is on the disk; raise ToolError."""
        content = await (files or self._files).read(path, MOST_BYTES + 1)
        if content.size > MOST_BYTES:
            raise ToolError("TOO_LARGE", f"{path} is larger than {MOST_BYTES:,} bytes, which no language server gets")
        try:
            return decode(content.data).text
        except NotTextError as error:
            raise ToolError(error.code, f"{path} is no text") from error

    async def found(
        self, path: str, text: str, seconds: float, *, saved: bool = False, patient: bool = False
    ) -> tuple[Found, ...]:
        """Return what each server of a file finds in it; one that fails or is silent says so in its place."""
        slots = [self._slots[server.name] for server in serving(self._servers, path)]
        await self._refresh(path)
        return tuple(
            await asyncio.gather(
                *(self._found(slot, path, text, seconds, saved=saved, patient=patient) for slot in slots)
            )
        )

    async def late(self, path: str, text: str, names: Sequence[str], seconds: float) -> tuple[Found, ...]:
        """Return what these servers find in a file with that text, however late; no silence counts against them."""
        slots = [self._slots[name] for name in names]
        return tuple(
            await asyncio.gather(
                *(self._found(slot, path, text, seconds, patient=True, counted=False) for slot in slots)
            )
        )

    def changed(self, path: str, *, made: bool) -> None:
        """Tell the servers that run of a file that was changed on the disk."""
        for slot in self._slots.values():
            if slot.running is not None:
                slot.running.changed(path, made=made)

    async def ask(
        self, path: str | None, can: Callable[[Any], bool], action: Callable[[RunningServer, float], Awaitable[T]]
    ) -> T:
        """Return the answer of the first server that can; of a file's servers, or of any when `path` is None.

        Raises:
            ServerError: LSP_NONE when no server can, and what the last one that could gave.
        """
        last = ServerError("LSP_NONE", "there is no language server for it")
        await self._refresh(path)
        for server in self._servers if path is None else serving(self._servers, path):
            if server.does == "lint":
                continue
            try:
                return await self._slots[server.name].use(partial(_if_able, can, action), ASK_SECONDS, patient=True)
            except ServerError as error:
                last = ServerError(error.code, f"{server.name}: {error.message}")
        raise last

    async def close(self) -> None:
        """End all servers, side by side."""
        await asyncio.gather(*(slot.close() for slot in self._slots.values()))

    async def _found(
        self,
        slot: Slot,
        path: str,
        text: str,
        seconds: float,
        *,
        saved: bool = False,
        patient: bool = False,
        counted: bool = True,
    ) -> Found:
        async def look(running: RunningServer, left: float) -> Found:
            return Found(slot.server.name, await running.problems(path, text, left, saved=saved))

        try:
            return await slot.use(look, seconds, patient=patient, counted=counted)
        except ServerError as error:
            return Found(slot.server.name, silent=error.message, slow=error.code in SLOW)

    async def _refresh(self, path: str | None) -> None:
        """Show the servers again what has changed on the disk of the files that they know; `path` is theirs anyway."""
        stamps = await asyncio.to_thread(
            lambda: {known: _stamp(known) for known in (*self._stamps, *([path] if path else []))}
        )
        for known, stamp in stamps.items():
            before = self._stamps.get(known)
            self._stamps[known] = stamp
            if known == path or before in (None, stamp):
                continue
            try:
                text = await self.read(known)
            except ToolError:
                del self._stamps[known]
                continue
            for slot in self._slots.values():
                if slot.running is not None and slot.running.knows(known):
                    slot.running.show(known, text, saved=True)


async def _if_able(
    can: Callable[[Any], bool],
    action: Callable[[RunningServer, float], Awaitable[T]],
    running: RunningServer,
    left: float,
) -> T:
    if not can(running.can):
        raise ServerError("LSP_NONE", "it does not offer that")
    return await action(running, left)


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = Path(path).stat()
    except OSError:
        return (0, -1)
    return (found.st_mtime_ns, found.st_size)
