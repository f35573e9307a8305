"""What the runtime asks of a provider: facts about a model, and a stream for a request (docs/llm.md).

Owns the ports Adapter, WireProtocol, Decoder and Transport. An adapter over HTTP is two pure halves, a body encoder
and a Decoder, which WireProtocol bundles; `http_adapter` joins them with the one Transport.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from acp_server.base.cancel import CancelToken
from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.base.values import value
from acp_server.messages.chunks import LlmFailure, StreamChunk
from acp_server.messages.prices import Prices
from acp_server.messages.request import GenerateOptions


@value
class ModelInfo:
    """What is known about a model; None means unknown. Sizes are in tokens, prices in dollars for a million of them."""

    provider: str
    id: str
    name: str
    context_window: int | None = None
    max_output_tokens: int | None = None
    input_modalities: frozenset[str] | None = None
    efforts: tuple[str, ...] = ()
    default_effort: str | None = None
    prices: Prices | None = None

    @property
    def reads_images(self) -> bool:
        """Return whether images can be sent to it; of a model that nobody knows that is assumed."""
        return self.input_modalities is None or "image" in self.input_modalities


class Adapter(Protocol):
    """A provider, or a family of them."""

    def model(self, provider: str, model: str) -> ModelInfo:
        """Return what is known about the model, without any I/O; raise LlmError UNKNOWN_MODEL."""
        ...

    def stream(self, options: GenerateOptions, cancel: CancelToken) -> AsyncIterator[StreamChunk]:
        """Return the answer as it comes. It may raise: the runtime turns every failure into a finish."""
        ...


@value
class SseEvent:
    """One server-sent event: its name ("message" when unnamed) and its data lines joined by LF."""

    event: str
    data: str


class Decoder(Protocol):
    """The reading half of a wire protocol: one answer's events in, neutral chunks out. Pure; used for one answer.

    After the first FinishChunk it gives nothing more. Block indexes count from 0 in order of appearance.
    """

    @property
    def ended(self) -> bool:
        """Return whether the answer has said why it ends, though more may come."""
        ...

    def feed(self, event: SseEvent) -> Sequence[StreamChunk]:
        """Return the chunks of one event."""
        ...

    def document(self, body: JsonValue) -> Sequence[StreamChunk]:
        """Return the chunks of a JSON document that came where a stream was promised."""
        ...

    def finish(self) -> Sequence[StreamChunk]:
        """Return what is left when the body has ended; the last chunk is the finish, unless it was given before."""
        ...


class WireProtocol(Protocol):
    """One HTTP protocol of model servers: Chat Completions, Responses, Messages."""

    @property
    def path(self) -> str:
        """Return what is joined to the base URL."""
        ...

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the headers that carry the key and the protocol's version."""
        ...

    def encode(self, options: GenerateOptions) -> JsonObject:
        """Return the body; raise LlmError UNSUPPORTED_CONTENT or UNSUPPORTED_OPTION for what it cannot say."""
        ...

    def decoder(self, options: GenerateOptions) -> Decoder:
        """Return a fresh decoder for the answer to that request."""
        ...

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> LlmFailure:
        """Return what an answer with an error status says; header names are lower case."""
        ...


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request, a POST of a JSON body unless it says otherwise. Header values may hold a key and are never logged."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    method: str = "POST"


class HttpAnswer(Protocol):
    """An answer whose head has come and whose body is still coming."""

    @property
    def status(self) -> int:
        """Return the HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers, their names in lower case."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Iterate over the body, content encoding undone; raise LlmError TRANSPORT or TIMEOUT."""
        ...

    def hurry(self) -> None:
        """Let a short silence count as TIMEOUT from here on (HttpLimits.ending); not while a chunk is waited for."""
        ...

    async def close(self, *, spent: bool = False) -> None:
        """Hang up; harmless when done. `spent`: all that matters was read, so the connection may be used again."""
        ...


class Transport(Protocol):
    """The one HTTP driver as adapters see it."""

    async def post(self, request: HttpRequest, cancel: CancelToken) -> HttpAnswer:
        """Send the request and return once the head has come.

        Raises:
            LlmError: TRANSPORT or TIMEOUT.
            Cancelled: the token was cancelled first; the connection is closed.
        """
        ...
