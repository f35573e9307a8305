"""Server-sent events out of bytes that arrive in any pieces (docs/llm.md, clauses S-1 to S-6). Pure.

Owns framing, line ends and text decoding. Knows neither what the events mean nor how long to wait for them.
"""

from __future__ import annotations

from typing import Final

from acp_server.llm.adapter import SseEvent
from acp_server.llm.failure import LlmError

MAX_EVENT_BYTES: Final = 32 * 1024 * 1024
BOM: Final = b"\xef\xbb\xbf"
CR: Final = 13
LF: Final = 10


class SseDecoder:
    """One stream's decoder.

    Works on whole events: with line ends made LF, events are what lies between blank lines. Bytes that are one event
    of one plain `data: ` line, as most servers write it, take the short way; so does each such event among several.
    """

    __slots__ = ("_after_cr", "_at_start", "_between", "_limit", "_rest")

    def __init__(self, limit: int = MAX_EVENT_BYTES) -> None:
        self._rest = bytearray()
        self._limit = limit
        self._after_cr = False
        self._at_start = True
        self._between = False  # nothing is kept from the bytes before

    def feed(self, data: bytes) -> list[SseEvent]:
        """Return the events that these bytes complete.

        Raises:
            LlmError: MALFORMED_RESPONSE, an event is longer than the limit.
        """
        if self._between and data[-2:] == b"\n\n" and data[:6] == b"data: " and CR not in data:
            if data.find(LF) == len(data) - 2:
                return [SseEvent("message", data[6:-2].decode("utf-8", "replace"))]
        elif self._after_cr or CR in data:
            data = self._unify(data)
        rest = self._rest
        if rest:
            scanned = max(len(rest) - 1, 0)
            rest += data
            if rest.find(b"\n\n", scanned) < 0:
                self._check(len(rest))
                return []
            data = bytes(rest)
        blocks = data.split(b"\n\n")
        tail = blocks.pop()
        if tail or rest:
            self._check(len(tail))
            self._rest = bytearray(tail)
        events = self._events(blocks) if blocks else []
        self._between = not (tail or self._after_cr or self._at_start)
        return events

    def finish(self) -> list[SseEvent]:
        """Return the last event when its final blank line is missing; the stream has ended."""
        tail = bytes(self._rest)
        self._rest = bytearray()
        return self._events([tail])

    def _unify(self, data: bytes) -> bytes:
        """Return the bytes with LF for CR LF and CR; a CR at the end has ended its line, a LF after it is no line."""
        if self._after_cr and data:
            data = data.removeprefix(b"\n")
            self._after_cr = False
        if data.endswith(b"\r"):
            self._after_cr = True
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise LlmError("MALFORMED_RESPONSE", f"One event of the stream is longer than {self._limit} bytes.")

    def _events(self, blocks: list[bytes]) -> list[SseEvent]:
        if self._at_start:
            self._at_start = False
            blocks[0] = blocks[0].removeprefix(BOM)
        events: list[SseEvent] = []
        for block in blocks:
            if block[:6] == b"data: " and LF not in block:
                events.append(SseEvent("message", block[6:].decode("utf-8", "replace")))
            elif (event := _read(block)) is not None:
                events.append(event)
        return events


def _read(block: bytes) -> SseEvent | None:
    """Return the event of the lines of one block, or None when none of them is data."""
    name = b""
    lines: list[bytes] = []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            lines.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ")
    if not lines:
        return None
    return SseEvent(_text(name) or "message", _text(b"\n".join(lines)))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
