"""Chat Completions, streamed: one request, its text and thoughts as they come, its tool calls in the end."""

from __future__ import annotations

import asyncio
import json
import os
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Obj = dict[str, Any]
Show = Callable[[str, str], None]


class ModelError(Exception):
    """The provider failed; `status` is its HTTP status."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


@dataclass(slots=True)
class Said:
    """What a model said so far."""

    text: str = ""
    calls: dict[int, Obj] = field(default_factory=dict)
    finish: str = "stop"


async def ask(body: Obj, headers: dict[str, str], show: Show, said: Said) -> None:
    """Fill `said` with the model's answer; `show` gets (kind, text) of each piece."""
    base = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
    reader, writer = await asyncio.open_connection(base.hostname, base.port, limit=1 << 24)
    try:
        data = json.dumps({**body, "stream": True}).encode()
        fields = {"Host": "model", "Content-Type": "application/json", "Content-Length": str(len(data)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"POST {base.path}/chat/completions HTTP/1.1\r\n{head}\r\n".encode() + data)
        status = int((await reader.readline()).split()[1])
        if status != 200:
            raise ModelError(f"the model server answered with error {status}", status)
        while line := await reader.readline():
            if line.startswith(b"data: [DONE]"):
                return
            if line.startswith(b"data:"):
                _take(json.loads(line[5:]), show, said)
    finally:
        writer.close()


def _take(event: Obj, show: Show, said: Said) -> None:
    for choice in event.get("choices") or []:
        delta = choice.get("delta") or {}
        if delta.get("reasoning_content"):
            show("agent_thought_chunk", delta["reasoning_content"])
        if delta.get("content"):
            said.text += delta["content"]
            show("agent_message_chunk", delta["content"])
        for part in delta.get("tool_calls") or []:
            call = said.calls.setdefault(part.get("index", 0), {"id": "", "name": "", "arguments": ""})
            function = part.get("function") or {}
            call["id"] = call["id"] or part.get("id") or ""
            call["name"] = call["name"] or function.get("name") or ""
            call["arguments"] += function.get("arguments") or ""
        said.finish = choice.get("finish_reason") or said.finish
