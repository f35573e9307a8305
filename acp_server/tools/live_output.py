"""The output of a command while it runs: what a person sees of it. Pure, the clock is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

KEPT: Final = 16 * 1024
"""Characters at the end of the output that are shown; the result has all of it."""
EVERY_SECONDS: Final = 0.1
"""Shown ten times a second at most (docs/protocol.md, clause TC-18)."""


class LiveOutput:
    """Takes pieces of output, gives `show` the end of what has come so far. `now` is in seconds."""

    def __init__(self, show: Callable[[str], None], now: Callable[[], float]) -> None:
        self._show = show
        self._now = now
        self._text = ""
        self._due = now()

    def __call__(self, piece: str) -> None:
        """Take more output."""
        self._text = (self._text + piece)[-KEPT:]
        now = self._now()
        if now >= self._due and self._text:
            self._due = now + EVERY_SECONDS
            self._show(self._text)
