"""Positions in lines: the protocol counts UTF-16 units from 0, a model counts characters from 1. Pure.

Owns both ways, and finding a name in a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from acp_server.base.values import value

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_NEAR: Final = 3
"""Lines above and below in which a name is looked for when it is not where it was said to be."""


@value
class Place:
    """A position of the protocol: line and UTF-16 unit from 0."""

    line: int
    unit: int


def lines_of(text: str) -> list[str]:
    """Return the lines as the protocol counts them."""
    return _LINE_END.split(text)


def to_character(line: str, unit: int) -> int:
    """Return the character, from 1, at a UTF-16 unit of a line."""
    if line.isascii():
        return min(unit, len(line)) + 1
    return len(line.encode("utf-16-le", "surrogatepass")[: unit * 2].decode("utf-16-le", "replace")) + 1


def to_unit(line: str, index: int) -> int:
    """Return the UTF-16 unit of a character of a line, both from 0."""
    return len(line[:index].encode("utf-16-le", "surrogatepass")) // 2


def find_name(lines: Sequence[str], name: str, line: int | None) -> Place | None:
    """Return where a name stands in a text: in the line, from 1, else near it, or anywhere when no line is given.

    Of a dotted name the last part counts.
    """
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    for pattern in (word, re.compile(re.escape(name))):
        for number in _numbers(len(lines), line):
            found = pattern.search(lines[number])
            if found is not None:
                last = max(name.rfind(mark) for mark in (".", ":", ">")) + 1
                start = found.start() + (last if last < len(name) else 0)
                return Place(number, to_unit(lines[number], start))
    return None


def _numbers(count: int, line: int | None) -> Iterator[int]:
    if line is None:
        yield from range(count)
        return
    wanted = line - 1
    for distance in range(_NEAR + 1):
        for number in dict.fromkeys((wanted - distance, wanted + distance)):
            if 0 <= number < count:
                yield number
