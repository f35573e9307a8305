"""Loading what the first turn needs in a thread, while the client is still reading the answer to session/new.

The loop goes on meanwhile: imports of pure Python stall it by some milliseconds at most (docs/decisions/0004).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class WarmUp(Generic[T]):
    """Runs `load` once in a daemon thread; whoever needs the result awaits it. Belongs to one event loop."""

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._result: asyncio.Future[T] | None = None
        self._then: tuple[Callable[[], object], ...] = ()

    def start(self) -> None:
        """Begin to load, unless that has begun."""
        if self._result is not None:
            return
        loop = asyncio.get_running_loop()
        self._result = loop.create_future()
        self._result.add_done_callback(self._ended)
        thread = threading.Thread(target=self._run, args=(loop, self._result), name="warm-up", daemon=True)
        thread.start()

    def then(self, act: Callable[[], object]) -> None:
        """Call `act` on the loop once loading has ended, well or not."""
        self._then = (*self._then, act)
        if self._result is not None and self._result.done():
            act()

    @property
    def ready(self) -> bool:
        """Return whether there is a result, so that `loaded` gives it."""
        return self._result is not None and self._result.done() and self._result.exception() is None

    @property
    def loaded(self) -> T:
        """Return what was loaded; raise RuntimeError while it is not, or what loading raised."""
        if self._result is None or not self._result.done():
            raise RuntimeError("what was asked for is not loaded yet")
        return self._result.result()

    async def result(self) -> T:
        """Return what was loaded; raise what loading raised."""
        self.start()
        if self._result is None:
            raise RuntimeError("loading has not begun")
        return await asyncio.shield(self._result)

    def _ended(self, done: asyncio.Future[T]) -> None:
        if not done.cancelled():
            done.exception()  # a failure is raised to whoever awaits it
            for act in self._then:
                act()

    def _run(self, loop: asyncio.AbstractEventLoop, result: asyncio.Future[T]) -> None:
        try:
            value = self._load()
        except Exception as error:  # noqa: BLE001 - it is raised again where the result is awaited
            _tell(loop, result.set_exception, error)
        else:
            _tell(loop, result.set_result, value)


def _tell(loop: asyncio.AbstractEventLoop, settle: Callable[[Any], None], value: object) -> None:
    try:
        loop.call_soon_threadsafe(settle, value)
    except RuntimeError:  # the loop has ended; nobody waits any more
        return
