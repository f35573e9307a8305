"""Lines out of bytes: one JSON-RPC message a line, split at 0x0A and at nothing else.

U+0085, U+2028, U+2029, vertical tab and form feed are text of a message. Owns the limit of a line's length;
refuses to look inside a line. On the start path: imports nothing.
"""

from __future__ import annotations

MAX_LINE = 32 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


class TooLong:
    """Stands where a line beyond the limit stood; its bytes are gone. `limit` is in bytes."""

    __slots__ = ("limit",)

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TooLong) and other.limit == self.limit

    def __hash__(self) -> int:
        return hash(self.limit)

    def __repr__(self) -> str:
        return f"TooLong({self.limit})"


class LineSplitter:
    """Bytes in, whole lines out; holds at most one unfinished line of at most `limit` bytes.

    A carriage return before the line feed is taken off, blank lines are dropped, one UTF-8 byte order mark at the
    start of the stream is dropped. A line's length counts its carriage return. Time is linear in the bytes fed,
    however they are cut.
    """

    __slots__ = ("_at_start", "_dropping", "_held", "_mark", "_parts", "limit")

    def __init__(self, limit: int = MAX_LINE) -> None:
        self.limit = limit
        self._at_start = True
        self._mark = b""
        self._dropping = False
        self._parts: list[bytes] = []
        self._held = 0

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """Return the lines that `data` completes, and one TooLong as soon as a line goes beyond the limit."""
        if self._at_start:
            data = self._after_mark(data)
        pieces = data.split(b"\n")
        lines: list[bytes | TooLong] = []
        last = pieces.pop()
        for piece in pieces:
            self._hold(piece, lines)
            self._end_line(lines)
        self._hold(last, lines)
        return lines

    def finish(self) -> bytes | None:
        """Return the last line when the stream ended without a line feed, or None."""
        lines: list[bytes | TooLong] = []
        self._hold(self._mark, lines)
        self._mark = b""
        self._end_line(lines)
        return next((line for line in lines if isinstance(line, bytes)), None)

    def _after_mark(self, data: bytes) -> bytes:
        """Keep back what may become a byte order mark; it does not count for a line's length."""
        data = self._mark + data
        if len(data) < len(_BOM) and _BOM.startswith(data):
            self._mark = data
            return b""
        self._at_start = False
        self._mark = b""
        return data.removeprefix(_BOM)

    def _hold(self, piece: bytes, lines: list[bytes | TooLong]) -> None:
        if self._dropping or not piece:
            return
        self._held += len(piece)
        if self._held <= self.limit:
            self._parts.append(piece)
            return
        self._parts, self._held, self._dropping = [], 0, True
        lines.append(TooLong(self.limit))

    def _end_line(self, lines: list[bytes | TooLong]) -> None:
        self._dropping = False
        if not self._parts:
            return
        line = (self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)).removesuffix(b"\r")
        self._parts, self._held = [], 0
        if line and not line.isspace():
            lines.append(line)
