"""Lines in and out: what is a message, what each gets that is none, and requests of the agent's own."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

Obj = dict[str, Any]
Serve = Callable[[str, Obj, object, bool], Awaitable[None]]
LINE_BYTES = 64 << 20
PARSE, INVALID, METHOD, PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
AUTH, NOT_FOUND = -32000, -32002


class RefusedError(Exception):
    """A request is answered by an error."""

    def __init__(self, code: int, details: str, **data: object) -> None:
        super().__init__(details)
        self.code, self.data = code, {"details": details, **data}


class Wire:
    """One connection. `serve` gets method, params, id and whether there is one."""

    def __init__(self, flaws: frozenset[str], serve: Serve) -> None:
        self.flaws, self.serve = flaws, serve
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Obj]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._rest = bytearray()
        self._skipping = False
        self.greeted = False
        self._one = asyncio.Lock()

    # -- out

    def send(self, value: Obj) -> None:
        """Write one message. The pipe may block: this agent has one reader thread for input."""
        data = json.dumps({"jsonrpc": "2.0", **value}, allow_nan=False).encode() + b"\n"
        self.out.write(data)

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(1, "wb", 0))
        self.out = asyncio.StreamWriter(transport, protocol, None, loop)

    def answer(self, ident: object, body: Obj) -> None:
        if "ids-as-text" in self.flaws and ident is not None:
            ident = str(ident)
        if "null-results" in self.flaws and body.get("result") == {}:
            body = {"result": None}
        self.send({"id": ident, **body})
        if "twice" in self.flaws and "stopReason" in (body.get("result") or {}):
            self.send({"id": ident, **body})

    def refuse(self, ident: object, code: int, text: str, data: Obj | None = None) -> None:
        self.answer(ident, {"error": {"code": code, "message": text, **({"data": data} if data else {})}})

    def note(self, method: str, params: Obj) -> None:
        self.send({"method": method, "params": params})

    def update(self, session: str, what: str, /, **fields: Any) -> None:
        self.note("session/update", {"sessionId": session, "update": {"sessionUpdate": what, **fields}})

    async def ask(self, method: str, params: Obj) -> Obj:
        """Return the client's answer; when cancelled, tell the client that it need not answer any more."""
        ident = next(self._ids)
        self._waiting[ident] = asyncio.get_running_loop().create_future()
        self.send({"id": ident, "method": method, "params": params})
        try:
            return await self._waiting[ident]
        except asyncio.CancelledError:
            self.note("$/cancel_request", {"requestId": ident})
            raise
        finally:
            del self._waiting[ident]

    # -- in

    async def read(self) -> None:
        """Serve lines until the end of input."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(1 << 20)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while data := await reader.read(1 << 20):
            *lines, rest = data.split(b"\n")
            for line in lines:
                self._line(bytes(self._rest + line))
                self._rest.clear()
            self._rest += rest
            self._bound()
        if self._rest:
            self._line(bytes(self._rest))
        await asyncio.sleep(0)

    def _bound(self) -> None:
        limit = (1 << 20) if "short-lines" in self.flaws else LINE_BYTES
        if len(self._rest) > limit and not self._skipping:
            self._skipping = True
            self.refuse(None, INVALID, "the line is too long")
        if self._skipping:
            self._rest.clear()

    def _line(self, raw: bytes) -> None:
        if self._skipping:
            self._skipping = False
            return
        pieces = raw.decode("utf-8", "replace").splitlines() if "splits-anywhere" in self.flaws else [raw]
        for piece in pieces:
            line = piece.encode() if isinstance(piece, str) else piece
            line = line.removeprefix(b"\xef\xbb\xbf").strip()
            if line:
                self._message(line)

    def _message(self, line: bytes) -> None:
        try:
            value = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            if "silent-on-garbage" not in self.flaws:
                self.refuse(None, PARSE, "the line is no JSON")
            return
        if isinstance(value, list) and "serves-arrays" in self.flaws:
            for item in value:
                self._message(json.dumps(item).encode())
            return
        if not isinstance(value, dict) or value.get("jsonrpc") != "2.0" or not isinstance(value.get("jsonrpc"), str):
            self.refuse(None, INVALID, "the line is no JSON-RPC message")
        elif "method" in value:
            self._call(value)
        elif "id" in value:
            self._taken(value)
        else:
            self.refuse(None, INVALID, "the message has neither method nor id")

    def _taken(self, value: Obj) -> None:
        future = self._waiting.get(value["id"]) if type(value["id"]) is int else None
        if future is not None and not future.done():
            future.set_result(value)

    def _call(self, value: Obj) -> None:
        ident, params, asked = value.get("id"), value.get("params"), "id" in value
        if "null-is-a-note" in self.flaws and ident is None:
            asked = False
        if isinstance(ident, bool | dict | list) or not isinstance(value["method"], str):
            self.refuse(None, INVALID, "the id or the method is of a wrong type")
        elif params is not None and not isinstance(params, dict):
            if asked:
                self.refuse(ident, PARAMS, "params is no object")
        else:
            self._task(value["method"], params or {}, ident, asked)

    def _task(self, method: str, params: Obj, ident: object, asked: bool) -> None:
        task = asyncio.get_running_loop().create_task(self._served(method, params, ident, asked))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _served(self, method: str, params: Obj, ident: object, asked: bool) -> None:
        asked = asked or "answers-notes" in self.flaws
        try:
            if "one-at-a-time" in self.flaws:
                async with self._one:
                    await self.serve(method, params, ident, asked)
            else:
                await self.serve(method, params, ident, asked)
        except RefusedError as why:
            if asked:
                text = "Session not found" if why.code == NOT_FOUND else str(why)
                self.refuse(ident, why.code, text, why.data)
        except Exception as why:
            if asked:
                self.refuse(ident, INTERNAL, "The agent has a fault", {"details": f"{type(why).__name__}: {why}"})
