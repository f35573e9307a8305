"""`sessions repair`, `fork`, `rename` and `delete`: the commands that write.

Owns asking before, and saying on stderr what became of things; stdout gets the id of a session that was made.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.printable import visible
from acp_server.cli.sessions_store import SessionFiles, fresh_id, holder_text, note, now_ms
from acp_server.cli.terminal import counted
from acp_server.persistence.below import subagents_below
from acp_server.persistence.paths import TRASH_NAME
from acp_server.persistence.port import SalvageReport
from acp_server.persistence.torn_tail import salvage_tail, torn_end
from acp_server.session.fork import fork_header
from acp_server.session.header import SessionHeader
from acp_server.session.session import Session
from acp_server.session.title import normalize_title


class UsageError(ServerError):
    """An argument that cannot be meant; the command ends with exit code 2."""

    def __init__(self, message: str) -> None:
        super().__init__("USAGE", message)


async def repair(given: argparse.Namespace, files: SessionFiles) -> int:
    """Make a session of what can be read of a damaged one and print its id; return 0, also when nothing is damaged."""
    session_id = files.resolve(given.session)
    holder = files.holder(session_id)
    if holder is not None:
        message = f"The session is open in {holder_text(holder)}; it can be repaired when it is closed there."
        raise ServerError("SESSION_BUSY", message)
    child = _child_of(files.header(session_id))
    if given.salvage_tail:
        report = await asyncio.to_thread(salvage_tail, files.store, session_id, child)
    elif (await files.persistence.verify(session_id)).sound:
        _tell_sound(files, session_id)
        return 0
    else:
        report = await files.persistence.salvage(session_id, child)
    await _enlist(files, report.id)
    _tell_salvaged(report, session_id)
    print(visible(report.id))
    return 0


def _child_of(parent: SessionHeader) -> SessionHeader:
    """Return the header of a session made from another; how much it inherits is filled in by the store."""
    return fork_header(parent, fresh_id(), now_ms(), 0)


async def _enlist(files: SessionFiles, session_id: SessionId) -> None:
    """Open a session once, so that the list knows its title."""
    await files.persistence.prepare(session_id)
    await files.persistence.close(session_id)


def _tell_sound(files: SessionFiles, session_id: SessionId) -> None:
    note(f"The session {session_id} is sound; there is nothing to repair.")
    torn = torn_end(files.store.io, files.look(session_id))
    if torn is not None:
        note(f"A torn end was set aside in {torn[0]}; --salvage-tail makes a session with what is whole in it.")


def _tell_salvaged(report: SalvageReport, session_id: SessionId) -> None:
    for lost in report.lost:
        note(f"Not kept: {lost}")
    note(f"{counted(report.events, 'event')} of {session_id} are in the new session; the old one is as it was.")


async def fork(given: argparse.Namespace, files: SessionFiles) -> int:
    """Make a session that begins as another one and print its id; return 0."""
    source = files.resolve(given.session)
    loaded = await files.persistence.fork(source, _child_of(files.header(source)), given.at)
    await files.persistence.close(loaded.header.id)
    note(f"The new session begins with {counted(len(loaded.log), 'event')} of {source}.")
    print(visible(loaded.header.id))
    return 0


async def rename(given: argparse.Namespace, files: SessionFiles) -> int:
    """Give a session a title of the person's own, which automatic ones leave alone; return 0."""
    title = normalize_title(given.title)
    if not title:
        raise UsageError("The title has no character that can be seen.")
    session_id = files.resolve(given.session)
    loaded = await files.persistence.prepare(session_id)
    try:
        for notice in loaded.notices:
            note(notice)
        if loaded.read_only is not None:
            raise ServerError("SESSION_READ_ONLY", loaded.read_only)
        session = Session(loaded.header, now=now_ms, log=loaded.log)
        files.persistence.attach(session)
        session.append("session/title", {"title": title, "messageSeqs": [], "source": {"kind": "user"}})
        await files.persistence.flush(session)
    finally:
        await files.persistence.close(session_id)
    note(f"The session {session_id} is called {title}.")
    return 0


async def delete(given: argparse.Namespace, files: SessionFiles) -> int:
    """Move sessions to the trash, after asking on a terminal; return 1 when one stayed, else 0."""
    if not given.yes and not sys.stdin.isatty():
        raise UsageError("Deleting asks on a terminal; without one, --yes says that it is meant.")
    named = [files.resolve(name) for name in given.sessions]
    below = [child for one in named for child in await subagents_below(files.persistence, one)]
    ids = list(dict.fromkeys((*named, *below)))
    if not given.yes and not _agreed(ids):
        note("Nothing was deleted.")
        return 1
    kept = 0
    for session_id in ids:
        try:
            await files.persistence.delete(session_id)
        except ServerError as error:
            kept += 1
            note(f"{session_id} stays: {error.message}")
    if kept < len(ids):
        note(f"{counted(len(ids) - kept, 'session')} moved to {files.store.root}/{TRASH_NAME}.")
    return 1 if kept else 0


def _agreed(ids: Sequence[SessionId]) -> bool:
    for session_id in ids:
        print(visible(session_id), file=sys.stderr)
    print(f"Move {counted(len(ids), 'session')} to the trash? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
