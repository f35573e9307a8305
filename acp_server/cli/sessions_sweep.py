"""`sessions sweep`: takes away what lies beside logs and no event names, or what was deleted long ago.

Owns asking before, and what is said of sessions that stay as they are.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.cli.sessions_change import UsageError
from acp_server.cli.sessions_check import stored_to_check
from acp_server.cli.sessions_store import SessionFiles, note
from acp_server.cli.terminal import counted
from acp_server.persistence.inventory import StoredSession
from acp_server.persistence.sweeping import Swept

TRASH_DAYS: Final = 30
"""How long a deleted session stays in the trash unless something else is said."""
_DAY_NS: Final = 24 * 3600 * 10**9


async def sweep(given: argparse.Namespace, files: SessionFiles) -> int:
    """Sweep the named sessions, all, or the trash; return 1 when one that was named could not be, else 0."""
    if given.trash:
        return await _empty(given, files)
    if given.older_than is not None:
        raise UsageError("--older-than is about the trash; say --trash as well.")
    found = stored_to_check(files, None if given.all else given.sessions)
    if not _agreed(given, f"Remove for good what no event of {counted(len(found), 'session')} names?"):
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


async def _empty(given: argparse.Namespace, files: SessionFiles) -> int:
    days = TRASH_DAYS if given.older_than is None else given.older_than
    if not _agreed(given, f"Remove for good what was deleted more than {counted(days, 'day')} ago?"):
        return 1
    emptied = await asyncio.to_thread(files.store.empty_trash, time.time_ns() - days * _DAY_NS)
    kept = f"; {emptied.kept} deleted since then stay" if emptied.kept else ""
    note(f"{counted(emptied.gone, 'deleted session')} removed for good{kept}.")
    return 0


async def _one(files: SessionFiles, stored: StoredSession) -> Swept:
    if stored.id is None:
        return Swept(kept="its header cannot be read")
    try:
        return await asyncio.to_thread(files.store.sweep, stored.id)
    except ServerError as error:
        return Swept(kept=error.message[:1].lower() + error.message[1:].removesuffix("."))


def _agreed(given: argparse.Namespace, question: str) -> bool:
    if given.yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("Sweeping asks on a terminal; without one, --yes says that it is meant.")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    agreed = sys.stdin.readline().strip().lower() in ("y", "yes")
    if not agreed:
        note("Nothing was removed.")
    return agreed
