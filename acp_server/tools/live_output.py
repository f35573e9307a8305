"""The output of a command while it runs: what a person sees of it. Pure, clock and timer are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

KEPT: Final = 16 * 1024
"""Characters at the end of the output that are shown; the result has all of it."""
EVERY_SECONDS: Final = 0.1
"""Shown ten times a second at most (docs/protocol.md, clause TC-18)."""


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Let it not happen."""
        ...


Later: TypeAlias = Callable[[float, Callable[[], None]], Timer]
"""Calls something in so many seconds."""


class LiveOutput:
    """Takes pieces of output, gives `show` the end of what has come so far. `now` is in seconds.

    What comes too early after the last showing is shown when its time has come: a command that falls silent has shown
    all that it wrote.
    """

    def __init__(self, show: Callable[[str], None], now: Callable[[], float], later: Later) -> None:
        self._show = show
        self._now = now
        self._later = later
        self._text = ""
        self._due = now()
        self._timer: Timer | None = None

    def __call__(self, piece: str) -> None:
        """Take more output."""
        self._text = (self._text + piece)[-KEPT:]
        if self._timer is not None or not self._text:
            return
        wait = self._due - self._now()
        if wait <= 0:
            self._put()
        else:
            self._timer = self._later(wait, self._put)

    def close(self) -> None:
        """Show nothing more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _put(self) -> None:
        self._timer = None
        self._due = self._now() + EVERY_SECONDS
        self._show(self._text)
