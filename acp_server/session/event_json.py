"""An event's envelope as JSON and back (docs/log-format.md, clauses E-1 to E-8).

Owns the envelope's keys, their order and their types. What `data` holds is `shapes`' matter, what the Surface allows
is `surface`'s, and how rows become events is the storage's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeGuard

from acp_server.base.errors import ServerError
from acp_server.base.json_value import SAFE_INTEGER, FrozenObject, JsonError, JsonValue, freeze
from acp_server.session.events import APPEND, Replace, SessionEvent, SurfaceOp

ENVELOPE_KEYS: Final = frozenset({"type", "seq", "time", "data", "sourceEventSeqs", "surfaceOp", "ignorable"})
_REPLACE_KEYS: Final = frozenset({"op", "start", "end"})


class EventFormatError(ServerError):
    """A stored event that breaks a clause of its envelope; `field` names the key."""

    def __init__(self, field: str, reason: str, seq: int | None = None) -> None:
        place = "an event" if seq is None else f"event {seq}"
        super().__init__("INVALID_EVENT", f"{place}: {field} {reason}")
        self.field = field


def event_to_json(event: SessionEvent) -> dict[str, JsonValue]:
    """Return the envelope; absent optionals are left out. The caller owns the dict, `data` stays frozen and shared."""
    envelope: dict[str, JsonValue] = {"type": event.type, "seq": event.seq, "time": event.time, "data": event.data}
    if event.source_event_seqs is not None:
        envelope["sourceEventSeqs"] = event.source_event_seqs
    if event.surface_op is not None:
        envelope["surfaceOp"] = surface_op_to_json(event.surface_op)
    if event.ignorable:
        envelope["ignorable"] = True
    return envelope


def event_from_json(envelope: object, seq: int | None = None) -> SessionEvent:
    """Return the event, its data frozen. With `seq`, the event has to be the one at that place.

    Raises:
        EventFormatError: the envelope is no object, has an unknown key, or a field is missing or of the wrong type.
    """
    if not isinstance(envelope, Mapping):
        raise EventFormatError("the envelope", "is no object", seq)
    for key in envelope:
        if key not in ENVELOPE_KEYS:
            raise EventFormatError(_quoted(key), "is no key of an event", seq)
    kind = envelope.get("type")
    if type(kind) is not str or not kind:
        raise EventFormatError("type", "is no text", seq)
    return SessionEvent(
        kind,
        _seq(envelope.get("seq"), seq),
        _time(envelope.get("time"), seq),
        _data(envelope.get("data"), seq),
        surface_op_from_json(envelope["surfaceOp"], seq) if "surfaceOp" in envelope else None,
        _sources(envelope["sourceEventSeqs"], seq) if "sourceEventSeqs" in envelope else None,
        _ignorable(envelope["ignorable"], seq) if "ignorable" in envelope else False,
    )


def surface_op_to_json(operation: SurfaceOp) -> JsonValue:
    """Return `"append"` or `{op, start, end}`."""
    if isinstance(operation, Replace):
        return {"op": "replace", "start": operation.start, "end": operation.end}
    return operation


def surface_op_from_json(value: object, seq: int | None = None) -> SurfaceOp:
    """Return the operation; raise EventFormatError when it is neither form."""
    if value == APPEND:
        return APPEND
    if not isinstance(value, Mapping) or value.keys() != _REPLACE_KEYS or value["op"] != "replace":
        raise EventFormatError("surfaceOp", "is neither append nor a replace with start and end", seq)
    start, end = value["start"], value["end"]
    if not is_seq(start) or not is_seq(end):
        raise EventFormatError("surfaceOp", "has a start or an end that is no seq", seq)
    return Replace(start, end)


def is_seq(value: object) -> TypeGuard[int]:
    """Return whether the value is a whole number from 0 that every JSON reader keeps."""
    return type(value) is int and 0 <= value <= SAFE_INTEGER


def _seq(value: object, expected: int | None) -> int:
    if not is_seq(value):
        raise EventFormatError("seq", "is no whole number from 0", expected)
    if expected is not None and value != expected:
        raise EventFormatError("seq", f"is {value}", expected)
    return value


def _time(value: object, seq: int | None) -> int:
    if type(value) is not int or not -SAFE_INTEGER <= value <= SAFE_INTEGER:
        raise EventFormatError("time", "is no whole number of milliseconds", seq)
    return value


def _data(value: object, seq: int | None) -> FrozenObject:
    try:
        data = freeze(value, "data")
    except JsonError as error:
        raise EventFormatError(error.path, f"cannot be kept: {error.message}", seq) from error
    if not isinstance(data, FrozenObject):
        raise EventFormatError("data", "is no object", seq)
    return data


def _sources(value: object, seq: int | None) -> tuple[int, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(is_seq(source) for source in value):
        raise EventFormatError("sourceEventSeqs", "is no list of seqs", seq)
    return tuple(value)


def _ignorable(value: object, seq: int | None) -> bool:
    if value is not True:
        raise EventFormatError("ignorable", "is there and not true", seq)
    return True


def _quoted(key: object) -> str:
    return ascii(key)[:80]
