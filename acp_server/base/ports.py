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
