"""The agent's process: lines in, methods, and an orderly end."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
import time
import tomllib
import uuid
from pathlib import Path
from typing import Any

from tests.cases.refagent import flaws
from tests.cases.refagent.session import Log, Session
from tests.cases.refagent.wire import Wire

Obj = dict[str, Any]
HOME = Path(os.environ.get("ACP_SERVER_HOME", "."))
MODEL = os.environ.get("ACP_SERVER_MODEL", "openai/mock")
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, AUTH_REQUIRED = -32700, -32600, -32601, -32602, -32000
END_SECONDS = 1.5


class RefusedError(Exception):
    """A request is answered with an error."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Agent:
    """One connection: its sessions and its methods."""

    def __init__(self, broken: flaws.Flaws) -> None:
        self.flaws, self.wire = broken, Wire(broken)
        self.sessions: dict[str, Session] = {}
        self.through_editor = False
        self.window = _window()
        self._closing = threading.Lock()
        self.wire.on_broken = self.close
        self._methods = {
            "initialize": self.initialize,
            "session/new": self.new,
            "session/load": self.load,
            "session/list": self.list,
            "session/cancel": self.cancel,
            "$/cancel_request": self.cancel_request,
        }

    def serve(self) -> None:
        """Read lines until the end of input, then end."""
        rest = b""
        while data := os.read(0, 1 << 16):
            *lines, rest = (rest + data).split(b"\n") if b"\n" in data else (rest + data,)
            for line in lines:
                self.line(line)
        if rest:
            self.line(rest)
        self.close()
        if "tail" in self.flaws:
            os.write(1, b'{"jsonrpc":"2.0","method":"bye"}')

    def close(self) -> bool:
        """Stop all turns and commands and wait a little for their last records; return False when that was done."""
        if not self._closing.acquire(blocking=False):
            return False
        busy = [s for s in self.sessions.values() if s.call]
        for session in busy:
            if session.call:
                session.call.cancel()
            session.tools.kill()
        end = time.monotonic() + END_SECONDS
        while any(s.call for s in busy) and time.monotonic() < end:
            time.sleep(0.01)
        return True

    def line(self, raw: bytes) -> None:
        raw = raw.removeprefix(b"\xef\xbb\xbf").strip()
        if not raw:
            return
        try:
            call = json.loads(raw.decode("utf-8"))
        except (ValueError, RecursionError):
            self._refuse(None, PARSE_ERROR, "the line is no JSON")
            return
        if isinstance(call, list) and "array" in self.flaws:
            os._exit(3)
        if not isinstance(call, dict) or ("method" not in call and "id" not in call):
            self._refuse(None, INVALID_REQUEST, "not a request")
        elif "method" not in call:
            self.wire.take(call)
        else:
            self._call(call)

    def _refuse(self, ident: object, code: int, text: str) -> None:
        self.wire.answer(ident, {"error": {"code": code, "message": text}})

    def _call(self, call: Obj) -> None:
        try:
            result = self._handle(call["method"], call.get("params") or {}, call)
        except RefusedError as why:
            if "id" in call:
                self._refuse(call["id"], why.code, str(why))
            return
        if "id" in call and result is not None:
            self.wire.answer(call["id"], {"result": result})

    def _handle(self, method: str, params: Obj, call: Obj) -> Obj | None:
        """Return the result, or None when it comes later or never."""
        if method == "session/prompt":
            self.prompt(params, call)
            return None
        if method not in self._methods:
            raise RefusedError(METHOD_NOT_FOUND, f"unknown method {method}")
        if "stdout" in self.flaws and method == "session/new":
            os.write(1, b"new session\n")
        return self._methods[method](params)

    def initialize(self, params: Obj) -> Obj:
        if not isinstance(params.get("protocolVersion"), int):
            raise RefusedError(INVALID_PARAMS, "protocolVersion must be a number")
        capabilities = params.get("clientCapabilities", {})
        self.through_editor = bool((capabilities.get("fs") or {}).get("readTextFile"))
        return {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "authMethods": []}

    def new(self, params: Obj) -> Obj:
        cwd = _cwd(params)
        if not os.environ.get("OPENAI_API_KEY"):
            raise RefusedError(AUTH_REQUIRED, "authentication required: set OPENAI_API_KEY")
        if "outside" in self.flaws:
            (cwd.parent / "launch" / "notes.txt").write_text("x", "utf-8")
        session = self._session(str(uuid.uuid4()), cwd)
        session.log.add(type="open", cwd=str(cwd))
        self.sessions[session.id] = session
        return {"sessionId": session.id}

    def _session(self, ident: str, cwd: Path) -> Session:
        log = Log(HOME / "sessions" / "p" / ident / "session.jsonl", self.flaws)
        return Session(ident, cwd, log, self.wire, self.window, through_editor=self.through_editor)

    def load(self, params: Obj) -> Obj:
        ident, cwd = params.get("sessionId"), _cwd(params)
        if not isinstance(ident, str) or not _is_stored(ident):
            raise RefusedError(INVALID_PARAMS, "there is no such session")
        if ident in self.sessions and self.sessions[ident].call:
            raise RefusedError(INVALID_REQUEST, "the session is at work")
        session = self._session(ident, cwd)
        if next(iter(session.log.records()))["cwd"] != str(cwd):
            raise RefusedError(INVALID_PARAMS, "cwd is not the session's")
        self.sessions[ident] = session
        session.load()
        return {}

    def list(self, _: Obj) -> Obj:
        return {"sessions": [{"sessionId": s.id, "cwd": str(s.cwd)} for s in self.sessions.values()]}

    def prompt(self, params: Obj, call: Obj) -> None:
        session = self.sessions.get(params.get("sessionId", ""))
        if session is None:
            raise RefusedError(INVALID_PARAMS, "there is no such session")
        blocks = params.get("prompt") or []
        if any(b.get("type") not in {"text", "resource_link"} for b in blocks):
            raise RefusedError(INVALID_PARAMS, "prompt has a block of an unknown type")
        text = "".join(b.get("text", b.get("uri", "")) for b in blocks)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if not text.strip():
            raise RefusedError(INVALID_PARAMS, "prompt is empty")
        session.todo.put((call.get("id"), text))

    def cancel(self, params: Obj) -> Obj:
        session = self.sessions.get(params.get("sessionId", ""))
        if session:
            session.cancel()
        return {}

    def cancel_request(self, params: Obj) -> None:
        for session in self.sessions.values():
            if session.current is not None and session.current == params.get("requestId"):
                session.cancel()


def _cwd(params: Obj) -> Path:
    cwd = params.get("cwd")
    if not isinstance(cwd, str) or not cwd.startswith("/"):
        raise RefusedError(INVALID_PARAMS, "cwd must be an absolute path")
    if not Path(cwd).is_dir():
        raise RefusedError(INVALID_PARAMS, "cwd is no directory")
    return Path(cwd)


def _is_stored(ident: str) -> bool:
    try:
        uuid.UUID(ident)
    except ValueError:
        return False
    return (HOME / "sessions" / "p" / ident / "session.jsonl").exists()


def _window() -> float:
    """Return the model's window in tokens, as settings.toml states it; infinity when it does not."""
    try:
        models = tomllib.loads((HOME / "settings.toml").read_text("utf-8"))["models"]
        return float(models.get(MODEL, {}).get("context_window", math.inf))
    except (OSError, KeyError, ValueError):
        return math.inf


def main() -> None:
    sys.set_int_max_str_digits(0)
    threading.stack_size(1 << 20)
    agent = Agent(flaws.read(sys.argv))

    def stop(*_: object) -> None:
        os._exit(0 if agent.close() else 1)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    agent.serve()
    os._exit(0)


if __name__ == "__main__":
    main()
