"""The body of an HTTP answer as neutral chunks: a stream of events, one document, or a refusal. Pure.

Owns which of the three a body is and what its end means (docs/llm.md, clauses H-4 to H-7). Each reader is fed the
bytes as they come, then told how they ended; a FinishChunk is the last thing it gives.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from acp_server.llm.adapter import Decoder, WireProtocol
from acp_server.llm.failure import LlmError, mask_secrets
from acp_server.llm.limits import HttpLimits
from acp_server.llm.sse import BOM, SseDecoder
from acp_server.messages.chunks import FinishChunk, LlmFailure, StreamChunk
from acp_server.messages.request import GenerateOptions

EMPTY: Final = FinishChunk("error", LlmFailure("EMPTY_RESPONSE", "The model server sent an empty answer."))

PAGE: Final = "A web page came in place of an answer; check the provider's base URL."
FIELDS: Final = frozenset((b":", b"d", b"e", b"i", b"r"))
"""What a line of a stream of events begins with: a comment's colon, `data`, `event`, `id`, `retry`."""


class Body(Protocol):
    """One answer's body being read."""

    @property
    def ended(self) -> bool:
        """Return whether the answer has said why it ends, though more may come."""
        ...

    def feed(self, data: bytes) -> Sequence[StreamChunk]:
        """Return the chunks that these bytes complete; raise LlmError MALFORMED_RESPONSE or TIMEOUT."""
        ...

    def end(self) -> Sequence[StreamChunk]:
        """Return what is left after the last byte; raise LlmError MALFORMED_RESPONSE."""
        ...

    def broken(self, error: LlmError) -> Sequence[StreamChunk]:
        """Return the chunks of an answer that was whole before the connection broke, else raise the error."""
        ...


def body_of(
    status: int, headers: Mapping[str, str], wire: WireProtocol, options: GenerateOptions, limits: HttpLimits
) -> Body:
    """Return the reader for an answer with this head; raise LlmError INVALID_RESPONSE for a web page.

    The type that the head names is only a hint: servers and proxies call a stream a document and the other way round.
    """
    if not 200 <= status <= 299:
        return RefusalBody(lambda data: wire.failure(status, headers, data), limits.error_bytes)
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/html":
        raise LlmError("INVALID_RESPONSE", PAGE)
    named = kind == "application/json" or kind.endswith("+json")
    return UnreadBody(wire.decoder(options), limits.document_bytes, document=named)


class UnreadBody:
    """A body of which nothing has come but blanks; its first character says what it is."""

    __slots__ = ("_body", "_decoder", "_document", "_held", "_limit")

    def __init__(self, decoder: Decoder, limit: int, *, document: bool) -> None:
        self._decoder = decoder
        self._limit = limit
        self._document = document
        self._held = b""
        self._body: Body | None = None

    @property
    def ended(self) -> bool:
        """See Body."""
        return self._body is not None and self._body.ended

    def feed(self, data: bytes) -> Sequence[StreamChunk]:
        """See Body; raise LlmError INVALID_RESPONSE for a web page."""
        if self._body is not None:
            return self._body.feed(data)
        self._held += data
        begun = self._held.removeprefix(BOM).lstrip()
        if not begun or BOM.startswith(self._held):
            return ()
        if begun[:1] == b"<":
            raise LlmError("INVALID_RESPONSE", PAGE)
        streams = begun[:1] in FIELDS if self._document else begun[:1] not in (b"{", b"[")
        self._body = EventBody(self._decoder) if streams else DocumentBody(self._decoder, self._limit)
        held, self._held = self._held, b""
        return self._body.feed(held)

    def end(self) -> Sequence[StreamChunk]:
        """See Body."""
        return (EMPTY,) if self._body is None else self._body.end()

    def broken(self, error: LlmError) -> Sequence[StreamChunk]:
        """See Body."""
        if self._body is None:
            raise error
        return self._body.broken(error)


class EventBody:
    """A stream of server-sent events."""

    __slots__ = ("_decoder", "_feed", "_silent", "_sse")

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._feed = decoder.feed
        self._sse = SseDecoder()
        self._silent = True

    @property
    def ended(self) -> bool:
        """See Body."""
        return self._decoder.ended

    def feed(self, data: bytes) -> Sequence[StreamChunk]:
        """See Body."""
        if data:
            self._silent = False
        events = self._sse.feed(data)
        if len(events) == 1:
            return self._feed(events[0])
        return [chunk for event in events for chunk in self._feed(event)]

    def end(self) -> Sequence[StreamChunk]:
        """See Body."""
        if self._silent:
            return (EMPTY,)
        last = [chunk for event in self._sse.finish() for chunk in self._feed(event)]
        return [*last, *self._decoder.finish()]

    def broken(self, error: LlmError) -> Sequence[StreamChunk]:
        """See Body."""
        rest = self._decoder.finish() if error.code in ("TRANSPORT", "TIMEOUT") else ()
        if rest and isinstance(rest[-1], FinishChunk) and rest[-1].failure is None:
            return rest
        raise error


class DocumentBody:
    """One JSON document where a stream was promised."""

    __slots__ = ("_decoder", "_limit", "_parts", "_size")
    ended = False

    def __init__(self, decoder: Decoder, limit: int) -> None:
        self._decoder = decoder
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Sequence[StreamChunk]:
        """See Body."""
        self._parts.append(data)
        self._size += len(data)
        if self._size > self._limit:
            raise LlmError("MALFORMED_RESPONSE", f"The answer is longer than {self._limit} bytes.")
        return ()

    def end(self) -> Sequence[StreamChunk]:
        """See Body."""
        data = b"".join(self._parts)
        if not data.strip():
            return (EMPTY,)
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            start = mask_secrets(data[:120].decode("utf-8", "replace"))
            raise LlmError("MALFORMED_RESPONSE", f"The answer is no JSON: {start}") from None
        return [*self._decoder.document(document), *self._decoder.finish()]

    def broken(self, error: LlmError) -> Sequence[StreamChunk]:
        """See Body."""
        raise error


class RefusalBody:
    """What an answer with an error status says; a body that is too long or breaks off is told as far as it came."""

    __slots__ = ("_data", "_limit", "_read")
    ended = False

    def __init__(self, read: Callable[[bytes], LlmFailure], limit: int) -> None:
        self._read = read
        self._limit = limit
        self._data = bytearray()

    def feed(self, data: bytes) -> Sequence[StreamChunk]:
        """See Body."""
        self._data += data
        return self.end() if len(self._data) >= self._limit else ()

    def end(self) -> Sequence[StreamChunk]:
        """See Body."""
        return (FinishChunk("error", self._read(bytes(self._data[: self._limit]))),)

    def broken(self, error: LlmError) -> Sequence[StreamChunk]:
        """See Body."""
        return self.end() if error.code in ("TRANSPORT", "TIMEOUT") else ()
