"""Choosing the model and its effort in an editor (docs/protocol.md, clauses M-04 to M-14)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.stage import Stage, stop_reason
from tests.support.client import Client
from tests.support.llm_script import Answer, Script
from tests.support.mock_llm import KEY, MockLlm
from tests.support.trace import Obj

GPT = "openai/gpt-5.6"


@pytest.fixture
def mock() -> Iterator[MockLlm]:
    with MockLlm() as made:
        yield made


def environment(mock: MockLlm, model: str = GPT) -> dict[str, str]:
    both = mock.environment("anthropic") | mock.environment("openai")
    return both | {"ACP_SERVER_MODEL": model}


def begin(stage: Stage, mock: MockLlm, *answers: Answer) -> tuple[Client, str, list[Obj]]:
    """Start the server with keys of two providers; return its client, a session and its options."""
    mock.script = Script(answers)
    stage.secrets.append(KEY)
    client = stage.client(None, environment(mock))
    client.initialize()
    result = client.result("session/new", {"cwd": str(stage.project), "mcpServers": []})
    return client, result["sessionId"], result["configOptions"]


def change(client: Client, session: str, option: str, value: object, **more: object) -> dict[str, str]:
    given = {"sessionId": session, "configId": option, "value": value, **more}
    return current(client.result("session/set_config_option", given)["configOptions"])


def current(options: list[Obj]) -> dict[str, str]:
    """Return the values of the options that are about the model."""
    return {option["id"]: option["currentValue"] for option in options if option["id"] in ("model", "effort")}


def values(options: list[Obj], ident: str) -> list[str]:
    (option,) = [option for option in options if option["id"] == ident]
    return [value["value"] for value in option["options"]]


def test_the_options_are_those_of_providers_with_a_key(stage: Stage, mock: MockLlm) -> None:
    _, _, options = begin(stage, mock)
    assert current(options) == {"model": GPT, "effort": "medium"}
    providers = {value.partition("/")[0] for value in values(options, "model")}
    assert providers == {"anthropic", "openai", "openai-responses"}
    categories = {option["id"]: option.get("category") for option in options}
    assert (categories["model"], categories["effort"]) == ("model", "thought_level")


def test_a_change_takes_effect_at_the_next_request_and_the_other_option_follows(stage: Stage, mock: MockLlm) -> None:
    client, session, _ = begin(stage, mock, *({"text": str(n)} for n in range(4)))
    client.prompt(session, "one")
    assert change(client, session, "effort", "high") == {"model": GPT, "effort": "high"}
    client.prompt(session, "two")
    after = len(client.trace.frames)
    assert change(client, session, "model", "anthropic/claude-haiku-4-5") == {
        "model": "anthropic/claude-haiku-4-5",
        "effort": "high",
    }
    shown = client.wait_update("config_option_update", after)
    assert current(shown["configOptions"])["model"] == "anthropic/claude-haiku-4-5"
    assert values(shown["configOptions"], "effort") == ["default", "off", "low", "medium", "high"]
    client.prompt(session, "three")
    assert change(client, session, "model", "openai/gpt-4.1") == {"model": "openai/gpt-4.1"}
    client.prompt(session, "four")
    asked = [(one.protocol, one.body["model"], one.body.get("reasoning_effort")) for one in mock.asked]
    assert asked == [
        ("chat", "gpt-5.6", "medium"),
        ("chat", "gpt-5.6", "high"),
        ("anthropic", "claude-haiku-4-5", None),
        ("chat", "gpt-4.1", None),
    ]
    assert mock.asked[2].body["thinking"]["type"] == "enabled"
    assert [m["role"] for m in mock.asked[3].messages if m["role"] != "system"] == ["user", "assistant"] * 3 + ["user"]


def test_a_change_while_a_turn_runs_waits_for_the_next_request(stage: Stage, mock: MockLlm) -> None:
    client, session, _ = begin(stage, mock, {"text": "Begun.", "hang": True}, {"text": "Then."})
    ident = client.ask(session, "one")
    client.wait_update("agent_message_chunk")
    assert change(client, session, "model", "openai/gpt-4.1") == {"model": "openai/gpt-4.1"}
    client.notify("session/cancel", {"sessionId": session})
    assert client.answer(ident)["result"] == {"stopReason": "cancelled"}
    client.prompt(session, "two")
    assert [one.body["model"] for one in mock.asked] == ["gpt-5.6", "gpt-4.1"]


@pytest.mark.parametrize("way", ["session/load", "session/resume"])
def test_a_choice_outlives_the_process(stage: Stage, mock: MockLlm, way: str) -> None:
    client, session, _ = begin(stage, mock, {"text": "one"}, {"text": "two"})
    client.prompt(session, "one")
    change(client, session, "model", "openai/gpt-5.5")
    change(client, session, "effort", "low")
    assert client.agent.end() is None
    client = stage.client(None, environment(mock, "anthropic/claude-sonnet-5-5"))
    client.initialize()
    result = client.result(way, {"sessionId": session, "cwd": str(stage.project), "mcpServers": []})
    assert current(result["configOptions"]) == {"model": "openai/gpt-5.5", "effort": "low"}
    answer, _ = client.prompt(session, "two")
    assert stop_reason(answer) == "end_turn"
    assert (mock.asked[1].body["model"], mock.asked[1].body["reasoning_effort"]) == ("gpt-5.5", "low")


def test_a_choice_before_the_first_prompt_leaves_nothing_on_disk_and_holds(stage: Stage, mock: MockLlm) -> None:
    client, session, _ = begin(stage, mock, {"text": "one"})
    change(client, session, "model", "openai/gpt-4.1")
    assert not [path for path in stage.state.rglob("*") if path.is_file()]
    client.prompt(session, "one")
    assert mock.asked[0].body["model"] == "gpt-4.1"
    client.result("session/close", {"sessionId": session})
    result = client.result("session/load", {"sessionId": session, "cwd": str(stage.project), "mcpServers": []})
    assert current(result["configOptions"]) == {"model": "openai/gpt-4.1"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"configId": "model", "value": "openai/nothing"},
        {"configId": "model", "value": "deepseek/deepseek-flash"},
        {"configId": "model", "value": True, "type": "boolean"},
        {"configId": "model"},
        {"configId": "effort", "value": "enormous"},
        {"configId": "colour", "value": "red"},
        {"configId": 5, "value": "red"},
        {"value": "red"},
    ],
)
def test_what_is_no_option_or_no_value_changes_nothing(stage: Stage, mock: MockLlm, wrong: dict[str, Any]) -> None:
    client, session, options = begin(stage, mock, {"text": "one"})
    assert client.error("session/set_config_option", {"sessionId": session, **wrong})["code"] == -32602
    assert change(client, session, "effort", "medium") == current(options)
    client.prompt(session, "one")
    assert mock.asked[0].body["model"] == "gpt-5.6"


def test_an_unknown_type_with_a_text_counts_as_a_select(stage: Stage, mock: MockLlm) -> None:
    client, session, _ = begin(stage, mock)
    assert change(client, session, "effort", "low", type="later")["effort"] == "low"
    missing = {"sessionId": "none", "configId": "model", "value": GPT}
    assert client.error("session/set_config_option", missing)["code"] == -32002


def test_older_clients_set_the_model(stage: Stage, mock: MockLlm) -> None:
    client, session, _ = begin(stage, mock, {"text": "one"})
    after = len(client.trace.frames)
    assert client.result("session/set_model", {"sessionId": session, "modelId": "openai/gpt-4.1"}) == {}
    assert current(client.wait_update("config_option_update", after)["configOptions"]) == {"model": "openai/gpt-4.1"}
    assert client.error("session/set_model", {"sessionId": session, "modelId": "x"})["code"] == -32602
    client.prompt(session, "one")
    assert mock.asked[0].body["model"] == "gpt-4.1"


def test_a_model_that_is_not_known_can_be_used_and_left(stage: Stage, mock: MockLlm) -> None:
    client = stage.client(None, environment(mock, "openai/mock"))
    client.initialize()
    result = client.result("session/new", {"cwd": str(stage.project), "mcpServers": []})
    session = result["sessionId"]
    assert current(result["configOptions"]) == {"model": "openai/mock"}
    assert values(result["configOptions"], "model")[0] == "openai/mock"
    assert change(client, session, "model", GPT)["model"] == GPT
    assert client.error(
        "session/set_config_option", {"sessionId": session, "configId": "model", "value": "openai/mock"}
    )


def test_scripted_models_are_offered_only_when_they_were_named(stage: Stage, mock: MockLlm) -> None:
    _, _, options = begin(stage, mock)
    assert not any(value.startswith("scripted/") for value in values(options, "model"))
    client = stage.client("scripted/echo")
    client.initialize()
    result = client.result("session/new", {"cwd": str(stage.project), "mcpServers": []})
    assert current(result["configOptions"]) == {"model": "scripted/echo"}
    assert values(result["configOptions"], "model") == ["scripted/demo", "scripted/echo", "scripted/slow"]
    assert change(client, result["sessionId"], "model", "scripted/demo") == {"model": "scripted/demo"}


def listed(stage: Stage, *words: str, more: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "acp_server", "models", *words],
        env=stage.environment(None, more),
        cwd=stage.root,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_the_command_lists_what_can_be_used(stage: Stage) -> None:
    found = json.loads(listed(stage, "--json", more={"ANTHROPIC_API_KEY": KEY}))
    assert found["default"] == "anthropic/claude-sonnet-5-5"
    assert {model["model"].partition("/")[0] for model in found["models"]} == {"anthropic"}
    (haiku,) = [model for model in found["models"] if model["model"] == "anthropic/claude-haiku-4-5"]
    assert haiku == {
        "model": "anthropic/claude-haiku-4-5",
        "name": "Claude Haiku 4.5",
        "contextWindow": 200_000,
        "maxOutputTokens": 64_000,
        "input": ["image", "text"],
        "efforts": ["off", "low", "medium", "high"],
        "defaultEffort": None,
        "prices": {"input": 1, "output": 5, "cacheRead": 0.1, "cacheWrite": 1.25},
    }
    states = {provider["name"]: provider["missing"] for provider in found["providers"]}
    assert (states["anthropic"], states["openai"]) == (None, "Set OPENAI_API_KEY")
    assert isinstance(found["local"], list)


def test_the_command_says_what_to_do_without_a_key(stage: Stage) -> None:
    said = listed(stage)
    assert said.startswith("No provider has a key.\n")
    assert "openai " in said
    assert "OPENAI_API_KEY" in said
    said = listed(stage, more={"OPENAI_API_KEY": KEY})
    assert said.splitlines()[0].split() == ["MODEL", "WINDOW", "EFFORTS", "$/M", "IN", "$/M", "OUT"]
    assert "Used when nobody chooses: openai/gpt-5.6" in said
    assert KEY not in said


def test_a_logout_takes_the_models_away(stage: Stage, mock: MockLlm) -> None:
    client, _, _ = begin(stage, mock)
    after = len(client.trace.frames)
    client.result("logout", {})
    shown = client.wait_update("config_option_update", after)
    assert values(shown["configOptions"], "model") == [GPT]
