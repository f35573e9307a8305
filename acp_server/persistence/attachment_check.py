"""Whether everything beside a log is what its name says and everything that events name is there. Blocking.

Long texts are checked by reading the log; this is about the rest, for `verify` (docs/log-format.md, clause G-5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from acp_server.persistence.attachment_id import is_attachment_id
from acp_server.persistence.attachments import get_attachment, stored_attachments
from acp_server.persistence.io_port import LogIo
from acp_server.persistence.port import PersistenceError
from acp_server.session.log import EventLog


def lost_attachment(io: LogIo, directory: str, log: EventLog) -> str | None:
    """Return one sentence about the first attachment that is damaged or missing, or None; raises DISK_FAILED."""
    try:
        sound = set(stored_attachments(io, directory))
        for ident in sorted(sound):
            get_attachment(io, directory, ident)
    except PersistenceError as error:
        if error.code != "ATTACHMENT_CORRUPT":
            raise
        return error.message
    for event in log.milestones():
        for ident in _named(event.data):
            if ident not in sound:
                return f"Event {event.seq} names the attachment {ident}, which is not stored."
    return None


def _named(data: object) -> Iterator[str]:
    """Iterate over the ids that image blocks name, wherever they stand in an event's data."""
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting.extend(value.values())
            ident = value.get("attachmentId")
            if isinstance(ident, str) and is_attachment_id(ident):
                yield ident
        elif isinstance(value, tuple | list):
            waiting.extend(value)
