"""From a model's call to an outcome: checking, ending, bounding, remembering."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from acp_server.agent.toolbox import RAW_BYTES, Scene, Toolbox
from acp_server.agent.tools import CallPlace, ToolOutcome
from acp_server.base.cancel import BY_USER, CancelToken
from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.base.registered import Registered
from acp_server.messages.blocks import Message, TextBlock, ToolCallBlock, ToolResultBlock, ToolSource, text_of
from acp_server.messages.codec import message_to_json
from acp_server.sandbox.policy import Policy
from acp_server.tools.beside import NothingBeside, Whole
from acp_server.tools.run import INLINE_BYTES, Limits
from acp_server.tools.tool import AnyTool, Card, Effect, ToolContext, ToolError, ToolResult
from tests.support.rig import Rig

Body = Callable[[ToolContext], Awaitable[ToolResult]]


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    count: int = Field(ge=1)


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    items: list[Inner] = Field(default_factory=list)
    name: str = ""


class Play:
    """A tool that does what the test says."""

    name = "play"
    description = "Plays."
    arguments = Arguments

    def __init__(self, body: Body) -> None:
        self.body = body

    def effect(self, arguments: Arguments, cwd: str) -> Effect:
        return Effect("none")

    def card(self, arguments: Arguments, cwd: str) -> Card:
        return Card("Play", "other")

    def parallel(self, arguments: Arguments) -> bool:
        return True

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        return await self.body(context)


@dataclass
class Shelf(NothingBeside):
    texts: list[str] = field(default_factory=list)

    async def keep_text(self, text: str) -> str | None:
        self.texts.append(text)
        return f"/kept/{len(self.texts)}"


class Bench:
    def __init__(self, body: Body, limits: Limits | None = None) -> None:
        self.rig, self.shelf, self.cancel = Rig([]), Shelf(), CancelToken()
        tools: Registered[AnyTool] = Registered("tool", lambda tool: tool.name)
        tools.add(Play(body))
        policy = Policy("read-only", "/p")
        scene = Scene(self.rig.session, "/p", lambda _: policy, _hear, self.shelf, limits or Limits())
        self.box = Toolbox(tools, scene)

    async def run(self, arguments: str = "{}", name: str = "play") -> ToolOutcome:
        call = ToolCallBlock("c", name, arguments)
        return await self.box.run(CallPlace("s", 1, 1, call), self.cancel)

    def log(self, outcome: ToolOutcome) -> None:
        """Put an outcome into the log as `calls` does."""
        message = Message("r", "user", (ToolResultBlock("c", outcome.content),), ToolSource("c"))
        place = {"turn": 1, "step": 1}
        session = self.rig.session
        if session.seq == 0:
            session.append("turn/start", {"turn": 1})
            session.append("step/start", place)
        answer: JsonObject = {
            "id": "a",
            "role": "assistant",
            "source": {"kind": "model", "provider": "p", "model": "m"},
        }
        blocks: list[JsonValue] = [{"type": "tool-call", "id": "c", "name": "play", "arguments": "{}"}]
        session.append("assistant/message", {**place, "message": {**answer, "content": blocks}}, surface_op="append")
        session.append("tool/call", {**place, "callId": "c", "name": "play", "arguments": "{}"})
        data = {**place, "message": message_to_json(message), "meta": outcome.meta}
        session.append("tool/result", data, surface_op="append", sources=(session.seq - 1,))


def _hear(_call_id: str, _text: str) -> None:
    return None


def words(outcome: ToolOutcome) -> str:
    return text_of(outcome.content)


def code(outcome: ToolOutcome) -> str | None:
    return None if outcome.error is None else outcome.error.code


async def done(_context: ToolContext) -> ToolResult:
    return ToolResult((TextBlock("done"),))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"items": [{"count": 1}, {"count": 0}]}', "items.1.count: Input should be greater than or equal to 1"),
        ('{"items": [{}]}', "items.0.count: Field required"),
        ('{"nmae": "x"}', "nmae: Extra inputs are not permitted"),
        ('{"name": 1}', "name: Input should be a valid string"),
        ("{", "are no JSON"),
        ("[]", "must be a JSON object"),
    ],
)
async def test_a_wrong_argument_is_named(arguments: str, told: str) -> None:
    outcome = await Bench(done).run(arguments)
    assert (code(outcome), told in words(outcome)) == ("INVALID_ARGS", True)


async def test_every_wrong_field_is_named_at_once() -> None:
    outcome = await Bench(done).run('{"items": [{"count": 0}], "name": 1, "more": 2}')
    assert [part.split(":")[0] for part in words(outcome).split("\n")[1:]] == ["items.0.count", "name", "more"]


async def test_a_tool_that_is_not_there_is_answered() -> None:
    assert code(await Bench(done).run(name="nothing")) == "UNKNOWN_TOOL"


async def test_the_same_call_is_reminded_of_at_three_five_and_eight() -> None:
    bench = Bench(done)
    told = [f"{n} times in a row" in words(await bench.run()) for n in range(1, 10)]
    assert [n for n, reminded in enumerate(told, 1) if reminded] == [3, 5, 8]
    await bench.run('{"name": "x"}')
    assert ["row" in words(await bench.run()) for _ in range(3)] == [False, False, True]


async def test_failing_calls_are_reminded_of_too() -> None:
    bench = Bench(done)
    told = ["3 times in a row" in words(await bench.run("[")) for _ in range(3)]
    assert told == [False, False, True]


async def test_a_tool_that_ignores_the_cancellation_is_ended() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def stubborn(_context: ToolContext) -> ToolResult:
        started.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()
        raise AssertionError

    bench = Bench(stubborn, Limits(grace=0.01))
    running = asyncio.ensure_future(bench.run())
    await started.wait()
    bench.cancel.cancel(BY_USER)
    assert (code(await running), ended.is_set()) == ("ABORTED", True)


async def test_a_tool_that_swallows_its_end_holds_up_nobody() -> None:
    started, release = asyncio.Event(), asyncio.Event()

    async def immortal(_context: ToolContext) -> ToolResult:
        started.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return ToolResult(())

    bench = Bench(immortal, Limits(grace=0.01))
    running = asyncio.ensure_future(bench.run())
    await started.wait()
    bench.cancel.cancel(BY_USER)
    assert code(await running) == "ABORTED"
    release.set()


async def test_a_tool_that_takes_too_long_is_ended() -> None:
    async def slow(_context: ToolContext) -> ToolResult:
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    assert code(await Bench(slow, Limits(seconds=0.01)).run()) == "TOOL_TIMEOUT"


async def test_what_has_happened_is_told_although_the_turn_was_cancelled() -> None:
    async def quick(context: ToolContext) -> ToolResult:
        bench.cancel.cancel(BY_USER)
        return await done(context)

    bench = Bench(quick)
    assert words(await bench.run()) == "done"


async def test_a_fault_in_a_tool_is_a_failed_call() -> None:
    async def broken(_context: ToolContext) -> ToolResult:
        raise RuntimeError("secret")

    outcome = await Bench(broken).run()
    assert (code(outcome), "secret" in words(outcome)) == ("TOOL_FAILED", False)


async def test_a_long_result_is_cut_and_kept_whole() -> None:
    text = "a" * INLINE_BYTES + "é" * 1000 + "z"

    async def long(_context: ToolContext) -> ToolResult:
        return ToolResult((TextBlock(text), TextBlock("end")))

    bench = Bench(long)
    told = words(await bench.run())
    assert bench.shelf.texts == [f"{text}\nend"]
    assert ("the whole text is in /kept/1" in told, told.startswith("aaa"), told.endswith("z\nend")) == (True,) * 3
    assert len(told.encode()) < INLINE_BYTES + 200


async def test_a_long_error_is_cut_and_kept_whole() -> None:
    async def long(_context: ToolContext) -> ToolResult:
        raise ToolError("STOPPED", "b" * (INLINE_BYTES + 1))

    bench = Bench(long)
    outcome = await bench.run()
    assert (code(outcome), [len(text) for text in bench.shelf.texts]) == ("STOPPED", [INLINE_BYTES + 1])
    assert "the whole text is in /kept/1" in words(outcome)


async def test_what_is_in_a_file_already_is_not_kept_again() -> None:
    async def long(_context: ToolContext) -> ToolResult:
        return ToolResult((TextBlock("c" * (INLINE_BYTES + 1)),), whole=Whole("/all", 7_000_000))

    bench = Bench(long)
    told = words(await bench.run())
    missing = 7_000_000 - INLINE_BYTES
    assert f"[… {missing} bytes left out here; the whole text is in /all, which you can read …]" in told
    assert bench.shelf.texts == []


@pytest.mark.parametrize(("size", "kept"), [(10, True), (RAW_BYTES, False)])
async def test_the_raw_output_is_kept_up_to_a_limit(size: int, kept: bool) -> None:
    output: JsonObject = {"text": "x" * size}

    async def raw(_context: ToolContext) -> ToolResult:
        return ToolResult((), raw_output=output)

    meta: Any = (await Bench(raw).run()).meta
    assert meta == {"rawOutput": output if kept else {"leftOut": len(json.dumps(output))}}


async def test_facts_come_back_in_order_also_those_of_failed_calls() -> None:
    heard: list[list[JsonObject]] = []
    facts: Iterator[int] = iter(range(10))

    async def knowing(context: ToolContext) -> ToolResult:
        heard.append(list(context.remembered("seen")))
        context.remember("seen", {"n": next(facts)})
        context.remember("other", {"n": -1})
        if len(heard) == 2:
            raise ToolError("NO", "no")
        return ToolResult(())

    bench = Bench(knowing)
    for _ in range(3):
        bench.log(await bench.run())
    assert heard == [[], [{"n": 0}], [{"n": 0}, {"n": 1}]]
