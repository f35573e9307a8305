"""Sessions, prompts and sign-in: what is taken and what is refused (clauses A, S, P, M, T-61 to T-65, T-87)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from acp_server.tools.ask import AskTool
from tests.e2e.stage import Stage, script, stop_reason
from tests.support.client import Client
from tests.support.trace import Obj

UNKNOWN = {"sessionId": "nobody", "details": "Session not found: nobody"}


def text(words: str) -> Obj:
    return {"type": "text", "text": words}


# -- sign-in


def test_an_unknown_way_to_sign_in_is_invalid(client: Client) -> None:
    assert client.error("authenticate", {"methodId": "nothing"})["code"] == -32602


@pytest.mark.parametrize("params", [{}, {"methodId": 5}, {"methodId": None}])
def test_a_wrong_way_to_sign_in_is_invalid(client: Client, params: Obj) -> None:
    assert client.error("authenticate", params)["code"] == -32602


def test_signing_in_twice_is_harmless(client: Client) -> None:
    assert [client.result("authenticate", {"methodId": "demo"}) for _ in range(2)] == [{}, {}]


# -- session/new


@pytest.mark.parametrize("cwd", ["relative", "./x", "", None, 5, [], "~"])
def test_a_folder_that_is_not_absolute_is_invalid(client: Client, cwd: object) -> None:
    error = client.error("session/new", {"cwd": cwd, "mcpServers": []})
    assert (error["code"], "details" in error["data"]) == (-32602, True)


def test_a_folder_that_is_not_there_is_invalid(client: Client, stage: Stage) -> None:
    error = client.error("session/new", {"cwd": str(stage.root / "missing"), "mcpServers": []})
    assert (error["code"], "cwd" in error["data"]["details"]) == (-32602, True)


@pytest.mark.parametrize("more", [{}, {"mcpServers": None}, {"mcpServers": []}, {"_meta": 5}, {"_meta": {}, "odd": 1}])
def test_servers_may_be_left_out_and_unknown_fields_are_ignored(client: Client, stage: Stage, more: Obj) -> None:
    result = client.result("session/new", {"cwd": str(stage.project), **more})
    assert re.fullmatch(r"[A-Za-z0-9-]+", result["sessionId"])


def test_additional_folders_have_to_be_absolute(client: Client, stage: Stage) -> None:
    params = {"cwd": str(stage.project), "mcpServers": [], "additionalDirectories": ["relative"]}
    assert client.error("session/new", params)["code"] == -32602


def test_every_session_has_an_id_of_its_own(client: Client, stage: Stage) -> None:
    assert len({client.new_session(stage.project) for _ in range(50)}) == 50


def test_commands_are_told_right_after_the_answer_and_not_before(client: Client, stage: Stage) -> None:
    first = len(client.trace.frames)
    ident = client.request("session/new", {"cwd": str(stage.project), "mcpServers": []})
    session = client.answer(ident)["result"]["sessionId"]
    commands = client.wait_update("available_commands_update", first)
    came = [f for f in client.trace.frames[first:] if f.way == "got"]
    assert [came[0].is_answer(), (u := came[1].update()) and (u.session, u.kind)] == [
        True,
        (session, "available_commands_update"),
    ]
    names = [command["name"] for command in commands["availableCommands"]]
    assert names
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", name) for name in names)


# -- session/prompt


@pytest.mark.parametrize("method", ["session/prompt", "_acp_server/session/steer"])
def test_an_unknown_session_is_named(client: Client, method: str) -> None:
    error = client.error(method, {"sessionId": "nobody", "prompt": [text("hi")]})
    assert (error["code"], error["message"], error["data"]) == (-32002, "Session not found", UNKNOWN)


@pytest.mark.parametrize("params", [{}, {"sessionId": 5}, {"sessionId": None, "prompt": []}])
def test_a_prompt_without_a_session_is_invalid(client: Client, params: Obj) -> None:
    assert client.error("session/prompt", params)["code"] == -32602


@pytest.mark.parametrize(
    "prompt",
    [
        None,
        "text",
        {},
        5,
        [5],
        ["text"],
        [{"type": "odd"}],
        [{"text": "x"}],
        [{"type": "text"}],
        [{"type": "text", "text": 5}],
        [{"type": "resource_link"}],
        [{"type": "image", "data": "AAAA", "mimeType": "image/png"}],
        [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}],
    ],
)
def test_a_prompt_of_wrong_blocks_is_invalid(client: Client, session: str, prompt: Any) -> None:
    assert client.error("session/prompt", {"sessionId": session, "prompt": prompt})["code"] == -32602


@pytest.mark.parametrize("prompt", [[], [text("")], [text("  \n\t ")]])
def test_a_prompt_without_content_ends_without_the_model(client: Client, session: str, prompt: list[Obj]) -> None:
    ident = client.request("session/prompt", {"sessionId": session, "prompt": prompt})
    answer = client.answer(ident)
    assert stop_reason(answer) == "end_turn" or answer["error"]["code"] == -32602
    assert client.said(client.turn(ident)) == ""


@pytest.mark.parametrize(
    "block",
    [
        {"type": "resource_link", "uri": "file:///a%20b.py", "name": "a b.py"},
        {"type": "resource_link", "uri": "bare/path.py", "name": "path.py"},
        {"type": "resource_link", "uri": "zed:///agent/thread", "name": "thread", "size": 5, "title": None},
        {"type": "resource", "resource": {"uri": "file:///a.py", "text": "print(1)"}},
        {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "AAAA", "mimeType": "application/x"}},
        {"type": "text", "text": "more", "annotations": {"priority": 1}, "_meta": 5, "odd": True},
    ],
)
def test_links_and_resources_are_taken(client: Client, session: str, block: Obj) -> None:
    ident = client.request("session/prompt", {"sessionId": session, "prompt": [text("hello"), block]})
    assert stop_reason(client.answer(ident)) == "end_turn"
    assert "demo model" in client.said(client.turn(ident))


@pytest.mark.parametrize("words", ["/help", "\\help", "/status"])
def test_a_command_is_run_without_the_model(client: Client, session: str, words: str) -> None:
    answer, turn = client.prompt(session, words)
    assert stop_reason(answer) == "end_turn"
    assert "demo model" not in client.said(turn)
    assert client.said(turn)


def test_other_text_with_a_slash_goes_to_the_model(client: Client, session: str) -> None:
    answer, turn = client.prompt(session, "/usr/bin is a path, tell me more")
    assert (stop_reason(answer), "/usr/bin" in client.said(turn)) == ("end_turn", True)


def test_a_failure_of_the_model_is_told_with_details(client: Client, session: str) -> None:
    answer, _ = client.prompt(session, script("error INVALID_REQUEST The model does not like this."))
    assert answer["error"]["code"] == -32603
    assert "The model does not like this." in answer["error"]["data"]["details"]
    answer, turn = client.prompt(session, script("say Again."))
    assert (stop_reason(answer), client.said(turn)) == ("end_turn", "Again.")


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("stop", "end_turn"), ("max-tokens", "max_tokens"), ("refusal", "refusal")],
)
def test_each_finish_has_its_stop_reason(client: Client, session: str, finish: str, reason: str) -> None:
    answer, _ = client.prompt(session, script("say So far.", f"finish {finish}"))
    assert stop_reason(answer) == reason


def test_a_call_of_a_tool_that_is_not_there_fails_and_the_turn_goes_on(client: Client, session: str) -> None:
    answer, turn = client.prompt(session, script('call no_such_tool {"a": 1}', "step", "say Well then."))
    (call,) = client.calls(turn)
    assert (stop_reason(answer), call.status, client.said(turn)) == ("end_turn", "failed", "Well then.")


def test_a_script_that_is_wrong_is_told_with_its_line(client: Client, session: str) -> None:
    answer, _ = client.prompt(session, script("say Fine.", "sing Loudly."))
    assert answer["error"]["code"] == -32603
    assert "ine 3" in answer["error"]["data"]["details"]


# -- commands and questions


def test_a_backslash_begins_a_command_like_a_slash(client: Client, session: str) -> None:
    said = [client.said(client.prompt(session, f"{mark}mcp")[1]) for mark in ("/", "\\")]
    assert said[0] == said[1] != ""


def test_the_model_is_told_to_ask_for_no_secret() -> None:
    assert "Never ask for passwords or keys." in AskTool.description
