"""What is kept of a command's output: its head, its tail, and how much there was. Pure."""

from __future__ import annotations

from collections import deque

from acp_server.base.values import value
from acp_server.sandbox.readable import ReadableText, readable


@value
class Output:
    """A command's merged stdout and stderr, readable. Between `head` and `tail` `omitted` bytes are missing.

    `total` counts bytes as they came; `spill` names the file that holds them all, up to its limit.
    """

    head: str
    tail: str
    total: int
    omitted: int
    spill: str | None = None

    @property
    def text(self) -> str:
        """Return head and tail with a line that says what is missing between them."""
        if not self.omitted:
            return self.head + self.tail
        where = f"; all of it is in {self.spill}" if self.spill else ""
        return f"{self.head}\n[{self.omitted} bytes of output left out here{where}]\n{self.tail}"


class Captured:
    """Output as it comes, in bounded memory."""

    def __init__(self, head_bytes: int, tail_bytes: int) -> None:
        self._head_most = head_bytes
        self._tail_most = tail_bytes
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take in the next bytes."""
        self.total += len(data)
        room = self._head_most - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail.append(data)
            self._tail_size += len(data)
            while self._tail_size - len(self._tail[0]) >= self._tail_most:
                self._tail_size -= len(self._tail.popleft())

    def kept(self) -> bytes:
        """Return head and tail; they are all of it as long as nothing is omitted."""
        return bytes(self._head) + b"".join(self._tail)

    @property
    def omitted(self) -> int:
        """Return how many bytes are no longer held."""
        return self.total - len(self._head) - self._tail_size

    def since(self, offset: int) -> tuple[bytes, int]:
        """Return the bytes from an offset of the whole output on, and how many of them are omitted before these."""
        head = bytes(self._head[offset:]) if offset < len(self._head) else b""
        tail_start = self.total - self._tail_size
        at = max(offset, len(self._head))
        tail = b"".join(self._tail)
        return head + tail[max(at - tail_start, 0) :], max(tail_start - at, 0)

    def output(self, spill: str | None) -> Output:
        """Return it as readable text; a character that the omission cut shows as escapes."""
        if not self.omitted:
            return Output(readable(self.kept()), "", self.total, 0, spill)
        text = ReadableText()
        tail = [text.feed(part) for part in self._tail]  # piece by piece: a copy of all of it is memory
        return Output(readable(bytes(self._head)), "".join((*tail, text.end())), self.total, self.omitted, spill)
