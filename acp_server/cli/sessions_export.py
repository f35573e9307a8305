"""`sessions export`: one conversation as a Markdown document or as the log's own lines.

Owns where the bytes go: nothing is written before all of them are made, and a file is there whole or not at all.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.cli.sessions_store import SessionFiles, holder_text, note
from acp_server.cli.transcript import transcript
from acp_server.persistence.recovery import Found
from acp_server.session.event_json import event_to_json
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from acp_server.session.header_json import header_to_json
from acp_server.session.repair import closing_events

FORMATS: Final = ("markdown", "jsonl")
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


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
        else jsonl(found.header, events, ascii_only=ascii_only)
    )
    if given.output is None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    else:
        write_file(given.output, content, force=given.force)
    _tell_limits(found, None if holder is None else holder_text(holder))
    return 0


def jsonl(header: SessionHeader, events: Iterable[SessionEvent], *, ascii_only: bool = False) -> bytes:
    """Return the header's line and one line for each event, packed runs told one by one (docs/log-format.md)."""
    encode = json.JSONEncoder(ensure_ascii=ascii_only, separators=(",", ":"), allow_nan=False).encode
    values = (header_to_json(header), *map(event_to_json, events))
    return "".join(f"{encode(value)}\n" for value in values).encode()


def write_file(path: str, content: bytes, *, force: bool) -> None:
    """Make a file of 0600 that holds the bytes, in one step; what is there is replaced only by `force`.

    Raises:
        ServerError: FILE_EXISTS, FILE_FAILED. Nothing has changed then.
    """
    folder = os.path.dirname(path) or "."  # noqa: PTH120 - the name stays as the person gave it
    try:
        handle, temporary = tempfile.mkstemp(prefix=".acp-server-", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            _publish(temporary, path, force=force)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)  # noqa: PTH108 - as above
    except OSError as error:
        words = error.strerror or "the disk failed"
        raise ServerError("FILE_FAILED", f"Cannot write {path}: {words[:1].lower()}{words[1:]}.") from error


def _publish(temporary: str, path: str, *, force: bool) -> None:
    if not force:
        try:
            os.link(temporary, path)  # unlike a rename it never replaces
        except FileExistsError:
            raise _exists(path) from None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        else:
            return
        _refuse_existing(path)
    os.replace(temporary, path)  # noqa: PTH105 - as above


def _refuse_existing(path: str) -> None:
    if os.path.lexists(path):
        raise _exists(path)


def _exists(path: str) -> ServerError:
    return ServerError("FILE_EXISTS", f"{path} exists; --force replaces it.")


def _tell_limits(found: Found, holder: str | None) -> None:
    damage = found.scan.damage
    if holder is not None:
        note(f"The session is open in {holder}; what is not finished there is not part of the export.")
    elif damage is not None:
        note(f"The log is {damage.kind} at byte {damage.offset} ({damage.reason}); the export ends before it.")
