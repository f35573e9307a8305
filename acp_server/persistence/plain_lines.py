"""The lines that this server writes, read in one pass (docs/log-format.md, clauses L-JSON, E-1 to E-8, R-3). Pure.

Reading a long session is mostly this. Owns a shortcut and nothing else: a line whose every rule can be seen to hold
while it is scanned becomes its entry at once; None is returned for any other, which `records` reads in full and judges.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any, Final, NoReturn

from acp_server.base.json_value import MAX_DEPTH, SAFE_INTEGER, FrozenObject, JsonValue
from acp_server.persistence.rows import CHUNK_EVENT, ROW_TYPES, SHORTEST_RUN, PackedRow
from acp_server.session.events import APPEND, REQUIRED_TYPES, SessionEvent, SurfaceOp

_NUMBER: Final = "(0|[1-9][0-9]{0,14})"
"""A whole number that is safe by its length, as JSON writes it."""
_SAFE_DIGITS: Final = 15
_SHORT_DIGITS: Final = 4
_BRACKET: Final = rf'\{{"turn":{_NUMBER}(?:,"step":{_NUMBER})?(?:,"reason":\{{"kind":"([a-z]+)"\}})?\}}\}}\Z'
"""The rest of a line that begins or ends a turn or a step: more than every second line is one."""
_EVENT: Final = re.compile(
    rf'\{{"type":"([!#-\[\]-~]+)","seq":{_NUMBER},"time":{_NUMBER},"data":(?:{_BRACKET}|(?=\{{))'
).match
_WORDS: Final = re.compile(
    rf'\{{"type":"(?:text|reasoning)-chunks","seq0":{_NUMBER},"time0":{_NUMBER},'
    rf'"data":\{{"turn":{_NUMBER},"step":{_NUMBER},"index":{_NUMBER},"dt":(?=\[)'
).match
_SHORT_NUMBER: Final = "(?:0|[1-9][0-9]{0,5})"
"""Of as many as a row can hold, the sum is safe beside a time that is safe by its length."""
_SIMPLE_TEXT: Final = r'"[^"\\\x00-\x1f]*"'
_SIMPLE_PIECES: Final = re.compile(
    rf'\[((?:{_SHORT_NUMBER},)*{_SHORT_NUMBER})\],"texts":\[((?:{_SIMPLE_TEXT},)*{_SIMPLE_TEXT})\]\}}\}}\Z'
).match
"""The rest of a row whose texts hold no escape, which is how most are."""
_TEXT_ROW: Final = '{"type":"text-chunks"'
_TEXTS: Final = ',"texts":'
_SOURCES: Final = ',"sourceEventSeqs":'
_TAILS: Final[dict[str, tuple[SurfaceOp | None, bool]]] = {
    "}": (None, False),
    ',"surfaceOp":"append"}': (APPEND, False),
    ',"ignorable":true}': (None, True),
}
_KINDS: Final = {kind: kind for kind in REQUIRED_TYPES}
_ROWS: Final = frozenset(ROW_TYPES.values())


def plain_entry(line: str, seq: int) -> SessionEvent | PackedRow | None:
    """Return the entry of a line that begins at `seq`, exactly as `records` would, or None when that is not sure."""
    if "\\u" in line:  # half of a surrogate pair can come from an escape alone, as the line was UTF-8
        return None
    try:
        head = _EVENT(line)
        return _row(line, seq) if head is None else _event(line, seq, head)
    except (ValueError, StopIteration, RecursionError):
        return None


def _event(line: str, seq: int, head: re.Match[str]) -> SessionEvent | None:
    kind, place, time, *bracket = head.groups()
    if int(place) != seq:
        return None
    if bracket[0] is not None:
        return SessionEvent(_KINDS[kind], seq, int(time), _bracket(*bracket)) if kind in _KINDS else None
    start = head.end()
    if line.count("[", start) + line.count("{", start) > MAX_DEPTH:  # otherwise it cannot be nested too deeply
        return None
    data, end = _scan(line, start)
    if lists := line.count("[", start, end):
        _freeze_lists(data, lists)
    sources: tuple[int, ...] | None = None
    if line.startswith(_SOURCES, end):
        sources, end = _sources(line, end + len(_SOURCES))
    operation, ignorable = _TAILS.get(line[end:], (None, None))
    if ignorable is None or (kind not in _KINDS and (not ignorable or kind in _ROWS)):
        return None
    return SessionEvent(_KINDS.get(kind, kind), seq, int(time), data, operation, sources, ignorable)


def _bracket(turn: str, step: str | None, reason: str | None) -> FrozenObject:
    data: dict[str, JsonValue] = {"turn": int(turn)}
    if step is not None:
        data["step"] = int(step)
    if reason is not None:
        data["reason"] = FrozenObject(kind=reason)
    return FrozenObject(data)


def _sources(line: str, start: int) -> tuple[tuple[int, ...], int]:
    listed, end = _scan_plain(line, start)
    if type(listed) is not list or (listed and (set(map(type, listed)) != {int} or min(listed) < 0)):
        _give_up()
    return tuple(listed), end if not listed or max(listed) <= SAFE_INTEGER else _give_up()


def _row(line: str, seq: int) -> PackedRow | None:
    head = _WORDS(line)
    if head is None or int(head[1]) != seq:
        return None
    if simple := _SIMPLE_PIECES(line, head.end()):
        count = _between(line, *simple.span(2))
        fits = count >= SHORTEST_RUN and line.count(",", *simple.span(1)) == count - 2
        return PackedRow(seq, count, line.encode()) if fits else None
    dt, end = _scan_plain(line, head.end())
    if not line.startswith(_TEXTS, end):
        return None
    pieces, end = _scan_plain(line, end + len(_TEXTS))
    if line[end:] != "}}" or type(pieces) is not list or set(map(type, pieces)) != {str}:
        return None
    if len(pieces) < SHORTEST_RUN or len(dt) != len(pieces) - 1 or set(map(type, dt)) != {int}:
        return None
    if min(dt) < 0 or int(head[2]) + sum(dt) > SAFE_INTEGER:
        return None
    return PackedRow(seq, len(pieces), line.encode())


def _between(line: str, start: int, end: int) -> int:
    """Return how many texts without escapes stand in an array's inside, counted by the marks between two of them."""
    return line.count('","', start + 1, end) + 1


def merged_words(line: str) -> SessionEvent | None:
    """Return what `merge_row` makes of a checked row of words without any escape; None for any other row.

    No text in it holds a quote then, so what stands between two texts can be taken out by itself.
    """
    head = None if "\\" in line else _WORDS(line)
    start = -1 if head is None else line.find(_TEXTS, head.end()) + len(_TEXTS)
    if head is None or start < head.end() or not line.startswith('["', start) or not line.endswith('"]}}'):
        return None
    text = line[start + 2 : -4].replace('","', "")
    if '"' in text:
        return None
    seq, time, turn, step, index = map(int, head.groups())
    kind = "text-delta" if line.startswith(_TEXT_ROW) else "reasoning-delta"
    chunk = FrozenObject(type=kind, index=index, text=text)
    return SessionEvent(CHUNK_EVENT, seq, time, FrozenObject(turn=turn, step=step, chunk=chunk))


def _freeze_lists(data: FrozenObject, most: int) -> None:
    """Make tuples of the lists in what was just decoded, of which there are at most so many."""
    holder: Any = data.get("message", data)
    content = holder.get("content") if type(holder) is FrozenObject else None
    if most == 1 and type(content) is list:
        _put(holder, "content", tuple(content))
    else:
        _walk(data)


def _walk(decoded: FrozenObject) -> None:
    for key, value in decoded.items():
        if type(value) is FrozenObject:
            _walk(value)
        elif type(value) is list:
            _put(decoded, key, _tuple(value))


def _tuple(values: list[Any]) -> tuple[Any, ...]:
    for value in values:
        if type(value) is FrozenObject:
            _walk(value)
    return tuple(_tuple(value) if type(value) is list else value for value in values)


class _Whole(dict[str, int]):
    """Whole numbers by their digits: most are turns, steps and indexes, and found without a call."""

    def __missing__(self, digits: str) -> int:
        number = int(digits) if len(digits) <= _SAFE_DIGITS else _give_up()
        if len(digits) <= _SHORT_DIGITS:
            self[digits] = number
        return number


def _float(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        _give_up()
    return 0.0 if number == 0 else number


def _give_up(_name: str = "") -> NoReturn:
    raise ValueError


_put: Final = dict[str, Any].__setitem__
"""Writes into a FrozenObject that nobody has seen yet."""
_scan: Final = json.JSONDecoder(
    object_hook=FrozenObject, parse_int=_Whole().__getitem__, parse_float=_float, parse_constant=_give_up
).scan_once  # type: ignore[attr-defined]  # what `raw_decode` is made of, an iteration and a call cheaper
"""Reads one JSON value at a place, its objects frozen and its arrays not yet, and tells where it ends."""
_scan_plain: Final = json.JSONDecoder(parse_constant=_give_up).scan_once  # type: ignore[attr-defined]  # likewise
