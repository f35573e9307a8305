"""Which data each event type allows (C15 with `test_request_header`, and the message shapes of the seed)."""

from __future__ import annotations

from typing import Any

import pytest

from acp_server.session.shapes import ShapeError, check_shape
from tests.support.story import Story, user

PLACE = {"turn": 1, "step": 1}
MODEL = {"kind": "model", "provider": "p", "model": "m"}
ANSWER = {**PLACE, "message": {"id": "a", "role": "assistant", "content": [], "source": MODEL}}
RESULT = {
    **PLACE,
    "message": {
        "id": "r",
        "role": "user",
        "content": [{"type": "tool-result", "toolCallId": "c", "content": []}],
        "source": {"kind": "tool", "callId": "c"},
    },
}
HEADER = {"header": {"config": {"provider": "p", "model": "m"}}, "reason": "initial"}


def changed(data: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return the data with the value at that dotted path; `...` takes the field away."""
    first, _, rest = path.partition(".")
    inner = changed(data[first], rest, value) if rest else value
    return {key: old for key, old in {**data, first: inner}.items() if key != first or inner is not ...}


ALLOWED: list[tuple[str, dict[str, Any]]] = [
    ("turn/start", {"turn": 1}),
    ("turn/start", {"turn": 1, "later": "field"}),
    ("turn/end", {"turn": 1, "reason": {"kind": "of-the-future"}}),
    ("step/start", PLACE),
    ("assistant/chunk", {**PLACE, "chunk": {"type": "of-the-future"}}),
    ("assistant/message", ANSWER),
    ("assistant/message", {**ANSWER, "interrupted": True, "usage": {}}),
    ("tool/result", RESULT),
    ("tool/call", {**PLACE, "callId": "c", "name": "", "arguments": ""}),
    ("user/message", user("m")),
    ("user/message", {**user("m"), "source": {"kind": "goal"}, "content": [{"type": "citation", "x": 1}]}),
    ("request/header", HEADER),
    ("request/context", {"provider": "p", "model": "m", "contextWindow": 8}),
    ("compaction/start", {"compactionId": "k", "turn": None}),
    ("agent/inbox/spliced", {"target": "next-step", "start": 0, "inserted": [user("m")]}),
    ("plug/in", {"anything": 1}),
]


@pytest.mark.parametrize(("kind", "data"), ALLOWED, ids=[f"{n}-{kind}" for n, (kind, _) in enumerate(ALLOWED)])
def test_allowed(kind: str, data: dict[str, Any]) -> None:
    check_shape(kind, data)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("turn/start", {}, "turn"),
    ("turn/start", {"turn": 0}, "turn"),
    ("turn/start", {"turn": True}, "turn"),
    ("turn/start", {"turn": 1.0}, "turn"),
    ("turn/end", {"turn": 1, "reason": "completed"}, "reason"),
    ("turn/end", {"turn": 1, "reason": {"kind": ""}}, "reason"),
    ("assistant/chunk", {**PLACE, "chunk": {}}, "chunk"),
    ("tool/call", {**PLACE, "callId": "", "name": "n", "arguments": ""}, "callId"),
    ("tool/call", {**PLACE, "callId": "c", "name": "n", "arguments": {}}, "arguments"),
    ("todo/write", {"todos": "none"}, "todos"),
    ("user/message", changed(user("m"), "id", ""), "message"),
    ("user/message", changed(user("m"), "id", ...), "message"),
    ("user/message", changed(user("m"), "role", "assistant"), "message.role"),
    ("user/message", changed(user("m"), "source", {"kind": ""}), "message.source"),
    ("user/message", changed(user("m"), "source", "user"), "message"),
    ("user/message", changed(user("m"), "content", "hello"), "message"),
    ("user/message", changed(user("m"), "content", [{"type": "text", "text": 1}]), "message"),
    ("assistant/message", changed(ANSWER, "message.role", "user"), "message.role"),
    ("assistant/message", changed(ANSWER, "message.source", {"kind": "user"}), "message.source"),
    ("assistant/message", changed(ANSWER, "message.source.model", ""), "message.source"),
    ("assistant/message", changed(ANSWER, "message", []), "message"),
    ("assistant/message", {**ANSWER, "interrupted": False}, "interrupted"),
    ("tool/result", changed(RESULT, "message.source", {"kind": "user"}), "message.source"),
    ("tool/result", changed(RESULT, "message.source.callId", ""), "message.source"),
    ("tool/result", changed(RESULT, "message.source.callId", "d"), "message.content"),
    ("tool/result", changed(RESULT, "message.content", []), "message.content"),
    ("tool/result", changed(RESULT, "message.content", [{"type": "text", "text": ""}]), "message.content"),
    ("request/header", changed(HEADER, "reason", "fallback"), "reason"),
    ("request/header", changed(HEADER, "header", []), "header"),
    ("request/header", changed(HEADER, "header.config", ...), "header.config"),
    ("request/header", changed(HEADER, "header.config.provider", ""), "header.config.provider"),
    ("request/header", changed(HEADER, "header.config.model", ...), "header.config.model"),
    ("request/header", changed(HEADER, "header.config.reasoningEffort", ""), "header.config.reasoningEffort"),
    ("request/header", changed(HEADER, "header.adapterDefaults", []), "header.adapterDefaults"),
    ("request/header", changed(HEADER, "header.adapterDefaults", {"model": True}), "header.adapterDefaults.model"),
    (
        "request/header",
        changed(HEADER, "header.adapterDefaults", {"maxTokens": True}),
        "header.adapterDefaults.maxTokens",
    ),
    ("request/context", {"provider": "p", "model": "m", "contextWindow": None}, "contextWindow"),
    ("agent/inbox/spliced", {"target": "later", "start": 0, "inserted": []}, "target"),
    ("agent/inbox/spliced", {"target": "next-turn", "start": -1, "inserted": []}, "start"),
    ("agent/inbox/spliced", {"target": "next-turn", "start": 0, "inserted": [{}]}, "message"),
    ("agent/inbox/spliced", {"target": "next-turn", "start": 0, "inserted": [], "outcome": "lost"}, "outcome"),
    ("compaction/start", {"compactionId": "k", "turn": 0}, "turn"),
    ("session/title", {"title": "", "messageSeqs": [], "source": {"kind": "user"}}, "title"),
    ("request/header-delta", {}, "the type"),
    ("mode/set", {}, "the type"),
]


@pytest.mark.parametrize(
    ("kind", "data", "field"), REFUSED, ids=[f"{n}-{kind}-{field}" for n, (kind, _, field) in enumerate(REFUSED)]
)
def test_refused(kind: str, data: dict[str, Any], field: str) -> None:
    with pytest.raises(ShapeError) as caught:
        check_shape(kind, data)
    assert (caught.value.code, caught.value.field) == ("INVALID_EVENT_DATA", field)


def test_an_adapter_s_default_marks_a_field_that_is_there() -> None:
    data = changed(HEADER, "header.config.maxTokens", 5)
    check_shape("request/header", changed(data, "header.adapterDefaults", {"maxTokens": True}))
    with pytest.raises(ShapeError):
        check_shape("request/header", changed(data, "header.adapterDefaults", {"maxTokens": 1}))


def test_every_event_of_a_story_has_its_shape() -> None:
    story = Story().with_calls("c1")
    story.call("c1")
    story.result("c1")
    story.close_step()
    for event in story.session.events.since(0):
        check_shape(event.type, event.data)
