"""A whole connection over real pipes, seen from the client's ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from acp_server.jsonrpc.connection import Connection, Reason
from acp_server.jsonrpc.framing import LineSplitter
from acp_server.jsonrpc.outbox import Outbox
from acp_server.jsonrpc.peer import Inbound, Peer, Result, Route
from acp_server.jsonrpc.stdio import Stdio

MARK = 64 * 1024


class Client:
    """The client's ends of the pipes and the server's connection between them."""

    def __init__(self, **options: Any) -> None:
        in_fd, self.into = os.pipe()
        self.out, out_fd = os.pipe()
        os.set_blocking(self.out, False)
        self.stdio = Stdio(in_fd, out_fd)
        self.outbox = Outbox(mark=MARK)
        self.peer = Peer(
            {"echo": Route(echo), "stream": Route(self.stream)},
            self.outbox,
            lambda sentence, _: self.log.append(sentence),
        )
        self.connection = Connection(self.stdio, self.peer, self.outbox, **options)
        self.log: list[str] = []
        self.got = b""
        self.highest = 0

    async def stream(self, params: dict[str, Any], inbound: Inbound) -> Result:
        count = 0
        while not inbound.cancel.cancelled and count < params["count"]:
            await self.outbox.room(inbound.cancel)
            self.outbox.put_mergeable(count // 100, f"{count};", lambda text: b'{"text":"' + text.encode() + b'"}\n')
            self.highest = max(self.highest, self.outbox.size)
            count += 1
            await asyncio.sleep(0)
        return {"count": count}

    def send(self, method: str, params: Any = None, **members: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **members}).encode() + b"\n")

    def write(self, data: bytes) -> None:
        os.write(self.into, data)

    def hang_up(self) -> None:
        os.close(self.into)
        self.into = -1

    async def read(self, ready: Callable[[list[bytes]], bool]) -> list[Any]:
        async with asyncio.timeout(20):
            while not ready(self.got.split(b"\n")[:-1]):
                await asyncio.sleep(0)
                with contextlib.suppress(BlockingIOError):
                    self.got += os.read(self.out, 65536)
        lines, _, self.got = self.got.rpartition(b"\n")
        return [json.loads(line) for line in lines.split(b"\n")]

    def close(self) -> None:
        self.stdio.close()
        for fd in (self.into, self.out):
            if fd >= 0:
                os.close(fd)


def echo(params: dict[str, Any], _: Inbound) -> Result:
    return params


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    made = Client()
    yield made
    made.close()


def result(ident: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": ident, "result": members}


def code(answer: dict[str, Any]) -> tuple[Any, Any]:
    return answer["id"], answer["error"]["code"]


async def until(ready: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not ready():  # noqa: ASYNC110 - descriptors have no event
            await asyncio.sleep(0)


async def run(client: Client, *args: Any, **options: Any) -> asyncio.Task[Reason]:
    task = asyncio.create_task(client.connection.run(*args, **options))
    await asyncio.sleep(0)
    return task


async def test_what_was_read_before_the_end_is_answered(client: Client) -> None:
    client.send("echo", {"n": 1}, id=1)
    client.write(b'{"jsonrpc":"2.0","id":2,"method":"echo"}')
    client.hang_up()
    assert await client.connection.run() == "eof"
    assert await client.connection.close()
    assert await client.read(lambda lines: len(lines) == 2) == [result(1, n=1), result(2)]
    assert os.get_blocking(client.stdio.out_fd)


async def test_what_was_read_before_the_connection_is_served_first(client: Client) -> None:
    client.send("echo", id=2)
    client.hang_up()
    initial = b'\xef\xbb\xbf{"jsonrpc":"2.0","id":0,"method":"echo"}\n{"jsonrpc":"2.0","id":1,"method":"echo"}\r\n'
    assert await client.connection.run(initial) == "eof"
    assert await client.read(lambda got: len(got) == 3) == [result(n) for n in range(3)]


async def test_a_line_may_begin_before_the_connection(client: Client) -> None:
    client.write(b'"method":"echo"}\n')
    client.hang_up()
    assert await client.connection.run(b'{"jsonrpc":"2.0","id":1,') == "eof"
    assert await client.read(lambda got: len(got) == 1) == [result(1)]


async def test_hostile_lines_are_answered_and_the_next_is_served(client: Client) -> None:
    task = await run(client)
    client.write(b"garbage\n\xff\n[]\n42\n\r\n" + b"[" * 10_000 + b'\n{"jsonrpc":"2.0","id":true,"method":"echo"}\n')
    client.send("echo", id="live")
    answers = await client.read(lambda lines: len(lines) == 7)
    assert [code(answer) for answer in answers[:-1]] == [
        (None, -32700),
        (None, -32700),
        (None, -32600),
        (None, -32600),
        (None, -32700),
        (None, -32600),
    ]
    assert answers[-1] == result("live")
    client.connection.stop("signal")
    assert await task == "signal"


async def test_a_line_beyond_the_limit_is_answered_and_the_next_is_served() -> None:
    client = Client(splitter=LineSplitter(1000))
    task = await run(client)
    client.write(b"x" * 5000 + b"\n")
    client.send("echo", id=1)
    answers = await client.read(lambda lines: len(lines) == 2)
    assert (code(answers[0]), answers[1]) == ((None, -32600), result(1))
    client.hang_up()
    assert await task == "eof"
    client.close()


async def test_another_framing_is_hinted_at_once() -> None:
    hints: list[str] = []
    taps: list[bytes] = []
    client = Client(hint=hints.append, tap=taps.append)
    client.write(b"Content-Length: 10\r\n\r\ncontent-length: 10\r\n")
    client.hang_up()
    assert await client.connection.run() == "eof"
    assert hints == ["The client sends Content-Length headers; this protocol is one JSON message a line."]
    assert taps == [b"Content-Length: 10", b"content-length: 10"]
    client.close()


async def test_a_client_that_stops_reading_is_noticed(client: Client) -> None:
    task = await run(client)
    os.close(client.out)
    client.out = -1
    client.send("echo", id=1)
    assert await task == "broken"
    assert not await client.connection.close()


async def test_a_stop_before_the_start_counts(client: Client) -> None:
    client.connection.stop("orphan")
    client.connection.stop("signal")
    assert await client.connection.run() == "orphan"


async def test_a_client_that_reads_nothing_can_still_cancel(client: Client) -> None:
    task = await run(client)
    client.send("stream", {"count": 1_000_000}, id=1)
    await until(lambda: client.outbox.behind)
    for _ in range(1000):
        await asyncio.sleep(0)
    assert client.highest < MARK + 1000
    client.send("echo", {"read": True}, id=2)
    client.send("$/cancel_request", {"requestId": 1})
    await until(lambda: client.peer.open_calls == 0)
    frames = await client.read(lambda lines: bool(lines) and b'"id":1' in lines[-1])
    count = frames[-1]["result"]["count"]
    assert frames[-1] == result(1, count=count)
    assert [frame for frame in frames[:-1] if "text" not in frame] == [result(2, read=True)]
    assert "".join(frame.get("text", "") for frame in frames) == "".join(f"{n};" for n in range(count))
    assert count < 1_000_000
    client.hang_up()
    assert await task == "eof"
