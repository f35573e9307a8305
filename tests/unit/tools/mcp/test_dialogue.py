"""Requests to a server and their answers (docs/mcp.md, clauses D-2 to D-4)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from acp_server.base.cancel import BY_USER, Cancelled, CancelToken
from acp_server.jsonrpc.envelope import ABSENT, Answer, Call
from acp_server.tools.mcp.dialogue import Dialogue, McpError, progress_text
from tests.support.clock import settle


class Line:
    """A channel that keeps what is sent; `broken` is what it raises."""

    def __init__(self) -> None:
        self.sent: list[Mapping[str, Any]] = []
        self.broken: McpError | None = None

    async def send(self, message: Mapping[str, Any], cancel: CancelToken) -> None:
        self.sent.append(message)
        if self.broken is not None:
            raise self.broken


class Bench:
    def __init__(self) -> None:
        self.line = Line()
        self.changes: list[str] = []
        self.dialogue = Dialogue(self.line, ("file:///p",), lambda: self.changes.append("changed"))

    def ask(
        self, seconds: float = 60.0, cancel: CancelToken | None = None, told: list[str] | None = None
    ) -> asyncio.Task[Any]:
        progress = None if told is None else told.append
        return asyncio.ensure_future(self.dialogue.request("tools/call", {"name": "t"}, seconds, cancel, progress))


async def test_an_answer_finds_its_request() -> None:
    bench = Bench()
    one, two = bench.ask(), bench.ask()
    await settle()
    assert [message["id"] for message in bench.line.sent] == [1, 2]
    bench.dialogue.take(Answer(2, {"n": 2}, None))
    bench.dialogue.take(Answer("2", {"n": 0}, None))
    bench.dialogue.take(Answer(1, {"n": 1}, None))
    assert (await one, await two) == ({"n": 1}, {"n": 2})
    bench.dialogue.take(Answer(1, {"late": True}, None))
    await bench.dialogue.close()


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (Answer(1, None, {"code": 1, "message": "no such tool"}), "MCP_REFUSED", "no such tool"),
        (Answer(1, None, {"code": 1}), "MCP_REFUSED", "it gave no reason"),
        (Answer(1, [1], None), "MCP_MALFORMED", "its answer to tools/call is no object"),
    ],
)
async def test_answers_that_fail_a_request(answer: Answer, code: str, words: str) -> None:
    bench = Bench()
    asked = bench.ask()
    await settle()
    bench.dialogue.take(answer)
    with pytest.raises(McpError) as failed:
        await asked
    assert (failed.value.code, failed.value.message) == (code, words)
    await bench.dialogue.close()


async def test_cancelling_ends_the_wait_and_tells_the_server() -> None:
    bench, cancel = Bench(), CancelToken()
    asked = bench.ask(cancel=cancel)
    await settle()
    cancel.cancel(BY_USER)
    with pytest.raises(Cancelled):
        await asked
    await settle()
    told = bench.line.sent[-1]
    assert (told["method"], told["params"]["requestId"]) == ("notifications/cancelled", 1)
    await bench.dialogue.close()


async def test_silence_ends_the_wait_and_progress_is_shown() -> None:
    bench, told = Bench(), list[str]()
    asked = bench.ask(0.01, told=told)
    await settle()
    assert bench.line.sent[0]["params"]["_meta"] == {"progressToken": 1}
    bench.dialogue.take(Call("notifications/progress", {"progressToken": 1, "progress": 1, "total": 2}, ABSENT))
    with pytest.raises(McpError) as failed:
        await asked
    assert (failed.value.code, told) == ("MCP_SILENT", ["1 of 2"])
    bench.dialogue.take(Call("notifications/progress", {"progressToken": 1, "progress": 2}, ABSENT))
    assert told == ["1 of 2"]
    await bench.dialogue.close()


async def test_a_server_that_is_lost_ends_every_request() -> None:
    bench = Bench()
    asked = [bench.ask(), bench.ask()]
    await settle()
    bench.dialogue.lost("it ended with code 3")
    ended = await asyncio.gather(*asked, return_exceptions=True)
    assert [str(getattr(error, "message", "")) for error in ended] == ["it ended with code 3"] * 2
    await bench.dialogue.close()


async def test_a_message_that_cannot_be_sent_fails_its_request() -> None:
    bench = Bench()
    bench.line.broken = McpError("MCP_GONE", "it takes no input any more")
    with pytest.raises(McpError, match="takes no input"):
        await bench.ask()
    await bench.dialogue.close()


async def test_what_a_server_asks_is_answered_or_refused() -> None:
    bench = Bench()
    bench.dialogue.take(Call("ping", {}, "a"))
    bench.dialogue.take(Call("roots/list", {}, "b"))
    bench.dialogue.take(Call("sampling/createMessage", {}, "c"))
    bench.dialogue.take(Call("notifications/tools/list_changed", {}, ABSENT))
    bench.dialogue.take(Call("notifications/odd", {}, ABSENT))
    await settle()
    assert [{key: part for key, part in sent.items() if key != "jsonrpc"} for sent in bench.line.sent] == [
        {"id": "a", "result": {}},
        {"id": "b", "result": {"roots": [{"uri": "file:///p"}]}},
        {"id": "c", "error": {"code": -32601, "message": "Method not found"}},
    ]
    assert bench.changes == ["changed"]
    await bench.dialogue.close()


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"progress": 1, "total": 4, "message": "half"}, "1 of 4: half"),
        ({"progress": 0.5}, "0.5"),
        ({"message": "words"}, "words"),
        ({"progress": "x", "total": [], "message": 5}, ""),
    ],
)
def test_progress_as_one_line(params: dict[str, Any], text: str) -> None:
    assert progress_text(params) == text
