"""Failures of model calls as exceptions and as data (docs/llm.md, table F)."""

from __future__ import annotations

from acp_server.base.errors import ServerError
from acp_server.messages.chunks import LlmFailure


class LlmError(ServerError):
    """A model call that cannot go on; `failure` is what is logged and told."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        retry_after_ms: int | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(code, message)
        self.failure = LlmFailure(code, message, status, retry_after_ms, request_id)
