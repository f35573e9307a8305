"""Messages, blocks and chunks as JSON and back (docs/log-format.md, clauses M-1 to M-6).

Absent optionals are left out, never null. Reading refuses what is malformed and keeps what is merely unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.messages.blocks import (
    Block,
    ImageBlock,
    Message,
    ModelSource,
    OpaqueBlock,
    OtherSource,
    PluginSource,
    ReasoningBlock,
    Source,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSource,
    UserSource,
)

ROLES: Final = ("system", "user", "assistant")
_OBJECTS: Final = (dict, Mapping)
_ARRAYS: Final = (tuple, Sequence)
"""The commonest kind first: to ask an abstract class costs more than all else about a field."""


class MessageFormatError(ServerError):
    """A message in the log that does not have the shape of clauses M-1 to M-6."""

    def __init__(self, reason: str) -> None:
        super().__init__("INVALID_MESSAGE", reason)


def message_to_json(message: Message) -> dict[str, JsonValue]:
    """Return `{id, role, content, source}`."""
    return {
        "id": message.id,
        "role": message.role,
        "content": [block_to_json(block) for block in message.content],
        "source": source_to_json(message.source),
    }


def message_from_json(data: JsonObject) -> Message:
    """Return the message; raise MessageFormatError naming the field that is wrong."""
    ident, role = data.get("id"), data.get("role")
    if not isinstance(ident, str) or not ident:
        raise MessageFormatError("a message needs a non-empty id")
    if role not in ROLES:
        raise MessageFormatError(f"a message has the unknown role {role!r}")
    return Message(
        id=ident,
        role=role,
        content=tuple([block_from_json(block) for block in _array(data, "content")]),
        source=source_from_json(_object(data, "source")),
    )


def block_to_json(block: Block) -> dict[str, JsonValue]:
    """Return the block's JSON form; its `type` comes first."""
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ReasoningBlock():
            return {"type": "reasoning", "text": block.text}
        case ToolCallBlock():
            return {"type": "tool-call", "id": block.id, "name": block.name, "arguments": block.arguments}
        case ToolResultBlock():
            return {
                "type": "tool-result",
                "toolCallId": block.tool_call_id,
                "content": [block_to_json(inner) for inner in block.content],
                **({"isError": True} if block.is_error else {}),
            }
        case ImageBlock():
            attachment: dict[str, JsonValue] = {
                "attachmentId": block.attachment_id,
                "mediaType": block.media_type,
                "bytes": block.size,
                "width": block.width,
                "height": block.height,
                **({"name": block.name} if block.name is not None else {}),
            }
            return {"type": "image", "attachment": attachment}
        case OpaqueBlock():
            return dict(block.data)


def block_from_json(data: JsonValue) -> Block:
    """Return the block; a type of the future becomes an OpaqueBlock. Raises MessageFormatError."""
    if not isinstance(data, _OBJECTS):
        raise MessageFormatError("a content block is no object")
    kind = _text(data, "type")
    if kind == "text":
        return TextBlock(_text(data, "text"))
    reader = _BLOCK_READERS.get(kind)
    return OpaqueBlock(kind, data) if reader is None else reader(data)


def _read_tool_result(data: JsonObject) -> ToolResultBlock:
    content = tuple(block_from_json(inner) for inner in _array(data, "content"))
    return ToolResultBlock(_text(data, "toolCallId"), content, data.get("isError") is True)


def _read_image(data: JsonObject) -> ImageBlock:
    ref = _object(data, "attachment")
    name = ref.get("name")
    return ImageBlock(
        attachment_id=_text(ref, "attachmentId"),
        media_type=_text(ref, "mediaType"),
        size=_count(ref, "bytes"),
        width=_count(ref, "width"),
        height=_count(ref, "height"),
        name=name if isinstance(name, str) else None,
    )


_BLOCK_READERS: Final[Mapping[str, Callable[[JsonObject], Block]]] = {
    "reasoning": lambda data: ReasoningBlock(_text(data, "text")),
    "tool-call": lambda data: ToolCallBlock(_text(data, "id"), _text(data, "name"), _text(data, "arguments")),
    "tool-result": _read_tool_result,
    "image": _read_image,
}


def source_to_json(source: Source) -> dict[str, JsonValue]:
    """Return the source's JSON form; its `kind` comes first."""
    match source:
        case UserSource():
            return {"kind": "user"}
        case PluginSource():
            return {"kind": "plugin", "plugin": source.plugin, **source.extra}
        case ModelSource():
            replay = {} if source.replay_state is None else {"replayState": source.replay_state}
            return {"kind": "model", "provider": source.provider, "model": source.model, **replay}
        case ToolSource():
            return {"kind": "tool", "callId": source.call_id}
        case OtherSource():
            return dict(source.data)


def source_from_json(data: JsonObject) -> Source:
    """Return the source; a kind of the future becomes an OtherSource. Raises MessageFormatError."""
    kind = _text(data, "kind")
    reader = _SOURCE_READERS.get(kind)
    return OtherSource(kind, data) if reader is None else reader(data)


def _read_plugin(data: JsonObject) -> PluginSource:
    extra = {key: value for key, value in data.items() if key not in ("kind", "plugin")}
    return PluginSource(_text(data, "plugin"), extra)


_USER: Final = UserSource()
_SOURCE_READERS: Final[Mapping[str, Callable[[JsonObject], Source]]] = {
    "user": lambda _data: _USER,
    "plugin": _read_plugin,
    "model": lambda data: ModelSource(_text(data, "provider"), _text(data, "model"), data.get("replayState")),
    "tool": lambda data: ToolSource(_text(data, "callId")),
}


def _text(data: JsonObject, key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise MessageFormatError(f"{key} is no text")
    return value


def _count(data: JsonObject, key: str) -> int:
    value = data.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise MessageFormatError(f"{key} is no count")
    return value


def _object(data: JsonObject, key: str) -> JsonObject:
    value = data.get(key)
    if not isinstance(value, _OBJECTS):
        raise MessageFormatError(f"{key} is no object")
    return value


def _array(data: JsonObject, key: str) -> Sequence[JsonValue]:
    value = data.get(key)
    if isinstance(value, str) or not isinstance(value, _ARRAYS):
        raise MessageFormatError(f"{key} is no array")
    return value
