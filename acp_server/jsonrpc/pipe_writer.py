"""The outbox's bytes to the client: at once when the pipe takes them, later when it does not.

Frames of one turn of the loop leave in writes of up to 64 KiB. Pipes and sockets are made non-blocking while the
writer lives and put back at its end; files and terminals are written as they are.
"""

from __future__ import annotations

import asyncio
import os
import select
import stat
from collections.abc import Callable

from acp_server.jsonrpc.outbox import Outbox

WRITE = 64 * 1024
_WRITES_A_TURN = 16


class PipeWriter:
    """Writes what the outbox holds to one descriptor, in order.

    `broken` is called once, when nobody reads the other end any more or when the outbox gave up on the client.
    """

    __slots__ = ("_blocked", "_blocking", "_broken", "_fd", "_loop", "_next", "_outbox", "_over", "_rest", "_watched")

    def __init__(self, fd: int, outbox: Outbox, broken: Callable[[], None]) -> None:
        self._fd = fd
        self._outbox = outbox
        self._broken = broken
        self._loop = asyncio.get_running_loop()
        self._rest = memoryview(b"")
        self._next: asyncio.Handle | None = None
        self._blocked = self._watched = self._over = False
        self._blocking = os.get_blocking(fd)

    def start(self) -> None:
        """Begin to write; notices on a pipe that its reader is gone even while nothing is written."""
        mode = os.fstat(self._fd).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            os.set_blocking(self._fd, False)
        if stat.S_ISFIFO(mode):
            self._loop.add_reader(self._fd, self._check_reader)
            self._watched = True
        self._outbox.listen(self._schedule)

    async def finish(self, seconds: float) -> bool:
        """Wait at most that long until everything is written, then stop; return whether everything was written."""
        try:
            async with asyncio.timeout(seconds):
                return await self._outbox.flushed()
        except TimeoutError:
            return False
        finally:
            self.stop()

    def stop(self) -> None:
        """Write no more and give the descriptor back as it was found; may be called more than once."""
        if self._over:
            return
        self._over = True
        self._unblock()
        if self._watched:
            self._loop.remove_reader(self._fd)
        if self._next is not None:
            self._next.cancel()
        self._outbox.close()
        os.set_blocking(self._fd, self._blocking)

    def _schedule(self) -> None:
        if self._next is None and not self._over and (not self._blocked or self._outbox.closed):
            self._next = self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        """Write until the pipe is full, the outbox is empty, or others have waited long enough for the loop."""
        self._next = None
        if self._outbox.closed:
            self._break()
            return
        for _ in range(_WRITES_A_TURN):
            if not self._rest:
                self._rest = memoryview(self._outbox.take(WRITE))
            if not self._rest:
                self._unblock()
                return
            if not self._write():
                return
        if not self._blocked:
            self._schedule()

    def _write(self) -> bool:
        """Return whether the pipe may take more."""
        try:
            count = os.write(self._fd, self._rest)
        except (BlockingIOError, InterruptedError):
            self._block()
            return False
        except OSError:
            self._break()
            return False
        self._rest = self._rest[count:]
        if not self._rest:
            self._outbox.wrote()
        return True

    def _block(self) -> None:
        if not self._blocked:
            self._blocked = True
            self._loop.add_writer(self._fd, self._flush)

    def _unblock(self) -> None:
        if self._blocked:
            self._blocked = False
            self._loop.remove_writer(self._fd)

    def _check_reader(self) -> None:
        """A pipe's writing end is reported readable when its last reader closed it; make sure that this is why."""
        poller = select.poll()
        poller.register(self._fd, 0)
        if any(event & (select.POLLERR | select.POLLHUP) for _, event in poller.poll(0)):
            self._break()
        else:
            self._loop.remove_reader(self._fd)
            self._watched = False

    def _break(self) -> None:
        if not self._over:
            self.stop()
            self._broken()
