"""The header of a stored log from the log's first bytes alone, for lists and checks. Blocking; writes nothing."""

from __future__ import annotations

from typing import Final

from acp_server.persistence.batches import Encoding, read_batch
from acp_server.persistence.disk_errors import disk_error
from acp_server.persistence.frames import BadBatch
from acp_server.persistence.io_port import LogIo
from acp_server.persistence.port import PersistenceError
from acp_server.persistence.records import BadRecord, decode_header
from acp_server.session.header import SessionHeader

FIRST_READ: Final = 4096
HEADER_LIMIT: Final = 1024 * 1024


def read_header(io: LogIo, path: str, encoding: Encoding) -> tuple[SessionHeader, int]:
    """Return the header and where the first batch of events would begin.

    Raises:
        FileNotFoundError: there is no such file.
        PersistenceError: SESSION_CORRUPT, SESSION_UNSUPPORTED, DISK_FAILED, SESSION_READ_ONLY (permission).
    """
    size, data = FIRST_READ, b""
    try:
        handle = io.open(path, "read")
        try:
            while True:
                data = io.read(handle, size, 0)
                try:
                    payload, end = read_batch(encoding, data, 0)
                    return decode_header(payload), end
                except BadBatch as error:
                    if not error.torn or len(data) < size or size >= HEADER_LIMIT:
                        raise
                    size *= 16
        finally:
            io.close(handle)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise disk_error(error, path) from error
    except (BadBatch, BadRecord) as error:
        raise _unreadable(path, data, error) from error


def _unreadable(path: str, data: bytes, error: BadBatch | BadRecord) -> PersistenceError:
    if isinstance(error, BadRecord) and error.unsupported:
        return PersistenceError("SESSION_UNSUPPORTED", error.reason, {"file": path, "offset": 0, "lastSeq": -1})
    reason = f"its header cannot be read: {error.reason}" if data else "it is empty"
    message = f"The session's log {path} is damaged: {reason}."
    return PersistenceError("SESSION_CORRUPT", message, {"file": path, "offset": 0, "lastSeq": -1})
