"""A model server on loopback that answers by script, in the protocol of each request, and records what it was asked."""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.support import llm_wire
from tests.support.llm_script import Answer, Asked, CallNames, Playback, Script
from tests.support.trace import Obj

KEY = "test-key-0000"


def same_names(tool: str, args: Obj) -> tuple[str, Obj]:
    """Return the tool and its arguments as they are."""
    return tool, args


class MockLlm:
    """The server. `url` ends in /v1 (Chat Completions, Responses), `root` does not (Messages)."""

    def __init__(
        self,
        script: Script | None = None,
        names: CallNames = same_names,
        on_request: Callable[[], None] = lambda: None,
    ) -> None:
        self.script, self.names, self.on_request = script or Script(), names, on_request
        self.asked: list[Asked] = []
        self.stop = threading.Event()
        self._lock = threading.Lock()
        self._server = _Server(self)
        self.root = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.url = f"{self.root}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.stop.set()
        self._server.shutdown()
        self._server.server_close()

    def environment(self, provider: str) -> dict[str, str]:
        """Return the variables that point the server at this mock: for openai, openai-responses or anthropic."""
        name = "ANTHROPIC" if provider == "anthropic" else "OPENAI"
        base = self.root if provider == "anthropic" else self.url
        return {"ACP_SERVER_MODEL": f"{provider}/mock", f"{name}_BASE_URL": base, f"{name}_API_KEY": KEY}

    def record(self, path: str, headers: Mapping[str, str], body: Obj) -> tuple[Asked, int] | None:
        """Return the recorded request with its number; None when no protocol is spoken at this path."""
        protocol = llm_wire.protocol_of(path)
        if protocol is None:
            return None
        plain = {name.lower(): value for name, value in headers.items()}
        asked = Asked(time.monotonic(), protocol, path, plain, body, llm_wire.messages_of(protocol, body))
        with self._lock:
            asked.answer = self.script.choose(asked)
            asked.refused = not isinstance(asked.answer, Playback) and bool(asked.answer.get("overflow"))
            self.asked.append(asked)
            number = len(self.asked)
        self.on_request()
        return asked, number

    def said(self, asked: Asked, answer: Obj, number: int) -> llm_wire.Said:
        """Return the answer made ready: the agent's names, ids, usage and finish filled in."""
        given = answer.get("calls") or ([answer] if "tool" in answer else [])
        calls = []
        for n, one in enumerate(given):
            name, args = self.names(one["tool"], one.get("args", {}))
            calls.append(llm_wire.Call(f"call_{number}_{n}", name, json.dumps(args, ensure_ascii=False)))
        usage = answer.get("usage") or {"input": asked.size // 4, "output": 8}
        return llm_wire.Said(
            reasoning=answer.get("reasoning", ""),
            text=answer.get("text", ""),
            chunks=answer.get("chunks", 1),
            calls=calls,
            finish=answer.get("finish") or ("tool_calls" if calls else "stop"),
            input=usage["input"],
            output=usage["output"],
            cached=usage.get("cached", 0),
        )


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, mock: MockLlm) -> None:
        self.mock = mock
        super().__init__(("127.0.0.1", 0), _Exchange)

    def handle_error(self, *_: object) -> None:
        """Say nothing: a client that hangs up is what many tests are about."""


class _Exchange(BaseHTTPRequestHandler):
    """One connection of the agent."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        """Write nothing to stderr."""

    def do_GET(self) -> None:
        self._document(200, {"object": "list", "data": [{"id": "mock", "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        found = self.server.mock.record(self.path, dict(self.headers.items()), body)
        if found is None:
            self._document(404, {"error": {"message": f"nothing is served at {self.path}", "type": "not_found"}})
            return
        asked, number = found
        try:
            self._answer(asked, asked.answer, number)
        except (BrokenPipeError, ConnectionResetError):
            asked.hung_up = self.close_connection = True

    def _answer(self, asked: Asked, answer: Answer, number: int) -> None:
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if isinstance(answer, Playback):
            self._play(answer)
        elif answer.get("overflow"):
            self._document(400, llm_wire.overflow(asked.protocol))
        elif "status" in answer:
            body = answer.get("body", "")
            self._document(answer["status"], body.encode() if isinstance(body, str) else body, answer.get("headers"))
        elif asked.protocol == "chat" and not asked.body.get("stream"):
            self._document(200, llm_wire.chat_document(self.server.mock.said(asked, answer, number)))
        else:
            self._stream(asked, answer, number)

    def _document(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response_only(status)
        usual = {"content-type": "application/json", "date": self.date_time_string()}
        fields = {**usual, **(headers or {}), "content-length": str(len(body))}
        for name, text in fields.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def _begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response_only(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _chunk(self, piece: bytes) -> None:
        if piece:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()

    def _stream(self, asked: Asked, answer: Obj, number: int) -> None:
        self._begin(200, {"content-type": "text/event-stream"})
        delay = answer.get("delay_ms", 0) / 1000
        steps, end = llm_wire.stream(asked.protocol, self.server.mock.said(asked, answer, number))
        for n, step in enumerate(steps):
            if n and delay and self._gone(delay):
                raise BrokenPipeError
            self._chunk(step)
        if answer.get("hang"):
            self._be_silent()
        for step in end:
            self._chunk(step)
        self.wfile.write(b"0\r\n\r\n")

    def _play(self, played: Playback) -> None:
        self._begin(played.status, played.headers)
        for piece in played.pieces:
            self._chunk(piece)
            if played.pause_s:
                time.sleep(played.pause_s)
        if played.ending == "stall":
            self._be_silent()
        if played.ending == "clean":
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def _be_silent(self) -> None:
        """Send nothing more until the agent hangs up."""
        while not self._gone(0.1):
            pass
        raise BrokenPipeError

    def _gone(self, seconds: float) -> bool:
        """Wait that long; return whether the agent hung up meanwhile, or the mock was closed."""
        end, stop = time.monotonic() + seconds, self.server.mock.stop
        while (left := end - time.monotonic()) > 0 and not stop.is_set():
            if select.select([self.connection], [], [], min(left, 0.05))[0]:
                if not self.connection.recv(1, socket.MSG_PEEK):
                    return True
                time.sleep(min(left, 0.01))
        return stop.is_set()
