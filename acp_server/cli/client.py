"""A small ACP client over a child process, for the commands that drive the server as an editor does."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

LINE_LIMIT: Final = 32 * 1024 * 1024
EXIT_SECONDS: Final = 5.0
METHOD_NOT_FOUND: Final = {"code": -32601, "message": "Method not found"}


class ClientError(Exception):
    """The server answered with an error, or went away; the text says so in one sentence."""


class Client:
    """Starts the command, sends requests, hands each `session/update` to `on_update`; use as a context."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], on_update: Callable[[Mapping[str, Any]], None]
    ) -> None:
        self._command = command
        self._environment = environment
        self._on_update = on_update
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._process: Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._next = 0

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=PIPE, stdout=PIPE, env=dict(self._environment), limit=LINE_LIMIT
        )
        self._reader = asyncio.create_task(self._read(self._process))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, reader = self._process, self._reader
        if process is None or reader is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), EXIT_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
        await reader

    async def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result; raise ClientError with the server's own words."""
        future = asyncio.get_running_loop().create_future()
        ident, self._next = self._next, self._next + 1
        self._waiting[ident] = future
        await self._send({"id": ident, "method": method, "params": params})
        answer = await future
        if "error" in answer:
            raise ClientError(f"{method}: {answer['error'].get('message', 'failed')}")
        result: dict[str, Any] = answer["result"]
        return result

    async def _send(self, message: Mapping[str, Any]) -> None:
        if self._process is None or self._process.stdin is None:
            raise ClientError("the server is not started")
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
        try:
            self._process.stdin.write(line.encode() + b"\n")
            await self._process.stdin.drain()
        except ConnectionError:
            raise ClientError("the server has ended") from None

    async def _read(self, process: Process) -> None:
        if process.stdout is None:
            return
        async for line in process.stdout:
            message = json.loads(line)
            if message.get("method") == "session/update":
                self._on_update(message["params"])
            elif "method" in message and "id" in message:
                await self._send({"id": message["id"], "error": METHOD_NOT_FOUND})
            elif (future := self._waiting.pop(message.get("id"), None)) is not None:
                future.set_result(message)
        code = await process.wait()
        for future in self._waiting.values():
            future.set_exception(ClientError(f"the server has ended with exit code {code}"))
