"""Waiting that ends with a token or at a limit (docs/llm.md, clauses D-1 to D-3).

Owns how a wait is interrupted: the waiting task is woken with asyncio's own cancellation and the count is given back,
as `asyncio.timeout` does it, so that no second task exists that could leak or keep an unread failure. Cancellation
of the task from outside passes through unchanged. Knows nothing of models or HTTP.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TypeVar

from acp_server.base.cancel import Cancelled, CancelToken

T = TypeVar("T")


class Watch:
    """Guards any number of waits, one at a time: `with watch: await something`.

    A wait ends with Cancelled as soon as the token is cancelled, and with TimeoutError once it alone has lasted
    `seconds` (None: no limit). What the awaited code answers in spite of the interruption is kept: a result that was
    made is never lost. Time between the waits does not count. `close` has to be called at the end.
    """

    __slots__ = (
        "_before",
        "_cancel",
        "_cancelled",
        "_expired",
        "_fired",
        "_loop",
        "_now",
        "_seconds",
        "_since",
        "_task",
        "_timer",
        "_undo",
    )

    def __init__(self, cancel: CancelToken, seconds: float | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._cancel = cancel
        self._now = self._loop.time
        self._seconds = seconds
        self._task: asyncio.Task[object] | None = None
        self._before = 0
        self._since = 0.0
        self._fired = False
        self._expired = False
        self._timer: asyncio.TimerHandle | None = None
        self._cancelled = False
        self._undo = cancel.subscribe(self._heard)

    def __enter__(self) -> None:
        if self._cancelled:
            self._cancel.raise_if_cancelled()
        task = asyncio.current_task(self._loop)
        if task is None:
            raise RuntimeError("a wait needs a task")
        self._task = task
        self._before = task.cancelling()
        if self._seconds is not None:
            self._since = self._now()
            if self._timer is None:
                self._timer = self._loop.call_later(self._seconds, self._check)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        task = self._task
        self._task = None
        if not self._fired or task is None:
            return
        self._fired = False
        foreign = task.uncancel() > self._before
        if error is None or (foreign and kind is asyncio.CancelledError):
            return
        if isinstance(error, asyncio.CancelledError | Exception):
            if self._cancel.cause is not None:
                raise Cancelled(self._cancel.cause) from _cause(error)
            if self._expired:
                raise TimeoutError from _cause(error)

    def shorten(self, seconds: float) -> None:
        """Let each wait from the next one on last so long at most; not inside of a wait."""
        if self._seconds is None or seconds < self._seconds:
            self._seconds = seconds
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def close(self) -> None:
        """Let go of the token and the timer; harmless when done before."""
        self._undo()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _heard(self) -> None:
        self._cancelled = True
        self._interrupt()

    def _interrupt(self) -> None:
        task = self._task
        if task is None or self._fired:
            return
        if task is _running_task():
            # Cancelling the running task would strike at whatever it awaits next, maybe outside of this wait.
            self._loop.call_soon(self._interrupt)
            return
        self._fired = True
        task.cancel()

    def _check(self) -> None:
        self._timer = None
        if self._task is None or self._seconds is None:
            return
        left = self._since + self._seconds - self._now()
        if left > 0:
            self._timer = self._loop.call_later(left, self._check)
            return
        self._expired = True
        self._interrupt()


def _cause(error: BaseException) -> BaseException | None:
    """Return what is worth chaining: the bare wake-up says nothing."""
    return None if isinstance(error, asyncio.CancelledError) else error


def _running_task() -> asyncio.Task[object] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


async def until(awaitable: Awaitable[T], cancel: CancelToken) -> T:
    """Return the result of `awaitable`; it is owned by this call and ended when the token is cancelled.

    Raises:
        Cancelled: the token was cancelled first; what was awaited has ended by then.
    """
    if cancel.cause is not None:
        discard(awaitable)
        raise Cancelled(cancel.cause)
    watch = Watch(cancel)
    try:
        with watch:
            return await awaitable
    finally:
        watch.close()


async def pause(seconds: float, cancel: CancelToken, sleep: Callable[[float], Awaitable[object]]) -> None:
    """Wait that many seconds by `sleep`; raise Cancelled as soon as the token is cancelled."""
    await until(sleep(seconds), cancel)


def discard(awaitable: Awaitable[object]) -> None:
    """End what will never be awaited, without a warning about it."""
    if inspect.iscoroutine(awaitable):
        awaitable.close()
    elif isinstance(awaitable, asyncio.Future):
        awaitable.cancel()
