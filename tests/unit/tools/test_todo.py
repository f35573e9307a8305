from __future__ import annotations

import pytest

from acp_server.sandbox.policy import Policy
from acp_server.tools.arguments import read_arguments
from acp_server.tools.todo import TodoArguments, TodoItem, TodoTool
from acp_server.tools.tool import Card, Effect, ToolError
from tests.support.file_rig import Context, text_of

TOOL = TodoTool()
LOOK = TodoItem(content="look", status="completed")
ACT = TodoItem(content="act", status="in_progress")
REST = TodoItem(content="rest", status="pending")


def context() -> Context:
    return Context("/p", Policy("read-only", "/p"))


async def test_the_whole_list_is_put_into_the_log() -> None:
    given = context()
    result = await TOOL.run(TodoArguments(todos=[LOOK, ACT, REST]), given)
    items = [
        {"content": "look", "status": "completed"},
        {"content": "act", "status": "in_progress"},
        {"content": "rest", "status": "pending"},
    ]
    assert given.recorded == [("todo/write", {"todos": items})]
    assert text_of(result) == "The plan is written."


async def test_an_empty_list_clears_the_plan() -> None:
    given = context()
    await TOOL.run(TodoArguments(todos=[]), given)
    assert given.recorded == [("todo/write", {"todos": []})]


async def test_two_items_in_progress_are_refused_and_record_nothing() -> None:
    given = context()
    with pytest.raises(ToolError, match="at most one item may be in progress") as refused:
        await TOOL.run(TodoArguments(todos=[ACT, ACT]), given)
    assert (refused.value.code, given.recorded) == ("INVALID_ARGS", [])


@pytest.mark.parametrize(
    "arguments",
    [
        "{}",
        '{"todos": {}}',
        '{"todos": [{"content": "a"}]}',
        '{"todos": [{"content": "", "status": "pending"}]}',
        '{"todos": [{"content": "a", "status": "done"}]}',
        '{"todos": [{"content": "a", "status": "pending", "id": 1}]}',
    ],
)
def test_what_is_no_list_of_items_is_refused(arguments: str) -> None:
    with pytest.raises(ToolError) as refused:
        read_arguments(TOOL, arguments)
    assert refused.value.code == "INVALID_ARGS"


def test_a_plan_has_no_effect_and_its_card_counts() -> None:
    arguments = TodoArguments(todos=[LOOK, ACT, REST])
    assert (TOOL.effect(arguments, "/p"), TOOL.parallel(arguments)) == (Effect("none"), False)
    assert TOOL.card(arguments, "/p") == Card("Plan: 1 of 3 done", "think")
