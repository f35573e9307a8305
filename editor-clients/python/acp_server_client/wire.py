"""One agent process and the JSON-RPC on its pipes: requests both ways, and what becomes of them when it dies."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias

LINE_LIMIT: Final = 32 * 1024 * 1024
EXIT_SECONDS: Final = 5.0
METHOD_NOT_FOUND: Final = -32601

Json: TypeAlias = dict[str, Any]
Answering: TypeAlias = Callable[[str, Json], Awaitable[Json]]
"""Answers a request of the agent, method and params; raises AgentError to refuse it."""
Hearing: TypeAlias = Callable[[str, Json], None]
"""Takes a notification of the agent."""


class AgentError(Exception):
    """An error answer; the text is the agent's sentence."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class AgentDied(Exception):  # noqa: N818 - it tells what happened
    """The agent's process has ended; `exit_code` is negative for a signal, None when it never started."""

    def __init__(self, exit_code: int | None) -> None:
        super().__init__(f"the agent has ended with exit code {exit_code}")
        self.exit_code = exit_code


class Wire:
    """Starts the command; `close` ends it. Requests may be sent from any task of the loop that started it."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None,
        directory: str | None,
        answering: Answering,
        hearing: Hearing,
    ) -> None:
        self._command = command
        self._environment = None if environment is None else dict(environment)
        self._directory = directory
        self._answering = answering
        self._hearing = hearing
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._process: Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._next = 0
        self.dead: AgentDied | None = None
        """Why nothing can be asked any more, once that is so."""

    @property
    def pid(self) -> int | None:
        """Return the process id of the agent."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Start the process; raise AgentDied when that fails."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=PIPE, stdout=PIPE, env=self._environment, cwd=self._directory, limit=LINE_LIMIT
            )
        except OSError as error:
            raise AgentDied(None) from error
        self._reader = asyncio.create_task(self._read(self._process))

    async def request(self, method: str, params: Json) -> Json:
        """Return the result; raise AgentError or AgentDied."""
        ident, future = self.send(method, params)
        try:
            return await future
        finally:
            self._waiting.pop(ident, None)

    def send(self, method: str, params: Json) -> tuple[int, asyncio.Future[Json]]:
        """Send a request; return its id and what becomes its result. It is on its way when this returns."""
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        ident, self._next = self._next, self._next + 1
        self._waiting[ident] = future
        self._write({"id": ident, "method": method, "params": params})
        if self.dead is not None and not future.done():
            future.set_exception(self.dead)
        return ident, future

    def notify(self, method: str, params: Json) -> None:
        """Send a notification."""
        self._write({"method": method, "params": params})

    async def close(self) -> None:
        """End the input, wait for the process, end it when it takes too long; harmless when repeated."""
        process, reader = self._process, self._reader
        if process is None or reader is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), EXIT_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
        await reader
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _write(self, message: Json) -> None:
        stdin = None if self._process is None else self._process.stdin
        if stdin is None or stdin.is_closing():
            return
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
        with suppress(ConnectionError):  # the reader tells of the end
            stdin.write(line.encode("utf-8", "replace") + b"\n")

    async def _read(self, process: Process) -> None:
        if process.stdout is None:
            return
        async for line in process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                self._take(message)
        self.dead = AgentDied(await process.wait())
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self.dead)

    def _take(self, message: Json) -> None:
        method, ident = message.get("method"), message.get("id")
        params = message.get("params") or {}
        if isinstance(method, str) and ident is not None:
            task = asyncio.create_task(self._answer(ident, method, params))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif isinstance(method, str):
            self._hearing(method, params)
        else:
            future = self._waiting.pop(ident, None) if isinstance(ident, int) else None
            if future is not None and not future.done():
                _settle(future, message)

    async def _answer(self, ident: Any, method: str, params: Json) -> None:
        try:
            body: Json = {"result": await self._answering(method, params)}
        except AgentError as error:
            body = {"error": {"code": error.code, "message": str(error)}}
        self._write({"id": ident, **body})


def _settle(future: asyncio.Future[Json], message: Json) -> None:
    error = message.get("error")
    if error is None:
        future.set_result(message.get("result") or {})
    else:
        future.set_exception(AgentError(error.get("code", 0), error.get("message", "failed"), error.get("data")))
