"""A tiny HTTP/1.1 server on this machine that does what a test says with each request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Request:
    line: str
    headers: dict[str, str]
    body: bytes
    connection: int


@dataclass
class Exchange:
    """A request and the way back."""

    request: Request
    writer: asyncio.StreamWriter

    async def head(self, status: int = 200, reason: str = "OK", **headers: str) -> None:
        lines = [f"HTTP/1.1 {status} {reason}", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items()), "", ""]
        await self.raw("\r\n".join(lines).encode())

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def chunk(self, data: bytes) -> None:
        await self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def last_chunk(self) -> None:
        await self.raw(b"0\r\n\r\n")

    async def whole(self, status: int, body: bytes, **headers: str) -> None:
        await self.head(status, content_length=str(len(body)), **headers)
        await self.raw(body)


Answer = Callable[[Exchange], Coroutine[None, None, None]]


class Reader(asyncio.StreamReader):
    """Tells when the client has hung up, even while nobody reads."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = asyncio.Event()

    def feed_eof(self) -> None:
        super().feed_eof()
        self.ended.set()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.ended.set()


@dataclass
class Server:
    """Plays one answer after the other and notes the requests; `hung_up` is set once a client has hung up."""

    answers: list[Answer]
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: Reader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        try:
            while (request := await read_request(reader, number)) is not None:
                self.requests.append(request)
                await self._answer(Exchange(request, writer), reader)
                if writer.is_closing() or reader.ended.is_set():
                    return
        finally:
            writer.close()

    async def _answer(self, exchange: Exchange, reader: Reader) -> None:
        answer = asyncio.ensure_future(self.answers.pop(0)(exchange))
        ended = asyncio.ensure_future(reader.ended.wait())
        try:
            await asyncio.wait({answer, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if reader.ended.is_set():
                self.hung_up.set()
            answer.cancel()
            ended.cancel()
            await asyncio.gather(answer, ended, return_exceptions=True)


async def read_request(reader: Reader, number: int) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, *rest = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (entry.partition(":") for entry in rest)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return Request(line, headers, body, number)


@asynccontextmanager
async def loopback(*answers: Answer) -> AsyncIterator[Server]:
    server = Server(list(answers))
    tasks: set[asyncio.Task[None]] = set()

    def protocol() -> asyncio.StreamReaderProtocol:
        reader = Reader()

        def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.get_running_loop().create_task(server.serve(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        return asyncio.StreamReaderProtocol(reader, accept)

    listener = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)


def silent_after(*parts: bytes) -> Answer:
    """Return an answer that sends these bytes, then nothing until the client hangs up."""

    async def answer(exchange: Exchange) -> None:
        for part in parts:
            await exchange.raw(part)
        await asyncio.Event().wait()

    return answer


def whole(status: int, data: bytes, **headers: str) -> Answer:
    """Return an answer of known length."""

    async def answer(exchange: Exchange) -> None:
        await exchange.whole(status, data, **headers)

    return answer
