"""Chat Completions as a wire protocol: the two halves under one name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acp_server.base.json_value import JsonObject
from acp_server.llm.adapter import Decoder
from acp_server.llm.adapters.chat.decode import ChatDecoder
from acp_server.llm.adapters.chat.dialects import GENERIC, Dialect
from acp_server.llm.adapters.chat.encode import encode
from acp_server.llm.adapters.faults import refused
from acp_server.llm.adapters.images import ImageLoader, no_images
from acp_server.messages.chunks import LlmFailure
from acp_server.messages.request import GenerateOptions


@dataclass(frozen=True, slots=True)
class ChatProtocol:
    """Chat Completions in one dialect; `images` finds the bytes of images."""

    path = "/chat/completions"

    dialect: Dialect = GENERIC
    images: ImageLoader = no_images

    def headers(self, key: str | None) -> Mapping[str, str]:
        """Return the bearer header, or none without a key."""
        return {} if key is None else {"authorization": f"Bearer {key}"}

    def encode(self, options: GenerateOptions) -> JsonObject:
        """Return the body; raise LlmError UNSUPPORTED_OPTION."""
        return encode(options, self.dialect, self.images)

    def decoder(self, options: GenerateOptions) -> Decoder:
        """Return a fresh decoder for the answer to that request."""
        return ChatDecoder(options, self.dialect)

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> LlmFailure:
        """Return what an answer with an error status says."""
        return refused(status, headers, body)
