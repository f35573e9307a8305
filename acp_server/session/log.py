"""How a session holds its events: in memory one by one, or packed by whoever loaded them.

Owns the port `EventLog` and its plain implementation. A stored log implements the same port and unpacks a run of
deltas only when somebody asks for one of them, so that memory goes with what is used.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Protocol

from acp_server.session.events import SessionEvent


class EventLog(Protocol):
    """An append-only list of events whose positions are their seqs."""

    def __len__(self) -> int:
        """Return the number of events, which is the next seq."""
        ...

    def __getitem__(self, seq: int) -> SessionEvent:
        """Return the event at that seq; raise IndexError when there is none."""
        ...

    def since(self, seq: int) -> Iterator[SessionEvent]:
        """Iterate over the events from `seq` on, every delta included."""
        ...

    def milestones(self, seq: int = 0) -> Iterator[SessionEvent]:
        """Iterate over the events from `seq` on except `assistant/chunk`, without unpacking any."""
        ...

    def of_types(self, types: Container[str], seq: int = 0) -> Iterator[SessionEvent]:
        """Iterate over the milestones of these types from `seq` on; the others cost next to nothing."""
        ...

    def merged(self, seq: int = 0) -> Iterator[SessionEvent]:
        """Iterate as `since` does, except that a run of deltas that is held packed comes as one delta with its text."""
        ...

    def append(self, event: SessionEvent) -> None:
        """Add the event; its seq is the length."""
        ...


class MemoryLog:
    """Every event as an object of its own."""

    def __init__(self, events: Sequence[SessionEvent] = ()) -> None:
        self._events = list(events)

    def __len__(self) -> int:
        return len(self._events)

    def __getitem__(self, seq: int) -> SessionEvent:
        if seq < 0:
            raise IndexError(seq)
        return self._events[seq]

    def since(self, seq: int) -> Iterator[SessionEvent]:
        """See EventLog."""
        for position in range(seq, len(self._events)):
            yield self._events[position]

    def milestones(self, seq: int = 0) -> Iterator[SessionEvent]:
        """See EventLog."""
        return (event for event in self.since(seq) if event.type != "assistant/chunk")

    def of_types(self, types: Container[str], seq: int = 0) -> Iterator[SessionEvent]:
        """See EventLog."""
        return (event for event in self.milestones(seq) if event.type in types)

    def merged(self, seq: int = 0) -> Iterator[SessionEvent]:
        """See EventLog."""
        return self.since(seq)

    def append(self, event: SessionEvent) -> None:
        """See EventLog."""
        self._events.append(event)
