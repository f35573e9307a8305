"""The agent's process: its methods, its sessions, an orderly end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.conformance.agent import flaws, servers
from tests.conformance.agent.session import COMMANDS, MODELS, MODES, Session
from tests.conformance.agent.wire import AUTH, INTERNAL, INVALID, METHOD, NOT_FOUND, PARAMS, RefusedError, Wire

Obj = dict[str, Any]
PAGE = 20
METHODS: list[Obj] = [
    {"id": "key", "name": "Key", "description": "Set OPENAI_API_KEY."},
    {"id": "demo", "name": "Demo", "description": "Go on without a key."},
]


class Agent:
    """One connection."""

    def __init__(self, broken: frozenset[str]) -> None:
        self.flaws, self.wire = broken, Wire(broken, self.serve)
        self.folder = Path(os.environ.get("ACP_SERVER_HOME", ".")) / "reference"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.sessions: dict[str, Session] = {}
        self.servers: dict[str, list[servers.Server]] = {}
        self.able: Obj = {}
        self.signed = bool(os.environ.get("OPENAI_API_KEY"))
        self.running: dict[str, str] = {}
        """Key of a prompt's request id -> its session."""
        self.methods: dict[str, Callable[[Obj], Awaitable[Obj]]] = {
            "initialize": self.initialize,
            "authenticate": self.authenticate,
            "logout": self.logout,
            "session/new": self.new,
            "session/load": self.load,
            "session/resume": self.resume,
            "session/close": self.close,
            "session/delete": self.delete,
            "session/set_mode": self.set_mode,
            "session/set_config_option": self.set_option,
        }
        if "offers-list" not in broken:
            self.methods["session/list"] = self.list

    async def serve(self, method: str, params: Obj, ident: object, asked: bool) -> None:
        """Answer one message."""
        if method == "session/cancel":
            self._cancel(params)
            return
        if method == "$/cancel_request":
            self._cancel_request(params)
            return
        if method != "initialize" and not self.wire.greeted and "early-sessions" not in self.flaws:
            raise RefusedError(INVALID, "initialize comes first")
        if method == "session/prompt":
            await self.prompt(params, ident, asked)
            return
        if method.startswith("_") and "accepts-extensions" in self.flaws:
            self.wire.answer(ident, {"result": {}})
            return
        if method not in self.methods:
            raise RefusedError(METHOD, f"there is no method {method}", method=method)
        result = await self.methods[method](params)
        if asked:
            self.wire.answer(ident, {"result": result})
        if method in {"session/new", "session/load", "session/resume"}:
            session = result.get("sessionId") or params["sessionId"]
            self.wire.update(session, "available_commands_update", availableCommands=COMMANDS)
        if method == "session/load" and "answers-before-history" in self.flaws:
            self.sessions[params["sessionId"]].load(replay=True)

    # -- handshake

    async def initialize(self, params: Obj) -> Obj:
        asked = params.get("protocolVersion")
        if (
            type(asked) is not int
            and not (isinstance(asked, str) and asked.isdigit())
            and "any-version" not in self.flaws
        ):
            raise RefusedError(PARAMS, "protocolVersion is no whole number")
        able = params.get("clientCapabilities")
        self.able = (
            {key: value for key, value in able.items() if isinstance(value, dict)} if isinstance(able, dict) else {}
        )
        self.wire.greeted = True
        one: Any = True if "capabilities-as-flags" in self.flaws else {}
        return {
            "protocolVersion": asked if "echoes-version" in self.flaws else 1,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"embeddedContext": True, "image": False},
                "sessionCapabilities": {"list": one, "resume": one, "close": one, "delete": one},
                "auth": {"logout": {}},
            },
            "authMethods": METHODS,
            "agentInfo": {"name": "reference", "version": "1"},
        }

    async def authenticate(self, params: Obj) -> Obj:
        if params.get("methodId") not in {"key", "demo"} and "any-sign-in" not in self.flaws:
            raise RefusedError(PARAMS, "there is no such method")
        self.signed = self.signed or params.get("methodId") == "demo"
        return {}

    async def logout(self, _: Obj) -> Obj:
        self.signed = False
        for session in self.sessions.values():
            session.cancel()
        await asyncio.sleep(0)
        return {}

    # -- sessions

    def _cwd(self, params: Obj) -> Path:
        cwd = params.get("cwd")
        if not isinstance(cwd, str) or not cwd.startswith("/"):
            if "any-folder" in self.flaws:
                return Path.cwd()
            raise RefusedError(PARAMS, "cwd is no absolute path")
        if not Path(cwd).is_dir():
            raise RefusedError(PARAMS, "cwd is no directory")
        return Path(cwd)

    async def _serve_with(self, ident: str, params: Obj) -> None:
        entries = params.get("mcpServers") or []
        if any("type" in entry for entry in entries):
            raise RefusedError(PARAMS, "mcpServers has a transport that is not offered")
        self.servers[ident] = [servers.Server(entry) for entry in entries]
        if "waits-for-servers" in self.flaws:
            for server in self.servers[ident]:
                await server.ready()

    async def new(self, params: Obj) -> Obj:
        if not self.signed:
            code = INTERNAL if "key-is-a-fault" in self.flaws else AUTH
            raise RefusedError(code, "a key is needed", authMethods=METHODS)
        cwd, ident = self._cwd(params), str(uuid.uuid4())
        await self._serve_with(ident, params)
        session = self.sessions[ident] = Session(ident, cwd, self.folder, self.wire, self.able)
        if "early-commands" in self.flaws:
            self.wire.update(ident, "available_commands_update", availableCommands=COMMANDS)
        return {"sessionId": ident, "modes": session.modes(), "configOptions": session.options()}

    async def _open(self, params: Obj, *, replay: bool) -> Obj:
        ident, cwd = str(params.get("sessionId")), self._cwd(params)
        path = self.folder / f"{ident}.jsonl"
        if "/" in ident or not path.exists():
            if "loads-anything" in self.flaws:
                return {}
            raise RefusedError(NOT_FOUND, f"there is no session {ident}", sessionId=ident)
        if ident in self.sessions and self.sessions[ident].prompts:
            raise RefusedError(INVALID, "the session is at work")
        if json.loads(path.read_text("utf-8").split("\n")[0])["cwd"] != str(cwd):
            raise RefusedError(PARAMS, "cwd is not the session's")
        await self._serve_with(ident, params)
        session = self.sessions[ident] = Session(ident, cwd, self.folder, self.wire, self.able)
        if "answers-before-history" not in self.flaws:
            session.load(replay=replay)
        return {"modes": session.modes(), "configOptions": session.options()}

    async def load(self, params: Obj) -> Obj:
        return await self._open(params, replay=True)

    async def resume(self, params: Obj) -> Obj:
        return await self._open(params, replay="resume-shows" in self.flaws)

    async def list(self, params: Obj) -> Obj:
        paths = sorted(self.folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        found = []
        for path in paths:
            cwd = Path(json.loads(path.read_text("utf-8").split("\n")[0])["cwd"])
            if params.get("cwd") in {None, str(cwd)}:
                found.append(Session(path.stem, cwd, self.folder, self.wire, {}).entry())
        start = params.get("cursor") or "0"
        if not start.isdigit() or int(start) > len(found):
            if "any-cursor" not in self.flaws:
                raise RefusedError(PARAMS, "the cursor is none of ours")
            start = "0"
        end = int(start) + PAGE
        return {"sessions": found[int(start) : end], **({"nextCursor": str(end)} if end < len(found) else {})}

    async def close(self, params: Obj) -> Obj:
        session = self.sessions.get(str(params.get("sessionId")))
        if session is not None:
            session.cancel()
            await asyncio.sleep(0.01)
            if "closed-takes-prompts" not in self.flaws:
                del self.sessions[session.id]
            for server in self.servers.pop(session.id, []):
                server.end()
        return {}

    async def delete(self, params: Obj) -> Obj:
        await self.close(params)
        path = self.folder / f"{str(params.get('sessionId')).replace('/', '-')}.jsonl"
        if "delete-once" in self.flaws and not path.exists():
            raise RefusedError(NOT_FOUND, "there is no such session")
        path.unlink(missing_ok=True)
        return {}

    def _session(self, params: Obj) -> Session:
        ident = params.get("sessionId")
        if not isinstance(ident, str) or ident not in self.sessions:
            code = PARAMS if "invalid-for-unknown" in self.flaws else NOT_FOUND
            raise RefusedError(code, f"there is no session {ident}", sessionId=str(ident))
        return self.sessions[ident]

    # -- options

    async def set_mode(self, params: Obj) -> Obj:
        session, mode = self._session(params), params.get("modeId")
        if mode not in MODES:
            if "any-mode" in self.flaws:
                return {}
            raise RefusedError(PARAMS, "there is no such mode")
        session.mode = str(mode)
        self._changed(session)
        return {}

    def _changed(self, session: Session) -> None:
        if session.path.exists():
            session.keep(mode=session.mode, model=session.model)
        session.tell_options()

    async def set_option(self, params: Obj) -> Obj:
        session, ident, value = self._session(params), params.get("configId"), params.get("value")
        known = {"mode": MODES, "model": MODELS}
        if value not in known.get(str(ident), ()) and "any-option" not in self.flaws:
            raise RefusedError(PARAMS, "there is no such option or value")
        if ident in known and value in known[ident]:
            setattr(session, ident, value)
            self._changed(session)
        options = session.options()
        return {"configOptions": [o for o in options if o["id"] == ident or "changed-option-only" not in self.flaws]}

    # -- prompts

    async def prompt(self, params: Obj, ident: object, asked: bool) -> None:
        session = self._session(params)
        key = json.dumps(ident)
        self.running[key] = session.id
        try:
            for server in self.servers.get(session.id, []):
                await self._introduce(session, server)
            context = (params.get("_meta") or {}).get("traceparent")
            result = await session.prompt(key, params.get("prompt") or [], context)
        finally:
            self.running.pop(key, None)
        if asked:
            self.wire.answer(ident, {"result": result})
        if "late-chunk" in self.flaws:
            session.show("agent_message_chunk", "late")
        if "own-update" in self.flaws:
            self.wire.update(session.id, "shell_output", text="x")
        self._remember(session)

    def _remember(self, session: Session) -> None:
        """Keep the options with a session that has become one of the disk."""
        if session.path.exists():
            session.keep(mode=session.mode, model=session.model)

    async def _introduce(self, session: Session, server: servers.Server) -> None:
        """Tell the person of a server that cannot be used, and the model of the tools of another."""
        why = await server.ready()
        if why is not None:
            session.message = "servers"
            session.show("agent_thought_chunk", why)
        session.more_tools = [*session.more_tools, *server.tools]
        self.servers[session.id] = [one for one in self.servers[session.id] if one is not server]

    def _cancel(self, params: Obj) -> None:
        for session in self.sessions.values():
            if session.id == params.get("sessionId") or "cancels-all" in self.flaws:
                session.cancel()

    def _cancel_request(self, params: Obj) -> None:
        key = json.dumps(params.get("requestId"))
        session = self.sessions.get(self.running.get(key, ""))
        if session is not None and key in session.prompts and "ignores-cancel-request" not in self.flaws:
            session.prompts[key].cancel()

    # -- the end

    def end(self) -> None:
        """Stop all turns and servers."""
        for session in self.sessions.values():
            session.cancel()
        for some in self.servers.values():
            for server in some:
                server.end()


async def run(agent: Agent) -> None:
    loop = asyncio.get_running_loop()
    await agent.wire.open()
    reading = loop.create_task(agent.wire.read())
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, reading.cancel)
    if "banner" in agent.flaws:
        agent.wire.out.write(b"Welcome!\n")
    with suppress(asyncio.CancelledError):
        await reading
    agent.end()
    await asyncio.sleep(0.05)
    if "lingers" in agent.flaws:
        await asyncio.sleep(60)


if __name__ == "__main__":
    sys.set_int_max_str_digits(4300)
    asyncio.run(run(Agent(flaws.read(sys.argv))))
    sys.stdin.close()
    os._exit(0)
