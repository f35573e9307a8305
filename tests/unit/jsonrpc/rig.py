"""A peer with its outbox, driven by messages and read back as values."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from acp_server.jsonrpc.envelope import read_message
from acp_server.jsonrpc.outbox import Outbox
from acp_server.jsonrpc.peer import Gate, Peer, Routes


def admit(_method: str) -> None:
    return None


class Rig:
    """One peer; `logged` holds what its log was told, as (sentence, exception type or None)."""

    def __init__(self, routes: Routes, gate: Gate = admit) -> None:
        self.logged: list[tuple[str, type | None]] = []
        self.outbox = Outbox()
        self.peer = Peer(routes, self.outbox, self._note, gate=gate)

    def call(self, method: str, params: Any = None, **members: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params, **members})

    def send(self, message: Any) -> None:
        self.peer.receive(read_message(json.dumps(message).encode()))

    def answer(self, ident: Any, **members: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": ident, **members})

    def written(self) -> list[dict[str, Any]]:
        frames = self.outbox.take(1 << 30).splitlines()
        self.outbox.wrote()
        return [{key: value for key, value in json.loads(frame).items() if key != "jsonrpc"} for frame in frames]

    async def settle(self) -> list[dict[str, Any]]:
        for _ in range(10):
            await asyncio.sleep(0)
        return self.written()

    def _note(self, sentence: str, error: BaseException | None) -> None:
        self.logged.append((sentence, None if error is None else type(error)))


def failed(ident: Any, code: int, message: str, **data: Any) -> dict[str, Any]:
    return {"id": ident, "error": {"code": code, "message": message, **({"data": data} if data else {})}}
