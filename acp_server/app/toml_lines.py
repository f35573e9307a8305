"""Where things stand in a TOML text: the line of each key, and the span of its value. Pure.

Owns a scanner for statements only; what values mean is `tomllib`'s matter. It is asked about texts that `tomllib` has
accepted, so it may trust their grammar.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys from the root down; an item of an array of tables is its number."""

_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Statement:
    """One table header, or one `key = value`; `start` and `end` are offsets of the value (of the header itself)."""

    path: Path
    line: int
    start: int
    end: int
    header: bool


def statements(text: str) -> Iterator[Statement]:
    """Iterate over the statements in order; paths are whole, arrays of tables counted."""
    table: Path = ()
    counts: dict[Path, int] = {}
    place = 0
    while (place := _skip_blank(text, place)) < len(text):
        line = text.count("\n", 0, place) + 1
        if text[place] == "[":
            array = text.startswith("[[", place)
            keys, end = _keys(text, place + 1 + array)
            end = text.index("]", end) + 1 + array
            table = _table(keys, counts, array=array)
            yield Statement(table, line, place, end, header=True)
        else:
            keys, after = _keys(text, place)
            start = _skip_spaces(text, text.index("=", after) + 1)
            end = _value_end(text, start)
            yield Statement((*table, *keys), line, start, end, header=False)
        place = _line_end(text, end)


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """Return the line on which the key stands, or the closest of its parents, from 1; None when none is there."""
    known: dict[Path, int] = {}
    for statement in statements(text):
        known.setdefault(statement.path, statement.line)
        for size in range(1, len(statement.path)):
            known.setdefault(statement.path[:size], statement.line)
    for size in range(len(path), 0, -1):
        if tuple(path[:size]) in known:
            return known[tuple(path[:size])]
    return None


def split_key(dotted: str) -> tuple[str, ...]:
    """Return the parts of a dotted key as TOML writes it, quoted parts unquoted.

    Raises:
        ValueError: it is no key.
    """
    try:
        keys, end = _keys(dotted, 0)
    except (IndexError, ValueError):
        raise ValueError(f"{dotted!r} is no key") from None
    if end != len(dotted) or not all(keys):
        raise ValueError(f"{dotted!r} is no key")
    return keys


def key_text(key: str) -> str:
    """Return a key as TOML writes it: bare where it may be."""
    if key and key.isascii() and key.replace("-", "").replace("_", "").isalnum():
        return key
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _table(keys: tuple[str, ...], counts: dict[Path, int], *, array: bool) -> Path:
    path: Path = ()
    for size, key in enumerate(keys, 1):
        path = (*path, key)
        if array and size == len(keys):
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _keys(text: str, place: int) -> tuple[tuple[str, ...], int]:
    keys: list[str] = []
    while True:
        place = _skip_spaces(text, place)
        if text[place] in "\"'":
            end = _string_end(text, place)
            keys.append(_unquoted(text[place:end]))
        else:
            end = place
            while end < len(text) and (text[end].isalnum() or text[end] in "-_"):
                end += 1
            keys.append(text[place:end])
        after = _skip_spaces(text, end)
        if after >= len(text) or text[after] != ".":
            return tuple(keys), end
        place = after + 1


def _unquoted(quoted: str) -> str:
    body = quoted[1:-1]
    if quoted[0] == "'" or "\\" not in body:
        return body
    made, place = "", 0
    while place < len(body):
        if body[place] != "\\":
            made, place = made + body[place], place + 1
            continue
        mark = body[place + 1]
        width = {"x": 2, "u": 4, "U": 8}.get(mark)
        if width is None:
            made, place = made + _ESCAPES[mark], place + 2
        else:
            made, place = made + chr(int(body[place + 2 : place + 2 + width], 16)), place + 2 + width
    return made


def _value_end(text: str, place: int) -> int:
    """Return where the value ends: brackets closed, outside of strings and comments."""
    depth, end = 0, place
    while place < len(text):
        mark = text[place]
        if mark in "\"'":
            place = end = _string_end(text, place)
            continue
        if mark == "#":
            if depth == 0:
                return end
            place = _line_end(text, place)
            continue
        if mark == "\n" and depth == 0:
            return end
        depth += (mark in "[{") - (mark in "]}")
        place += 1
        if not mark.isspace():
            end = place
    return end


def _string_end(text: str, place: int) -> int:
    mark = text[place]
    fence = mark * 3 if text.startswith(mark * 3, place) else mark
    place += len(fence)
    while not text.startswith(fence, place):
        if place >= len(text):
            raise ValueError("a string has no end")
        place += 2 if mark == '"' and text[place] == "\\" else 1
    place += len(fence)
    while len(fence) == 3 and text.startswith(mark, place):  # up to two quotes may stand before the closing three
        place += 1
    return place


def _skip_spaces(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t":
        place += 1
    return place


def _skip_blank(text: str, place: int) -> int:
    while place < len(text):
        if text[place] == "#":
            place = _line_end(text, place)
        elif text[place].isspace() or text[place] == "\ufeff":
            place += 1
        else:
            return place
    return place


def _line_end(text: str, place: int) -> int:
    found = text.find("\n", place)
    return len(text) if found < 0 else found
