"""The decode suite: what one event of a stream costs in each adapter, and what the HTTP driver adds to a bare loop."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

import httpx

from acp_server.base.cancel import CancelToken
from acp_server.llm.adapter import HttpRequest, SseEvent, WireProtocol
from acp_server.llm.adapters.anthropic.protocol import AnthropicProtocol
from acp_server.llm.adapters.chat.dialects import DIALECTS
from acp_server.llm.adapters.chat.protocol import ChatProtocol
from acp_server.llm.adapters.responses.protocol import ResponsesProtocol
from acp_server.llm.http import HttpTransport
from acp_server.llm.sse import SseDecoder
from acp_server.messages.chunks import TextDelta
from acp_server.messages.request import CallConfig, GenerateOptions
from tests.bench.figures import TARGETS, Figure, middle
from tests.bench.setting import Setting, model
from tests.support import llm_wire
from tests.support.llm_script import Protocol

ADAPTERS: Mapping[Protocol, WireProtocol] = {
    "chat": ChatProtocol(DIALECTS["openai"]),
    "responses": ResponsesProtocol(),
    "anthropic": AnthropicProtocol(),
}
OPTIONS = GenerateOptions(CallConfig("p", "m"), ())


def run(setting: Setting) -> list[Figure]:
    """Return the suite's figures: microseconds of processor time an event, and a ratio."""
    found = [_decode(protocol, wire, setting) for protocol, wire in ADAPTERS.items()]
    with model() as env:
        ratios = [_ratio(env["OPENAI_BASE_URL"], setting.deltas) for _ in range(setting.times(5))]
    best = max(ratios)
    return [*found, Figure(TARGETS["driver"], best, 1.0, "the best round")]


def _decode(protocol: Protocol, wire: WireProtocol, setting: Setting) -> Figure:
    """Return the cost of an event; the floor is what the interpreter takes to read its JSON."""
    opening, deltas = _events(protocol, setting.deltas)
    costs = [_decoded(wire, opening, deltas) for _ in range(setting.times(9))]
    floor = [_parsed(deltas) for _ in range(setting.times(9))]
    return middle(TARGETS[f"decode-{protocol}"], costs, floor)


def _events(protocol: Protocol, count: int) -> tuple[Sequence[SseEvent], Sequence[SseEvent]]:
    """Return the events of an answer before its first delta, and so many deltas."""
    words = "".join(f" piece{number:04d}" for number in range(count))
    steps, _ = llm_wire.stream(protocol, llm_wire.Said("", words, count, (), "stop", 1, 1, 0))
    events = SseDecoder().feed(b"".join(steps))
    first = next(place for place, event in enumerate(events) if "piece" in event.data)
    return events[:first], events[first : first + count]


def _decoded(wire: WireProtocol, opening: Sequence[SseEvent], deltas: Sequence[SseEvent]) -> float:
    decoder = wire.decoder(OPTIONS)
    for event in opening:
        decoder.feed(event)
    feed = decoder.feed
    before = time.process_time()
    chunks = [feed(event) for event in deltas]
    cost = time.process_time() - before
    if not all(len(found) == 1 and type(found[0]) is TextDelta for found in chunks):
        raise RuntimeError("an event was no delta")
    return cost / len(deltas) * 1e6


def _parsed(deltas: Sequence[SseEvent]) -> float:
    before = time.process_time()
    for event in deltas:
        json.loads(event.data)
    return (time.process_time() - before) / len(deltas) * 1e6


def _ratio(url: str, deltas: int) -> float:
    """Return how a bare loop's processor time stands to that of the driver with its decoder of events."""
    body = json.dumps({"messages": [{"role": "user", "content": f"bench pace {deltas} 0"}]}).encode()
    return asyncio.run(_bare(f"{url}/chat/completions", body, deltas)) / asyncio.run(
        _driven(f"{url}/chat/completions", body, deltas)
    )


async def _bare(url: str, body: bytes, deltas: int) -> float:
    async with httpx.AsyncClient(timeout=None, trust_env=False) as client:

        async def once() -> int:
            async with client.stream("POST", url, content=body) as response:
                return sum([data.count(b"data: ") async for data in response.aiter_raw()])

        return await _timed(once, deltas)


async def _driven(url: str, body: bytes, deltas: int) -> float:
    transport = HttpTransport()

    async def once() -> int:
        sse, found = SseDecoder(), 0
        answer = await transport.post(HttpRequest(url, {}, body), CancelToken())
        async for data in answer.chunks():
            found += len(sse.feed(data))
        await answer.close(spent=True)
        return found

    try:
        return await _timed(once, deltas)
    finally:
        await transport.close()


async def _timed(once: Callable[[], Awaitable[int]], deltas: int) -> float:
    """Return the processor time of the second time: connections, contexts and code are warm then."""
    await once()
    before = time.process_time()
    found = await once()
    if found < deltas:
        raise RuntimeError(f"{found} of {deltas} deltas came")
    return time.process_time() - before
