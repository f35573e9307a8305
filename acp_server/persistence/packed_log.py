"""A stored log in memory: rows of deltas stay packed until somebody looks. Pure.

Owns where an event of a given seq is. Memory goes with what was written, not with how many deltas it was.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator
from itertools import islice

from acp_server.persistence.plain_lines import merged_words
from acp_server.persistence.records import Entry, decode_json
from acp_server.persistence.rows import CHUNK_EVENT, PackedRow, merge_row, unpack_row
from acp_server.session.events import SessionEvent


class PackedLog:
    """An EventLog over entries that follow each other from seq 0, or from `first_seq` for the end of a log."""

    def __init__(self, entries: Iterable[Entry] = (), first_seq: int = 0) -> None:
        self._entries = list(entries)
        self._starts = array("q")
        self._length = first_seq
        self._first = first_seq
        self._open: tuple[PackedRow, list[SessionEvent]] | None = None
        for entry in self._entries:
            self._starts.append(self._length)
            self._length += entry.count if isinstance(entry, PackedRow) else 1

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, seq: int) -> SessionEvent:
        if not self._first <= seq < self._length:
            raise IndexError(seq)
        entry = self._entries[bisect_right(self._starts, seq) - 1]
        return self._events_of(entry)[seq - entry.seq0] if isinstance(entry, PackedRow) else entry

    def since(self, seq: int) -> Iterator[SessionEvent]:
        """See EventLog. Events that are appended while iterating are met too."""
        position = self._position(seq)
        while position < len(self._entries):
            entry = self._entries[position]
            if isinstance(entry, PackedRow):
                yield from self._events_of(entry)[max(seq - entry.seq0, 0) :]
            else:
                yield entry
            position += 1

    def milestones(self, seq: int = 0) -> Iterator[SessionEvent]:
        """See EventLog."""
        position = self._position(seq)
        while position < len(self._entries):
            entry = self._entries[position]
            if not isinstance(entry, PackedRow) and entry.type != CHUNK_EVENT:
                yield entry
            position += 1

    def of_types(self, types: Container[str], seq: int = 0) -> Iterator[SessionEvent]:
        """See EventLog."""
        position = self._position(seq)
        while position < len(self._entries):
            upto = len(self._entries)
            for entry in islice(self._entries, position, upto):
                if entry.type in types and isinstance(entry, SessionEvent):
                    yield entry
            position = upto

    def merged(self, seq: int = 0) -> Iterator[SessionEvent]:
        """See EventLog."""
        for entry in self._entries[self._position(seq) :]:
            if isinstance(entry, PackedRow):
                line = entry.line.decode()
                yield merged_words(line) or merge_row(decode_json(line))
            else:
                yield entry

    def append(self, event: SessionEvent) -> None:
        """See EventLog."""
        self._starts.append(self._length)
        self._entries.append(event)
        self._length += 1

    def _position(self, seq: int) -> int:
        return len(self._entries) if seq >= self._length else max(bisect_right(self._starts, seq) - 1, 0)

    def _events_of(self, row: PackedRow) -> list[SessionEvent]:
        latest = self._open  # read once: another thread may be looking too
        if latest is None or latest[0] is not row:
            latest = self._open = (row, unpack_row(decode_json(row.line.decode())))
        return latest[1]
