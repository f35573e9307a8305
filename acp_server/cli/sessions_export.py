"""`sessions export`: one conversation as a Markdown document or as the log's own lines.

Owns where the bytes go: nothing is written before all of them are made.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.cli.sessions_store import SessionFiles, holder_text, note
from acp_server.persistence.export_file import refuse_existing, write_file
from acp_server.persistence.recovery import Found
from acp_server.session.lines import event_lines, header_line
from acp_server.session.repair import closing_events
from acp_server.session.transcript import transcript

FORMATS: Final = ("markdown", "jsonl")


async def export(given: argparse.Namespace, files: SessionFiles) -> int:
    """Write one session to stdout or a file; return 0. Of a damaged log the readable start is written, and said."""
    if given.output is not None and not given.force:
        _refuse_existing(given.output)
    session_id = files.resolve(given.session)
    found, holder = files.look(session_id), files.holder(session_id)
    events = list(found.log.milestones() if given.format == "markdown" else found.log.since(0))
    if holder is None and given.format == "markdown":
        events += closing_events(found.log)
    ascii_only = given.output is None and sys.stdout.isatty()
    content = (
        transcript(found.header, events).encode()
        if given.format == "markdown"
        else "".join(
            (header_line(found.header, ascii_only=ascii_only), *event_lines(events, ascii_only=ascii_only))
        ).encode()
    )
    if given.output is None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    else:
        write_file(given.output, content, force=given.force)
    _tell_limits(found, None if holder is None else holder_text(holder))
    return 0


def _refuse_existing(path: str) -> None:
    try:
        refuse_existing(path)
    except ServerError as error:
        raise ServerError(error.code, f"{path} exists; --force replaces it.") from error


def _tell_limits(found: Found, holder: str | None) -> None:
    damage = found.scan.damage
    if holder is not None:
        note(f"The session is open in {holder}; what is not finished there is not part of the export.")
    elif damage is not None:
        note(f"The log is {damage.kind} at byte {damage.offset} ({damage.reason}); the export ends before it.")
