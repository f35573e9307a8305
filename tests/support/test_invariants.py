"""Each invariant is noticed when it is broken, and a sound exchange breaks none."""

from __future__ import annotations

import json

import pytest

from tests.support import invariants
from tests.support.trace import Obj, Trace

NEW = ("sent", {"id": 1, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}})
OPENED = ("got", {"id": 1, "result": {"sessionId": "s"}})
PROMPT = ("sent", {"id": 2, "method": "session/prompt", "params": {"sessionId": "s", "prompt": []}})
ENDED = ("got", {"id": 2, "result": {"stopReason": "end_turn"}})
LOAD = ("sent", {"id": 3, "method": "session/load", "params": {"sessionId": "s", "cwd": "/", "mcpServers": []}})
LOADED = ("got", {"id": 3, "result": {}})
ASK = (
    "got",
    {"id": 0, "method": "session/request_permission", "params": {"sessionId": "s", "toolCall": {"toolCallId": "c"}}},
)

Line = tuple[str, Obj | bytes]


def update(kind: str, session: str = "s", **fields: object) -> Line:
    return "got", {
        "method": "session/update",
        "params": {"sessionId": session, "update": {"sessionUpdate": kind, **fields}},
    }


def call(status: str | None = "pending") -> Line:
    return update("tool_call", toolCallId="c", title="t", **({"status": status} if status else {}))


def moved(status: str) -> Line:
    return update("tool_call_update", toolCallId="c", status=status)


def trace(*lines: Line) -> Trace:
    made = Trace()
    for way, value in lines:
        raw = value if isinstance(value, bytes) else json.dumps({"jsonrpc": "2.0", **value}).encode()
        made.add(1, "sent" if way == "sent" else "got", raw)
    return made


def test_a_sound_exchange_breaks_nothing() -> None:
    lines = [NEW, OPENED, update("available_commands_update"), PROMPT, call(), ASK, ("sent", {"id": 0, "result": {}})]
    lines += [moved("in_progress"), moved("completed"), update("agent_message_chunk"), ENDED, update("usage_update")]
    lines += [LOAD, call("completed"), update("user_message_chunk"), LOADED]
    assert invariants.broken(trace(*lines)) == []


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([("got", b"hello")], ["stdout line is no JSON-RPC object: b'hello'"]),
        ([("got", b'{"jsonrpc":"2.0","method":"x"}\r')], ['stdout has a CR: b\'{"jsonrpc":"2.0","method":"x"}\\r\'']),
        (
            [("got", {"result": {}})],
            ['stdout line is neither a call nor an answer: b\'{"jsonrpc": "2.0", "result": {}}\''],
        ),
        ([NEW], ["id 1 is not answered"]),
        ([NEW, OPENED, OPENED], ["id 1 is answered 2 times"]),
        ([NEW, OPENED, ("got", {"id": "1", "result": {}})], ["an answer with id '1' that nothing asked for"]),
        (
            [("got", {"id": None, "error": {"code": -32700, "message": "x"}})],
            ["an answer with id null that nothing asked for"],
        ),
        (
            [NEW, OPENED, PROMPT, ENDED, update("agent_message_chunk")],
            ["agent_message_chunk comes while no turn is open"],
        ),
        (
            [NEW, update("available_commands_update"), OPENED],
            ["session/update names the session 's', which is not open"],
        ),
        ([NEW, OPENED, PROMPT, call(), ENDED], ['call "c" stays pending at the end of its turn']),
        (
            [NEW, OPENED, PROMPT, call("completed"), moved("in_progress"), moved("failed"), ENDED],
            ['call "c" goes from completed to in_progress'],
        ),
        ([NEW, OPENED, PROMPT, call("failed"), call("failed"), ENDED], ['call "c" is announced twice']),
        ([NEW, OPENED, PROMPT, moved("failed"), ENDED], ['an update for call "c" before it was announced']),
        ([NEW, OPENED, PROMPT, ASK, ENDED], ["permission is asked for call 'c' before it was announced"]),
    ],
)
def test_a_broken_invariant_is_noticed(lines: list[Line], wrong: list[str]) -> None:
    assert invariants.broken(trace(*lines)) == wrong


def test_a_secret_on_stdout_is_noticed() -> None:
    shown = update("available_commands_update", availableCommands=["sk-12345"])
    assert invariants.broken(trace(NEW, OPENED, shown), ["sk-12345"]) == ["a secret of 8 characters is shown"]


def test_a_line_that_is_no_request_may_have_one_answer_without_an_id() -> None:
    refusal: Line = ("got", {"id": None, "error": {"code": -32700, "message": "x"}})
    assert invariants.broken(trace(("sent", b"{broken"), refusal)) == []
    assert invariants.broken(trace(("sent", b"{broken"), refusal, refusal)) == [
        "an answer with id null that nothing asked for"
    ]
