"""Threads that do a store's blocking work, so that the event loop never waits for a disk.

Owns the way there and back, which is shorter than an executor's: a barrier before each model request takes it. Order
is the caller's matter; two pieces of work may run at the same time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeAlias, TypeVar

COUNT: Final = 4
_Result = TypeVar("_Result")
Done: TypeAlias = Callable[[Any, BaseException | None], object]
"""Is given what a piece of work returned, or what it raised."""
_Work = tuple[Callable[[], object], asyncio.AbstractEventLoop, Done]


class Workers:
    """A few threads, started with the first piece of work; they end with `stop` or with the process."""

    def __init__(self, count: int = COUNT) -> None:
        self._count = count
        self._queue: SimpleQueue[_Work | None] = SimpleQueue()
        self._threads: list[Thread] = []

    def run(self, action: Callable[[], _Result]) -> asyncio.Future[_Result]:
        """Return the future of what `action` returns or raises; called from the loop that awaits it."""
        future: asyncio.Future[_Result] = asyncio.get_running_loop().create_future()
        self.hand(action, partial(_settle, future))
        return future

    def hand(self, action: Callable[[], object], done: Done) -> None:
        """Let a thread do `action` and the calling loop call `done` right after: no future stands between the two."""
        if not self._threads:
            self._start()
        self._queue.put((action, asyncio.get_running_loop(), done))

    def stop(self) -> None:
        """Let each thread end after the work that was asked for before."""
        for _ in self._threads:
            self._queue.put(None)
        self._threads.clear()

    def _start(self) -> None:
        self._threads = [Thread(target=self._serve, name="session-log", daemon=True) for _ in range(self._count)]
        for thread in self._threads:
            thread.start()

    def _serve(self) -> None:
        while (work := self._queue.get()) is not None:
            action, loop, done = work
            result, error = _outcome(action)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(done, result, error)


def _outcome(action: Callable[[], object]) -> tuple[object, BaseException | None]:
    try:
        return action(), None
    except BaseException as error:  # noqa: BLE001 - it is the awaiting caller's
        return None, error


def _settle(future: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
