"""Text from logs made fit for a terminal, and values as a person and a program read them. Pure.

Owns that nothing which moves a cursor, colours, hides or reorders text gets out of a title, a path or a message.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from acp_server.session.title import normalize_title

ABSENT: Final = "-"
_UNITS: Final = ("KiB", "MiB", "GiB")


def title_text(title: str | None) -> str:
    """Return a stored title as one clean line, ABSENT for none."""
    return (normalize_title(title) if title else "") or ABSENT


def json_text(value: object) -> str:
    """Return JSON in ASCII, control characters escaped, indented for reading."""
    return json.dumps(value, indent=2, ensure_ascii=True).replace("\x7f", "\\u007f")


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return the rows as lines whose columns stand below each other; a CJK character takes two places."""
    widths = [max(map(columns, cells)) for cells in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)) for row in rows
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def columns(text: str) -> int:
    """Return how many places of a terminal the text takes."""
    return sum(map(_places, text))


def local_time(milliseconds: int) -> str:
    """Return a moment of the wall clock in the machine's time zone, to the second."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"


def iso_time(milliseconds: int) -> str | None:
    """Return a moment as ISO 8601 in UTC with milliseconds; None when it lies beyond the calendar."""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def size_text(size: int) -> str:
    """Return a number of bytes with a unit that suits it."""
    if size < 1024:
        return f"{size} B"
    power = min((size.bit_length() - 1) // 10, len(_UNITS))
    return f"{size / 1024**power:.1f} {_UNITS[power - 1]}"


def counted(number: int, noun: str) -> str:
    """Return `1 event`, `2 events`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _places(character: str) -> int:
    if unicodedata.combining(character) or character in "\u200c\u200d\ufe0e\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
