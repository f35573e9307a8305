"""What is whole in the torn end of a log, kept on demand (docs/sessions-command.md, repair).

Owns the rule "keep the complete lines of the torn batch". Opening a session never applies it: a batch whose checksum
is missing may hold a stale sector, so its lines can be well-formed and wrong. The person decides, and gets another
session; the log and the bytes that were set aside stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

import zstandard

from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.persistence.attachments import fetch_from
from acp_server.persistence.batches import Encoding
from acp_server.persistence.child import child_header
from acp_server.persistence.disk_errors import disk_error
from acp_server.persistence.frames import PAYLOAD_LIMIT
from acp_server.persistence.io_port import LogIo, read_all
from acp_server.persistence.long_values import Fetch, nothing_beside
from acp_server.persistence.opening import Store
from acp_server.persistence.packed_log import PackedLog
from acp_server.persistence.paths import TORN_PREFIX
from acp_server.persistence.port import PersistenceError, SalvageReport
from acp_server.persistence.records import BadRecord, Entry, decode_line, first_seq
from acp_server.persistence.recovery import Found, damage_error, look
from acp_server.persistence.rows import PackedRow
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from acp_server.session.log import MemoryLog
from acp_server.session.repair import closing_events
from acp_server.session.session import Session

_PIECE: Final = 4096


@dataclass(frozen=True, slots=True)
class Tail:
    """The events of a torn batch from `seq` on, as far as its lines are complete; `whole` is whether none is lost."""

    seq: int
    entries: tuple[Entry, ...]
    whole: bool


def read_tail(encoding: Encoding, torn: bytes, fetch: Fetch = nothing_beside) -> Tail | None:
    """Return what the complete lines of a torn batch hold; None when there is not one. Never raises for the bytes."""
    payload = _unframed(torn) if encoding == "zstd" else torn[:PAYLOAD_LIMIT]
    end = payload.rfind(b"\n") + 1
    seq = first_seq(payload[:end]) if end else None
    if seq is None:
        return None
    lines = payload[:end].split(b"\n")[:-1]
    entries = tuple(_entries(lines, seq, fetch))
    return Tail(seq, entries, len(entries) == len(lines) and end == len(payload)) if entries else None


def torn_end(io: LogIo, found: Found) -> tuple[str, bytes] | None:
    """Return the torn bytes of a log and the file they are in: its own end, else the ones that were set aside last.

    Raises:
        PersistenceError: SESSION_CORRUPT when the log is damaged before its end.
        OSError: the bytes cannot be read.
    """
    damage = found.scan.damage
    if damage is not None and damage.kind != "torn":
        raise damage_error(found.place, damage)
    if damage is not None:
        return found.place.path, found.data[found.scan.good_length :]
    names = [name[len(TORN_PREFIX) :] for name in io.list_dir(found.place.directory) if name.startswith(TORN_PREFIX)]
    number = max((int(name) for name in names if name.isdecimal()), default=None)
    if number is None:
        return None
    path = f"{found.place.directory}/{TORN_PREFIX}{number}"
    return path, read_all(io, path)


def salvage_tail(store: Store, session_id: SessionId, header: SessionHeader) -> SalvageReport:
    """Store a session's events up to its torn end, and the complete lines of that, as the session of `header`.

    Raises:
        PersistenceError: SESSION_NOT_FOUND, SESSION_ALREADY_EXISTS, SESSION_CORRUPT, DISK_FULL, DISK_FAILED;
            NO_TORN_END when nothing is torn, or no line of it is complete or follows.
    """
    store.require_absent(header.id)
    found = look(store.io, store.place_of(session_id), session_id)
    try:
        torn = torn_end(store.io, found)
    except OSError as error:
        raise disk_error(error, found.place.directory) from error
    if torn is None:
        raise PersistenceError("NO_TORN_END", f"The session {session_id} has no torn end.")
    path, data = torn
    tail = read_tail(found.place.encoding, data, fetch_from(store.io, found.place.directory))
    if tail is None or tail.seq > found.scan.next_seq:
        raise PersistenceError("NO_TORN_END", f"No complete line that follows the log is left in {path}.")
    events = _joined(found, tail, path)
    child = child_header(header, session_id, len(events))
    files = store.fresh(child)
    try:
        store.write_child(files, events, found.place.directory)
    finally:
        files.release()
    lost = () if tail.whole else (f"What {path} holds after its last complete line.",)
    return SalvageReport(header.id, len(events), lost)


def _joined(found: Found, tail: Tail, path: str) -> list[SessionEvent]:
    """Return the log before the tail, the tail and closers, after the check that a session can be made of them."""
    events = [*islice(found.log.since(0), tail.seq), *PackedLog(tail.entries, tail.seq).since(tail.seq)]
    events += closing_events(MemoryLog(events))
    try:
        Session(found.header, now=lambda: 0, log=MemoryLog(events))
    except ServerError as error:
        message = f"What {path} holds does not fit the log before it: {error.message}."
        raise PersistenceError("NO_TORN_END", message) from error
    return events


def _entries(lines: Iterable[bytes], seq: int, fetch: Fetch) -> Iterator[Entry]:
    for line in lines:
        try:
            entry = decode_line(line.decode(), seq, fetch)
        except (BadRecord, UnicodeDecodeError):
            return
        yield entry
        seq += entry.count if isinstance(entry, PackedRow) else 1


def _unframed(frame: bytes) -> bytes:
    """Return the content of the whole blocks at the start of a frame, the checksum unasked."""
    parts, size = list[bytes](), 0
    stream = zstandard.ZstdDecompressor().decompressobj()
    for start in range(0, len(frame), _PIECE):
        try:
            part = stream.decompress(frame[start : start + _PIECE])
        except zstandard.ZstdError:
            parts.append(_last_blocks(frame, start))
            break
        parts.append(part)
        size += len(part)
        if size > PAYLOAD_LIMIT or stream.eof:
            break
    return b"".join(parts)[:PAYLOAD_LIMIT]


def _last_blocks(frame: bytes, start: int) -> bytes:
    """Return what the bytes from `start` on give before the first that fails: a call that fails gives nothing."""
    parts = list[bytes]()
    stream = zstandard.ZstdDecompressor().decompressobj()
    stream.decompress(frame[:start])
    for position in range(start, min(start + _PIECE, len(frame))):
        try:
            parts.append(stream.decompress(frame[position : position + 1]))
        except zstandard.ZstdError:
            break
    return b"".join(parts)
