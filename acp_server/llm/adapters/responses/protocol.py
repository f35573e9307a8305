"""Responses as a wire protocol: the two halves under one name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acp_server.base.json_value import JsonObject
from acp_server.llm.adapter import Decoder
from acp_server.llm.adapters.facts import ModelFacts, nothing_known
from acp_server.llm.adapters.faults import refused
from acp_server.llm.adapters.images import ImageLoader, no_images
from acp_server.llm.adapters.responses.decode import ResponsesDecoder
from acp_server.llm.adapters.responses.encode import encode
from acp_server.messages.chunks import LlmFailure
from acp_server.messages.request import GenerateOptions


@dataclass(frozen=True, slots=True)
class ResponsesProtocol:
    """Responses; `images` finds the bytes of images, `facts` knows models, `summary` is the kind asked for."""

    path = "/responses"

    images: ImageLoader = no_images
    facts: ModelFacts = nothing_known
    summary: str | None = "auto"

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the bearer header, or none without a key."""
        return {} if key is None else {"authorization": f"Bearer {key}"}

    def encode(self, options: GenerateOptions) -> JsonObject:
        """Return the body; raise LlmError UNSUPPORTED_OPTION."""
        return encode(options, self.images, self.facts, self.summary)

    def decoder(self, options: GenerateOptions) -> Decoder:
        """Return a fresh decoder for the answer to that request."""
        return ResponsesDecoder(options)

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> LlmFailure:
        """Return what an answer with an error status says."""
        return refused(status, headers, body)
