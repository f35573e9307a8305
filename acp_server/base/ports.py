"""Protocols to the outside that pure and middle layers are given: time and ids.

Implementations live in app/; tests give fakes. Nothing here does I/O.
"""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time for events and waits."""

    def now_ms(self) -> int:
        """Return the wall clock as integer milliseconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        ...


class Ids(Protocol):
    """Fresh ids."""

    def new(self) -> str:
        """Return an id that was not returned before, a bare UUID outside of tests."""
        ...


class Journal(Protocol):
    """The durable side of one session (docs/log-format.md, section D). Appending itself is the session's matter."""

    @property
    def behind(self) -> bool:
        """Return whether the queue of unwritten events is full, so that producers should await `room`."""
        ...

    async def room(self) -> None:
        """Return once there is room in the queue."""
        ...

    async def flush(self) -> None:
        """Return once every event appended before the call is durable; raise ServerError when it cannot be."""
        ...

    async def barrier(self) -> None:
        """Return as `flush` does, after an outage of the disk if there is one, however long it lasts.

        Raises:
            ServerError: waiting is of no use.
        """
        ...


class HeldJournal(Journal, Protocol):
    """A journal together with the hold on its log."""

    async def close(self) -> None:
        """Write what can be written and let go of the log; harmless when done before."""
        ...


class Attachments(Protocol):
    """Bytes beside one session's log (docs/log-format.md, section G)."""

    async def put(self, content: bytes) -> str:
        """Keep the bytes durably and return their id, which is made from them; an event may name it from then on.

        Raises:
            ServerError: they cannot be kept; the sentence says why.
        """
        ...


class Flow(Protocol):
    """The way to the person, as far as producers have to know it: whether it is jammed."""

    @property
    def behind(self) -> bool:
        """Return whether the way is jammed, so that producers should await `room`."""
        ...

    async def room(self) -> object:
        """Return once there is room, or once nobody is there to read."""
        ...
