"""What language servers find in a file that a tool has just changed, for the result of that very call.

Owns that a text is judged only when it is the one on the disk, and how much is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from acp_server.base.values import value
from acp_server.lsp.changed import Changed
from acp_server.lsp.problems import told
from acp_server.lsp.session import SessionServers
from acp_server.tools.paths import shown
from acp_server.tools.tool import ToolError

MOST_FILES: Final = 5
"""Changed files of one call that are looked at."""
MOST_LINES: Final = 20
MOST_BYTES: Final = 4096


@value
class Slow:
    """Servers that have not spoken of a file with that text within their time."""

    path: str
    text: str
    servers: tuple[str, ...]


@value
class Judged:
    """What is told of the changed files, empty when there is nothing to tell, and who may still speak."""

    text: str = ""
    slow: tuple[Slow, ...] = ()


async def find_problems(servers: SessionServers, changed: Sequence[Changed], seconds: float) -> Judged:
    """Return what the servers find in the changed files within that time."""
    wanted = [one for one in changed if servers.serves(one.path)][:MOST_FILES]
    parts = await asyncio.gather(*(_of_file(servers, one, seconds) for one in wanted))
    return Judged(
        "\n".join(part.text for part in parts if part.text), tuple(one for part in parts for one in part.slow)
    )


async def _of_file(servers: SessionServers, changed: Changed, seconds: float) -> Judged:
    try:
        text = await servers.read(changed.path)
    except ToolError:
        return Judged()
    plain = text.replace("\r\n", "\n")
    if not all(piece.replace("\r\n", "\n") in plain for piece in changed.pieces):
        return Judged()  # the editor holds what was written and has not saved it
    servers.changed(changed.path, made=changed.made)
    found = await servers.found(changed.path, text, seconds, saved=True)
    name = shown(changed.path, servers.workspace)
    slow = tuple(one.server for one in found if one.slow)
    text_of_all = told(name, found, most_lines=MOST_LINES, most_bytes=MOST_BYTES, hints=False)
    return Judged(text_of_all, (Slow(changed.path, text, slow),) if slow else ())
