"""Packed rows: a run of deltas as one line of the log (docs/log-format.md, clauses R-1 to R-6). Pure.

Owns what may be packed and the exact way back. A row is storage, never an event: nothing above sees one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, pairwise
from typing import Any, Final, TypeAlias

from acp_server.base.json_value import SAFE_INTEGER, FrozenObject, JsonValue
from acp_server.base.values import value
from acp_server.session.events import SessionEvent

SHORTEST_RUN: Final = 3
LONGEST_PIECE: Final = 64 * 1024
"""Characters of a delta beyond which it is written as an event, so that no row holds a text that lies elsewhere."""

CHUNK_EVENT: Final = "assistant/chunk"
ROW_TYPES: Final = {
    "text-delta": "text-chunks",
    "reasoning-delta": "reasoning-chunks",
    "tool-call-delta": "tool-call-chunks",
}
_CHUNK_TYPES: Final = {row: chunk for chunk, row in ROW_TYPES.items()}
_CALL_KEYS: Final = ("type", "index", "id", "argumentsDelta")
_NAMED_CALL_KEYS: Final = ("type", "index", "id", "name", "argumentsDelta")
_WORDS: Final = ("text-delta", "reasoning-delta")
_ROW_KEYS: Final = {"type", "seq0", "time0", "data"}


class BadRow(Exception):  # noqa: N818 - a finding about one line, turned into a report by `scan`
    """A packed row that does not have the shape of clause R-3."""


@value
class PackedRow:
    """A checked row, kept as the line it came in; `count` events from `seq0` on. Its `type` is that of no event."""

    type = ""

    seq0: int
    count: int
    line: bytes


_Key = tuple[Any, ...]


class Run:
    """Consecutive deltas of one block; `key` is what they share, and they differ in `times` and `pieces`."""

    __slots__ = ("events", "key", "last_seq", "pieces", "times")

    def __init__(self, key: _Key, event: SessionEvent, piece: str) -> None:
        self.key = key
        self.events = [event]
        self.times = [event.time]
        self.pieces = [piece]
        self.last_seq = event.seq


Item: TypeAlias = SessionEvent | Run


class RunPacker:
    """Sorts events into runs as they come, so that little is left to do when they have to be written."""

    __slots__ = ("_run", "items")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._run: Run | None = None

    def add(self, event: SessionEvent) -> int:
        """Take the next event; return the length of a delta's text, or -1 for what is no delta of a run."""
        delta = _delta(event) if event.type == CHUNK_EVENT else None
        if delta is None:
            self._run = None
            self.items.append(event)
            return -1
        key, piece = delta
        run = self._run
        if run is not None and run.key == key and event.seq == run.last_seq + 1 and _is_near(event.time, run.times[-1]):
            run.events.append(event)
            run.times.append(event.time)
            run.pieces.append(piece)
            run.last_seq = event.seq
        else:
            self._run = Run(key, event, piece)
            self.items.append(self._run)
        return len(piece)


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
            yield _row(item)


def _is_near(time: int, before: int) -> bool:
    return -SAFE_INTEGER <= time - before <= SAFE_INTEGER


def _delta(event: SessionEvent) -> tuple[_Key, str] | None:
    """Return what the deltas of one run share and this one's text, or None when it has to be stored as it is.

    Every delta of every answer passes here: keys are compared one by one because that is the cheapest way.
    """
    data: Any = event.data
    if len(data) != 3 or event.ignorable or event.surface_op is not None or event.source_event_seqs is not None:
        return None
    first, second, third = data
    if first != "turn" or second != "step" or third != "chunk":
        return None
    turn, step, chunk = data["turn"], data["step"], data["chunk"]
    if type(chunk) is not FrozenObject or type(turn) is not int or type(step) is not int:
        return None
    return _words(turn, step, chunk) if len(chunk) == 3 else _call(turn, step, chunk)


def _words(turn: int, step: int, chunk: Mapping[str, Any]) -> tuple[_Key, str] | None:
    first, second, third = chunk
    if first != "type" or second != "index" or third != "text":
        return None
    kind, index, text = chunk["type"], chunk["index"], chunk["text"]
    if kind not in _WORDS or type(index) is not int or type(text) is not str or len(text) > LONGEST_PIECE:
        return None
    return (kind, turn, step, index), text


def _call(turn: int, step: int, chunk: Mapping[str, Any]) -> tuple[_Key, str] | None:
    if tuple(chunk) not in (_CALL_KEYS, _NAMED_CALL_KEYS) or chunk["type"] != "tool-call-delta":
        return None
    index, ident, name, piece = chunk["index"], chunk["id"], chunk.get("name", ""), chunk["argumentsDelta"]
    if type(index) is not int or not (type(ident) is type(name) is type(piece) is str):
        return None
    if len(piece) > LONGEST_PIECE or len(ident) > LONGEST_PIECE or len(name) > LONGEST_PIECE:
        return None
    return ("tool-call-delta", turn, step, index, ident, name, "name" in chunk), piece


def _row(run: Run) -> dict[str, JsonValue]:
    kind, turn, step, index, *call = run.key
    data: dict[str, JsonValue] = {"turn": turn, "step": step, "index": index}
    data["dt"] = [later - earlier for earlier, later in pairwise(run.times)]
    if call:
        ident, name, is_named = call
        data |= {"id": ident, **({"name": name} if is_named else {}), "args": run.pieces}
    else:
        data["texts"] = run.pieces
    return {"type": ROW_TYPES[kind], "seq0": run.events[0].seq, "time0": run.times[0], "data": data}


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
