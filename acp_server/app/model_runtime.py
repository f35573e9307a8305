"""The model runtime of a process: every provider of the environment over the one HTTP driver, and the scripted one.

Imported by the warm-up thread, since the HTTP stack takes a third of a second to load.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from acp_server.app.providers import PROVIDERS, SCRIPTED, Provider
from acp_server.llm.adapter import WireProtocol
from acp_server.llm.adapters.anthropic.protocol import AnthropicProtocol
from acp_server.llm.adapters.chat.dialects import dialect_for
from acp_server.llm.adapters.chat.protocol import ChatProtocol
from acp_server.llm.adapters.responses.protocol import ResponsesProtocol
from acp_server.llm.catalog import facts_of, known_models
from acp_server.llm.http import HttpTransport
from acp_server.llm.http_adapter import Endpoint, HttpAdapter
from acp_server.llm.runtime import LlmRuntime
from acp_server.llm.scripted.adapter import ScriptedAdapter


class ModelRuntime:
    """The runtime with its adapters; `close` hangs every connection up."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.runtime = LlmRuntime()
        self._transport = HttpTransport()
        self._transport.warm()
        self.runtime.register([SCRIPTED], ScriptedAdapter())
        for provider in PROVIDERS:
            self.runtime.register([provider.name], self._adapter(provider, environment))

    async def close(self) -> None:
        """Hang up."""
        await self._transport.close()

    def _adapter(self, provider: Provider, environment: Mapping[str, str]) -> HttpAdapter:
        url = provider.url(environment)
        endpoint = Endpoint(provider.name, url, partial(provider.key, environment), provider.key_variable)
        return HttpAdapter(
            endpoint,
            _wire(provider, url),
            self._transport,
            facts=facts_of(provider.catalog),
            known=known_models(provider.catalog),
        )


def _wire(provider: Provider, url: str) -> WireProtocol:
    match provider.protocol:
        case "chat":
            return ChatProtocol(dialect_for(provider.name, url))
        case "responses":
            return ResponsesProtocol(facts=facts_of(provider.catalog))
        case "messages":
            return AnthropicProtocol(facts=facts_of(provider.catalog))
