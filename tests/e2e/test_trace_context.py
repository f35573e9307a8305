"""`_meta` of a prompt: a trace goes on to the model and to MCP servers, all else is passed over and never kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest

from tests.e2e.sessions import log_of
from tests.e2e.stage import Stage, stop_reason
from tests.support.client import Client, permission
from tests.support.launch import REPOSITORY
from tests.support.llm_script import Script
from tests.support.mock_llm import KEY, MockLlm
from tests.support.trace import Obj

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER = "00-0af7651916cd43dd8448eb211c80319d-b7ad6b7169203332-01"
SMALL = str(REPOSITORY / "tests" / "support" / "mcp_small.py")
NAMES = ("traceparent", "tracestate", "baggage")


@pytest.fixture
def mock() -> Iterator[MockLlm]:
    with MockLlm() as made:
        yield made


def begin(stage: Stage, mock: MockLlm, servers: list[Obj] | None = None) -> tuple[Client, str]:
    stage.secrets.append(KEY)
    client = stage.client(None, mock.environment("openai"))
    client.answerers["session/request_permission"] = permission("allow_once")
    client.initialize()
    return client, client.new_session(stage.project, servers or [])


def ask(client: Client, session: str, text: str, meta: object) -> int:
    blocks = [{"type": "text", "text": text}]
    return client.request("session/prompt", {"sessionId": session, "prompt": blocks, "_meta": meta})


def sent(mock: MockLlm) -> list[dict[str, str]]:
    """Return what each request told of a trace."""
    return [{name: asked.headers[name] for name in NAMES if name in asked.headers} for asked in mock.asked]


def test_each_turn_carries_the_trace_of_its_own_prompt(stage: Stage, mock: MockLlm) -> None:
    mock.script = Script([{"text": str(n)} for n in range(3)])
    client, session = begin(stage, mock)
    whole = {"traceparent": PARENT, "tracestate": "a=1", "baggage": "user=x"}
    prompts = [
        ask(client, session, "one", {**whole, "secretOfTheirs": "UNKEPT"}),
        ask(client, session, "two", {"traceparent": OTHER}),
        ask(client, session, "three", None),
    ]
    assert [stop_reason(client.answer(one, 60)) for one in prompts] == ["end_turn"] * 3
    assert sent(mock) == [whole, {"traceparent": OTHER}, {}]


def test_a_trace_reaches_mcp_servers(stage: Stage, mock: MockLlm) -> None:
    note = stage.root / "meta.json"
    server = {"name": "small", "command": sys.executable, "args": [SMALL]}
    mock.script = Script([{"tool": "mcp__small__echo", "args": {"text": "hi"}}, {"text": "done"}])
    client, session = begin(stage, mock, [{**server, "env": [{"name": "PEER_META", "value": str(note)}]}])
    answer = client.answer(ask(client, session, "go", {"traceparent": PARENT, "baggage": "b=2"}), 60)
    assert stop_reason(answer) == "end_turn"
    meta = json.loads(note.read_text("utf-8"))
    assert {name: meta.get(name) for name in NAMES} == {"traceparent": PARENT, "tracestate": None, "baggage": "b=2"}


@pytest.mark.parametrize("meta", [5, "text", [1], {"traceparent": ["x"]}, {"traceparent": f"{PARENT}\r\nx-more: 1"}])
def test_a_meta_that_is_none_is_passed_over(stage: Stage, mock: MockLlm, meta: object) -> None:
    mock.script = Script([{"text": "fine"}])
    client, session = begin(stage, mock)
    assert stop_reason(client.answer(ask(client, session, "one", meta), 60)) == "end_turn"
    assert sent(mock) == [{}]


def test_unknown_meta_is_kept_nowhere(stage: Stage, mock: MockLlm) -> None:
    mock.script = Script([{"text": "fine"}])
    client, session = begin(stage, mock)
    blocks = [{"type": "text", "text": "one", "_meta": {"inner": "UNKEPT"}}]
    params = {"sessionId": session, "prompt": blocks, "_meta": {"outer": "UNKEPT"}, "more": "UNKEPT"}
    assert stop_reason(client.answer(client.request("session/prompt", params), 60)) == "end_turn"
    lines = client.result("_acp_server/session/export", {"sessionId": session, "format": "jsonl"})["text"]
    assert "UNKEPT" not in lines
    assert "UNKEPT" not in json.dumps(mock.asked[0].body)
    client.result("session/close", {"sessionId": session})
    assert log_of(stage, session).exists()
