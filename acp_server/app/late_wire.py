"""A wire protocol that is loaded when the first request needs it: a process speaks one of them, rarely two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from acp_server.base.json_value import JsonObject
from acp_server.llm.adapter import Decoder, WireProtocol
from acp_server.messages.chunks import LlmFailure
from acp_server.messages.request import GenerateOptions


class LateWire:
    """See WireProtocol; `make` is called once."""

    def __init__(self, make: Callable[[], WireProtocol]) -> None:
        self._make = make

    @cached_property
    def wire(self) -> WireProtocol:
        """Return the protocol itself, loaded by the first who asks."""
        return self._make()

    @property
    def path(self) -> str:
        """See WireProtocol."""
        return self.wire.path

    def headers(self, key: str | None) -> Mapping[str, str]:
        """See WireProtocol."""
        return self.wire.headers(key)

    def encode(self, options: GenerateOptions) -> JsonObject:
        """See WireProtocol."""
        return self.wire.encode(options)

    def decoder(self, options: GenerateOptions) -> Decoder:
        """See WireProtocol."""
        return self.wire.decoder(options)

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> LlmFailure:
        """See WireProtocol."""
        return self.wire.failure(status, headers, body)
