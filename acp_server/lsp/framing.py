"""Messages between headers, as language servers write them. Pure.

Owns finding their borders in what comes from a pipe, and refuses what is too long or no header at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from acp_server.base.errors import ServerError

MOST_BYTES: Final = 8 * 1024 * 1024
_HEADER_BYTES: Final = 4096
_LENGTH: Final = re.compile(rb"(?:^|\r\n)content-length:[ \t]*([0-9]{1,12})[ \t]*(?:\r\n|$)", re.IGNORECASE)


def framed(body: bytes) -> bytes:
    """Return a message with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class BodySplitter:
    """Gives the bodies of messages as soon as they are whole."""

    __slots__ = ("_buffer", "_wanted")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._wanted: int | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the bodies that are whole now.

        Raises:
            ServerError: LSP_GARBAGE, what came is no header or announces more than 8 MiB.
        """
        self._buffer += data
        while True:
            if self._wanted is None and not self._header():
                return
            wanted = self._wanted or 0
            if len(self._buffer) < wanted:
                return
            body = bytes(self._buffer[:wanted])
            del self._buffer[:wanted]
            self._wanted = None
            yield body

    def _header(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n", 0, _HEADER_BYTES)
        if end < 0:
            if len(self._buffer) >= _HEADER_BYTES:
                raise ServerError("LSP_GARBAGE", "it writes what is no message")
            return False
        found = _LENGTH.search(self._buffer[:end])
        if found is None:
            raise ServerError("LSP_GARBAGE", "it writes what is no message")
        self._wanted = int(found[1])
        if self._wanted > MOST_BYTES:
            raise ServerError("LSP_GARBAGE", f"it sent a message of {self._wanted:,} bytes")
        del self._buffer[: end + 4]
        return True
