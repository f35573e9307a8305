"""`sessions sweep`: takes away what lies beside logs and no event names.

Owns asking before, and what is said of sessions that stay as they are.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from acp_server.base.errors import ServerError
from acp_server.cli.sessions_change import UsageError
from acp_server.cli.sessions_check import stored_to_check
from acp_server.cli.sessions_store import SessionFiles, note
from acp_server.cli.terminal import counted
from acp_server.persistence.inventory import StoredSession
from acp_server.persistence.sweeping import Swept


async def sweep(given: argparse.Namespace, files: SessionFiles) -> int:
    """Sweep the named sessions, or all; return 1 when one that was named could not be, else 0."""
    found = stored_to_check(files, None if given.all else given.sessions)
    if not given.yes and not sys.stdin.isatty():
        raise UsageError("Sweeping asks on a terminal; without one, --yes says that it is meant.")
    if not given.yes and not _agreed(len(found)):
        note("Nothing was removed.")
        return 1
    files_gone = bytes_gone = left = 0
    for stored in found:
        swept = await _one(files, stored)
        if swept.kept is not None:
            left += 1
            note(f"{stored.id or stored.place.directory} stays as it is: {swept.kept}.")
        files_gone, bytes_gone = files_gone + swept.files, bytes_gone + swept.size
    note(f"{counted(files_gone, 'attachment')} removed, {counted(bytes_gone, 'byte')}.")
    return 1 if left and not given.all else 0


async def _one(files: SessionFiles, stored: StoredSession) -> Swept:
    if stored.id is None:
        return Swept(kept="its header cannot be read")
    try:
        return await asyncio.to_thread(files.store.sweep, stored.id)
    except ServerError as error:
        return Swept(kept=error.message[:1].lower() + error.message[1:].removesuffix("."))


def _agreed(number: int) -> bool:
    question = f"Remove for good what no event of {counted(number, 'session')} names? [y/N] "
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
