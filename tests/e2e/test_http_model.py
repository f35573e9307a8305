"""Turns against a model server over HTTP, in each wire protocol, and what becomes of its failures (clauses P, C, A)."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.cases.logfile import records
from tests.e2e.sessions import log_of
from tests.e2e.stage import Stage, stop_reason, thought
from tests.support.client import Client
from tests.support.llm_script import Answer, Playback, Script, text_of
from tests.support.mock_llm import KEY, MockLlm
from tests.support.trace import Obj

PROVIDERS = ["openai", "openai-responses", "anthropic"]
REFUSED: Obj = {"status": 401, "body": '{"error":{"message":"Incorrect API key provided: ' + KEY + '","type":"auth"}}'}
BUSY: Obj = {"status": 429, "headers": {"retry-after": "0"}, "body": '{"error":{"message":"slow down"}}'}
BROKEN: Obj = {"status": 500, "body": '{"error":{"message":"out of order"}}'}
CUT = Playback(
    [b'data: {"choices":[{"index":0,"delta":{"content":"The first half"},"finish_reason":null}]}\n\n'], ending="cut"
)


@pytest.fixture
def mock() -> Iterator[MockLlm]:
    with MockLlm() as made:
        yield made


def open_session(stage: Stage, mock: MockLlm, *answers: Answer, provider: str = "openai") -> tuple[Client, str]:
    """Start the server with this mock as its model; return its client and a session."""
    mock.script = Script(answers)
    stage.secrets.append(KEY)
    client, session = stage.open(None, mock.environment(provider))
    mock.on_request = client.trace.poke
    return client, session


@pytest.mark.parametrize("provider", PROVIDERS)
def test_text_and_reasoning_are_streamed_in_every_protocol(stage: Stage, mock: MockLlm, provider: str) -> None:
    said: Obj = {"reasoning": "Let me see.", "text": "Grüße, 世界 🎉, hello.", "chunks": 6}
    client, session = open_session(stage, mock, said, {"text": "Again."}, provider=provider)
    answer, turn = client.prompt(session, "Say hello.")
    assert answer["result"] == {"stopReason": "end_turn"}
    assert (thought(client.trace, turn), client.said(turn)) == ("Let me see.", said["text"])
    answer, turn = client.prompt(session, "Once more.")
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Again.")
    first, second = mock.asked
    talk = [(m["role"], text_of(m["content"])) for m in second.messages if m["role"] != "system"]
    assert talk == [("user", "Say hello."), ("assistant", said["text"]), ("user", "Once more.")]
    assert second.messages[: len(first.messages)] == first.messages


@pytest.mark.parametrize(("provider", "header"), [("openai", "authorization"), ("anthropic", "x-api-key")])
def test_the_key_travels_in_a_header_alone(stage: Stage, mock: MockLlm, provider: str, header: str) -> None:
    client, session = open_session(stage, mock, {"text": "ok"}, provider=provider)
    client.prompt(session, "go")
    (asked,) = mock.asked
    assert asked.headers[header].endswith(KEY)
    assert KEY not in str(asked.body) + asked.path


@pytest.mark.parametrize(
    ("finish", "reason"), [("stop", "end_turn"), ("length", "max_tokens"), ("content_filter", "refusal")]
)
def test_each_finish_has_its_stop_reason(stage: Stage, mock: MockLlm, finish: str, reason: str) -> None:
    client, session = open_session(stage, mock, {"text": "so far", "finish": finish})
    answer, turn = client.prompt(session, "go")
    assert (stop_reason(answer), client.said(turn)) == (reason, "so far")


def test_a_model_that_pauses_goes_on_in_the_same_turn(stage: Stage, mock: MockLlm) -> None:
    said: Obj = {"text": "I look, ", "finish": "pause_turn"}
    client, session = open_session(stage, mock, said, {"text": "and found it."}, {"text": "ok"}, provider="anthropic")
    answer, turn = client.prompt(session, "Find it.")
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "I look, and found it.")
    client.prompt(session, "Thanks.")
    talks = [[(m["role"], text_of(m["content"])) for m in a.messages if m["role"] != "system"] for a in mock.asked]
    assert talks[1] == [("user", "Find it."), ("assistant", "I look, ")]
    assert talks[2] == [*talks[1], ("assistant", "and found it."), ("user", "Thanks.")]


def test_a_refused_exchange_is_not_in_the_next_request(stage: Stage, mock: MockLlm) -> None:
    client, session = open_session(stage, mock, {"text": "no", "finish": "content_filter"}, {"text": "yes"})
    client.prompt(session, "Something forbidden.")
    client.prompt(session, "Something else.")
    talk = [text_of(m["content"]) for m in mock.asked[1].messages if m["role"] != "system"]
    assert talk == ["Something else."]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_refused_key_is_told_without_the_key(stage: Stage, mock: MockLlm, provider: str) -> None:
    client, session = open_session(stage, mock, REFUSED, provider=provider)
    answer, _ = client.prompt(session, "go")
    assert answer["error"]["code"] == -32000
    assert "key" in str(answer["error"]).lower()
    assert len(mock.asked) == 1


@pytest.mark.parametrize("failure", [BUSY, BROKEN])
def test_what_may_pass_is_asked_again(stage: Stage, mock: MockLlm, failure: Obj) -> None:
    client, session = open_session(stage, mock, failure, {"text": "There."})
    answer, turn = client.prompt(session, "go")
    assert (stop_reason(answer), client.said(turn), len(mock.asked)) == ("end_turn", "There.", 2)
    assert mock.asked[0].body == mock.asked[1].body


def test_a_request_that_is_wrong_is_not_asked_again(stage: Stage, mock: MockLlm) -> None:
    wrong: Obj = {"status": 400, "body": '{"error":{"message":"no such parameter","type":"invalid_request_error"}}'}
    client, session = open_session(stage, mock, wrong)
    answer, _ = client.prompt(session, "go")
    assert answer["error"]["code"] == -32603
    assert "no such parameter" in str(answer["error"])
    assert len(mock.asked) == 1


def test_text_that_was_shown_before_the_stream_broke_is_never_shown_twice(stage: Stage, mock: MockLlm) -> None:
    client, session = open_session(stage, mock, CUT, {"text": "The first half and the rest."})
    answer, turn = client.prompt(session, "go")
    assert client.said(turn).count("The first half") == 1
    assert "error" in answer or client.said(turn) == "The first half and the rest."


def test_cancel_during_a_wait_between_tries(stage: Stage, mock: MockLlm) -> None:
    busy: Obj = {"status": 503, "headers": {"retry-after": "60"}, "body": "{}"}
    client, session = open_session(stage, mock, busy)
    ident = client.ask(session, "go")
    assert client.trace.wait(lambda: mock.asked, 10)
    client.notify("session/cancel", {"sessionId": session})
    assert client.answer(ident, 2)["result"] == {"stopReason": "cancelled"}
    assert len(mock.asked) == 1


@pytest.mark.parametrize("said", [{"hang": True}, {"text": "Begun.", "hang": True}])
def test_cancel_hangs_up_on_a_model_that_is_silent(stage: Stage, mock: MockLlm, said: Obj) -> None:
    client, session = open_session(stage, mock, said, {"text": "Again."})
    ident = client.ask(session, "go")
    assert client.trace.wait(lambda: mock.asked, 10)
    if "text" in said:
        client.wait_update("agent_message_chunk")
    begun = time.monotonic()
    client.notify("session/cancel", {"sessionId": session})
    assert client.answer(ident, 5)["result"] == {"stopReason": "cancelled"}
    assert time.monotonic() - begun < 0.5
    assert client.trace.wait(lambda: mock.asked[0].hung_up, 5), "the request goes on behind the turn's back"
    answer, turn = client.prompt(session, "Once more.")
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Again.")


def test_a_cancelled_answer_keeps_what_the_model_is_known_to_have_read(stage: Stage, mock: MockLlm) -> None:
    said: Obj = {"text": "Begun.", "hang": True, "usage": {"input": 90, "output": 40, "cached": 30}}
    client, session = open_session(stage, mock, said, provider="anthropic")
    ident = client.ask(session, "go")
    client.wait_update("agent_message_chunk")
    client.notify("session/cancel", {"sessionId": session})
    assert client.answer(ident, 30)["result"] == {"stopReason": "cancelled"}
    assert client.agent.end() is None
    rows: list[Obj] = records(log_of(stage, session))
    (kept,) = (row["data"] for row in rows if row.get("type") == "assistant/message")
    told = {"inputTokens": 60, "outputTokens": 1, "cacheReadTokens": 30, "cacheWriteTokens": 0}
    assert (kept["interrupted"], kept["usage"]) == (True, told)


def test_without_a_key_a_session_is_refused_and_the_demo_model_has_to_be_asked_for(stage: Stage) -> None:
    client = stage.client(None)
    hello = client.initialize()
    refusal = client.error("session/new", {"cwd": str(stage.project), "mcpServers": []})
    assert (refusal["code"], refusal["data"]["authMethods"]) == (-32000, hello["authMethods"])
    assert client.error("authenticate", {"methodId": "provider-key"})["code"] == -32000
    assert client.error("authenticate", {"methodId": "nothing"})["code"] == -32602
    assert client.result("authenticate", {"methodId": "demo"}) == {}
    session = client.new_session(stage.project)
    answer, turn = client.prompt(session, "hello")
    assert (stop_reason(answer), "demo model" in client.said(turn)) == ("end_turn", True)


@pytest.mark.parametrize(("model", "size"), [("openai/gpt-4.1", 1_047_576), ("openai/mock", None)])
def test_usage_is_told_when_the_size_of_the_window_is_known(
    stage: Stage, mock: MockLlm, model: str, size: int | None
) -> None:
    mock.script = Script([{"text": "ok", "usage": {"input": 900, "output": 20, "cached": 400}}])
    client, session = stage.open(None, mock.environment("openai") | {"ACP_SERVER_MODEL": model})
    _, turn = client.prompt(session, "go")
    told = [u.fields for u in client.trace.turn_updates(turn) if u.kind == "usage_update"]
    cost = {"amount": 0.00136, "currency": "USD"}  # 500 tokens read, 400 out of the cache, 20 written
    assert told == (
        [] if size is None else [{"sessionUpdate": "usage_update", "used": 920, "size": size, "cost": cost}]
    )


def test_no_warning_of_the_interpreter_is_hidden(stage: Stage, mock: MockLlm) -> None:
    """Unclosed files and sockets, calls that go away: the stage finds them on standard error."""
    mock.script = Script([{"text": "a", "hang": True}, BROKEN, {"text": "b"}])
    client, session = stage.open(None, mock.environment("openai") | {"PYTHONWARNINGS": "always"})
    ident = client.ask(session, "go")
    client.wait_update("agent_message_chunk")
    client.notify("session/cancel", {"sessionId": session})
    assert stop_reason(client.answer(ident, 5)) == "cancelled"
    answer, turn = client.prompt(session, "again")
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "b")
    client.result("session/close", {"sessionId": session})
