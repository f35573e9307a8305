"""A tiny MCP server on stdio with one tool, echo. Started by path, so it imports nothing of the repository."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL = {
    "name": "echo",
    "description": "Gives the text back.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def result(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        version = params.get("protocolVersion", "2025-06-18")
        info = {"name": "echo", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        text = str((params.get("arguments") or {}).get("text", ""))
        return {"content": [{"type": "text", "text": text}]}
    return {}


def serve() -> None:
    for line in sys.stdin:
        call = json.loads(line)
        if "id" in call and "method" in call:
            answer = {"jsonrpc": "2.0", "id": call["id"], "result": result(call["method"], call.get("params") or {})}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
