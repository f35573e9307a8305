"""Bytes from the client as they come, without ever blocking the loop on a pipe.

One `os.read` each time the loop says that the descriptor is readable: O_NONBLOCK is not needed and not set, because
it would belong to the pipe's other users too. Knows nothing of lines.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

CHUNK = 64 * 1024


class PipeReader:
    """Reads one descriptor until its end.

    `received` gets each piece of at most CHUNK bytes, and `b""` once at the end of input. A descriptor that the poller
    refuses (a regular file, the null device) is always ready by definition and is read once a turn of the loop.
    """

    __slots__ = ("_fd", "_loop", "_next", "_polled", "_received")

    def __init__(self, fd: int, received: Callable[[bytes], None]) -> None:
        self._fd = fd
        self._received = received
        self._loop = asyncio.get_running_loop()
        self._next: asyncio.Handle | None = None
        self._polled = False

    def start(self) -> None:
        """Begin to read."""
        try:
            self._loop.add_reader(self._fd, self._read)
        except OSError:  # epoll says EPERM, kqueue EINVAL
            self._next = self._loop.call_soon(self._read_again)
        else:
            self._polled = True

    def stop(self) -> None:
        """Read no more; may be called more than once."""
        if self._polled:
            self._loop.remove_reader(self._fd)
            self._polled = False
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _read_again(self) -> None:
        self._next = self._loop.call_soon(self._read_again)
        self._read()

    def _read(self) -> None:
        try:
            data = os.read(self._fd, CHUNK)
        except (BlockingIOError, InterruptedError):  # the pipe was non-blocking already and another reader was faster
            return
        except OSError:  # a terminal that hung up, a reset socket: no more input
            data = b""
        if not data:
            self.stop()
        self._received(data)
