"""Lines of the log as values and back (docs/log-format.md, clauses L-JSON, J-1 to J-5, V-1 to V-7). Pure.

Owns strict JSON on the way in, one form of it on the way out, and the rule for types that nobody knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, NoReturn, TypeAlias

from acp_server.base.errors import ServerError
from acp_server.persistence import long_values
from acp_server.persistence.long_values import Beside, Fetch, NotBeside, nothing_beside
from acp_server.persistence.plain_lines import plain_entry
from acp_server.persistence.raw_batches import COMMIT_TYPE
from acp_server.persistence.rows import ROW_TYPES, BadRow, Item, PackedRow, RunPacker, checked_row, is_row, packed
from acp_server.session.event_json import event_from_json, event_to_json
from acp_server.session.events import REQUIRED_TYPES, SessionEvent
from acp_server.session.header import SessionHeader
from acp_server.session.header_json import HEADER_TYPE, header_from_json, header_to_json

Entry: TypeAlias = SessionEvent | PackedRow

RESERVED_TYPES: Final = frozenset({*ROW_TYPES.values(), COMMIT_TYPE, HEADER_TYPE})
"""Types of lines that are no events; an event of such a type is refused on the way out."""


_NOTHING: Final = object()


class BadRecord(Exception):  # noqa: N818 - a finding about one line, turned into a report by `scan`
    """A line that cannot be taken; `unsupported` is whether a later server could."""

    def __init__(self, reason: str, *, unsupported: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.unsupported = unsupported


class LostValue(BadRecord):
    """A sound line that names bytes which cannot be had; `before` are the entries of its batch that come first."""

    def __init__(self, seq: int, lost: NotBeside) -> None:
        super().__init__(f"event {seq} lacks a text, since {lost}")
        self.before: list[Entry] = []


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_DECODE: Final = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode


def encode_header(header: SessionHeader) -> bytes:
    """Return the header's line, LF included.

    Raises:
        ServerError: INVALID_SESSION_HEADER when a field holds half of a surrogate pair.
    """
    try:
        return f"{_ENCODE(header_to_json(header))}\n".encode()
    except UnicodeEncodeError:
        raise ServerError("INVALID_SESSION_HEADER", "The session's header holds text that is no Unicode.") from None


def encode_events(events: Iterable[SessionEvent], beside: Beside | None = None) -> bytes:
    """Return the lines of one batch, runs of deltas packed, each line ended by LF; `beside` as in `encode_items`.

    Raises:
        ServerError: RESERVED_EVENT_TYPE for an event whose type names another kind of line.
    """
    packer = RunPacker()
    for event in events:
        packer.add(event)
    return encode_items(packer.items, beside)


def encode_items(items: Iterable[Item], beside: Beside | None = None) -> bytes:
    """Return the lines of one batch whose runs are found already; raises as `encode_events`.

    With `beside`, long texts are left out of the lines and added to it: they have to be durable before the lines are.
    """
    lines = [_line(item, beside) for item in packed(items)]
    return "\n".join([*lines, ""]).encode()


def _line(item: Any, beside: Beside | None) -> str:
    if not isinstance(item, SessionEvent):
        return _ENCODE(item)
    if item.type in RESERVED_TYPES:
        raise ServerError("RESERVED_EVENT_TYPE", f"An event cannot have the type {item.type}.")
    envelope = event_to_json(item)
    line = _ENCODE(envelope)
    if beside is None or not long_values.may_be_long(line):
        return line
    shorter = long_values.take_out(envelope, beside)
    return line if shorter is None else _ENCODE(shorter)


def decode_json(line: str) -> Any:
    """Return the value of one line, LF excluded; raise BadRecord when it is not exactly one strict JSON value."""
    try:
        value, end = _DECODE(line)
    except (ValueError, RecursionError) as error:
        raise BadRecord("a line is no JSON") from error
    if end != len(line):
        raise BadRecord("a line holds more than one JSON value")
    return value


def _text(payload: bytes) -> str:
    try:
        return payload.decode()
    except UnicodeDecodeError as error:
        raise BadRecord("a line is no UTF-8") from error


def decode_header(payload: bytes) -> SessionHeader:
    """Return the header of the first batch, which holds nothing else; raise BadRecord."""
    if payload.count(b"\n") != 1 or not payload.endswith(b"\n"):
        raise BadRecord("the first batch is not exactly one header line")
    try:
        return header_from_json(decode_json(_text(payload[:-1])))
    except ServerError as error:
        raise BadRecord(error.message, unsupported=error.code == "SESSION_FORMAT_UNSUPPORTED") from error


def decode_batch(payload: bytes, seq: int, fetch: Fetch = nothing_beside) -> list[Entry]:
    """Return the entries of a batch whose first event has to be `seq`; rows stay packed.

    Raises:
        BadRecord: a line is malformed, a seq does not follow, or a required type is not known.
        LostValue: the lines before it are good, and bytes that a line names cannot be had.
    """
    lines = _text(payload).split("\n")
    if lines.pop() or not lines:
        raise BadRecord("a batch does not end in a whole line")
    entries: list[Entry] = []
    try:
        for line in lines:
            entry = decode_line(line, seq, fetch)
            entries.append(entry)
            seq += entry.count if isinstance(entry, PackedRow) else 1
    except LostValue as lost:
        lost.before = entries
        raise
    return entries


def decode_line(line: str, seq: int, fetch: Fetch = nothing_beside) -> Entry:
    """Return the entry of one line, which has to begin at `seq`; raise BadRecord, or LostValue with nothing before.

    The line was UTF-8 when it was bytes.
    """
    entry = plain_entry(line, seq)
    return judged_line(line, seq, fetch) if entry is None else entry


def judged_line(line: str, seq: int, fetch: Fetch) -> Entry:
    """Return the entry of a line of any kind, after every test that there is; raise as `decode_line`."""
    value = decode_json(line)
    if not isinstance(value, dict):
        raise BadRecord("a line is no JSON object")
    try:
        if is_row(value):
            row = checked_row(value, line)
            if row.seq0 != seq:
                raise BadRecord(f"event {row.seq0} stands where event {seq} belongs")
            return row
        listed = value.pop(long_values.KEY, _NOTHING)
        event = event_from_json(value, seq)
    except BadRow as error:
        raise BadRecord(str(error)) from error
    except ServerError as error:
        raise BadRecord(error.message) from error
    if event.type not in REQUIRED_TYPES and not event.ignorable:
        reason = f"event {seq} has the type {ascii(event.type)[:80]}, which this server does not know"
        raise BadRecord(reason, unsupported=True)
    return event if listed is _NOTHING else _whole_event(value, listed, seq, fetch)


def _whole_event(value: dict[str, Any], listed: object, seq: int, fetch: Fetch) -> SessionEvent:
    """Return the event of a line that lists long texts and is well but for them."""
    references = long_values.read_references(listed, value["data"])
    if references is None:
        raise BadRecord(f"event {seq} names files in a way that does not fit it")
    try:
        long_values.put_back(value["data"], references, fetch)
    except NotBeside as lost:
        raise LostValue(seq, lost) from None
    return event_from_json(value, seq)


def first_seq(payload: bytes) -> int | None:
    """Return the seq that a batch begins with, or None when its first line does not tell."""
    try:
        value = decode_json(_text(payload[: payload.find(b"\n")]))
    except BadRecord:
        return None
    seq = value.get("seq0" if is_row(value) else "seq") if isinstance(value, dict) else None
    return seq if type(seq) is int and seq >= 0 else None
