"""Every adapter over the real HTTP driver, pointed at a mock model server, as the server itself would compose it."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Final

from acp_server.base.cancel import BY_USER, CancelToken
from acp_server.llm.adapter import WireProtocol
from acp_server.llm.adapters.anthropic.protocol import AnthropicProtocol
from acp_server.llm.adapters.chat.dialects import DIALECTS
from acp_server.llm.adapters.chat.protocol import ChatProtocol
from acp_server.llm.adapters.images import ImageLoader, no_images
from acp_server.llm.adapters.responses.protocol import ResponsesProtocol
from acp_server.llm.http import HttpTransport
from acp_server.llm.http_adapter import Endpoint, HttpAdapter
from acp_server.llm.limits import HttpLimits
from acp_server.llm.runtime import LlmRuntime
from acp_server.messages.assembler import BlockAssembler
from acp_server.messages.blocks import Block, Message, ModelSource, ReasoningBlock, TextBlock
from acp_server.messages.chunks import FinishChunk, StreamChunk
from acp_server.messages.request import CallConfig, GenerateOptions
from tests.support import llm_wire
from tests.support.llm_script import Playback, Protocol
from tests.support.mock_llm import KEY, MockLlm

WIRES: Final[dict[str, Callable[[ImageLoader], WireProtocol]]] = {
    "openai": lambda images: ChatProtocol(DIALECTS["openai"], images),
    "deepseek": lambda images: ChatProtocol(DIALECTS["deepseek"], images),
    "responses": ResponsesProtocol,
    "anthropic": AnthropicProtocol,
}
"""By provider."""

PROTOCOLS: Final[dict[str, Protocol]] = {
    "openai": "chat",
    "deepseek": "chat",
    "responses": "responses",
    "anthropic": "anthropic",
}
QUICK: Final = HttpLimits(connect=5, first_byte=5, silence=0.15, progress=5)
"""A silence that a test can wait for."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One answer: its chunks, and what they make."""

    chunks: Sequence[StreamChunk]

    @property
    def finish(self) -> FinishChunk:
        last = self.chunks[-1]
        assert isinstance(last, FinishChunk)
        return last

    @property
    def failure(self) -> str | None:
        return None if self.finish.failure is None else self.finish.failure.code

    @property
    def assembler(self) -> BlockAssembler:
        made = BlockAssembler("made")
        for chunk in self.chunks:
            made.push(chunk)
        return made

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.assembler.blocks()

    @property
    def shown(self) -> tuple[TextBlock | ReasoningBlock, ...]:
        return self.assembler.interrupted_blocks()

    @property
    def words(self) -> str:
        return "".join(block.text for block in self.shown)

    def message(self, ident: str, provider: str) -> Message:
        return Message(ident, "assistant", self.blocks, ModelSource(provider, "mock", self.finish.replay_state))


class Adapters:
    """A runtime with every provider of WIRES, all of them answered by one mock."""

    def __init__(self, mock: MockLlm, runtime: LlmRuntime) -> None:
        self.mock, self.runtime = mock, runtime

    async def ask(self, options: GenerateOptions, cancel: CancelToken | None = None, *, after: int = -1) -> Heard:
        """Return the answer to the request; cancel it when so many chunks have come."""
        token, chunks = cancel or CancelToken(), list[StreamChunk]()
        call = self.runtime.prepare(options.config)
        async for chunk in call.stream(options, token):
            chunks.append(chunk)
            if len(chunks) == after:
                token.cancel(BY_USER)
        return Heard(chunks)


@cache
def _tls() -> ssl.SSLContext | None:
    """Return one context for all tests: nothing here speaks TLS, and each takes 50 ms to make."""
    transport = HttpTransport()
    transport.warm()
    return transport._tls


@asynccontextmanager
async def adapters(
    mock: MockLlm, *, images: ImageLoader = no_images, limits: HttpLimits | None = None
) -> AsyncIterator[Adapters]:
    """Give the adapters, and hang up afterwards."""
    transport = HttpTransport(limits)
    transport._tls = _tls()
    runtime = LlmRuntime()
    for name, wire in WIRES.items():
        base = mock.root if name == "anthropic" else mock.url
        endpoint = Endpoint(name, base, lambda: KEY, "MOCK_KEY")
        runtime.register([name], HttpAdapter(endpoint, wire(images), transport, limits=limits))
    try:
        yield Adapters(mock, runtime)
    finally:
        await transport.close()


def request(provider: str, *messages: Message, system: str | None = None) -> GenerateOptions:
    """Return a request to the mock's model at that provider."""
    return GenerateOptions(CallConfig(provider, "mock"), messages, system)


def stream_of(
    provider: str, text: str, chunks: int = 1, calls: Sequence[llm_wire.Call] = ()
) -> tuple[list[bytes], int]:
    """Return the events of an answer by that provider, and how many of them come before its end."""
    finish = "tool_calls" if calls else "stop"
    said = llm_wire.Said("", text, chunks, calls, finish, input=7, output=3, cached=2)
    steps, end = llm_wire.stream(PROTOCOLS[provider], said)
    return [*steps, *end], len(steps)


def broken_by_error(provider: str, events: Sequence[bytes]) -> Playback:
    """Return an answer of these events that ends in the provider's own way to say that it failed."""
    error: dict[str, object] = {"type": "server_error", "message": "out of order"}
    match PROTOCOLS[provider]:
        case "chat":
            last = b"data: " + json.dumps({"error": error}).encode() + b"\n\n"
        case "responses":
            last = llm_wire.named({"type": "response.failed", "response": {"status": "failed", "error": error}})
        case "anthropic":
            last = llm_wire.named({"type": "error", "error": {**error, "type": "api_error"}})
    return Playback([*events, last])
