"""What a list shows of a log that is too long to be read for it, told from its two ends. Blocking; writes nothing.

Owns how much is read: a piece from the start, which has the first title, and one from the end, which has the last seq
and mostly the last turn. A title that was given in between shows when the session is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from acp_server.base.json_value import SAFE_INTEGER
from acp_server.base.values import replace
from acp_server.persistence.batches import Encoding, find_batches, read_batch
from acp_server.persistence.frames import BadBatch
from acp_server.persistence.header_frame import read_header
from acp_server.persistence.io_port import LogIo
from acp_server.persistence.paths import LogPlace
from acp_server.persistence.records import BadRecord, decode_json
from acp_server.persistence.rows import BadRow, checked_row, is_row
from acp_server.persistence.summary import Summary
from acp_server.session.header import SessionHeader

PIECE: Final = 256 * 1024
MOST: Final = 4 * 1024 * 1024
"""Bytes of either end: what is read at first, and at most when that says too little."""

_MARKS: Final = (b"session/title", b"turn/start")


def look_at_ends(io: LogIo, place: LogPlace) -> tuple[SessionHeader, Summary] | None:
    """Return the header, and title, turns and events as far as the ends tell them; None when the end tells nothing.

    `turns` is None when no turn begins in the end that was read.

    Raises:
        OSError: the log cannot be read.
        PersistenceError: its header cannot be.
    """
    header, _ = read_header(io, place.path, place.encoding)
    handle = io.open(place.path, "read")
    try:
        end = _end(io, handle, place.encoding)
        if end is None:
            return None
        start = Summary() if end.title is not None else _start(io, handle, place.encoding)
    finally:
        io.close(handle)
    return header, replace(end, title=end.title or start.title)


def _end(io: LogIo, handle: int, encoding: Encoding) -> Summary | None:
    length, size, found = io.handle_facts(handle).size, PIECE, None
    while True:
        data = io.read(handle, size, max(length - size, 0))
        payloads = [payload for _, _, payload in find_batches(encoding, data, 0)]
        if payloads and (events := _events(payloads[-1])) is not None:
            found = replace(_told(payloads, Summary(turns=None)), events=events)
        if size >= min(MOST, length) or (found is not None and found.turns is not None):
            return found
        size *= 4


def _start(io: LogIo, handle: int, encoding: Encoding) -> Summary:
    size = PIECE
    while True:
        data = io.read(handle, size, 0)
        told = _told(_from_start(data, encoding), Summary(turns=None))
        if told.title is not None or size >= MOST or len(data) < size:
            return told
        size *= 4


def _from_start(data: bytes, encoding: Encoding) -> Iterator[bytes]:
    offset = 0
    while offset < len(data):
        try:
            payload, offset = read_batch(encoding, data, offset)
        except BadBatch:
            return
        yield payload


def _told(payloads: Iterator[bytes] | list[bytes], summary: Summary) -> Summary:
    """Return the summary after the titles and turns of these lines; a turn's number counts the turns up to it."""
    for payload in payloads:
        for line in payload.split(b"\n") if any(mark in payload for mark in _MARKS) else ():
            if any(mark in line for mark in _MARKS):
                summary = _after(summary, _value(line))
    return summary


def _after(summary: Summary, value: dict[str, Any]) -> Summary:
    data = value.get("data")
    if not isinstance(data, dict):
        return summary
    title, turn = data.get("title"), data.get("turn")
    if value.get("type") == "session/title" and isinstance(title, str):
        return replace(summary, title=title)
    if value.get("type") == "turn/start" and type(turn) is int and 0 < turn <= SAFE_INTEGER:
        return replace(summary, turns=turn)
    return summary


def _events(payload: bytes) -> int | None:
    """Return the number of events up to the last line, None when that line does not tell."""
    line = payload[:-1].rpartition(b"\n")[2]
    value = _value(line)
    try:
        if is_row(value):
            row = checked_row(value, line.decode())
            return row.seq0 + row.count
    except BadRow:
        return None
    seq = value.get("seq")
    return seq + 1 if type(seq) is int and 0 <= seq < SAFE_INTEGER else None


def _value(line: bytes) -> dict[str, Any]:
    try:
        value = decode_json(line.decode())
    except (UnicodeDecodeError, BadRecord):
        return {}
    return value if isinstance(value, dict) else {}
