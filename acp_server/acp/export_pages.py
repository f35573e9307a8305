"""A session as text, page by page: as a Markdown document, or as the lines of its log. Pure.

Clauses EX-20 to EX-25 of docs/extensions.md. A cursor names the place and the events that belong to the export, so
that pages fit although the session goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice, takewhile
from typing import Final, Literal, TypeAlias

from acp_server.base.values import value
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from acp_server.session.lines import event_lines, header_line
from acp_server.session.log import EventLog
from acp_server.session.transcript import transcript

Format: TypeAlias = Literal["markdown", "jsonl"]
PAGE: Final = 1024 * 1024
"""Characters of one page at most."""
_CURSOR: Final = re.compile(r"([0-9]{1,15})-([0-9]{1,15})-([0-9]{1,15})")


@value
class Place:
    """Where a page begins: `offset` characters into line `line`, of the first `length` events. A document has one line.

    Line 0 is the header's, line n that of event n - 1.
    """

    length: int
    line: int = 0
    offset: int = 0

    def cursor(self) -> str:
        """Return the place as text that means nothing to a client."""
        return f"{self.length}-{self.line}-{self.offset}"


def place_of(cursor: str, log: EventLog) -> Place | None:
    """Return the place that a cursor names, or None when it cannot be one of this log."""
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        return None
    length, line, offset = map(int, found.groups())
    return Place(length, line, offset) if length <= len(log) and line <= length else None


def document(header: SessionHeader, log: EventLog, length: int) -> str:
    """Return the first `length` events as a Markdown document; raise MessageFormatError as `transcript` does."""
    return transcript(header, takewhile(lambda event: event.seq < length, log.milestones()))


def page_of_lines(header: SessionHeader, log: EventLog, place: Place) -> tuple[str, Place | None]:
    """Return a page of the log's lines, and where the next one begins, None after the last."""
    parts: list[str] = []
    room, number, offset = PAGE, place.line, place.offset
    for line in _lines(header, log, place):
        part = line[offset : offset + room]
        parts.append(part)
        room -= len(part)
        if offset + len(part) < len(line):
            return "".join(parts), Place(place.length, number, offset + len(part))
        number, offset = number + 1, 0
    return "".join(parts), None


def page_of_text(text: str, place: Place) -> tuple[str, Place | None]:
    """Return a page of a document, and where the next one begins, None after the last."""
    end = place.offset + PAGE
    return text[place.offset : end], Place(place.length, 0, end) if end < len(text) else None


def _lines(header: SessionHeader, log: EventLog, place: Place) -> Iterator[str]:
    events: Iterator[SessionEvent] = islice(log.since(max(0, place.line - 1)), place.length - max(0, place.line - 1))
    lines = event_lines(events)
    return chain((header_line(header),), lines) if place.line == 0 else lines
