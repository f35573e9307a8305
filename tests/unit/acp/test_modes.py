from __future__ import annotations

import pytest

from acp_server.acp.modes import mode_option, mode_update, modes_block, read_mode
from acp_server.acp.plan import plan_update
from acp_server.agent.modes import DESCRIPTIONS, MODES, Mode
from acp_server.jsonrpc.errors import RpcError


@pytest.mark.parametrize("mode", MODES)
def test_block_and_option_say_the_same(mode: Mode) -> None:
    block, option = modes_block(mode), mode_option(mode)
    assert (block["currentModeId"], option["currentValue"]) == (mode, mode)
    told = [(known["id"], known["name"], known["description"]) for known in block["availableModes"]]
    assert told == [(ident, *words) for ident, words in DESCRIPTIONS.items()]
    assert [(choice["value"], choice["name"], choice["description"]) for choice in option["options"]] == told
    assert (option["id"], option["name"], option["category"], option["type"]) == ("mode", "Mode", "mode", "select")


def test_every_mode_is_described() -> None:
    assert tuple(DESCRIPTIONS) == MODES == ("ask", "auto", "plan", "full")


@pytest.mark.parametrize(
    ("data", "mode"),
    [
        *(({"preset": mode}, mode) for mode in MODES),
        ({"preset": "yolo"}, "ask"),
        ({"preset": None}, "ask"),
        ({}, "ask"),
    ],
)
def test_an_update_names_a_mode_that_there_is(data: dict[str, object], mode: str) -> None:
    assert mode_update(data) == {"sessionUpdate": "current_mode_update", "currentModeId": mode}


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_is_read_by_its_id(mode: Mode) -> None:
    assert read_mode(mode, "modeId") == mode


@pytest.mark.parametrize("given", ["yolo", "Ask", "ask ", "", None, 0, True, ["ask"], {"id": "ask"}])
def test_what_is_no_mode_is_refused_by_the_name_of_its_field(given: object) -> None:
    with pytest.raises(RpcError) as refused:
        read_mode(given, "modeId")
    assert refused.value.rpc_code == -32602
    assert "modeId" in refused.value.message
    assert "ask, auto, plan, full" in refused.value.message


def test_a_plan_is_the_whole_list() -> None:
    todos = [{"content": "look", "status": "completed"}, {"content": "act", "status": "pending"}]
    entries = [{**todo, "priority": "medium"} for todo in todos]
    assert plan_update({"todos": todos}) == {"sessionUpdate": "plan", "entries": entries}
    assert plan_update({"todos": []}) == {"sessionUpdate": "plan", "entries": []}
