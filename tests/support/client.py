"""A plain ACP client over one agent process at a time: it asks, waits, and answers the agent's questions by rule.

Written for raw pipes: what it sends is what stands in the code, and each frame both ways is in its trace.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.process import AgentProcess
from tests.support.trace import Frame, Item, Obj, Trace, Turn, fold

CAPABILITIES: Obj = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
CLIENT_INFO: Obj = {"name": "raw-client", "version": "1"}
ANSWER_SECONDS = 15.0
PROMPT_SECONDS = 30.0
METHOD_NOT_FOUND: Obj = {"error": {"code": -32601, "message": "Method not found"}}

Answerer = Callable[[Obj], Obj | None]
"""Gives the body of the answer to one of the agent's requests, `result` or `error`; None leaves it unanswered."""


class BrokenError(Exception):
    """The agent did not do its part; the text says what."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How an agent is started."""

    command: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    logs: Path
    """A folder for what the processes write to stderr."""


def permission(kind: str | None) -> Answerer:
    """Return an answerer that selects the option of that kind in every question; without one it cancels."""

    def answer(request: Obj) -> Obj:
        options = (request.get("params") or {}).get("options") or []
        found = [option["optionId"] for option in options if option.get("kind") == kind]
        outcome = {"outcome": "selected", "optionId": found[0]} if found else {"outcome": "cancelled"}
        return {"result": {"outcome": outcome}}

    return answer


class Client:
    """Starts processes of one agent and speaks to the newest; questions without an answerer get -32601."""

    def __init__(self, launch: Launch, answerers: Mapping[str, Answerer] | None = None) -> None:
        self.launch, self.answerers = launch, dict(answerers or {})
        self.trace = Trace()
        self.questions: list[Obj] = []
        """The agent's requests, in order."""
        self._proc = 0
        self._ids = itertools.count(1)
        self._agent: AgentProcess | None = None

    @property
    def agent(self) -> AgentProcess:
        if self._agent is None:
            raise AssertionError("no process was started")
        return self._agent

    def start(self) -> AgentProcess:
        """Start a process; the one before it, if any, is left as it is."""
        self._proc += 1
        way, stderr = self.launch, self.launch.logs / f"stderr{self._proc}"
        self._agent = AgentProcess(way.command, way.env, way.cwd, self.trace, self._proc, stderr, self._on_line)
        return self._agent

    def _on_line(self, agent: AgentProcess, frame: Frame) -> None:
        if not frame.is_request():
            return
        self.questions.append(frame.value)
        answerer = self.answerers.get(frame.value["method"])
        body = METHOD_NOT_FOUND if answerer is None else answerer(frame.value)
        if body is not None:
            agent.send(json.dumps({"jsonrpc": "2.0", "id": frame.value["id"], **body}).encode())

    # -- sending

    def send_line(self, line: bytes, *, odd: bool = False) -> None:
        """Send a line as it is, and record it; `odd` says that the protocol's schema refuses it."""
        wrong = self.agent.send(line, odd=odd)
        if wrong:
            raise BrokenError(wrong)

    def request_id(self) -> int:
        """Return an id that no request of this client has had."""
        return next(self._ids)

    def request(self, method: str, params: object = None, *, odd: bool = False) -> int:
        """Send a request; return its id."""
        ident = self.request_id()
        self._send({"id": ident, "method": method}, params, odd)
        return ident

    def notify(self, method: str, params: object = None, *, odd: bool = False) -> None:
        self._send({"method": method}, params, odd)

    def _send(self, head: Obj, params: object, odd: bool) -> None:
        body = {} if params is None else {"params": params}
        self.send_line(json.dumps({"jsonrpc": "2.0", **head, **body}).encode(), odd=odd)

    # -- waiting

    def wait(self, ident: object, seconds: float = ANSWER_SECONDS) -> Obj | None:
        """Return the answer of this process with that id, or None when time is up."""
        found = self.trace.wait(lambda: self.trace.answers(ident, self.agent.proc), seconds)
        value: Obj | None = found[0].value if found else None
        return value

    def answer(self, ident: object, seconds: float = ANSWER_SECONDS) -> Obj:
        """Return the answer with that id; raise BrokenError when it does not come."""
        found = self.wait(ident, seconds)
        if found is None:
            code = self.agent.popen.poll()
            end = "" if code is None else f"; the agent has exited with {code}"
            raise BrokenError(f"request {ident!r} is not answered within {seconds:g} s{end}")
        return found

    def result(self, method: str, params: object = None, seconds: float = ANSWER_SECONDS) -> Obj:
        """Send a request and return its result; raise BrokenError for an error or silence."""
        answer = self.answer(self.request(method, params), seconds)
        if "result" not in answer:
            raise BrokenError(f"{method}: {json.dumps(answer)[:300]}")
        result: Obj = answer["result"]
        return result

    def error(self, method: str, params: object = None, seconds: float = ANSWER_SECONDS) -> Obj:
        """Send a request and return its error; raise BrokenError for a result or silence."""
        answer = self.answer(self.request(method, params), seconds)
        if "error" not in answer:
            raise BrokenError(f"{method} succeeds: {json.dumps(answer)[:300]}")
        error: Obj = answer["error"]
        return error

    def wait_update(self, kind: str, after: int = 0, seconds: float = ANSWER_SECONDS) -> Obj:
        """Return the first update of that kind since frame `after`."""

        def seen() -> Obj | None:
            later = (f.update() for f in self.trace.frames[after:])
            return next((u.fields for u in later if u is not None and u.kind == kind), None)

        found = self.trace.wait(seen, seconds)
        if found is None:
            raise BrokenError(f"no {kind} comes within {seconds:g} s")
        return found

    # -- the protocol's usual way

    def initialize(self, capabilities: Obj | None = None) -> Obj:
        offered = CAPABILITIES if capabilities is None else capabilities
        return self.result(
            "initialize", {"protocolVersion": 1, "clientCapabilities": offered, "clientInfo": CLIENT_INFO}
        )

    def new_session(self, cwd: Path, servers: Sequence[Obj] = ()) -> str:
        return str(self.result("session/new", {"cwd": str(cwd), "mcpServers": list(servers)})["sessionId"])

    def ask(self, session: str, text: str) -> int:
        """Send a prompt of one text; return its id."""
        return self.request("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    def prompt(self, session: str, text: str, seconds: float = PROMPT_SECONDS) -> tuple[Obj, Turn]:
        """Send a prompt of one text and return its answer and its turn."""
        ident = self.ask(session, text)
        answer = self.answer(ident, seconds)
        return answer, self.turn(ident)

    def turn(self, ident: object) -> Turn:
        found = self.trace.turn(ident)
        if found is None:
            raise AssertionError(f"no prompt {ident!r} was sent")
        return found

    def said(self, turn: Turn) -> str:
        return self.trace.turn_text(turn)

    def calls(self, turn: Turn) -> list[Item]:
        return [item for item in fold(self.trace.turn_updates(turn)) if item.kind == "tool_call"]

    def close(self) -> None:
        """End the process at once, if it still runs."""
        if self._agent is not None:
            self._agent.kill()
