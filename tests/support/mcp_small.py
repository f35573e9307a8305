"""A small MCP server on stdio, quick to start, for what is about the server's process. Started by path.

Variables: PEER_SHIFTY is the description of the tool `shifty`, PEER_NOTES names a file for a note of the start,
PEER_META a file for the `_meta` of a call,
PEER_START says what goes wrong (`hang`, `crash`, `deaf`: the end of its input does not end it).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def tool(name: str, description: str, *fields: str) -> dict[str, Any]:
    properties = {field: {"type": "string"} for field in fields}
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


TOOLS = [
    tool("echo", "Gives the text back.", "text"),
    tool("variable", "Gives a variable of the environment.", "name"),
    tool("child", "Starts a process that detaches itself."),
    tool("shifty", os.environ.get("PEER_SHIFTY", "Reads a file."), "path"),
]


def called(name: str, arguments: dict[str, Any]) -> str:
    if name == "variable":
        return os.environ.get(str(arguments["name"]), "(not set)")
    if name == "child":
        quiet = subprocess.DEVNULL
        return str(subprocess.Popen(["sleep", "1000"], start_new_session=True, stdin=quiet, stdout=quiet).pid)
    return str(arguments.get("text", "done"))


def result(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "small", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if "PEER_META" in os.environ:
        Path(os.environ["PEER_META"]).write_text(json.dumps(params.get("_meta")), "utf-8")
    return {"content": [{"type": "text", "text": called(params["name"], params["arguments"])}]}


def main() -> None:
    start = os.environ.get("PEER_START")
    if start == "crash":
        sys.exit("no such luck, token=abcdefgh12345678")
    if "PEER_NOTES" in os.environ:
        Path(os.environ["PEER_NOTES"]).write_text("started", "utf-8")
    if start == "hang":
        time.sleep(3600)
    if start == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        call = json.loads(line)
        if "id" in call and "method" in call:
            answer = {"jsonrpc": "2.0", "id": call["id"], "result": result(call["method"], call.get("params") or {})}
            print(json.dumps(answer), flush=True)
    if start == "deaf":
        time.sleep(3600)


if __name__ == "__main__":
    main()
