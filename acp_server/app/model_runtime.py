"""The model runtime of a process: every registered provider, over the one HTTP driver where it is needed.

Imported by the warm-up thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from acp_server.app.keys import KeySource
from acp_server.app.late_wire import LateWire
from acp_server.app.later_transport import LaterTransport
from acp_server.app.model_facts import ModelFacts
from acp_server.app.model_listing import known_of, listed
from acp_server.app.pictures import Pictures
from acp_server.app.providers import ModelKit, ModelOffer
from acp_server.base.cancel import CancelToken
from acp_server.llm.adapter import Adapter, ModelInfo, WireProtocol
from acp_server.llm.adapters.images import ImageLoader
from acp_server.llm.http_adapter import Endpoint, Facts, HttpAdapter, no_key
from acp_server.llm.registration import Listing, Registration
from acp_server.llm.runtime import LlmRuntime
from acp_server.messages.chunks import StreamChunk
from acp_server.messages.request import GenerateOptions


class ModelRuntime:
    """The runtime with its adapters; `close` hangs every connection up."""

    def __init__(self, offer: ModelOffer, pictures: Pictures) -> None:
        self.runtime = LlmRuntime()
        self._pictures = pictures
        self._offer = offer
        self._transport = LaterTransport(offer.http)
        self._replaced: list[LaterTransport] = []
        self._registrations: list[Registration] = []
        self._wires: dict[str, LateWire] = {}
        self._register()

    def load_http(self, provider: str) -> None:
        """Begin to load the HTTP driver and that provider's protocol, for a session that asks its model."""
        self._transport.load()
        if provider in self._wires:
            _ = self._wires[provider].wire

    def apply(self, offer: ModelOffer) -> None:
        """Serve what is offered; requests that run go on with the adapter that they began with."""
        if offer == self._offer:
            return
        if offer.http != self._offer.http:
            self._replaced.append(self._transport)
            self._transport = LaterTransport(offer.http)
        self._offer = offer
        for registration in self._registrations:
            registration.dispose()
        self._register()

    async def close(self) -> None:
        """Hang up."""
        for transport in (*self._replaced, self._transport):
            await transport.close()

    def _register(self) -> None:
        offer, pictures = self._offer, self._pictures
        kit = ModelKit(self._transport, offer.http, offer.facts, self._wires, pictures.of, pictures.ready)
        self._registrations = []
        for entry in self._offer.entries:
            adapter = entry.make(kit)
            names = self._offer.facts.names(entry.name)
            if names and not isinstance(adapter, HttpAdapter | FreshKey):
                adapter = Stated(adapter, self._offer.facts)
            self._registrations.append(self.runtime.register([entry.name], adapter, self._offer.retry))


def http_adapter(config: Mapping[str, Any], url: str, key: KeySource | None, kit: ModelKit) -> Adapter:
    """Return the adapter of a provider over HTTP, as its row's config says."""
    name = config["name"]
    endpoint = Endpoint(
        name,
        url,
        no_key if key is None else key.read,
        None if key is None else key.name,
        key_required=key is not None,
        headers=config.get("headers", {}),
    )
    facts = known_of(config, kit.facts)
    known = listed(config, kit.facts)
    wire = kit.wires[name] = LateWire(lambda: _wire(config, url, facts, kit.images))
    adapter = HttpAdapter(
        endpoint, wire, kit.transport, facts=facts, known=known, limits=kit.limits, prepare=kit.prepare
    )
    return adapter if key is None or not key.slow else FreshKey(adapter, key)


class FreshKey:
    """An adapter whose key is looked for in a thread before each request; see Adapter."""

    def __init__(self, adapter: HttpAdapter, key: KeySource) -> None:
        self._adapter = adapter
        self._key = key

    def models(self, provider: str) -> Sequence[ModelInfo]:
        """See Listing."""
        return self._adapter.models(provider)

    def model(self, provider: str, model: str) -> ModelInfo:
        """See Adapter."""
        return self._adapter.model(provider, model)

    async def stream(self, options: GenerateOptions, cancel: CancelToken) -> AsyncIterator[StreamChunk]:
        """See Adapter."""
        await asyncio.to_thread(self._key.read)
        async for chunk in self._adapter.stream(options, cancel):
            yield chunk


class Stated:
    """An adapter whose models are known by the settings too; see Adapter."""

    def __init__(self, adapter: Adapter, facts: ModelFacts) -> None:
        self._adapter = adapter
        self._facts = facts
        self.stream = adapter.stream

    def models(self, provider: str) -> Sequence[ModelInfo]:
        """See Listing."""
        listed = self._adapter.models(provider) if isinstance(self._adapter, Listing) else ()
        return [self._facts.over(provider, info.id, info) or info for info in listed]

    def model(self, provider: str, model: str) -> ModelInfo:
        """See Adapter."""
        info = self._adapter.model(provider, model)
        return self._facts.over(provider, model, info) or info


def _wire(config: Mapping[str, Any], url: str, facts: Facts, images: ImageLoader) -> WireProtocol:
    match config["protocol"]:
        case "responses":
            from acp_server.llm.adapters.responses.protocol import ResponsesProtocol  # noqa: PLC0415 - LateWire's point

            return ResponsesProtocol(images, facts)
        case "messages":
            from acp_server.llm.adapters.anthropic.protocol import AnthropicProtocol  # noqa: PLC0415 - likewise

            return AnthropicProtocol(images, facts)
        case _:
            from acp_server.llm.adapters.chat.dialects import DIALECTS, dialect_for  # noqa: PLC0415 - likewise
            from acp_server.llm.adapters.chat.protocol import ChatProtocol  # noqa: PLC0415 - likewise

            dialect = config.get("dialect")
            return ChatProtocol(dialect_for(config["name"], url) if dialect is None else DIALECTS[dialect], images)
