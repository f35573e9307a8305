"""Everything that waits to be written to the client, in order.

Owns the order of frames, the merging of neighbouring text deltas while they wait, and the marks by which producers
slow down. Touches no descriptor: a writer takes bytes out and says when they are written.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable

from acp_server.base.cancel import CancelToken

MARK = 1024 * 1024
LIMIT = 256 * 1024 * 1024
MERGED_CHARACTERS = 64 * 1024
_FRAME_AROUND_TEXT = 256


class _Text:
    """Deltas with one key that wait together; rendered to one frame when they are taken."""

    __slots__ = ("characters", "key", "parts", "render", "size")

    def __init__(self, key: Hashable, text: str, render: Callable[[str], bytes], characters: int, size: int) -> None:
        self.key = key
        self.parts = [text]
        self.render = render
        self.characters = characters
        self.size = size


class Outbox:
    """One ordered queue of frames.

    `mark` is the number of unwritten bytes from which the pipe counts as behind. Beyond `limit` the client is taken
    for dead: the outbox closes and frees what it holds. `tap` sees each frame as it is taken.
    """

    __slots__ = (
        "_closed", "_limit", "_mark", "_put", "_queue", "_queued", "_taken", "_tap", "_under_way", "_waiters", "_wake",
        "_written",
    )  # fmt: skip

    def __init__(self, *, mark: int = MARK, limit: int = LIMIT, tap: Callable[[bytes], None] | None = None) -> None:
        self._mark = mark
        self._limit = limit
        self._tap = tap
        self._queue: deque[bytes | _Text] = deque()
        self._queued = 0
        self._under_way = 0
        self._put = self._taken = self._written = 0
        self._closed = False
        self._wake: Callable[[], None] = _nothing
        self._waiters: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []

    @property
    def size(self) -> int:
        """Return the bytes that are not written yet; waiting text counts by an upper estimate."""
        return self._queued + self._under_way

    @property
    def behind(self) -> bool:
        """Return whether at least `mark` bytes are unwritten."""
        return self._queued + self._under_way >= self._mark

    @property
    def closed(self) -> bool:
        """Return whether nothing will be written any more."""
        return self._closed

    def put(self, frame: bytes) -> None:
        """Queue one frame, which ends with a line feed. After `close` it is dropped."""
        if not self._closed:
            self._append(frame, len(frame))

    def put_mergeable(self, key: Hashable, text: str, render: Callable[[str], bytes]) -> None:
        """Queue a text delta; `render` turns text into a frame.

        When the last thing in the queue is text of the same key, the delta joins it. One frame holds at most
        MERGED_CHARACTERS characters, so at most 256 KiB of UTF-8; a longer delta becomes several frames, and an empty
        one none.
        """
        characters = len(text)
        if characters > MERGED_CHARACTERS:
            for start in range(0, characters, MERGED_CHARACTERS):
                self.put_mergeable(key, text[start : start + MERGED_CHARACTERS], render)
            return
        if self._closed or not characters:
            return
        size = characters if text.isascii() else 3 * characters
        last = self._queue[-1] if self._queue else None
        if isinstance(last, _Text) and last.key == key and last.characters + characters <= MERGED_CHARACTERS:
            last.parts.append(text)
            last.characters += characters
            last.size += size
            self._queued += size
        else:
            size += _FRAME_AROUND_TEXT
            self._append(_Text(key, text, render, characters, size), size)

    def take(self, most: int = 64 * 1024) -> bytes:
        """Return whole frames of together at most `most` bytes, or one larger frame, or nothing."""
        queue, total = self._queue, 0
        frames: list[bytes] = []
        while queue:
            entry = queue.popleft()
            if isinstance(entry, bytes):
                frame = entry
                self._queued -= len(frame)
            else:
                parts = entry.parts
                frame = entry.render(parts[0] if len(parts) == 1 else "".join(parts))
                self._queued -= entry.size
            if frames and total + len(frame) > most:
                queue.appendleft(frame)
                self._queued += len(frame)
                break
            frames.append(frame)
            total += len(frame)
        self._taken += len(frames)
        self._under_way += total
        if self._tap is not None:
            for frame in frames:
                self._tap(frame)
        return frames[0] if len(frames) == 1 else b"".join(frames)

    def wrote(self) -> None:
        """Say that everything that was taken is written."""
        self._under_way = 0
        self._written = self._taken
        if self._waiters:
            self._settle()

    def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake` whenever the queue stops being empty; at once when something waits. One listener."""
        self._wake = wake
        if self._queue:
            wake()

    async def room(self, cancel: CancelToken | None = None) -> bool:
        """Return when the pipe is not behind, or when `cancel` is cancelled; False when the outbox is closed.

        Producers await it before they make more.
        """
        if self._queued + self._under_way < self._mark:
            return not self._closed
        return await self._until(lambda: self.size < self._mark, cancel)

    async def drained(self, most: int = 0) -> bool:
        """Return when at most `most` bytes are unwritten; False when the outbox closed before."""
        return await self._until(lambda: self.size <= most)

    async def flushed(self) -> bool:
        """Return when everything put so far is written; False when the outbox closed before."""
        goal = self._put
        return await self._until(lambda: self._written >= goal)

    def close(self) -> None:
        """Drop what waits and let everybody go who waits."""
        self._closed = True
        self._queue.clear()
        self._queued = self._under_way = 0
        self._settle()

    def _append(self, entry: bytes | _Text, size: int) -> None:
        self._queue.append(entry)
        self._queued += size
        self._put += 1
        if self._queued > self._limit:
            self.close()
            self._wake()
        elif len(self._queue) == 1:
            self._wake()

    async def _until(self, ready: Callable[[], bool], cancel: CancelToken | None = None) -> bool:
        if self._closed or ready():
            return not self._closed
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = (ready, future)
        self._waiters.append(waiter)
        forget = _nothing if cancel is None else cancel.subscribe(lambda: _release(future))
        try:
            await future
        finally:
            forget()
            if waiter in self._waiters:
                self._waiters.remove(waiter)
        return not self._closed

    def _settle(self) -> None:
        waiting, self._waiters = self._waiters, []
        for waiter in waiting:
            ready, future = waiter
            if self._closed or ready():
                _release(future)
            else:
                self._waiters.append(waiter)


def _release(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _nothing() -> None:
    return None
