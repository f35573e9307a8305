"""A Chat Completions server that costs next to nothing, in a process of its own, for measuring whoever talks to it.

The last words `bench KIND COUNT GAP_MS` in a request choose the answer:
    pace    COUNT deltas, one every GAP_MS, each carrying the moment at which it is sent
    burst   COUNT deltas in one write; the first and the last carry the moment
    hang    one delta, then silence until the caller hangs up
Anything else is answered by one delta. The first delta also carries the moment at which the request had come. Moments
are CLOCK_MONOTONIC nanoseconds (`r123;` request, `t123;` sent), which every process of one machine reads alike.

Prints its port, serves until standard input ends. Standard library only.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time

DIRECTIVE = re.compile(rb"bench (pace|burst|hang) (\d+) (\d+)")
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
MODELS = b'{"object":"list","data":[{"id":"mock","object":"model"}]}'
BEFORE = b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"mock","choices":[{"index":0,"delta":'
FINISH = (
    BEFORE
    + b'{},"finish_reason":"stop"}]}\n\n'
    + b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"mock","choices":[],'
    + b'"usage":{"prompt_tokens":10,"completion_tokens":10,"total_tokens":20}}\n\ndata: [DONE]\n\n'
)


def delta(text: str) -> bytes:
    """Return one event that adds `text`, which needs no escaping."""
    return BEFORE + b'{"content":"' + text.encode() + b'"},"finish_reason":null}]}\n\n'


def filler(count: int) -> bytes:
    """Return that many deltas as one body part."""
    return b"".join(delta(f" token {n}") for n in range(count))


class Conversation(asyncio.Protocol):
    """One connection: requests in, prebuilt bytes out."""

    prebuilt: dict[int, bytes] = {}  # noqa: RUF012 - shared on purpose: a body is built once in the process

    def __init__(self) -> None:
        self._received = bytearray()
        self._chunked = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See Protocol."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every request that is whole."""
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._received[:end])
            length = LENGTH.search(head)
            total = end + 4 + (int(length[1]) if length else 0)
            if len(self._received) < total:
                return
            moment = time.monotonic_ns()
            body = bytes(self._received[end + 4 : total])
            del self._received[:total]
            self._answer(head, body, moment)

    def _answer(self, head: bytes, body: bytes, moment: int) -> None:
        if head.startswith(b"GET"):
            size = str(len(MODELS)).encode()
            self._transport.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: " + size + b"\r\n\r\n" + MODELS
            )
            return
        self._chunked = b" HTTP/1.1" in head
        how = b"transfer-encoding: chunked\r\n\r\n" if self._chunked else b"connection: close\r\n\r\n"
        self._transport.write(STREAM_HEAD + how)
        found = DIRECTIVE.findall(body)
        kind, count, gap = found[-1] if found else (b"pace", b"1", b"0")
        if kind == b"burst":
            self._burst(int(count), moment)
        elif kind == b"hang":
            self._write(delta(f"r{moment};t{time.monotonic_ns()};"))
        else:
            self._pace(int(count), int(gap) / 1000, f"r{moment};", asyncio.get_running_loop().time())

    def _burst(self, count: int, moment: int) -> None:
        middle = self.prebuilt.get(count)
        if middle is None:
            middle = self.prebuilt[count] = filler(max(0, count - 2))
        now = f"t{time.monotonic_ns()};"
        self._write(delta(f"r{moment};{now}") + middle + delta(now) + FINISH)
        self._end()

    def _pace(self, left: int, gap: float, mark: str, due: float) -> None:
        if self._transport.is_closing():
            return
        event = delta(f"{mark}t{time.monotonic_ns()};")
        if left <= 1:
            self._write(event + FINISH)
            self._end()
            return
        self._write(event)
        asyncio.get_running_loop().call_at(due + gap, self._pace, left - 1, gap, "", due + gap)

    def _write(self, data: bytes) -> None:
        if self._chunked:
            self._transport.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        else:
            self._transport.write(data)

    def _end(self) -> None:
        if self._chunked:
            self._transport.write(b"0\r\n\r\n")
        else:
            self._transport.close()


async def serve() -> None:
    """Print the port and serve until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Conversation, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.buffer.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve())
