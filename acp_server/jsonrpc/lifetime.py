"""When the process has to end though its input has not: signals, and the death of the process that started it.

The end of input is not enough: it never comes while another process holds the writing end of the pipe.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

Cause: TypeAlias = Literal["signal", "orphan"]

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
POLL_SECONDS: Final = 1.0


class Lifetime:
    """Watches for the two causes and says each once to `stop`; a second signal goes to `hard` with its number.

    `parent` is the parent's pid as it was when the process began: when it has changed by `start`, the cause is told at
    once. A parent of 0 or 1 is not watched: it is outside of our namespace or the init process, which either adopted
    us before we could look or started us and outlives us.
    """

    def __init__(self, parent: int, stop: Callable[[Cause], None], hard: Callable[[int], None]) -> None:
        self.signal: int | None = None
        self._parent = parent
        self._stop = stop
        self._hard = hard
        self._loop = asyncio.get_running_loop()
        self._pidfd: int | None = None
        self._poll: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to watch; `signal` holds the number of the first signal from then on."""
        for number in SIGNALS:
            self._loop.add_signal_handler(number, self._signalled, number)
        if self._parent <= 1:
            return
        self._pidfd = _open_process(self._parent)
        if self._pidfd is not None:
            self._loop.add_reader(self._pidfd, self._orphaned)
        self._look()

    def end(self) -> None:
        """Watch no more; may be called more than once. Signals then do what they did by default."""
        for number in SIGNALS:
            self._loop.remove_signal_handler(number)
        self._end_watch()

    def _signalled(self, number: int) -> None:
        if self.signal is not None:
            self._hard(number)
            return
        self.signal = number
        self._stop("signal")

    def _look(self) -> None:
        """Compare the parent now: once beside a pidfd, which may have been opened too late, else again and again."""
        self._poll = None
        if os.getppid() != self._parent:
            self._orphaned()
        elif self._pidfd is None:
            self._poll = self._loop.call_later(POLL_SECONDS, self._look)

    def _orphaned(self) -> None:
        self._end_watch()
        self._stop("orphan")

    def _end_watch(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        if self._poll is not None:
            self._poll.cancel()
            self._poll = None


def _open_process(pid: int) -> int | None:
    """Return a pidfd, or None where the system has none or refuses it."""
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        return int(opener(pid))
    except OSError:
        return None
