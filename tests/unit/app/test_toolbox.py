"""Registered tools as a toolbox: arguments, failures, and that nothing with an effect runs without consent."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from acp_server.agent.tools import CallPlace, ToolError, ToolOutcome
from acp_server.app.toolbox import Toolbox
from acp_server.base.cancel import CancelToken
from acp_server.base.ids import SessionId
from acp_server.base.registered import Registered
from acp_server.messages.blocks import TextBlock, ToolCallBlock, text_of
from acp_server.session.header import SessionHeader
from acp_server.session.session import Session
from acp_server.tools.tool import AnyTool, Card, Effect, EffectKind, ToolContext, ToolResult
from acp_server.tools.tool import ToolError as Failure


class Count(BaseModel):
    model_config = ConfigDict(extra="forbid")

    times: int


class Repeat:
    description = "Says a word again."
    arguments = Count

    def __init__(self, name: str = "repeat", kind: EffectKind = "none") -> None:
        self.name, self.kind = name, kind

    def effect(self, arguments: Count, cwd: str) -> Effect:
        return Effect(self.kind)

    def card(self, arguments: Count, cwd: str) -> Card:
        return Card("Repeat", "other")

    def parallel(self, arguments: Count) -> bool:
        return arguments.times < 3

    async def run(self, arguments: Count, context: ToolContext) -> ToolResult:
        if arguments.times < 0:
            raise Failure("NEGATIVE", "It cannot be said less than never.")
        context.record("todo/write", {"todos": []})
        return ToolResult((TextBlock(f"{context.cwd} " * arguments.times),))


def box(*tools: AnyTool) -> tuple[Toolbox, Session]:
    table: Registered[AnyTool] = Registered("tool", lambda tool: str(tool.name))
    for tool in tools:
        table.add(tool)
    session = Session(SessionHeader(SessionId("s"), 0, "/p"), now=lambda: 0)
    return Toolbox(table, session), session


def call(name: str, arguments: str) -> ToolCallBlock:
    return ToolCallBlock("c", name, arguments)


async def run(toolbox: Toolbox, name: str, arguments: str) -> ToolOutcome:
    return await toolbox.run(CallPlace("s", 1, 1, call(name, arguments)), CancelToken())


def test_tools_are_shown_by_name() -> None:
    toolbox, _ = box(Repeat("b"), Repeat("a"))
    schemas = toolbox.schemas()
    assert [schema.name for schema in schemas] == ["a", "b"]
    parameters: Any = schemas[0].parameters
    assert (parameters["additionalProperties"], list(parameters["properties"])) == (False, ["times"])
    assert toolbox.schemas() is schemas


@pytest.mark.parametrize(
    ("name", "arguments", "parallel"),
    [("repeat", '{"times": 1}', True), ("repeat", '{"times": 3}', False), ("repeat", "{", False), ("x", "{}", False)],
)
def test_what_cannot_be_told_runs_alone(name: str, arguments: str, parallel: bool) -> None:
    toolbox, _ = box(Repeat())
    assert toolbox.parallel(call(name, arguments)) is parallel


@pytest.mark.parametrize(
    ("name", "arguments", "error", "words"),
    [
        ("x", "{}", ToolError("UnknownToolError", "UNKNOWN_TOOL"), "there is no tool named 'x'"),
        ("repeat", "{", ToolError("InvalidArgumentsError", "INVALID_ARGS"), "Invalid JSON"),
        ("repeat", '{"time": 1}', ToolError("InvalidArgumentsError", "INVALID_ARGS"), "times"),
        ("repeat", '{"times": -1}', ToolError("ToolError", "NEGATIVE"), "It cannot be said less than never."),
        ("edit", '{"times": 1}', ToolError("DeniedError", "DENIED"), "edit needs consent that nobody can give"),
    ],
)
async def test_a_call_that_fails_says_why(name: str, arguments: str, error: ToolError, words: str) -> None:
    toolbox, session = box(Repeat(), Repeat("edit", "edit"))
    outcome = await run(toolbox, name, arguments)
    assert outcome.error == error
    assert words in text_of(outcome.content)
    assert session.seq == 0


async def test_a_call_runs_and_may_record() -> None:
    toolbox, session = box(Repeat())
    outcome = await run(toolbox, "repeat", '{"times": 2}')
    assert outcome == ToolOutcome((TextBlock("/p /p "),))
    assert [event.type for event in session.events.since(0)] == ["todo/write"]
