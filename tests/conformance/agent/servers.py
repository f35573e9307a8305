"""MCP servers of a session: started, asked for their tools, ended. Their tools are named to the model, never called."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from typing import Any

Obj = dict[str, Any]
WAIT_SECONDS = 20.0
HELLO: Obj = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "reference", "version": "1"}}


class Server:
    """One server on stdio."""

    def __init__(self, entry: Obj) -> None:
        self.name, self.tools = str(entry["name"]), list[str]()
        self._process: asyncio.subprocess.Process | None = None
        self.started = asyncio.get_running_loop().create_task(self._start(entry))

    async def ready(self) -> str | None:
        """Return why the server cannot be used, or None; wait for it a while."""
        try:
            await asyncio.wait_for(asyncio.shield(self.started), WAIT_SECONDS)
        except (OSError, ValueError, TimeoutError, KeyError) as why:
            return f"the server {self.name} cannot be used: {type(why).__name__}"
        return None

    async def _start(self, entry: Obj) -> None:
        env = {**os.environ, **{pair["name"]: pair["value"] for pair in entry.get("env", [])}}
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            entry["command"],
            *entry.get("args", []),
            env=env,
            stdin=pipe,
            stdout=pipe,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await self._ask(1, "initialize", HELLO)
        self._send({"method": "notifications/initialized"})
        self.tools = [tool["name"] for tool in (await self._ask(2, "tools/list", {}))["tools"]]

    def _send(self, message: Obj) -> None:
        if self._process is None or self._process.stdin is None:
            raise ValueError("not started")
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _ask(self, ident: int, method: str, params: Obj) -> Obj:
        self._send({"id": ident, "method": method, "params": params})
        if self._process is None or self._process.stdout is None:
            raise ValueError("not started")
        while line := await self._process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == ident:
                result: Obj = answer["result"]
                return result
        raise ValueError("it ended")

    def end(self) -> None:
        self.started.cancel()
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
