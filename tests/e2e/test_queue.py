"""Prompts while a turn runs: queued and shown so, joining it when they ask to, taken back one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.sessions import prompting
from tests.e2e.stage import Stage, script, stop_reason, thought
from tests.support.client import Client
from tests.support.llm_script import Script
from tests.support.mock_llm import KEY, MockLlm
from tests.support.trace import Obj

STEER = {"acp_server": {"steer": True}}
HANG = script("say Begun.", "hang")
SECONDS = 60.0


@pytest.fixture
def mock() -> Iterator[MockLlm]:
    with MockLlm() as made:
        yield made


def opened(stage: Stage, **capabilities: object) -> tuple[Client, str]:
    client = stage.client()
    client.initialize(capabilities)
    return client, client.new_session(stage.project)


def begun(client: Client, session: str, text: str = HANG) -> int:
    """Send a prompt and return its id once its turn has said something."""
    after = len(client.trace.frames)
    ident = client.ask(session, text)
    client.wait_update("agent_message_chunk", after, SECONDS)
    return ident


def ask(client: Client, session: str, text: str, meta: Obj) -> int:
    prompt = [{"type": "text", "text": text}]
    return client.request("session/prompt", {"sessionId": session, "prompt": prompt, "_meta": meta})


def queues(client: Client) -> list[list[str]]:
    """Return each queue that was shown."""
    updates = [update for frame in client.trace.frames if (update := frame.update()) is not None]
    infos = [update.fields.get("_meta") or {} for update in updates if update.kind == "session_info_update"]
    return [[one["text"] for one in meta["acp_server"]["queue"]] for meta in infos if "acp_server" in meta]


def test_a_queued_prompt_is_told_in_the_turn_that_runs(stage: Stage) -> None:
    client, session = opened(stage)
    running = begun(client, session)
    waiting = client.ask(session, "and then\n this")
    client.wait_update("agent_thought_chunk", 0, SECONDS)
    client.notify("session/cancel", {"sessionId": session})
    assert [stop_reason(client.answer(one, SECONDS)) for one in (running, waiting)] == ["cancelled"] * 2
    told = "Queued until the running turn has ended (1 waiting): and then this\n"
    assert thought(client.trace, client.turn(running)) == told


def test_a_client_with_notices_gets_one(stage: Stage) -> None:
    client, session = opened(stage, session={"notices": {}})
    running = begun(client, session)
    client.ask(session, script("say Second."))
    notice = client.wait_update("notice", 0, SECONDS)
    assert (notice["severity"], notice["title"].startswith("Queued until")) == ("info", True)
    client.notify("$/cancel_request", {"requestId": running})
    assert stop_reason(client.answer(running, SECONDS)) == "cancelled"


def test_the_queue_is_told_to_who_asked_and_to_nobody_else(stage: Stage) -> None:
    client, session = opened(stage, _meta={"acp_server": {"queue": True}})
    begun(client, session)
    client.ask(session, "two")
    client.trace.wait(lambda: ["two"] in queues(client), SECONDS)
    third = client.ask(session, "three")
    client.trace.wait(lambda: ["two", "three"] in queues(client), SECONDS)
    client.notify("$/cancel_request", {"requestId": third})
    assert stop_reason(client.answer(third, SECONDS)) == "cancelled"
    client.notify("session/cancel", {"sessionId": session})
    client.trace.wait(lambda: queues(client)[-1:] == [[]], SECONDS)
    assert queues(client) == [["two"], ["two", "three"], ["two"], []]
    other, quiet = opened(stage)
    begun(other, quiet)
    other.ask(quiet, "two")
    other.wait_update("agent_thought_chunk", 0, SECONDS)
    assert queues(other) == []


def test_a_prompt_that_waits_is_taken_back_alone(stage: Stage) -> None:
    client, session = opened(stage)
    texts = (script("say Begun.", "wait 500", "say Done."), script("say Never."), script("say Third."))
    lines = [
        {"jsonrpc": "2.0", "id": f"p{n}", "method": method, "params": params}
        for n, (method, params) in enumerate(prompting(session, text) for text in texts)
    ]
    lines.append({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "p1"}})
    for line in lines:
        client.trace.add(client.agent.proc, "sent", json.dumps(line).encode())
    assert client.agent.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines)) is None
    answers = [stop_reason(client.answer(f"p{n}", SECONDS)) for n in range(3)]
    assert answers == ["end_turn", "cancelled", "end_turn"]
    said = "".join(
        update.text
        for frame in client.trace.frames
        if (update := frame.update()) is not None and update.kind == "agent_message_chunk"
    )
    assert said == "Begun.Done.Third."


def test_a_steering_prompt_joins_the_turn_and_is_answered_with_it(stage: Stage, mock: MockLlm) -> None:
    stage.secrets.append(KEY)
    mock.script = Script([{"text": "First.", "chunks": 2, "hold_ms": 0}, {"text": "Second."}])
    client = stage.client(None, mock.environment("openai"))
    client.initialize()
    session = client.new_session(stage.project)
    first = client.ask(session, "long work")
    steering = ask(client, session, "and be quick", STEER)
    assert [stop_reason(client.answer(one, SECONDS)) for one in (first, steering)] == ["end_turn"] * 2
    assert len(mock.asked) == 2
    assert "and be quick" in str(mock.asked[1].messages)
    lines = client.result("_acp_server/session/export", {"sessionId": session, "format": "jsonl"})["text"]
    assert 1 <= lines.count('"turn/start"') <= 2


def test_a_steering_prompt_opens_a_turn_where_none_runs(stage: Stage) -> None:
    client, session = opened(stage)
    answer = client.answer(ask(client, session, script("say Alone."), STEER), SECONDS)
    assert stop_reason(answer) == "end_turn"


def test_a_cancel_ends_what_steers_too(stage: Stage) -> None:
    client, session = opened(stage)
    running = begun(client, session)
    steering = ask(client, session, "be quick", STEER)
    client.notify("session/cancel", {"sessionId": session})
    assert [stop_reason(client.answer(one, SECONDS)) for one in (running, steering)] == ["cancelled"] * 2


@pytest.mark.parametrize("meta", [{"acp_server": 5}, {"acp_server": {"steer": "yes"}}, {}])
def test_anything_else_is_queued(stage: Stage, meta: Obj) -> None:
    client, session = opened(stage)
    running = begun(client, session)
    waiting = ask(client, session, "second", meta)
    client.wait_update("agent_thought_chunk", 0, SECONDS)
    client.notify("session/cancel", {"sessionId": session})
    assert [stop_reason(client.answer(one, SECONDS)) for one in (running, waiting)] == ["cancelled"] * 2
