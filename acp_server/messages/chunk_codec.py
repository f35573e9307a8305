"""Stream chunks, usage and failures as JSON and back (docs/log-format.md, clauses M-7 to M-10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.messages.chunks import (
    BlockEnd,
    BlockStart,
    BlockType,
    FinishChunk,
    FinishKind,
    LlmFailure,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
)
from acp_server.messages.codec import MessageFormatError, block_from_json, block_to_json

_FAILURE_KEYS = (
    ("status", "status"),
    ("providerRetryAfterMs", "retry_after_ms"),
    ("requestId", "request_id"),
)
_USAGE_KEYS = (
    ("cacheReadTokens", "cache_read"),
    ("cacheWriteTokens", "cache_write"),
    ("reasoningTokens", "reasoning"),
)


def chunk_to_json(chunk: StreamChunk) -> dict[str, JsonValue]:
    """Return the chunk's JSON form; its `type` comes first."""
    match chunk:
        case TextDelta():
            return {"type": "text-delta", "index": chunk.index, "text": chunk.text}
        case ReasoningDelta():
            return {"type": "reasoning-delta", "index": chunk.index, "text": chunk.text}
        case ToolCallDelta():
            name = {} if chunk.name is None else {"name": chunk.name}
            return {
                "type": "tool-call-delta",
                "index": chunk.index,
                "id": chunk.id,
                **name,
                "argumentsDelta": chunk.arguments,
            }
        case BlockStart():
            return {"type": "block-start", "index": chunk.index, "blockType": chunk.block_type}
        case BlockEnd():
            return {"type": "block-end", "index": chunk.index, "block": block_to_json(chunk.block)}
        case UsageChunk():
            return {"type": "usage", "usage": usage_to_json(chunk.usage)}
        case FinishChunk():
            reason: dict[str, JsonValue] = {"kind": chunk.kind}
            if chunk.failure is not None:
                reason["failure"] = failure_to_json(chunk.failure)
            replay = {} if chunk.replay_state is None else {"replayState": chunk.replay_state}
            return {"type": "finish", "reason": reason, **replay}


def chunk_from_json(data: JsonObject) -> StreamChunk:
    """Return the chunk; raise MessageFormatError on an unknown type or a wrong field."""
    match data.get("type"):
        case "text-delta":
            return TextDelta(_index(data), _text(data, "text"))
        case "reasoning-delta":
            return ReasoningDelta(_index(data), _text(data, "text"))
        case "tool-call-delta":
            name = _text(data, "name") if "name" in data else None
            return ToolCallDelta(_index(data), _text(data, "id"), _text(data, "argumentsDelta"), name)
        case "block-start":
            return BlockStart(_index(data), cast("BlockType", _text(data, "blockType")))
        case "block-end":
            return BlockEnd(_index(data), block_from_json(data.get("block")))
        case "usage":
            return UsageChunk(usage_from_json(_object(data, "usage")))
        case "finish":
            reason = _object(data, "reason")
            failure = failure_from_json(_object(reason, "failure")) if "failure" in reason else None
            return FinishChunk(cast("FinishKind", _text(reason, "kind")), failure, data.get("replayState"))
        case kind:
            raise MessageFormatError(f"the stream chunk type {kind!r} is not known")


def usage_to_json(usage: TokenUsage) -> dict[str, JsonValue]:
    """Return `{inputTokens, outputTokens, …}`; what was not told is left out."""
    data: dict[str, JsonValue] = {"inputTokens": usage.input, "outputTokens": usage.output}
    data |= {key: value for key, name in _USAGE_KEYS if (value := getattr(usage, name)) is not None}
    if usage.cost is not None:
        data["cost"] = usage.cost
    return data


def usage_from_json(data: JsonObject) -> TokenUsage:
    """Return the counts; raise MessageFormatError when one is no number of tokens, or the cost no amount."""
    told = {name: _index(data, key) for key, name in _USAGE_KEYS if key in data}
    cost = data.get("cost")
    if cost is not None and (isinstance(cost, bool) or not isinstance(cost, int | float) or cost < 0):
        raise MessageFormatError("cost is no amount of money")
    return TokenUsage(_index(data, "inputTokens"), _index(data, "outputTokens"), **told, cost=cost)


def failure_to_json(failure: LlmFailure) -> dict[str, JsonValue]:
    """Return `{message, code, …}`; what is not known is left out."""
    data: dict[str, JsonValue] = {"message": failure.message, "code": failure.code}
    data |= {key: value for key, name in _FAILURE_KEYS if (value := getattr(failure, name)) is not None}
    return data


def failure_from_json(data: JsonObject) -> LlmFailure:
    """Return the failure; raise MessageFormatError when message or code is no text."""
    request_id = data.get("requestId")
    return LlmFailure(
        code=_text(data, "code"),
        message=_text(data, "message"),
        status=_index(data, "status") if "status" in data else None,
        retry_after_ms=_index(data, "providerRetryAfterMs") if "providerRetryAfterMs" in data else None,
        request_id=request_id if isinstance(request_id, str) else None,
    )


def _index(data: JsonObject, key: str = "index") -> int:
    value = data.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise MessageFormatError(f"{key} is no whole number from 0")
    return value


def _text(data: JsonObject, key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise MessageFormatError(f"{key} is no text")
    return value


def _object(data: JsonObject, key: str) -> JsonObject:
    value = data.get(key)
    if not isinstance(value, Mapping):
        raise MessageFormatError(f"{key} is no object")
    return value
