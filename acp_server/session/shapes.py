"""What the data of each event type has to hold (docs/log-format.md, table E).

Owns the fields that a fold of this server reads, and the shapes that are retired. Further fields are tolerated, types
that the table does not name are not looked at, and what stands inside a tool's or a plugin's own field is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.json_value import SAFE_INTEGER, JsonObject, JsonValue
from acp_server.base.values import value
from acp_server.messages.blocks import Message, ModelSource, OtherSource, ToolResultBlock, ToolSource
from acp_server.messages.codec import MessageFormatError, message_from_json

RETIRED_TYPES: Final = frozenset({"request/header-delta", "mode/set"})


class ShapeError(ServerError):
    """Data that its event type does not allow; `field` names the place."""

    def __init__(self, kind: str, field: str, reason: str) -> None:
        super().__init__("INVALID_EVENT_DATA", f"{kind}: {field} {reason}")
        self.field = field


@value
class Check:
    """A test of one field and how its failure reads."""

    holds: Callable[[JsonValue], bool]
    reason: str


def check_shape(kind: str, data: JsonObject) -> Message | None:
    """Return the message that the data holds, for the three types of the Surface, so that it is read once.

    Raises:
        ShapeError: the type does not allow the data, or the type is retired.
    """
    fields = _FIELDS.get(kind)
    if fields is None:
        if kind in RETIRED_TYPES:
            raise ShapeError(kind, "the type", "is retired")
        return None if kind not in _SPECIAL else _SPECIAL[kind](data)
    for field, holds, reason, required in fields:
        value = data.get(field, _ABSENT)
        if value is _ABSENT:
            if required:
                raise ShapeError(kind, field, "is missing")
        elif not holds(value):  # type: ignore[arg-type]  # it is not the mark for absence
            raise ShapeError(kind, field, reason)
    return None if kind not in _SPECIAL else _SPECIAL[kind](data)


def _is_ordinal(value: JsonValue) -> bool:
    return type(value) is int and 1 <= value <= SAFE_INTEGER


def _is_count(value: JsonValue) -> bool:
    return type(value) is int and 0 <= value <= SAFE_INTEGER


def _is_tagged(tag: str) -> Callable[[JsonValue], bool]:
    return lambda value: isinstance(value, dict) and isinstance(value.get(tag), str) and value[tag] != ""


def _is_list(value: JsonValue) -> bool:
    return isinstance(value, tuple | list)


_ORDINAL: Final = Check(_is_ordinal, "is no whole number from 1")
_COUNT: Final = Check(_is_count, "is no whole number from 0")
_TURN_OR_NULL: Final = Check(lambda value: value is None or _is_ordinal(value), "is neither a number from 1 nor null")
_TEXT: Final = Check(lambda value: isinstance(value, str), "is no text")
_NAME: Final = Check(lambda value: isinstance(value, str) and value != "", "is no non-empty text")
_LIST: Final = Check(_is_list, "is no list")
_OBJECT: Final = Check(lambda value: isinstance(value, dict), "is no object")
_KINDED: Final = Check(_is_tagged("kind"), "is no object with a kind")
_TYPED: Final = Check(_is_tagged("type"), "is no object with a type")
_TRUE: Final = Check(lambda value: value is True, "is there and not true")
_FLAG: Final = Check(lambda value: isinstance(value, bool), "is neither true nor false")
_TARGET: Final = Check(lambda value: value in ("next-turn", "next-step"), "is neither next-turn nor next-step")
_CANCELED: Final = Check(lambda value: value == "canceled", "is not 'canceled'")
_REASON: Final = Check(lambda value: value in ("initial", "resume", "change"), "is no known reason")
_UNDO: Final = Check(lambda value: value in ("undo", "redo"), "is neither undo nor redo")
_STEP: Final = {"turn": _ORDINAL, "step": _ORDINAL}
_SHADOW: Final = {"shadowedRange?": _OBJECT, "shadowedSeqs?": _LIST, "shadowedTokenCount?": _COUNT}

TABLE: Final[Mapping[str, Mapping[str, Check]]] = {
    "turn/start": {"turn": _ORDINAL},
    "turn/end": {"turn": _ORDINAL, "reason": _KINDED},
    "step/start": _STEP,
    "step/end": {**_STEP, "contextTokens?": _COUNT},
    "assistant/chunk": {**_STEP, "chunk": _TYPED},
    "assistant/message": {**_STEP, "message": _OBJECT, "usage?": _OBJECT, "interrupted?": _TRUE},
    "tool/call": {**_STEP, "callId": _NAME, "name": _TEXT, "arguments": _TEXT},
    "tool/result": {**_STEP, "message": _OBJECT, "error?": _OBJECT},
    "todo/write": {"todos": _LIST},
    "file/change": {"path": _NAME},
    "undo/start": {"undoId": _NAME, "kind": _UNDO, "first": _COUNT, "until": _COUNT, "of?": _NAME},
    "undo/end": {"undoId": _NAME, "done": _FLAG, "error?": _TEXT, "todos?": _LIST, "contextTokens?": _COUNT},
    "question/asked": {"id": _NAME, "question": _NAME},
    "question/answered": {"id": _NAME, "outcome": _NAME},
    "request/header": {"header": _OBJECT, "reason": _REASON},
    "request/context": {"provider": _NAME, "model": _NAME, "contextWindow?": _COUNT},
    "model/selected": {"provider": _NAME, "model": _NAME, "reasoningEffort?": _NAME},
    "agent/inbox/spliced": {
        "target": _TARGET,
        "start": _COUNT,
        "removedCount?": _COUNT,
        "inserted": _LIST,
        "outcome?": _CANCELED,
    },
    "agent-preset/selected": {
        "agentPreset": _NAME,
        "name?": _TEXT,
        "description?": _TEXT,
        "tools?": _LIST,
        "sections?": _LIST,
        "prompt?": _TEXT,
    },
    "llm/retry": {"retryId": _NAME, **_STEP, "retry": _ORDINAL, "delayMs": _COUNT, "failure": _OBJECT},
    "llm/retry-started": {"retryId": _NAME, **_STEP, "retry": _ORDINAL},
    "compaction/start": {"compactionId": _NAME, "turn": _TURN_OR_NULL, "reason?": _NAME, "tokensBefore?": _COUNT},
    "compaction/summary": {"compactionId": _NAME, "summary": _LIST, **_SHADOW},
    "compaction/end": {
        "compactionId": _NAME,
        "turn": _TURN_OR_NULL,
        "error?": _TEXT,
        "cancelled?": _TRUE,
        "trimmed?": _TRUE,
        "tokensBefore?": _COUNT,
        "tokensAfter?": _COUNT,
    },
    "compaction/prune": {**_SHADOW, "tokens?": _COUNT},
    "compaction/auto": {"auto": _FLAG},
    "session/title": {"title": _NAME, "messageSeqs": _LIST, "source": _KINDED},
    "command/run": {"commandId": _NAME, "name": _NAME},
    "command/done": {"commandId": _NAME, "kind": _NAME},
    "approval/asked": {"id": _NAME, "toolName": _NAME},
    "approval/decided": {"id": _NAME, "outcome": _NAME},
    "approval/rule": {"change": _NAME, "rule": _OBJECT},
    "subagent/spent": {"callId": _NAME, "sessionId": _NAME, "usage": _OBJECT},
    "sandbox/mode": {"mode": _NAME},
    "sandbox/network": {"network": _NAME},
    "plan/mode": {"active": _FLAG},
    "hook/invoked": {"hookId": _NAME, "event": _NAME, "command": _NAME, **_STEP, "callId?": _NAME},
    "hook/result": {"hookId": _NAME, "outcome": _NAME, "durationMs": _COUNT, "reason?": _TEXT},
}
"""What each type's fields have to be; one whose name ends in `?` may be absent."""
_ABSENT: Final = object()
_FIELDS: Final[Mapping[str, tuple[tuple[str, Callable[[JsonValue], bool], str, bool], ...]]] = {
    kind: tuple(
        (field.removesuffix("?"), check.holds, check.reason, not field.endswith("?")) for field, check in fields.items()
    )
    for kind, fields in TABLE.items()
}
"""The table as the check of each event of a long log reads it."""


def _message(kind: str, data: JsonValue, role: str) -> Message:
    try:
        message = message_from_json(data if isinstance(data, dict) else {})
    except MessageFormatError as error:
        raise ShapeError(kind, "message", f"is malformed: {error.message}") from error
    if message.role != role:
        raise ShapeError(kind, "message.role", f"is not {role!r}")
    if isinstance(message.source, OtherSource) and not message.source.kind:
        raise ShapeError(kind, "message.source", "has no kind")
    return message


def _check_user_message(data: JsonObject) -> Message:
    return _message("user/message", data, "user")


def _check_assistant_message(data: JsonObject) -> Message:
    kind = "assistant/message"
    message = _message(kind, data["message"], "assistant")
    source = message.source
    if not isinstance(source, ModelSource) or not source.provider or not source.model:
        raise ShapeError(kind, "message.source", "names no provider and model")
    return message


def _check_tool_result(data: JsonObject) -> Message:
    kind = "tool/result"
    message = _message(kind, data["message"], "user")
    if not isinstance(message.source, ToolSource) or not message.source.call_id:
        raise ShapeError(kind, "message.source", "names no call")
    if len(message.content) != 1 or not isinstance(message.content[0], ToolResultBlock):
        raise ShapeError(kind, "message.content", "is not exactly one tool result")
    if message.content[0].tool_call_id != message.source.call_id:
        raise ShapeError(kind, "message.content", "answers another call than its source")
    return message


def _check_splice(data: JsonObject) -> None:
    inserted = data["inserted"]
    if isinstance(inserted, Sequence):
        for message in inserted:
            _message("agent/inbox/spliced", message, "user")


def _check_request_header(data: JsonObject) -> None:
    kind = "request/header"
    header = data["header"]
    config = header.get("config") if isinstance(header, Mapping) else None
    if not isinstance(header, Mapping) or not isinstance(config, Mapping):
        raise ShapeError(kind, "header.config", "is no object")
    for field, required in (("provider", True), ("model", True), ("reasoningEffort", False)):
        if (required or field in config) and not _NAME.holds(config.get(field)):
            raise ShapeError(kind, f"header.config.{field}", _NAME.reason)
    defaults = header.get("adapterDefaults", {})
    if not isinstance(defaults, Mapping):
        raise ShapeError(kind, "header.adapterDefaults", _OBJECT.reason)
    for field, flag in defaults.items():
        if field not in ("reasoningEffort", "maxTokens") or flag is not True or field not in config:
            raise ShapeError(kind, f"header.adapterDefaults.{field}", "marks no field of the configuration")


_SPECIAL: Final[Mapping[str, Callable[[JsonObject], Message | None]]] = {
    "user/message": _check_user_message,
    "assistant/message": _check_assistant_message,
    "tool/result": _check_tool_result,
    "request/header": _check_request_header,
    "agent/inbox/spliced": _check_splice,
}
