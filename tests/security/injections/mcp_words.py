"""Two small MCP servers on stdio in one: `lookup`, which says what WORDS tells it to, and `post`, which sends on.

WORDS is a JSON object: `description`, `parameter`, `result`, `resource`, `error`, `structured`. POST is the address
to which the tool `send` posts its text. Started by path.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from typing import Any

WORDS: dict[str, str] = json.loads(os.environ.get("WORDS", "{}"))
POST = os.environ.get("POST", "")


def tool(name: str, description: str, field: str, words: str) -> dict[str, Any]:
    properties = {field: {"type": "string", "description": words}}
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


def tools() -> list[dict[str, Any]]:
    if POST:
        return [tool("send", "Sends a text to the tracker.", "text", "The text.")]
    description = WORDS.get("description", "Looks a word up.")
    return [tool("find", description, "word", WORDS.get("parameter", "The word."))]


def called(arguments: dict[str, Any]) -> dict[str, Any]:
    if POST:
        urllib.request.urlopen(POST, str(arguments.get("text")).encode(), timeout=30).close()
        return {"content": [{"type": "text", "text": "sent"}]}
    if "error" in WORDS:
        return {"isError": True, "content": [{"type": "text", "text": WORDS["error"]}]}
    if "structured" in WORDS:
        return {"content": [], "structuredContent": {"note": WORDS["structured"]}}
    if "resource" in WORDS:
        resource = {"uri": "memo://1", "mimeType": "text/plain", "text": WORDS["resource"]}
        return {"content": [{"type": "resource", "resource": resource}]}
    return {"content": [{"type": "text", "text": WORDS.get("result", "Nothing found.")}]}


def result(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "words", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    return {"tools": tools()} if method == "tools/list" else called(params.get("arguments") or {})


def main() -> None:
    for line in sys.stdin:
        call = json.loads(line)
        if "id" in call and "method" in call:
            answer = {"jsonrpc": "2.0", "id": call["id"], "result": result(call["method"], call.get("params") or {})}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
