"""Events on their way to the disk, behind the back of whoever appends them (docs/log-format.md, clauses W-9 to W-14).

Owns when a batch is written, the order after a failure, and the limit beyond which producers wait. One queue a
session; its writes run one at a time in a worker thread. Refuses to know how a batch becomes durable.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Literal

from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.values import value
from acp_server.persistence.disk_errors import may_pass
from acp_server.persistence.port import HealthListener, PersistenceError, StorageHealth
from acp_server.persistence.rows import Item, RunPacker
from acp_server.persistence.weight import ENVELOPE, weight
from acp_server.persistence.workers import Workers
from acp_server.session.events import SessionEvent


@value
class QueueLimits:
    """Bounds of one queue: seconds of the window, events and bytes beyond which producers wait, bytes of a batch."""

    window: float = 0.2
    events: int = 5_000
    size: int = 16 * 1024 * 1024
    batch: int = 8 * 1024 * 1024
    first_retry: float = 0.5
    last_retry: float = 2.0


class _Batch:
    """Events from `first_seq` to `next_seq`, sorted into runs; about `size` bytes."""

    __slots__ = ("first_seq", "next_seq", "packer", "size")

    def __init__(self, first_seq: int, next_seq: int) -> None:
        self.first_seq = first_seq
        self.next_seq = next_seq
        self.size = 0
        self.packer = RunPacker()


class WriteQueue:
    """The write-behind of one session, used from one event loop.

    `commit` blocks, and makes a batch durable that is given as items of a `RunPacker`, first seq and next seq.
    The queue satisfies `acp_server.base.ports.Journal`.
    """

    def __init__(
        self,
        session_id: SessionId,
        commit: Callable[[list[Item], int, int], None],
        workers: Workers,
        *,
        limits: QueueLimits,
        on_health: HealthListener | None = None,
    ) -> None:
        self._id = session_id
        self._commit = commit
        self._workers = workers
        self._limits = limits
        self._on_health = on_health
        self._loop = asyncio.get_running_loop()
        self._batches: deque[_Batch] = deque()
        self._writing: _Batch | None = None
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._due = False
        self._admitted = self._stored = self._writes = 0
        self._failure: PersistenceError | None = None
        self._retry = limits.first_retry
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def behind(self) -> bool:
        """Return whether producers should await `room`."""
        return self.unwritten >= self._limits.events or self._size >= self._limits.size

    @property
    def unwritten(self) -> int:
        """Return how many events are not durable yet."""
        return self._admitted - self._stored

    def put(self, event: SessionEvent) -> None:
        """Take an event. Its window opens now when the queue was empty, and later events do not move it."""
        if not self._batches or self._batches[-1].size >= self._limits.batch:
            self._batches.append(_Batch(event.seq, event.seq))
        batch = self._batches[-1]
        length = batch.packer.add(event)
        size = length + ENVELOPE if length >= 0 else weight(event)
        batch.next_seq = event.seq + 1
        batch.size += size
        self._size += size
        self._admitted += 1
        if self._timer is None and not self._due and self._failure is None:
            self._timer = self._loop.call_later(self._limits.window, self._window_over)

    async def flush(self) -> None:
        """Return once every event put before this call is durable. Calls at the same time share one write.

        Raises:
            PersistenceError: as `SessionPersistence.flush`; the events are kept in order.
        """
        target, seen = self._admitted, self._writes
        while self._stored < target:
            if self._writing is None:
                self._raise_if_final()
                self._start()
            number = self._writes
            await self._next_end()
            if self._failure is not None and number > seen and self._writing is None:
                raise self._failure

    async def barrier(self) -> None:
        """Return once every event put before this call is durable. What the disk refuses is tried until it takes it.

        Raises:
            PersistenceError: the code after which it never will.
        """
        target, asked = self._admitted, False
        while self._stored < target:
            self._raise_if_final()
            if self._writing is None and (self._failure is None or not asked):
                self._start()
            asked = True
            await self._next_end()

    async def room(self) -> None:
        """Return once the queue is below its limits.

        Raises:
            PersistenceError: the code after which it will never be.
        """
        while self.behind:
            self._raise_if_final()
            if self._writing is None and self._timer is None:
                self._start()
            await self._next_end()

    async def close(self) -> PersistenceError | None:
        """Write what can be written and stop; return why something could not be, if so."""
        failure: PersistenceError | None = None
        try:
            await self.flush()
        except PersistenceError as error:
            failure = error
        self._cancel_timer()
        return failure

    def _raise_if_final(self) -> None:
        if self._failure is not None and not may_pass(self._failure):
            raise self._failure

    def _next_end(self) -> asyncio.Future[None]:
        """Return what is done when the next write has ended, well or not."""
        waiter = self._loop.create_future()
        self._waiting.append(waiter)
        return waiter

    def _window_over(self) -> None:
        self._timer = None
        if self._writing is not None:
            self._due = True
        elif self._batches:
            self._start()

    def _start(self) -> None:
        self._cancel_timer()
        self._due = False
        self._writes += 1
        batch = self._writing = self._batches.popleft()
        self._workers.hand(partial(self._commit, batch.packer.items, batch.first_seq, batch.next_seq), self._done)

    def _done(self, _: None, error: BaseException | None) -> None:
        batch, self._writing = self._writing, None
        if batch is None:
            return
        if error is not None:
            self._batches.appendleft(batch)
            self._failed(_as_persistence_error(error))
        else:
            self._stored += batch.next_seq - batch.first_seq
            self._size -= batch.size
            self._succeeded()
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _succeeded(self) -> None:
        self._retry = self._limits.first_retry
        if self._failure is not None:
            self._failure = None
            self._tell("ok", None)
        if not self._batches:
            self._due = False
        elif self._due or len(self._batches) > 1:
            self._start()
        elif self._timer is None:
            self._timer = self._loop.call_later(self._limits.window, self._window_over)

    def _failed(self, error: PersistenceError) -> None:
        """Keep everything in order, and try again after a while unless that is of no use."""
        before, self._failure = self._failure, error
        self._cancel_timer()
        self._due = False
        if not may_pass(error):
            self._tell("poisoned", error.message)
            return
        self._timer = self._loop.call_later(self._retry, self._window_over)
        self._retry = min(self._retry * 2, self._limits.last_retry)
        if before is None or before.message != error.message:
            self._tell("failing", error.message)

    def _tell(self, state: Literal["ok", "failing", "poisoned"], reason: str | None) -> None:
        if self._on_health is not None:
            self._loop.call_soon(self._on_health, StorageHealth(self._id, state, reason, self.unwritten))

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _as_persistence_error(error: BaseException) -> PersistenceError:
    if isinstance(error, PersistenceError):
        return error
    if isinstance(error, ServerError):
        return PersistenceError(error.code, error.message)
    message = f"The session could not be written because of an inner failure ({type(error).__name__})."
    return PersistenceError("DISK_POISONED", message)
