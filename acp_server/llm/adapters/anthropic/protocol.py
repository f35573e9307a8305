"""Messages as a wire protocol: the two halves under one name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from acp_server.base.json_value import JsonObject
from acp_server.llm.adapter import Decoder
from acp_server.llm.adapters.anthropic.decode import AnthropicDecoder
from acp_server.llm.adapters.anthropic.encode import encode
from acp_server.llm.adapters.facts import ModelFacts, nothing_known
from acp_server.llm.adapters.faults import refused
from acp_server.llm.adapters.images import ImageLoader, no_images
from acp_server.messages.chunks import LlmFailure
from acp_server.messages.request import GenerateOptions

VERSION: Final = "2023-06-01"


@dataclass(frozen=True, slots=True)
class AnthropicProtocol:
    """Messages; `images` finds the bytes of images, `facts` knows models.

    The path begins with the version, since base URLs of this protocol do not hold it.
    """

    path = "/v1/messages"

    images: ImageLoader = no_images
    facts: ModelFacts = nothing_known

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the protocol's version, and the key when there is one."""
        version = {"anthropic-version": VERSION}
        return version if key is None else {**version, "x-api-key": key}

    def encode(self, options: GenerateOptions) -> JsonObject:
        """Return the body; raise LlmError UNSUPPORTED_OPTION."""
        return encode(options, self.images, self.facts)

    def decoder(self, options: GenerateOptions) -> Decoder:
        """Return a fresh decoder for the answer to that request."""
        return AnthropicDecoder(options)

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> LlmFailure:
        """Return what an answer with an error status says."""
        return refused(status, headers, body)
