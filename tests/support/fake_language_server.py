"""A language server that does as it is told by its first argument, JSON: it hangs, dies, lies, floods, or works.

Stands alone: it is given to an interpreter as text. A line with the word `wrong` is an error; `push` publishes, else
diagnostics are pulled. `say_from` names a file whose text is what each error says.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

Message = dict[str, Any]
TOLD: Message = json.loads(sys.argv[1])
TEXTS: dict[str, str] = {}


def read() -> Message:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    if not length:
        sys.exit(0)
    message: Message = json.loads(sys.stdin.buffer.read(length))
    return message


def write(message: Message) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


def misbehave(moment: str) -> None:
    """Do what was ordered for the moment: hang, crash, garbage, or a length that is too long."""
    match TOLD.get(moment):
        case "hang":
            time.sleep(3600)
        case "crash":
            sys.stderr.write("Traceback\nout of luck\n")
            sys.exit(3)
        case "garbage":
            sys.stdout.buffer.write(b"no message at all " * 1000)
            sys.stdout.buffer.flush()
            time.sleep(3600)
        case "long":
            sys.stdout.buffer.write(b"Content-Length: 999999999999\r\n\r\n")
            sys.stdout.buffer.flush()
            time.sleep(3600)
        case "children":
            for deaf in ("", "trap '' TERM HUP; "):
                command = f"{deaf}exec -a {TOLD['word']} sleep 3600"
                subprocess.Popen(["/bin/bash", "-c", command], start_new_session=True)


def said(length: int) -> str:
    if "say_from" in TOLD:
        return Path(TOLD["say_from"]).read_text("utf-8")
    return "x" * length


def found(uri: str) -> list[Message]:
    lines = TEXTS.get(uri, "").split("\n")
    hits = [number for number, line in enumerate(lines) if "wrong" in line]
    hits *= int(TOLD.get("times", 1))
    length = int(TOLD.get("length", 1))
    return [
        {
            "range": {"start": {"line": at, "character": 0}, "end": {"line": at, "character": 1}},
            "severity": 1,
            "source": "fake",
            "message": f"{number} {said(length)}",
        }
        for number, at in enumerate(hits)
    ]


def publish(uri: str, version: int | None) -> None:
    misbehave("on_text")
    if "push" not in TOLD:
        return
    time.sleep(float(TOLD.get("late", 0)))
    params: Message = {"uri": uri, "diagnostics": found(uri)}
    if TOLD["push"] == "versions":
        stale = {"uri": uri, "version": (version or 1) - 1, "diagnostics": []}
        write({"method": "textDocument/publishDiagnostics", "params": stale})
        params["version"] = version
    write({"method": "textDocument/publishDiagnostics", "params": params})


def answer(message: Message) -> None:
    params = message.get("params") or {}
    document = params.get("textDocument") or {}
    match message.get("method"):
        case "initialize":
            misbehave("on_start")
            can: Message = {"textDocumentSync": 1, "hoverProvider": True, "definitionProvider": True}
            if "push" not in TOLD:
                can["diagnosticProvider"] = {"interFileDependencies": True, "workspaceDiagnostics": False}
            can |= TOLD.get("can", {})
            write({"id": message["id"], "result": {"capabilities": can}})
            write({"id": "ask", "method": "workspace/configuration", "params": {"items": [{"section": "a.b"}]}})
            write({"id": 7, "method": "odd/request", "params": {"jsonrpc": "2.0", "id": 1}})
        case "textDocument/didOpen":
            TEXTS[document["uri"]] = document["text"]
            publish(document["uri"], document["version"])
        case "textDocument/didChange":
            TEXTS[document["uri"]] = params["contentChanges"][0]["text"]
            publish(document["uri"], document["version"])
        case "textDocument/diagnostic":
            misbehave("on_pull")
            items = {"kind": "full", "items": found(document["uri"])}
            write({"id": message["id"], "result": TOLD.get("report", items)})
        case "textDocument/hover":
            misbehave("on_hover")
            write({"id": message["id"], "result": TOLD.get("hover")})
        case "textDocument/definition":
            write({"id": message["id"], "result": TOLD.get("definition")})
        case _:
            if "method" in message and "id" in message:
                write({"id": message["id"], "error": {"code": -32601, "message": "not here"}})


while True:
    answer(read())
