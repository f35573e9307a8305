"""What is chosen by typing: `/model`, `/plan`, `/export`; and the options that a load brings back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.sessions import opening, restarted
from tests.e2e.stage import Stage, script, stop_reason
from tests.support.client import Client, permission
from tests.support.llm_script import Script
from tests.support.mock_llm import KEY, MockLlm
from tests.support.trace import Obj

GPT, CLAUDE = "openai/gpt-5.6", "anthropic/claude-haiku-4-5"
WRITE = 'call write {"path": "made.txt", "content": "hello"}'


@pytest.fixture
def mock() -> Iterator[MockLlm]:
    with MockLlm() as made:
        yield made


def begin(stage: Stage, mock: MockLlm, *texts: str) -> tuple[Client, str]:
    mock.script = Script([{"text": text} for text in texts])
    stage.secrets.append(KEY)
    both = mock.environment("anthropic") | mock.environment("openai")
    client = stage.client(None, both | {"ACP_SERVER_MODEL": GPT})
    client.initialize()
    return client, client.new_session(stage.project)


def typed(client: Client, session: str, text: str) -> str:
    """Send a command; return what the person is told."""
    answer, turn = client.prompt(session, text)
    assert stop_reason(answer) == "end_turn"
    return client.said(turn)


def values(options: list[Obj]) -> dict[str, str]:
    return {option["id"]: option["currentValue"] for option in options}


def shown(client: Client, kind: str, after: int) -> Obj:
    return client.wait_update(kind, after, 30)


def test_every_command_of_the_server_is_advertised(stage: Stage) -> None:
    client, _ = stage.open()
    listed = client.wait_update("available_commands_update")["availableCommands"]
    names = {command["name"] for command in listed}
    wanted = {"compact", "plan", "status", "model", "permissions", "rename", "export", "undo", "parked", "trust", "mcp"}
    assert names == wanted | {"help"}
    hints = {command["name"]: command["input"]["hint"] for command in listed if "input" in command}
    assert {"compact", "plan", "model", "permissions", "rename", "export", "undo"} <= set(hints)


def test_a_model_is_chosen_by_part_of_its_name_and_the_editor_shows_it(stage: Stage, mock: MockLlm) -> None:
    client, session = begin(stage, mock, "Said.", "Said again.")
    told = typed(client, session, "/model")
    assert told.startswith(f"The model is `{GPT}`.")
    assert f"`/model {CLAUDE}`" in told
    after = len(client.trace.frames)
    assert typed(client, session, "/model claude-haiku-4-5") == f"From the next request on `{CLAUDE}` answers."
    assert values(shown(client, "config_option_update", after)["configOptions"])["model"] == CLAUDE
    client.prompt(session, "hello")
    assert mock.asked[-1].body["model"] == "claude-haiku-4-5"
    assert "No model that can be used" in typed(client, session, "/model nonsense")
    assert "models are meant by" in typed(client, session, "/model gpt")
    assert typed(client, session, "/status").count(CLAUDE) == 1


def test_plan_mode_is_typed_asks_with_its_words_and_is_left_again(stage: Stage) -> None:
    client, session = stage.open()
    client.answerers["session/request_permission"] = permission("allow_once")
    client.result("session/set_mode", {"sessionId": session, "modeId": "auto"})
    after = len(client.trace.frames)
    assert typed(client, session, "/plan").startswith("The mode is Plan")
    assert shown(client, "current_mode_update", after)["currentModeId"] == "plan"
    assert values(shown(client, "config_option_update", after)["configOptions"])["mode"] == "plan"
    client.prompt(session, script(WRITE, "step", "say Done."))
    assert not (stage.project / "made.txt").exists()
    assert typed(client, session, "/plan off").startswith("The mode is Auto")
    client.prompt(session, script(WRITE, "step", "say Done."))
    assert (stage.project / "made.txt").read_text() == "hello"


def test_words_behind_plan_go_to_the_model_in_plan_mode(stage: Stage, mock: MockLlm) -> None:
    client, session = begin(stage, mock, "First, second.")
    after = len(client.trace.frames)
    link = {"type": "resource_link", "uri": "file:///notes.md", "name": "notes.md"}
    text = {"type": "text", "text": "/plan the move"}
    ident = client.request("session/prompt", {"sessionId": session, "prompt": [text, link]})
    assert stop_reason(client.answer(ident)) == "end_turn"
    assert shown(client, "current_mode_update", after)["currentModeId"] == "plan"
    asked = str(mock.asked[-1].body["messages"])
    assert "/plan the move" in asked
    assert "notes.md" in asked


def test_every_option_comes_back_with_the_session(stage: Stage) -> None:
    client = stage.client()
    client.initialize()
    opened = client.result("session/new", {"cwd": str(stage.project), "mcpServers": []})
    session = opened["sessionId"]
    before = values(opened["configOptions"])
    assert before == {
        "mode": "ask", "model": "scripted/demo", "network": "off", "preset": "standard", "compaction": "auto",
    } | ({"effort": before["effort"]} if "effort" in before else {})  # fmt: skip
    chosen = {"mode": "auto", "network": "on", "preset": "minimal", "compaction": "off"}
    for option, value in chosen.items():
        after = len(client.trace.frames)
        asked = {"sessionId": session, "configId": option, "value": value}
        answered = values(client.result("session/set_config_option", asked)["configOptions"])
        assert answered[option] == value
        assert values(shown(client, "config_option_update", after)["configOptions"]) == answered
    client.prompt(session, script("say Hello."))
    later = restarted(stage)
    for method in ("session/load", "session/resume"):
        loaded = values(later.result(method, opening(session, stage.project))["configOptions"])
        assert loaded == before | chosen, method
    assert later.result("_acp_server/session/status", {"sessionId": session})["options"] == before | chosen


def test_a_wrong_value_of_compaction_changes_nothing(stage: Stage) -> None:
    client, session = stage.open()
    asked = {"sessionId": session, "configId": "compaction", "value": "sometimes"}
    assert client.error("session/set_config_option", asked)["code"] == -32602
    options = client.result("_acp_server/session/status", {"sessionId": session})["options"]
    assert options["compaction"] == "auto"


def only_file(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def test_a_conversation_is_exported_into_the_project(stage: Stage) -> None:
    client, session = stage.open()
    client.prompt(session, script("say The answer."))
    client.result("_acp_server/session/rename", {"sessionId": session, "title": "My ../../ Title"})
    told = typed(client, session, "/export")
    made = only_file(stage.project, "*.md")
    assert made.name == f"my-title-{session[:8]}.md"
    assert told == f"The conversation is in `{stage.project.resolve() / made.name}`."
    assert "The answer." in made.read_text("utf-8")
    assert "exists already" in typed(client, session, "/export")
    typed(client, session, "/export jsonl log.jsonl")
    assert f'"id":"{session}"' in (stage.project / "log.jsonl").read_text("utf-8").splitlines()[0]


def test_an_export_by_a_relative_name_stays_in_the_project(stage: Stage) -> None:
    client, session = stage.open()
    client.prompt(session, script("say The answer."))
    outside = stage.root / "outside"
    outside.mkdir()
    (stage.project / "link").symlink_to(outside)
    for name in ("../leak.md", "link/leak.md"):
        assert "leads out of the project" in typed(client, session, f"/export {name}")
    assert [*outside.iterdir(), *stage.root.glob("leak.md")] == []
    typed(client, session, f"/export {outside / 'told.md'}")
    assert (outside / "told.md").exists()
