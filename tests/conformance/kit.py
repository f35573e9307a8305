"""The agent under judgement: its processes, its sessions, and the scripted model behind it.

One process, the ordinary one, serves most checks; a check that may end or confuse it starts one of its own. Every frame
of every process stays in a trace, by which the clauses that hold at all times are judged at the end.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cases.names import Names
from tests.conformance.check import FaultError, NotJudgedError, code_of
from tests.support.client import Answerer, Client, Launch, permission
from tests.support.launch import source_path
from tests.support.llm_script import Answer, Asked, Script
from tests.support.mock_llm import KEY, MockLlm
from tests.support.trace import Frame, Obj, Trace, Turn

NO_CAPABILITIES: Obj = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
AUTH_REQUIRED = -32000
PING = "_conformance/ping"
QUIET_SECONDS = 0.3
END_SECONDS = 2.0
ALLOWING: Mapping[str, Answerer] = {"session/request_permission": permission("allow_once")}
REFUSING: Mapping[str, Answerer] = {"session/request_permission": permission("reject_once")}


@dataclass(frozen=True, slots=True)
class Options:
    """How the agent is started. `model_env` holds `{url}`, `{root}` and `{key}` in the place of the model's."""

    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    model_env: Mapping[str, str] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    sign_in: str | None = None
    """A method for `authenticate` that asks nothing of a person."""
    seconds: float = 30.0
    """How long an answer may take."""
    patience: float = 1.0
    """A clause that says how soon gets so many times that long: machines are under load."""


class Kit:
    """What a check is given. Close it in the end."""

    def __init__(self, options: Options, root: Path) -> None:
        self.options, self.root = options, root.resolve()
        self.seconds = options.seconds
        self.project = self.folder("project")
        self.clients: list[Client] = []
        self.capabilities: dict[Client, Obj] = {}
        """What each client said that it can do."""
        self.model = MockLlm(Script(keyed=[("no such text", [])], other={"text": "Title"}), options.names.call)
        self._ordinary: Client | None = None
        self._session: str | None = None
        self._marks = itertools.count(1)
        self._plain: str | None = None
        self._shown = False

    # -- places and processes

    def folder(self, name: str) -> Path:
        made = self.root / name
        made.mkdir(parents=True, exist_ok=True)
        return made

    def environment(self, *, model: bool = True) -> dict[str, str]:
        """Return the agent's environment: the outer one's PATH, places of its own, and what the options name."""
        words = {"{url}": self.model.url, "{root}": self.model.root, "{key}": KEY}
        env = {"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8", "TERM": "dumb", **source_path()}
        for name, place in (("HOME", "home"), ("TMPDIR", "tmp"), ("ACP_SERVER_HOME", "state")):
            env[name] = str(self.folder(place))
        env.update(self.options.env)
        for name, text in self.options.model_env.items() if model else ():
            for word, value in words.items():
                text = text.replace(word, value)  # noqa: PLW2901 - each word in turn
            env[name] = text
        return env

    def fresh(
        self,
        capabilities: Obj | None = None,
        *,
        greet: bool = True,
        env: Mapping[str, str] | None = None,
        answerers: Mapping[str, Answerer] | None = None,
    ) -> Client:
        """Return the client of a process of its own, greeted unless told otherwise."""
        logs = self.folder(f"logs/{len(self.clients)}")
        whole = self.environment() if env is None else env
        client = Client(Launch(tuple(self.options.command), whole, self.root, logs), answerers)
        self.clients.append(client)
        self.capabilities[client] = NO_CAPABILITIES if capabilities is None else capabilities
        client.start()
        if greet:
            self.greet(client)
        return client

    def greet(self, client: Client, more: Obj | None = None) -> Obj:
        params = {
            "protocolVersion": 1,
            "clientCapabilities": self.capabilities[client],
            "clientInfo": {"name": "conformance", "version": "1"},
            **(more or {}),
        }
        return client.result("initialize", params, self.seconds)

    def ordinary(self) -> Client:
        """Return the client that checks share; another process takes over when one has ended."""
        if self._ordinary is None or self._ordinary.agent.popen.poll() is not None:
            self._ordinary, self._session = self.fresh(), None
            self.ping(self._ordinary)
        return self._ordinary

    def offered(self) -> Obj:
        """Return the `agentCapabilities` of the ordinary process."""
        answers = [f.value for f in self.ordinary().trace.frames if f.way == "got" and f.is_answer()]
        found: Obj = next(a["result"] for a in answers if "protocolVersion" in a.get("result", {}))
        return dict(found.get("agentCapabilities") or {})

    def has(self, path: str) -> bool:
        """Return whether the agent advertises a capability, as `sessionCapabilities.list`."""
        value: Any = self.offered()
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value not in {None, False} if not isinstance(value, dict) else True

    def need(self, *paths: str) -> None:
        missing = [path for path in paths if not self.has(path)]
        if missing:
            raise NotJudgedError(f"{missing[0]} is not advertised")

    def drop(self) -> None:
        """Give the ordinary process up: it is not to be trusted any more."""
        if self._ordinary is not None:
            self._ordinary.close()
        self._ordinary = None

    def excuse(self, begun: int) -> None:
        """Let the ordinary client and those since number `begun` leave requests open: their check broke off."""
        for client in {*self.clients[begun:], *([self._ordinary] if self._ordinary else [])}:
            client.trace.excuse(client.agent.proc)

    def end(self, begun: int = 0) -> None:
        """End the processes since number `begun`, all but the ordinary one: in order where they do that soon."""
        for client in self.clients[begun:]:
            if client is self._ordinary:
                continue
            client.agent.close_stdin()
            if client.agent.wait_exit(END_SECONDS) is None:
                client.trace.excuse(client.agent.proc)
            client.close()

    def close(self) -> None:
        self._ordinary = None
        self.end()
        self.model.close()

    def traces(self) -> list[Trace]:
        """Return all that was said, after a turn with a tool call where the agent can have one."""
        if not self._shown:
            self._shown = True
            with suppress(NotJudgedError):
                self.plain_turn(*self.session())
                (self.project / "shown.txt").write_text("shown\n", "utf-8")
                self.turn(*self.session(), self.tool("read_file", path="shown.txt"), {"text": "Read."})
        self.ordinary()
        return [client.trace for client in self.clients]

    # -- asking

    def ping(self, client: Client) -> str:
        """Ask for a method that nobody has; return the request's id once it is answered: what came before was read."""
        ident = f"ping-{client.request_id()}"
        client.send_line(json.dumps({"jsonrpc": "2.0", "id": ident, "method": PING, "params": {}}).encode())
        if client.wait(ident, self.seconds) is None:
            code = client.agent.popen.poll()
            raise FaultError("it answers nothing any more" if code is None else f"the process ends with {code}")
        return ident

    def settle(self, client: Client) -> str:
        """Wait for what is under way, and a little more; return the id of the ping that was sent."""
        ident = self.ping(client)
        time.sleep(QUIET_SECONDS)
        return ident

    def call(self, client: Client, method: str, params: Obj | None = None, *, odd: bool = False) -> Obj:
        """Send a request and return its answer, whatever it is."""
        return client.answer(client.request(method, params, odd=odd), self.seconds)

    def result(self, client: Client, method: str, params: Obj | None = None) -> Obj:
        return client.result(method, params, self.seconds)

    def opening(self, client: Client, cwd: Path | None = None, **more: Any) -> Obj:
        """Return the result of a `session/new`; sign in where the options say how."""
        params = {"cwd": str(cwd or self.project), "mcpServers": [], **more}
        answer = self.call(client, "session/new", params)
        if code_of(answer) == AUTH_REQUIRED and self.options.sign_in:
            self.result(client, "authenticate", {"methodId": self.options.sign_in})
            answer = self.call(client, "session/new", params)
        if code_of(answer) == AUTH_REQUIRED:
            raise NotJudgedError("a session needs a sign-in: --sign-in METHOD, or variables by --env")
        if "result" not in answer:
            raise NotJudgedError(f"no session opens: {answer}"[:200])
        result: Obj = answer["result"]
        return result

    def new(self, client: Client, cwd: Path | None = None, **more: Any) -> str:
        return str(self.opening(client, cwd, **more)["sessionId"])

    def session(self) -> tuple[Client, str]:
        """Return the ordinary client and the session that checks share."""
        client = self.ordinary()
        if self._session is None:
            self._session = self.new(client)
        return client, self._session

    def pair(
        self, capabilities: Obj | None = None, answerers: Mapping[str, Answerer] | None = None
    ) -> tuple[Client, str]:
        """Return a fresh client and a session of it."""
        client = self.fresh(capabilities, answerers=answerers)
        return client, self.new(client)

    # -- prompting

    def scripted(self) -> None:
        """Raise NotJudgedError unless the agent asks the scripted model."""
        if not self.options.model_env:
            raise NotJudgedError("needs a scripted model: --model-env")

    def ask(self, client: Client, session: str, *answers: Answer, text: str = "", blocks: Sequence[Obj] = ()) -> int:
        """Send a prompt that the model answers by these answers, in order; return its id."""
        self.scripted()
        mark = f"prompt-{next(self._marks)}-mark"
        self.model.script.keyed.append((mark, list(answers) or [{"text": "Good."}]))
        words = [{"type": "text", "text": f"{text} {mark}".strip()}, *blocks]
        return client.request("session/prompt", {"sessionId": session, "prompt": words})

    def turn(self, client: Client, session: str, *answers: Answer, text: str = "", blocks: Sequence[Obj] = ()) -> Done:
        """Send a prompt and return what came of it."""
        return self.done(client, self.ask(client, session, *answers, text=text, blocks=blocks))

    def question(self, client: Client, ident: int) -> None:
        """Wait until the agent asks the client; raise NotJudgedError when the prompt is answered without that."""
        client.trace.wait(lambda: client.questions or client.trace.answers(ident), self.seconds)
        if not client.questions:
            raise NotJudgedError("it asks nothing")

    def within(self, seconds: float) -> float:
        """Return how long something may take that a clause wants in so many seconds."""
        return seconds * self.options.patience

    def done(self, client: Client, ident: int) -> Done:
        answer = client.answer(ident, self.seconds)
        return Done(answer, client.turn(ident), client)

    def plain_turn(self, client: Client, session: str) -> Done:
        """Have a turn with whatever model there is; raise NotJudgedError when the agent cannot have one."""
        if self.options.model_env:
            return self.turn(client, session, {"text": "Good day.", "chunks": 3}, text="Hello.")
        if self._plain is not None:
            raise NotJudgedError(self._plain)
        words = [{"type": "text", "text": "Hello."}]
        ident = client.request("session/prompt", {"sessionId": session, "prompt": words})
        answer = client.wait(ident, self.seconds)
        if answer is None or "result" not in answer:
            said = "is not answered" if answer is None else f"is an error: {answer['error'].get('message')}"
            self._plain = f"without a scripted model a prompt {said}"[:200]
            raise NotJudgedError(self._plain)
        return Done(answer, client.turn(ident), client)

    def tool(self, name: str, **args: Any) -> Obj:
        """Return the model's answer that calls a neutral tool; raise NotJudgedError when the agent lacks it."""
        self.scripted()
        if not self.tools():
            self.plain_turn(*self.session())
        if self.options.names.tool(name) not in self.tools():
            raise NotJudgedError(f"it has no tool {name}: --tools {name}=ITS_NAME")
        return {"tool": name, "args": args}

    def tools(self) -> set[str]:
        """Return the names of the tools that were offered to the model."""
        return {name for asked in self.model.asked for name in asked.tools}

    def asked(self, mark: str) -> list[Asked]:
        """Return the model's requests whose messages have that text."""
        return [asked for asked in self.model.asked if mark in str(asked.messages)]


@dataclass(frozen=True, slots=True)
class Done:
    """A prompt with its answer and its turn."""

    answer: Obj
    turn: Turn
    client: Client

    @property
    def stop(self) -> object:
        """Return the stop reason, or the error's code."""
        return self.answer["result"].get("stopReason") if "result" in self.answer else code_of(self.answer)

    @property
    def said(self) -> str:
        return self.client.said(self.turn)

    def updates(self, *kinds: str) -> list[Obj]:
        return [u.fields for u in self.client.trace.turn_updates(self.turn) if not kinds or u.kind in kinds]

    def calls(self) -> list[Any]:
        return self.client.calls(self.turn)


def got(client: Client, first: int = 0) -> list[Frame]:
    """Return what the agent sent since frame `first`."""
    return [frame for frame in client.trace.frames[first:] if frame.way == "got"]


def updates(client: Client, session: str, first: int = 0, last: int | None = None) -> list[Obj]:
    end = len(client.trace.frames) if last is None else last
    return [update.fields for update in client.trace.updates(first, end, session)]
