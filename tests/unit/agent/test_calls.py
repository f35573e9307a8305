"""Tool calls of one step: overlap, order, cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from acp_server.agent.tools import CallPlace, ToolOutcome
from acp_server.base.cancel import BY_USER, CancelToken
from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import TextBlock, ToolCallBlock
from acp_server.messages.chunks import BlockEnd, FinishChunk
from acp_server.messages.request import ToolSchema
from tests.support.rig import Answer, Rig, text


class Gates:
    """Tools that end when the test says so; names that begin with `x` are exclusive."""

    def __init__(self) -> None:
        self.open: dict[str, asyncio.Event] = {}
        self.running: list[str] = []

    def schemas(self) -> Sequence[ToolSchema]:
        return ()

    def view(self, call: ToolCallBlock) -> JsonValue:
        return None

    def parallel(self, call: ToolCallBlock) -> bool:
        return not call.name.startswith("x")

    def asks(self, place: CallPlace) -> bool:
        return False

    async def run(self, place: CallPlace, cancel: CancelToken) -> ToolOutcome:
        name = place.call.name
        self.running.append(name)
        event = self.open.setdefault(name, asyncio.Event())
        cancel.subscribe(event.set)
        await event.wait()
        self.running.remove(name)
        return ToolOutcome((TextBlock(f"{name} done"),))

    def end(self, name: str) -> None:
        self.open[name].set()


def calls(*names: str) -> Answer:
    blocks = [BlockEnd(n, ToolCallBlock(f"id-{name}", name, "{}")) for n, name in enumerate(names)]
    return (*blocks, FinishChunk("tool-calls"))


def traffic(rig: Rig) -> list[str]:
    """`+name` for a call, `name` for a result, in the order of the log."""
    out = []
    for event in rig.session.events.since(0):
        if event.type == "tool/call":
            out.append(f"+{event.data['name']}")
        elif event.type == "tool/result":
            message: Any = event.data["message"]
            out.append(message["source"]["callId"].removeprefix("id-"))
    return out


async def test_results_commit_in_the_models_order_whatever_ends_first() -> None:
    tools = Gates()
    rig = Rig([calls("a", "b", "c"), text("ok")], tools=tools)
    rig.say("go")
    await rig.settle()
    assert tools.running == ["a", "b", "c"]
    for name in ("c", "b"):
        tools.end(name)
        await rig.settle()
    assert traffic(rig) == ["+a", "+b", "+c"]
    tools.end("a")
    await rig.agent.when_idle()
    assert traffic(rig) == ["+a", "+b", "+c", "a", "b", "c"]


async def test_an_exclusive_call_waits_for_those_before_and_holds_those_after() -> None:
    tools = Gates()
    rig = Rig([calls("a", "x", "b"), text("ok")], tools=tools)
    rig.say("go")
    await rig.settle()
    assert tools.running == ["a"]
    tools.end("a")
    await rig.settle()
    assert tools.running == ["x"]
    tools.end("x")
    await rig.settle()
    assert tools.running == ["b"]
    tools.end("b")
    await rig.agent.when_idle()
    assert traffic(rig) == ["+a", "a", "+x", "x", "+b", "b"]


async def test_at_most_ten_calls_run_at_once_and_the_pool_rolls() -> None:
    tools = Gates()
    names = [f"t{n}" for n in range(12)]
    rig = Rig([calls(*names), text("ok")], tools=tools)
    rig.say("go")
    await rig.settle()
    assert len(tools.running) == 10
    tools.end("t5")
    await rig.settle()
    assert len(tools.running) == 10
    assert "t10" in tools.running
    for name in names:
        tools.open.setdefault(name, asyncio.Event()).set()
    await rig.agent.when_idle()
    assert [entry for entry in traffic(rig) if not entry.startswith("+")] == names


async def test_cancel_drains_what_runs_and_pairs_what_does_not() -> None:
    tools = Gates()
    rig = Rig([calls("a", "x", "b")], tools=tools)
    rig.say("go")
    await rig.settle()
    rig.agent.cancel(BY_USER)
    await rig.agent.when_idle()
    assert rig.ends["go"].kind == "aborted"
    assert traffic(rig) == ["+a", "a", "+x", "x", "+b", "b"]
    errors = [e.data.get("error") for e in rig.session.events.since(0) if e.type == "tool/result"]
    assert errors == [None, *[{"name": "AbortedError", "code": "ABORTED_BEFORE_DISPATCH"}] * 2]


async def test_a_call_that_waits_for_the_disk_is_not_started_when_the_turn_is_cancelled() -> None:
    tools = Gates()
    rig = Rig([calls("a", "b")], tools=tools)
    rig.journal.out_from = 2
    rig.say("go")
    await rig.journal.waiting.wait()
    rig.agent.cancel(BY_USER)
    await rig.agent.when_idle()
    assert (rig.ends["go"].kind, tools.running) == ("aborted", [])
    errors = [e.data.get("error") for e in rig.session.events.since(0) if e.type == "tool/result"]
    assert errors == [{"name": "AbortedError", "code": "ABORTED_BEFORE_DISPATCH"}] * 2


async def test_a_call_is_durable_before_its_tool_runs() -> None:
    tools = Gates()
    rig = Rig([calls("a"), text("ok")], tools=tools)
    rig.say("go")
    await rig.settle()
    call = next(event.seq for event in rig.session.events.since(0) if event.type == "tool/call")
    assert rig.journal.flushed[-1] == call + 1
    tools.end("a")
    await rig.agent.when_idle()
