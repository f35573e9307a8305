"""Content encodings undone as the bytes come (docs/llm.md, clause D-8). Pure."""

from __future__ import annotations

import zlib
from typing import Final

from acp_server.llm.failure import LlmError

MOST_AT_ONCE: Final = 32 * 1024 * 1024
_WITH_HEADER: Final = 32 + zlib.MAX_WBITS
_RAW: Final = -zlib.MAX_WBITS


class Inflater:
    """Undoes gzip, in any number of members, and deflate, with or without its header of two bytes."""

    __slots__ = ("_begun", "_held", "_stream", "_undecided")

    def __init__(self, encoding: str) -> None:
        self._undecided = encoding == "deflate"
        self._held = b""
        self._begun = False
        self._stream = zlib.decompressobj(_WITH_HEADER)

    def feed(self, data: bytes) -> bytes:
        """Return what these bytes unfold to, maybe nothing yet; raise LlmError TRANSPORT when they are damaged."""
        self._begun = self._begun or bool(data)
        if self._undecided:
            self._held += data
            if len(self._held) < 2:
                return b""
            data, self._undecided = self._held, False
            if data[0] & 15 != 8 or int.from_bytes(data[:2]) % 31:
                self._stream = zlib.decompressobj(_RAW)
        parts: list[bytes] = []
        while data:
            if self._stream.eof:
                self._stream = zlib.decompressobj(_WITH_HEADER)
            try:
                parts.append(self._stream.decompress(data, MOST_AT_ONCE))
            except zlib.error as error:
                raise LlmError("TRANSPORT", "The compressed answer is damaged.") from error
            if self._stream.unconsumed_tail:
                raise LlmError("TRANSPORT", "The answer is compressed beyond reason.")
            data = self._stream.unused_data
        return b"".join(parts)

    def finish(self) -> None:
        """Check that the encoding came to its end, if it began; raise LlmError TRANSPORT when it did not."""
        if self._begun and not self._stream.eof:
            raise LlmError("TRANSPORT", "The compressed answer broke off.")


def inflater(encoding: str) -> Inflater | None:
    """Return what undoes a `content-encoding`, or None for none; raise LlmError TRANSPORT for one not asked for."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return None
    if name in ("gzip", "x-gzip", "deflate"):
        return Inflater(name)
    raise LlmError("TRANSPORT", f"The answer has an encoding that was not asked for: {name[:40]!r}.")
