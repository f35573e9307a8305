"""Packed rows: a run of deltas as one line of the log (docs/log-format.md, clauses R-1 to R-6). Pure.

Owns what may be packed and the exact way back. A row is storage, never an event: nothing above sees one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Final, TypeAlias

from acp_server.base.json_value import SAFE_INTEGER, FrozenObject, JsonValue
from acp_server.session.events import SessionEvent

SHORTEST_RUN: Final = 3
CHUNK_EVENT: Final = "assistant/chunk"
ROW_TYPES: Final = {
    "text-delta": "text-chunks",
    "reasoning-delta": "reasoning-chunks",
    "tool-call-delta": "tool-call-chunks",
}
_CHUNK_TYPES: Final = {row: chunk for chunk, row in ROW_TYPES.items()}
_DATA_KEYS: Final = ("turn", "step", "chunk")
_TEXT_KEYS: Final = ("type", "index", "text")
_CALL_KEYS: Final = ("type", "index", "id", "argumentsDelta")
_NAMED_CALL_KEYS: Final = ("type", "index", "id", "name", "argumentsDelta")
_WORDS: Final = ("text-delta", "reasoning-delta")
_ROW_KEYS: Final = {"type", "seq0", "time0", "data"}


class BadRow(Exception):  # noqa: N818 - a finding about one line, turned into a report by `scan`
    """A packed row that does not have the shape of clause R-3."""


@dataclass(frozen=True, slots=True)
class PackedRow:
    """A checked row, kept as the line it came in; `count` events from `seq0` on."""

    seq0: int
    count: int
    line: bytes


_Key = tuple[Any, ...]


@dataclass(slots=True)
class Run:
    """Consecutive deltas of one block; `key` is what they share."""

    key: _Key
    events: list[SessionEvent]


Item: TypeAlias = SessionEvent | Run


class RunPacker:
    """Sorts events into runs as they come, so that nothing is left to do when they have to be written."""

    __slots__ = ("_run", "items")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._run: Run | None = None

    def add(self, event: SessionEvent) -> None:
        """Take the next event."""
        key = _run_key(event) if event.type == CHUNK_EVENT else None
        run = self._run
        if key is None:
            self._run = None
            self.items.append(event)
        elif run is not None and run.key == key and _follows(event, run.events[-1]):
            run.events.append(event)
        else:
            self._run = Run(key, [event])
            self.items.append(self._run)


def pack_runs(events: Iterable[SessionEvent]) -> Iterator[SessionEvent | dict[str, JsonValue]]:
    """Iterate over the events in order, each run of SHORTEST_RUN or more like deltas as the JSON form of a row."""
    packer = RunPacker()
    for event in events:
        packer.add(event)
    return packed(packer.items)


def packed(items: Iterable[Item]) -> Iterator[SessionEvent | dict[str, JsonValue]]:
    """Iterate over the items of a packer as events and the JSON forms of rows."""
    for item in items:
        if not isinstance(item, Run):
            yield item
        elif len(item.events) < SHORTEST_RUN:
            yield from item.events
        else:
            yield _row(item.events, item.key)


def _follows(event: SessionEvent, last: SessionEvent) -> bool:
    return event.seq == last.seq + 1 and abs(event.time - last.time) <= SAFE_INTEGER


def _run_key(event: SessionEvent) -> _Key | None:
    """Return what the deltas of one run share, or None when the event has to be stored as it is."""
    data: Any = event.data
    if event.ignorable or event.surface_op is not None or event.source_event_seqs is not None:
        return None
    if tuple(data) != _DATA_KEYS:
        return None
    turn, step, chunk = data.values()
    if type(chunk) is not FrozenObject or not (type(turn) is type(step) is int):
        return None
    keys = tuple(chunk)
    if keys == _TEXT_KEYS:
        kind, index, text = chunk.values()
        return (kind, turn, step, index) if kind in _WORDS and type(index) is int and type(text) is str else None
    return _call_key(turn, step, chunk) if keys in (_CALL_KEYS, _NAMED_CALL_KEYS) else None


def _call_key(turn: int, step: int, chunk: Mapping[str, Any]) -> _Key | None:
    index, ident, name = chunk["index"], chunk["id"], chunk.get("name", "")
    if chunk["type"] != "tool-call-delta" or type(index) is not int:
        return None
    if not (type(ident) is type(name) is type(chunk["argumentsDelta"]) is str):
        return None
    return ("tool-call-delta", turn, step, index, ident, name, "name" in chunk)


def _row(run: list[SessionEvent], key: _Key) -> dict[str, JsonValue]:
    times = [event.time for event in run]
    field = "argumentsDelta" if key[0] == "tool-call-delta" else "text"
    pieces = [event.data["chunk"][field] for event in run]  # type: ignore[call-overload,index]  # _run_key looked
    data: dict[str, JsonValue] = {"turn": key[1], "step": key[2], "index": key[3]}
    data["dt"] = [later - earlier for earlier, later in pairwise(times)]
    if field == "text":
        data["texts"] = pieces
    else:
        data |= {"id": key[4], **({"name": key[5]} if key[6] else {}), "args": pieces}
    return {"type": ROW_TYPES[key[0]], "seq0": run[0].seq, "time0": times[0], "data": data}


def is_row(value: Mapping[str, Any]) -> bool:
    """Return whether a decoded line is a row rather than an event."""
    return value.get("type") in _CHUNK_TYPES


def checked_row(value: Mapping[str, Any], line: str) -> PackedRow:
    """Return the row, still packed, after checking every field of its decoded form.

    Raises:
        BadRow: a key too many or too few, a field of another type, arrays that do not fit, numbers beyond 2^53 - 1.
    """
    data = value.get("data")
    if value.keys() != _ROW_KEYS or not isinstance(data, Mapping):
        raise BadRow("a packed row has the wrong keys")
    pieces, dt = _pieces(value["type"], data), data["dt"]
    if not isinstance(pieces, list) or not isinstance(dt, list) or len(pieces) < SHORTEST_RUN:
        raise BadRow("a packed row has no runs of deltas")
    if len(dt) != len(pieces) - 1 or set(map(type, pieces)) != {str} or set(map(type, dt)) != {int}:
        raise BadRow("a packed row's deltas and times do not fit together")
    _check_numbers(value, data, dt, len(pieces))
    if "\\u" in line:
        _check_text([*pieces, data.get("id", ""), data.get("name", "")])
    return PackedRow(value["seq0"], len(pieces), line.encode())


def _pieces(kind: str, data: Mapping[str, Any]) -> object:
    if kind != ROW_TYPES["tool-call-delta"]:
        if data.keys() != {"turn", "step", "index", "dt", "texts"}:
            raise BadRow("a packed row has the wrong fields")
        return data["texts"]
    if data.keys() - {"name"} != {"turn", "step", "index", "dt", "id", "args"}:
        raise BadRow("a packed row has the wrong fields")
    if type(data["id"]) is not str or type(data.get("name", "")) is not str:
        raise BadRow("a packed row names its call by something that is no text")
    return data["args"]


def _check_numbers(value: Mapping[str, Any], data: Mapping[str, Any], dt: list[int], count: int) -> None:
    singles = (value["seq0"], value["time0"], data["turn"], data["step"], data["index"])
    if set(map(type, singles)) != {int}:
        raise BadRow("a packed row has a number that is none")
    numbers = [*singles, value["seq0"] + count, *dt, *accumulate(dt, initial=value["time0"])]
    if value["seq0"] < 0 or min(numbers) < -SAFE_INTEGER or max(numbers) > SAFE_INTEGER:
        raise BadRow("a packed row has a number out of range")


def _check_text(pieces: list[str]) -> None:
    try:
        "".join(pieces).encode()
    except UnicodeEncodeError:
        raise BadRow("a packed row holds half of a surrogate pair") from None


def unpack_row(value: Mapping[str, Any]) -> list[SessionEvent]:
    """Return the events of a decoded row that `checked_row` has accepted; the exact inverse of `pack_runs`."""
    data = value["data"]
    kind, turn, step = _CHUNK_TYPES[value["type"]], data["turn"], data["step"]
    times = accumulate(data["dt"], initial=value["time0"])
    if kind == "tool-call-delta":
        shared = {"type": kind, "index": data["index"], "id": data["id"]}
        if "name" in data:
            shared["name"] = data["name"]
        field, pieces = "argumentsDelta", data["args"]
    else:
        shared, field, pieces = {"type": kind, "index": data["index"]}, "text", data["texts"]
    return [
        SessionEvent(
            CHUNK_EVENT,
            seq,
            time,
            FrozenObject(turn=turn, step=step, chunk=FrozenObject({**shared, field: piece})),
        )
        for seq, (time, piece) in enumerate(zip(times, pieces, strict=True), value["seq0"])
    ]


def merge_row(value: Mapping[str, Any]) -> SessionEvent:
    """Return a checked row's deltas as one delta with all of their text, for who shows them and not their times."""
    data = value["data"]
    field, pieces = ("argumentsDelta", data["args"]) if "args" in data else ("text", data["texts"])
    named = {key: data[key] for key in ("id", "name") if key in data}
    chunk = {"type": _CHUNK_TYPES[value["type"]], "index": data["index"], **named, field: "".join(pieces)}
    whole = FrozenObject(turn=data["turn"], step=data["step"], chunk=FrozenObject(chunk))
    return SessionEvent(CHUNK_EVENT, value["seq0"], value["time0"], whole)
