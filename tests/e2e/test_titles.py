"""Titles by a model over real pipes: asked beside the first turn, seen at once, in lists and on load."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.stage import Stage, stop_reason
from tests.support.client import Client
from tests.support.llm_script import Answer, Script
from tests.support.mock_llm import KEY, MockLlm
from tests.support.trace import Obj

ON = '[title]\nby = "model"\n'
PROMPT = "Task one: port the parser of the old compiler, please."
WORDS = "Task one: port the parser"
"""What the prompt's first words make."""


FRAMED = 'please."}]'
"""How what a model is told of that prompt ends."""
TITLE = "Porting the parser"


def model(title: Answer) -> MockLlm:
    """Return a model that says one word a prompt, and answers so when it is asked for a title."""
    return MockLlm(Script(keyed=[("Task", [{"text": "Done."}] * 9), (FRAMED, [title])]))


def begun(stage: Stage, mock: MockLlm, settings: str = ON) -> tuple[Client, str]:
    stage.secrets.append(KEY)
    stage.state.mkdir(exist_ok=True)
    (stage.state / "settings.toml").write_text(settings, "utf-8")
    client = stage.client(None, mock.environment("openai"))
    client.initialize()
    return client, client.new_session(stage.project)


def titles(client: Client) -> list[str]:
    """Return the titles that the client was told, in order."""
    updates = [frame.update() for frame in client.trace.frames]
    return [update.fields["title"] for update in updates if update is not None and update.kind == "session_info_update"]


def told(client: Client, *expected: str) -> None:
    """Wait until the client was told so many titles; they are these."""
    client.trace.wait(lambda: len(titles(client)) >= len(expected), 30)
    assert titles(client) == list(expected)


def listed(client: Client, cwd: Path) -> list[str | None]:
    return [entry.get("title") for entry in client.result("session/list", {"cwd": str(cwd)})["sessions"]]


def done(client: Client, session: str, prompt: str = PROMPT) -> None:
    answer, turn = client.prompt(session, prompt)
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Done.")


def test_a_model_names_the_session_after_the_first_answer(stage: Stage) -> None:
    with model({"text": '"Porting the parser".\n', "usage": {"input": 90, "output": 5}}) as mock:
        client, session = begun(stage, mock)
        done(client, session)
        told(client, WORDS, TITLE)
        assert listed(client, stage.project) == [TITLE]
        done(client, session, "Task two, please.")
        assert titles(client) == [WORDS, TITLE]
        assert [asked.body["max_tokens"] for asked in mock.asked if not asked.tools] == [64]
        assert len(mock.asked) == 3
        assert [message["role"] for message in mock.asked[-1].messages] == ["system", "user", "assistant", "user"]

        later = stage.client(None, mock.environment("openai"))
        client.agent.end()
        later.initialize()
        assert listed(later, stage.project) == [TITLE]
        later.result("session/load", {"sessionId": session, "cwd": str(stage.project), "mcpServers": []})
        assert titles(later)[-1] == TITLE
        done(later, session, "Task three, please.")
        assert len(mock.asked) == 4


def test_by_default_no_model_is_asked(stage: Stage) -> None:
    with model({"text": "never"}) as mock:
        client, session = begun(stage, mock, "")
        done(client, session)
        done(client, session, "Task two, please.")
        assert titles(client) == [WORDS]
        assert len(mock.asked) == 2


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 500, "body": "{}"},
        {"text": "  \n"},
        {"text": "cut of", "finish": "length"},
        {"tool": "read", "args": {"path": "x"}},
    ],
)
def test_a_failure_is_silent_and_the_first_words_stay(stage: Stage, answer: Obj) -> None:
    with model(answer) as mock:
        client, session = begun(stage, mock)
        done(client, session)
        client.trace.wait(lambda: len(mock.asked) == 2, 30)
        done(client, session, "Task two, please.")
        assert titles(client) == [WORDS]
        assert len(mock.asked) == 3


def test_the_persons_own_name_wins_and_the_request_is_given_up(stage: Stage) -> None:
    with model({"text": TITLE, "hang": True}) as mock:
        client, session = begun(stage, mock)
        done(client, session)
        client.trace.wait(lambda: len(mock.asked) == 2, 30)
        client.result("_acp_server/session/rename", {"sessionId": session, "title": "Mine"})
        client.trace.wait(lambda: mock.asked[1].hung_up, 30)
        done(client, session, "Task two, please.")
        assert titles(client) == [WORDS, "Mine"]
        assert listed(client, stage.project) == ["Mine"]


def test_a_request_for_a_title_keeps_no_session_open(stage: Stage) -> None:
    with model({"text": TITLE, "hang": True}) as mock:
        client, session = begun(stage, mock, ON + 'model = "openai/small"\n')
        done(client, session)
        client.trace.wait(lambda: len(mock.asked) == 2, 30)
        assert mock.asked[1].body["model"] == "small"
        client.result("session/close", {"sessionId": session})
        client.trace.wait(lambda: mock.asked[1].hung_up, 30)
        assert mock.asked[1].hung_up
