"""The handshake: versions, capabilities, what is offered (clauses I-01 to I-16, T-66, A-04, A-15)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.stage import Stage
from tests.support.client import Client
from tests.support.mock_llm import KEY
from tests.support.trace import Obj


@pytest.mark.parametrize("version", [1, 2, 99, 65535, 0, -1, "1"])
def test_any_whole_number_gets_version_1(client: Client, version: object) -> None:
    assert client.result("initialize", {"protocolVersion": version})["protocolVersion"] == 1


@pytest.mark.parametrize("version", [True, 1.5, None, [], {}, "one", ""])
def test_what_is_no_whole_number_is_invalid(client: Client, version: object) -> None:
    assert client.error("initialize", {"protocolVersion": version})["code"] == -32602


def test_a_missing_version_is_invalid(client: Client) -> None:
    assert client.error("initialize", {})["code"] == -32602


@pytest.mark.parametrize(
    "capabilities", [None, {}, 5, "all", [], {"fs": "yes"}, {"fs": {"readTextFile": "no"}, "terminal": 1, "auth": []}]
)
def test_odd_capabilities_are_no_error(client: Client, capabilities: object) -> None:
    params = {"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": {"name": 5}}
    assert client.result("initialize", params)["protocolVersion"] == 1


def test_the_shape_of_version_2_gets_the_answer_of_version_1(client: Client) -> None:
    params = {"protocolVersion": 2, "info": {"name": "x", "version": "1"}, "capabilities": {"fs": {}}}
    answer = client.result("initialize", params)
    assert (answer["protocolVersion"], "agentCapabilities" in answer) == (1, True)


def test_a_second_initialize_keeps_the_sessions(client: Client, session: str) -> None:
    client.initialize()
    answer, turn = client.prompt(session, "@script\nsay Still here.")
    assert (answer["result"], client.said(turn)) == ({"stopReason": "end_turn"}, "Still here.")


def test_the_answer_is_complete(client: Client) -> None:
    answer = client.initialize()
    assert sorted(answer) == ["agentCapabilities", "agentInfo", "authMethods", "protocolVersion"]
    assert sorted(answer["agentInfo"]) == ["name", "title", "version"]
    assert all(isinstance(answer["agentInfo"][key], str) for key in answer["agentInfo"])


def test_flags_are_booleans_and_capabilities_are_objects(client: Client) -> None:
    offered: Obj = client.initialize()["agentCapabilities"]
    flags = [offered["loadSession"], *offered["promptCapabilities"].values(), *offered["mcpCapabilities"].values()]
    assert {type(flag) for flag in flags} == {bool}
    assert {type(value) for value in offered["sessionCapabilities"].values()} <= {dict}


def test_the_first_way_to_sign_in_is_of_the_agent_and_none_is_of_a_removed_kind(client: Client) -> None:
    ways: list[Obj] = client.initialize()["authMethods"]
    assert "type" not in ways[0]
    assert "env_var" not in [way.get("type") for way in ways]
    assert len({way["id"] for way in ways}) == len(ways) > 0


def test_the_answer_is_the_same_with_and_without_a_key(stage: Stage) -> None:
    with_key = stage.client(None, {"OPENAI_API_KEY": KEY}).initialize()
    assert stage.client(None).initialize() == with_key


def test_nothing_but_initialize_is_served_before_it(stage: Stage) -> None:
    early = stage.client()
    early.notify("session/cancel", {"sessionId": "x"})
    for method in ("session/new", "session/list", "no/such", "authenticate"):
        assert early.error(method, {})["code"] == -32600
    assert early.initialize()["protocolVersion"] == 1
    assert early.new_session(stage.project)


METHODS: dict[str, Any] = {
    "session/load": lambda offered: offered["loadSession"],
    "session/list": lambda offered: "list" in offered["sessionCapabilities"],
    "session/resume": lambda offered: "resume" in offered["sessionCapabilities"],
    "session/close": lambda offered: "close" in offered["sessionCapabilities"],
    "session/delete": lambda offered: "delete" in offered["sessionCapabilities"],
    "logout": lambda offered: "logout" in offered.get("auth", {}),
}


@pytest.mark.parametrize("method", METHODS)
def test_what_is_offered_is_there_and_what_is_not_is_not(client: Client, method: str) -> None:
    offered = client.initialize()["agentCapabilities"]
    answer = client.answer(client.request(method, {}))
    code = answer.get("error", {}).get("code")
    assert (code != -32601) == METHODS[method](offered)
