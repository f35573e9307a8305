"""Short ways to feed a decoder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from acp_server.llm.adapter import SseEvent, WireProtocol
from acp_server.messages.blocks import Message
from acp_server.messages.chunks import BlockEnd, FinishChunk, LlmFailure, StreamChunk
from acp_server.messages.request import CallConfig, GenerateOptions


def decode(protocol: WireProtocol, payloads: Sequence[object], messages: tuple[Message, ...] = ()) -> list[StreamChunk]:
    """Return the chunks of a whole stream; text payloads are sent as they are, others as JSON."""
    decoder = protocol.decoder(GenerateOptions(CallConfig("p", "m"), messages))
    chunks: list[StreamChunk] = []
    for payload in payloads:
        data = payload if isinstance(payload, str) else json.dumps(payload)
        chunks += decoder.feed(SseEvent("message", data))
    return [*chunks, *decoder.finish()]


def document(protocol: WireProtocol, body: Any) -> list[StreamChunk]:
    """Return the chunks of a JSON document."""
    return list(protocol.decoder(GenerateOptions(CallConfig("p", "m"), ())).document(body))


def blocks(chunks: Sequence[StreamChunk]) -> list[object]:
    """Return the blocks as they ended, in order of their ends."""
    return [chunk.block for chunk in chunks if isinstance(chunk, BlockEnd)]


def failure(chunks: Sequence[StreamChunk]) -> LlmFailure:
    """Return the failure of the last chunk."""
    finish = chunks[-1]
    assert isinstance(finish, FinishChunk)
    assert finish.failure is not None
    return finish.failure
