"""The only way out of a box whose network is an allow-list: a socket in the box that leads to this proxy.

Owns deciding by name, resolving, and passing bytes (docs/sandbox.md, clauses N-3 to N-7). The address that was judged
is the one that is connected to. Nothing that passes is looked into.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeAlias

from acp_server.base.values import value
from acp_server.sandbox.hosts import HEAD_LIMIT, PORTS, ProxyRequest, host_allowed, is_public, parse_request

CONNECTIONS: Final = 64
HEAD_SECONDS: Final = 30.0
CONNECT_SECONDS: Final = 20.0
IDLE_SECONDS: Final = 300.0
LINGER_SECONDS: Final = 10.0
_CHUNK: Final = 1 << 16
_LONGEST_PATH: Final = 100
_STALE_SECONDS: Final = 60.0

Resolve: TypeAlias = Callable[[str, int], Awaitable[list[str]]]


@value
class Decision:
    """What the proxy decided about one request; `why` is a word for programs."""

    host: str
    port: int
    allowed: bool
    why: str


class AllowListProxy:
    """One allow-list behind one socket."""

    def __init__(
        self,
        hosts: tuple[str, ...],
        on_decision: Callable[[Decision], None],
        *,
        denied: tuple[str, ...] = (),
        ports: frozenset[int] = PORTS,
        resolve: Resolve | None = None,
        public: Callable[[str], bool] = is_public,
    ) -> None:
        self._hosts = hosts
        self._denied = denied
        self._on_decision = on_decision
        self._ports = ports
        self._resolve = resolve or _resolve
        self._public = public
        self._room = asyncio.Semaphore(CONNECTIONS)
        self._server: asyncio.AbstractServer | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self.path = ""

    async def start(self, directory: str) -> None:
        """Listen on a fresh socket in a directory, made with mode 0700. Raise OSError."""
        os.makedirs(directory, 0o700, exist_ok=True)
        _sweep(directory)
        self.path = os.path.join(directory, f"{secrets.token_hex(8)}.sock")
        plug = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        _bind(plug, directory, self.path)
        os.chmod(self.path, 0o600)
        self._server = await asyncio.start_unix_server(self._accept, sock=plug, limit=HEAD_LIMIT)

    async def close(self) -> None:
        """Stop listening and end what passes; harmless when done before."""
        if self._server is not None:
            self._server.close()
            self._server = None
            with suppress(FileNotFoundError):
                os.unlink(self.path)
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        try:
            if len(self._serving) > 2 * CONNECTIONS:
                return
            if self._room.locked():
                await _answer(writer, 503)
                await _linger(reader, writer)
                return
            async with self._room:
                await self._serve(reader, writer)
                await _linger(reader, writer)
        except (OSError, EOFError, TimeoutError):
            pass  # the client sees its connection end
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = parse_request(await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_SECONDS))
        except asyncio.LimitOverrunError:
            request = None
        if request is None:
            self._on_decision(Decision("", 0, allowed=False, why="unreadable"))
            await _answer(writer, 400)
            return
        address, why = await self._judge(request)
        self._on_decision(Decision(request.host, request.port, allowed=address is not None, why=why))
        if address is None:
            await _answer(writer, 403)
            return
        try:
            opening = asyncio.open_connection(address, request.port)
            far_reader, far_writer = await asyncio.wait_for(opening, CONNECT_SECONDS)
        except (OSError, TimeoutError):
            await _answer(writer, 502)
            return
        try:
            if request.head is None:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await _both(_pass(reader, far_writer, None), _pass(far_reader, writer, None))
            else:
                far_writer.write(request.head)
                await _both(_pass_body(reader, far_writer, request.body), _pass(far_reader, writer, None))
        finally:
            far_writer.close()

    async def _judge(self, request: ProxyRequest) -> tuple[str | None, str]:
        """Return the address to connect to, or None, and why."""
        if not host_allowed(request.host, self._hosts) or host_allowed(request.host, self._denied):
            return None, "host"
        if request.port not in self._ports:
            return None, "port"
        try:
            addresses = await asyncio.wait_for(self._resolve(request.host, request.port), CONNECT_SECONDS)
        except (OSError, TimeoutError):
            return None, "unknown"
        if not addresses or not all(self._public(address) for address in addresses):
            return None, "private"
        return addresses[0], "listed"


def _bind(plug: socket.socket, directory: str, path: str) -> None:
    """Bind to a path of any length: a longer one than the kernel takes is named by way of its directory."""
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        plug.bind(path)
        return
    held = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        plug.bind(f"/proc/self/fd/{held}/{os.path.basename(path)}")
    finally:
        os.close(held)


def _sweep(directory: str) -> None:
    """Take away the sockets of processes that were killed; a fresh one may be about to listen."""
    for entry in list(os.scandir(directory)):
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as plug:
            if time.time() - entry.stat(follow_symlinks=False).st_mtime < _STALE_SECONDS:
                continue
            try:
                plug.connect(entry.path)
            except ConnectionRefusedError:
                os.unlink(entry.path)


async def _resolve(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(row[4][0]) for row in found]


async def _answer(writer: asyncio.StreamWriter, status: int) -> None:
    words = {400: "Bad Request", 403: "Forbidden by the sandbox", 502: "Bad Gateway", 503: "Too many connections"}
    writer.write(f"HTTP/1.1 {status} {words[status]}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
    await writer.drain()


async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Say the end, and take what the client still sends.

    Without it the close is a reset, which a client meets before it has read the answer that is on its way.
    """
    writer.write_eof()
    async with asyncio.timeout(LINGER_SECONDS):
        await _discard(reader)


async def _discard(reader: asyncio.StreamReader) -> None:
    while await reader.read(_CHUNK):
        pass


async def _both(first: Awaitable[None], second: Awaitable[None]) -> None:
    """Pass both ways until the far side has nothing more to say, or an error ends it."""
    there, back = asyncio.ensure_future(first), asyncio.ensure_future(second)
    try:
        await back
    finally:
        there.cancel()
        back.cancel()
        await asyncio.gather(there, back, return_exceptions=True)


async def _pass_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: int | None) -> None:
    """Pass a request's body on; what follows it has no connection to go to, and may not hold its sender up."""
    await _pass(reader, writer, count)
    await _discard(reader)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: int | None) -> None:
    """Pass bytes on, so many or all there are; the other side is told the end of a tunnel."""
    left = count
    while left is None or left > 0:
        most = _CHUNK if left is None else min(_CHUNK, left)
        data = await asyncio.wait_for(reader.read(most), IDLE_SECONDS)
        if not data:
            break
        writer.write(data)
        await asyncio.wait_for(writer.drain(), IDLE_SECONDS)
        left = None if left is None else left - len(data)
    if count is None and writer.can_write_eof():
        with suppress(OSError):
            writer.write_eof()
