"""A client that sends more than it should still reads its answer and then the end, not a reset."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from acp_server.sandbox.launcher import relay
from acp_server.sandbox.proxy import AllowListProxy, Decision

MORE = b"GET http://evil.test/ HTTP/1.1\r\n\r\n" * 40_000
BODY = b"a" * 3_000_000


@asynccontextmanager
async def served(base: Path) -> AsyncIterator[tuple[str, int]]:
    """A proxy before a far side that answers before it has read all, and a relay before the proxy."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + BODY)
        await writer.drain()
        writer.close()

    async def resolve(_: str, __: int) -> list[str]:
        return ["127.0.0.1"]

    told: list[Decision] = []
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    proxy = AllowListProxy(("ok.test",), told.append, ports=frozenset({port}), resolve=resolve, public=lambda _: True)
    await proxy.start(str(base))
    yield proxy.path, port
    await proxy.close()
    server.close()
    await server.wait_closed()


async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes) -> bytes:
    """Send all, tell nothing of the end, and read to the end."""

    async def say() -> None:
        writer.write(sent)
        await writer.drain()

    saying = asyncio.ensure_future(say())
    got = await asyncio.wait_for(reader.read(), 30)
    await asyncio.wait_for(saying, 30)
    writer.close()
    return got


async def test_an_answer_is_read_whole_by_a_client_that_sends_on(tmp_path: Path) -> None:
    async with served(tmp_path) as (path, port):
        plain = b"GET http://ok.test:%d/ HTTP/1.1\r\n\r\n" % port
        heads = [plain, b"GET http://no.test/ HTTP/1.1\r\n\r\n", b"nonsense\r\n\r\n", b"x" * (17 << 10)]
        got = [await talk(*await asyncio.open_unix_connection(path), head + MORE) for head in heads]
    assert got[0] == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + BODY
    assert [answer.split(b"\r\n")[0] for answer in got[1:]] == [
        b"HTTP/1.1 403 Forbidden by the sandbox",
        *[b"HTTP/1.1 400 Bad Request"] * 2,
    ]


async def test_the_relay_gives_the_answer_and_the_end_and_lets_nobody_wait(tmp_path: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    async with served(tmp_path) as (path, port):
        code = f"import socket, runpy; runpy.run_path({relay.__file__!r})['relay'](socket.socket(fileno=3), {path!r})"
        child = subprocess.Popen(  # noqa: ASYNC220 - it only has to be started
            [sys.executable, "-I", "-S", "-c", f"import os; os.dup2({listener.fileno()}, 3); {code}"],
            pass_fds=[listener.fileno()],
        )
        address = listener.getsockname()
        try:
            plain = b"GET http://ok.test:%d/ HTTP/1.1\r\n\r\n" % port
            idle = socket.create_connection(address)
            idle.sendall(plain)  # and reads nothing
            got = [await talk(*await asyncio.open_connection(*address), plain + MORE) for _ in range(3)]
            idle.close()
        finally:
            child.kill()
            child.wait()
            listener.close()
    assert got == [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + BODY] * 3
