"""The schema oracle: sound frames pass, wrong values and unknown keys are named with their place."""

from __future__ import annotations

import pytest

from tests.support import schema
from tests.support.trace import Obj


def update(**fields: object) -> Obj:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": fields}}


TEXT = {"type": "text", "text": "hi"}


def test_it_knows_every_stable_method_of_an_agent() -> None:
    oracle = schema.stable()
    assert sorted(oracle.results) == [
        "authenticate",
        "initialize",
        "logout",
        "session/close",
        "session/delete",
        "session/list",
        "session/load",
        "session/new",
        "session/prompt",
        "session/resume",
        "session/set_config_option",
        "session/set_mode",
    ]
    assert sorted(oracle.calls) == [
        "$/cancel_request",
        "elicitation/complete",
        "elicitation/create",
        "fs/read_text_file",
        "fs/write_text_file",
        "session/request_permission",
        "session/update",
        "terminal/create",
        "terminal/kill",
        "terminal/output",
        "terminal/release",
        "terminal/wait_for_exit",
    ]


@pytest.mark.parametrize(
    ("frame", "answered"),
    [
        (update(sessionUpdate="agent_message_chunk", content=TEXT, messageId="m"), None),
        (
            update(sessionUpdate="tool_call", toolCallId="c", title="t", rawInput={"any": {"key": 1}}, _meta={"x": 1}),
            None,
        ),
        ({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}}, "session/new"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "x", "data": {"details": "y"}}}, None),
        ({"jsonrpc": "2.0", "id": 0, "method": "_own/method", "params": {"any": 1}}, None),
    ],
)
def test_a_sound_frame_passes(frame: Obj, answered: str | None) -> None:
    assert schema.stable().frame(frame, answered) == []


@pytest.mark.parametrize(
    ("frame", "answered", "wrong"),
    [
        (update(sessionUpdate="shell_output"), None, ["session/update: there is no update 'shell_output'"]),
        (
            update(sessionUpdate="agent_message_chunk", content={**TEXT, "colour": "red"}, shade=1),
            None,
            [
                "agent_message_chunk: $.content.colour is a key that the schema does not know",
                "agent_message_chunk: $.shade is a key that the schema does not know",
            ],
        ),
        (
            update(sessionUpdate="current_mode_update", modeId="ask"),
            None,
            ["current_mode_update: $: 'currentModeId' is a required property"],
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "result": {"sessionId": 5}},
            "session/new",
            ["result of session/new: $.sessionId: 5 is not of type 'string'"],
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "result": None},
            "session/load",
            ["the result of session/load is None, no object"],
        ),
        (
            {"jsonrpc": "2.0", "method": "session/request_permission", "params": {}},
            None,
            ["session/request_permission has no id"],
        ),
        ({"jsonrpc": "2.0", "method": "session/shout"}, None, ["session/shout is no method that an agent may call"]),
        (
            {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}},
            None,
            ["the envelope is ['error', 'id', 'jsonrpc', 'result']"],
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "error": {"code": "bad", "message": "x"}},
            None,
            ["error: $.code: 'bad' is not valid under any of the given schemas"],
        ),
    ],
)
def test_a_wrong_frame_is_named(frame: Obj, answered: str | None, wrong: list[str]) -> None:
    assert schema.stable().frame(frame, answered) == wrong
