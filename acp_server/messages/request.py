"""What a model is asked: one value that says everything an adapter needs."""

from __future__ import annotations

from typing import Literal

from acp_server.base.json_value import JsonObject
from acp_server.base.values import value
from acp_server.messages.blocks import Message


@value
class ToolSchema:
    """A tool as the model sees it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: JsonObject


@value
class CallConfig:
    """Where a request goes and how; None leaves the choice to the adapter or the provider."""

    provider: str
    model: str
    reasoning_effort: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()


@value
class GenerateOptions:
    """One whole request. `purpose` tells side requests from the conversation's own."""

    config: CallConfig
    messages: tuple[Message, ...]
    system: str | None = None
    tools: tuple[ToolSchema, ...] = ()
    session_id: str | None = None
    purpose: Literal["conversation", "compaction", "session-title"] = "conversation"
