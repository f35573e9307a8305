"""What language servers say after the result of a change has gone: told with the next step (docs/lsp.md, clause D-8).

Owns that a file has one such wait at most, that a newer change ends it, and that nothing is told of a text that is no
longer on the disk.
"""

from __future__ import annotations

import asyncio
from typing import Final

from acp_server.lsp.feedback import MOST_BYTES, MOST_LINES, Slow
from acp_server.lsp.problems import told
from acp_server.lsp.session import SessionServers
from acp_server.tools.paths import shown
from acp_server.tools.tool import ToolError

LATE_SECONDS: Final = 120.0
"""How long a server may still speak of a change."""
HEAD: Final = "Of changes that you made before, language servers have said since:"


class LateProblems:
    """The waits of one session, by file."""

    def __init__(self) -> None:
        self._waits: dict[str, asyncio.Task[str]] = {}

    def wait(self, servers: SessionServers, slow: Slow) -> None:
        """Wait for what the servers say, behind the back of the caller."""
        self.forget(slow.path)
        self._waits[slow.path] = asyncio.ensure_future(_said(servers, slow))

    def forget(self, path: str) -> None:
        """End the wait for a file, since it changes anew."""
        task = self._waits.pop(path, None)
        if task is not None:
            task.cancel()

    def take(self) -> str:
        """Return what has come since the last look; empty when there is nothing to tell."""
        over = {path: task for path, task in self._waits.items() if task.done()}
        parts = []
        for path, task in over.items():
            del self._waits[path]
            if not task.cancelled() and task.exception() is None and task.result():
                parts.append(task.result())
        return "\n".join((HEAD, *parts)) if parts else ""

    async def close(self) -> None:
        """End all waits."""
        tasks = tuple(self._waits.values())
        self._waits.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _said(servers: SessionServers, slow: Slow) -> str:
    """Return what is told of the file, empty when they stay silent or it is not the same any more."""
    found = await servers.late(slow.path, slow.text, slow.servers, LATE_SECONDS)
    answered = [one for one in found if one.silent is None]
    try:
        same = await servers.read(slow.path) == slow.text
    except ToolError:
        return ""
    if not answered or not same:
        return ""
    name = shown(slow.path, servers.workspace)
    return told(name, answered, most_lines=MOST_LINES, most_bytes=MOST_BYTES, hints=False)
