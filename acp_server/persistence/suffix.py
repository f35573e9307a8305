"""Reading the end of a stored log, and nothing of it that is not needed (docs/log-format.md, clauses X-1 to X-3).

Owns the trust in the table beside a log: a place that it names is used only when a whole batch with the expected seq
begins there. Blocking; `read_suffix` writes nothing, `keep_index` writes the table and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from acp_server.base.ids import SessionId
from acp_server.persistence.attachments import fetch_from
from acp_server.persistence.batch_index import encode_index, start_before
from acp_server.persistence.io_port import LogIo, read_all, write_all
from acp_server.persistence.packed_log import PackedLog
from acp_server.persistence.paths import INDEX_NAME, LogPlace
from acp_server.persistence.recovery import look
from acp_server.persistence.scan import BatchSpan, Scan, continue_scan


def read_suffix(io: LogIo, place: LogPlace, session_id: SessionId, seq: int) -> PackedLog:
    """Return a log that holds the stored events from `seq` on, and perhaps some before; raises as `look`."""
    found = _indexed_suffix(io, place, seq)
    return look(io, place, session_id).log if found is None else found


def keep_index(io: LogIo, place: LogPlace, spans: Sequence[BatchSpan]) -> None:
    """Write the table beside the log; a failure is of no consequence, the next reader reads the log."""
    path = f"{place.directory}/{INDEX_NAME}"
    with suppress(OSError):
        handle = _make_anew(io, f"{path}.tmp")
        try:
            write_all(io, handle, encode_index(spans), 0)
        finally:
            io.close(handle)
        io.rename(f"{path}.tmp", path)


def _make_anew(io: LogIo, path: str) -> int:
    with suppress(FileNotFoundError):
        io.unlink(path)
    return io.open(path, "create")


def _indexed_suffix(io: LogIo, place: LogPlace, seq: int) -> PackedLog | None:
    try:
        start = start_before(read_all(io, f"{place.directory}/{INDEX_NAME}"), seq)
        if start is None:
            return None
        offset, first = start
        data = read_all(io, place.path, offset)
    except OSError:
        return None
    scan = Scan(next_seq=first, good_length=offset)
    continue_scan(scan, data, place.encoding, offset, fetch_from(io, place.directory))
    if not scan.entries or (scan.damage is not None and scan.damage.kind == "unsupported"):
        return None
    return PackedLog(scan.entries, first)
