"""A range of lines out of a stream of bytes, without holding more than the range. Pure.

Owns the counting of lines and the limits of what is kept of each. Lines end with LF, or with CR where a file has no LF.
"""

from __future__ import annotations

from typing import Final

from acp_server.tools.bounds import MOST_BYTES, MOST_OF_A_LINE

_KEPT_OF_A_LINE: Final = MOST_OF_A_LINE * 4
"""Bytes of a line that are enough for the characters that are shown of it."""


class LineWindow:
    """Fed with the bytes of a file in order; keeps the lines from `first` on, up to the limits.

    `lines` are the kept lines without their ends, `cut` how many bytes of each are not kept. `full` says that no
    further bytes change what is kept; `count` is how many lines have begun so far.
    """

    def __init__(self, first: int, most_lines: int, most_bytes: int = MOST_BYTES, end: bytes = b"\n") -> None:
        self.lines: list[bytes] = []
        self.cut: list[int] = []
        self.count = 0
        self.full = False
        self._first = first
        self._most_lines = most_lines
        self._room = most_bytes
        self._end = end
        self._open = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        at = 0
        if self.count + data.count(self._end) < self._first - 1:
            self._skip(data)
            return
        while at < len(data) and not self.full:
            end = data.find(self._end, at)
            stop = len(data) if end < 0 else end
            self._take(data[at:stop])
            self._open = end < 0
            at = stop + 1

    def _skip(self, data: bytes) -> None:
        """Count lines that lie before the window as a whole."""
        self.count += data.count(self._end) + (not self._open) - data.endswith(self._end)
        self._open = not data.endswith(self._end)

    def _take(self, piece: bytes) -> None:
        if not self._open:
            if self.count >= self._first - 1 and (len(self.lines) == self._most_lines or self._room <= 0):
                self.full = True
                return
            self.count += 1
            if self.count >= self._first:
                self.lines.append(b"")
                self.cut.append(0)
        if self.count >= self._first:
            kept = piece[: max(0, _KEPT_OF_A_LINE - len(self.lines[-1]))]
            self.lines[-1] += kept
            self.cut[-1] += len(piece) - len(kept)
            self._room -= min(len(kept), MOST_OF_A_LINE) + (not self._open)
