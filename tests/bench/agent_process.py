"""An agent as a child process, driven by raw lines with the moment of each. Cheap enough not to be what is measured.

Moments are CLOCK_MONOTONIC nanoseconds, taken right after the read that brought the bytes.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

LIMIT_SECONDS = 60.0
CLIENT = {
    "protocolVersion": 1,
    "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
    "clientInfo": {"name": "bench", "version": "1"},
}


class AgentProcess:
    """One running agent. `updates` holds (moment, line) of each session/update, `answers` (moment, message) by id."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], place: Path) -> None:
        self.place = place
        self._errors = (place / "stderr.txt").open("ab")
        self.started = time.monotonic_ns()
        self._process = subprocess.Popen(
            argv,
            env=dict(env),
            cwd=place,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self.pid = self._process.pid
        self.updates: list[tuple[int, bytes]] = []
        self.answers: dict[int, tuple[int, dict[str, Any]]] = {}
        self._rest = b""
        self._ids = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    def frame(self, method: str, params: Mapping[str, Any]) -> tuple[int, bytes]:
        """Return a fresh request id and the request's line, without sending it."""
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        return self._ids, json.dumps(message, separators=(",", ":")).encode() + b"\n"

    def send(self, data: bytes) -> int:
        """Write the bytes; return the moment before the first was written."""
        moment = time.monotonic_ns()
        while data:
            data = data[os.write(self._in, data) :]
        return moment

    def call(self, method: str, params: Mapping[str, Any]) -> tuple[int, int, dict[str, Any]]:
        """Send a request and await its answer; return the moments of both and the result.

        Raises:
            RuntimeError: the answer is an error, the agent has ended, or LIMIT_SECONDS have passed.
        """
        request_id, line = self.frame(method, params)
        sent = self.send(line)
        moment, result = self.answer(request_id)
        return sent, moment, result

    def answer(self, request_id: int) -> tuple[int, dict[str, Any]]:
        """Await the answer to that request; return its moment and its result. Raises as `call`."""
        self.pump(lambda: request_id in self.answers)
        moment, message = self.answers[request_id]
        if "result" not in message:
            raise RuntimeError(f"answered by an error: {message.get('error')}")
        result: dict[str, Any] = message["result"]
        return moment, result

    def notify(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a notification; return the moment."""
        return self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    def initialize(self) -> int:
        """Do the handshake; return the moment of the answer."""
        return self.call("initialize", CLIENT)[1]

    def new_session(self) -> str:
        """Return the id of a fresh session."""
        session: str = self.call("session/new", {"cwd": str(self.place), "mcpServers": []})[2]["sessionId"]
        return session

    def prompt_frame(self, session: str, text: str) -> tuple[int, bytes]:
        """Return a fresh request id and the line of a text prompt."""
        return self.frame("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    def prompt(self, session: str, text: str) -> tuple[int, int, list[tuple[int, str]]]:
        """Run one turn; return the moments of sending and of the answer, and the text pieces with theirs."""
        self.updates.clear()
        request_id, line = self.prompt_frame(session, text)
        sent = self.send(line)
        answered, result = self.answer(request_id)
        if result.get("stopReason") != "end_turn":
            raise RuntimeError(f"the turn ended by {result.get('stopReason')}")
        return sent, answered, pieces(self.updates)

    def await_text(self) -> int:
        """Return the moment of the first piece of text since `updates` was cleared."""
        self.pump(lambda: any(b"agent_message_chunk" in line for _, line in self.updates))
        return next(moment for moment, line in self.updates if b"agent_message_chunk" in line)

    def pump(self, done: Callable[[], bool]) -> None:
        """Read until `done`. Raises as `call`."""
        end = time.monotonic() + LIMIT_SECONDS
        while not done():
            if not select.select([self._out], [], [], max(0.0, end - time.monotonic()))[0]:
                raise RuntimeError(f"no answer within {LIMIT_SECONDS:.0f} s")
            data = os.read(self._out, 1 << 20)
            moment = time.monotonic_ns()
            if not data:
                raise RuntimeError(
                    f"the agent ended: {(self.place / 'stderr.txt').read_text('utf-8', 'replace')[-800:]}"
                )
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._take(line, moment)

    def end_input(self) -> tuple[int, int, int]:
        """Close the agent's input; return the moments of closing and of its end, and its exit status."""
        assert self._process.stdin is not None
        moment = time.monotonic_ns()
        self._process.stdin.close()
        status = self._process.wait(LIMIT_SECONDS)
        return moment, time.monotonic_ns(), status

    def _take(self, line: bytes, moment: int) -> None:
        if b"session/update" in line:
            self.updates.append((moment, line))
        elif line.strip():
            message = json.loads(line)
            if "method" not in message:
                self.answers[message["id"]] = moment, message
            elif "id" in message:
                refusal = {"code": -32601, "message": "Method not found"}
                self.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": refusal}).encode() + b"\n")


def pieces(updates: Sequence[tuple[int, bytes]]) -> list[tuple[int, str]]:
    """Return the answer's text pieces with the moments of their frames."""
    found = []
    for moment, line in updates:
        update = json.loads(line)["params"]["update"]
        if update.get("sessionUpdate") == "agent_message_chunk" and update["content"].get("type") == "text":
            found.append((moment, update["content"]["text"]))
    return found
