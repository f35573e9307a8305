"""A client of one agent: starts it, shakes hands, opens sessions, answers the agent's questions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

from acp_server_client.session import Session, Update
from acp_server_client.wire import METHOD_NOT_FOUND, AgentError, Answering, Json, Wire

PROTOCOL: Final = 1
CLIENT_INFO: Final = {"name": "acp-server-client", "version": "1"}


@dataclass(frozen=True, slots=True)
class Permission:
    """A question of consent: the session, the tool call with its title and effect, and the options to choose from."""

    session_id: str
    tool_call: Json
    options: Sequence[Json]

    def option(self, kind: str) -> str | None:
        """Return the id of the option of that kind (`allow_once`, `reject_once`, …), or None."""
        return next((option["optionId"] for option in self.options if option.get("kind") == kind), None)


Consent: TypeAlias = Callable[[Permission], Awaitable[str | None]]
"""Returns the id of the chosen option, None to dismiss the question."""


async def allow_nothing(permission: Permission) -> str | None:
    """Reject every question."""
    return permission.option("reject_once")


async def allow_once(permission: Permission) -> str | None:
    """Allow everything that is asked, each time for once."""
    return permission.option("allow_once")


class Client:
    """Use as a context, or call `start` and `close`.

    Args:
        command: the agent's command and arguments.
        environment: the whole environment of the agent; None passes ours on.
        directory: the agent's working directory.
        consent: answers questions of consent; rejects all by default.
        answering: answers other requests of the agent, for a client that offers files or terminals.
        capabilities: what the client offers.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        directory: str | None = None,
        consent: Consent = allow_nothing,
        answering: Answering | None = None,
        capabilities: Json | None = None,
    ) -> None:
        self._start = (command, environment, directory)
        self._consent = consent
        self._answering = answering
        self._capabilities = capabilities or {}
        self._sessions: dict[str, Session] = {}
        self._early: dict[str, list[Update]] = {}
        """Updates of a session that is being opened."""
        self._wire = self._new_wire()
        self.agent: Json = {}
        """The result of `initialize`."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Start the agent and shake hands; raise AgentDied or AgentError. May be called again once it has ended."""
        if self._wire.dead is not None:
            await self._wire.close()
            self._wire, self._sessions = self._new_wire(), {}
        await self._wire.start()
        params = {"protocolVersion": PROTOCOL, "clientCapabilities": self._capabilities, "clientInfo": CLIENT_INFO}
        self.agent = await self._wire.request("initialize", params)

    async def close(self) -> None:
        """End the agent: its input ends, and it gets some seconds to go."""
        await self._wire.close()

    @property
    def pid(self) -> int | None:
        """Return the process id of the agent."""
        return self._wire.pid

    async def request(self, method: str, params: Json) -> Json:
        """Send any request and return its result; raise AgentError or AgentDied."""
        return await self._wire.request(method, params)

    async def authenticate(self, method: str) -> None:
        """Log in by a method of `agent["authMethods"]`; raise AgentError."""
        await self._wire.request("authenticate", {"methodId": method})

    async def new_session(self, directory: str, servers: Sequence[Json] = ()) -> Session:
        """Open a session in an absolute directory, with MCP servers; raise AgentError or AgentDied."""
        opened = await self._wire.request("session/new", {"cwd": directory, "mcpServers": list(servers)})
        return self._opened(opened["sessionId"], directory, opened)

    async def load_session(self, ident: str, directory: str, servers: Sequence[Json] = ()) -> Session:
        """Open a stored session; its `updates` are its whole history. Raise AgentError or AgentDied."""
        return await self._stored("session/load", ident, directory, servers)

    async def resume_session(self, ident: str, directory: str, servers: Sequence[Json] = ()) -> Session:
        """Open a stored session without its history; raise AgentError or AgentDied."""
        return await self._stored("session/resume", ident, directory, servers)

    async def sessions(self, directory: str | None = None) -> list[Json]:
        """Return every stored session, the newest first, of one directory or of all."""
        found: list[Json] = []
        params: Json = {} if directory is None else {"cwd": directory}
        while True:
            page = await self._wire.request("session/list", params)
            found += page["sessions"]
            if page.get("nextCursor") is None:
                return found
            params = {**params, "cursor": page["nextCursor"]}

    async def _stored(self, method: str, ident: str, directory: str, servers: Sequence[Json]) -> Session:
        params = {"sessionId": ident, "cwd": directory, "mcpServers": list(servers)}
        self._early[ident] = []
        try:
            return self._opened(ident, directory, await self._wire.request(method, params))
        finally:
            self._early.pop(ident, None)

    def _opened(self, ident: str, directory: str, opened: Json) -> Session:
        session = self._sessions[ident] = Session(self._wire, ident, directory, opened)
        session.updates += self._early.pop(ident, [])
        return session

    def _new_wire(self) -> Wire:
        return Wire(*self._start, self._answer, self._hear)

    def _hear(self, method: str, params: Json) -> None:
        if method != "session/update":
            return
        ident, fields = params.get("sessionId", ""), params.get("update", {})
        update = Update(str(fields.get("sessionUpdate", "")), fields)
        if ident in self._sessions:
            self._sessions[ident].take(update)
        else:
            self._early.setdefault(ident, []).append(update)

    async def _answer(self, method: str, params: Json) -> Any:
        if method == "session/request_permission":
            asked = Permission(params["sessionId"], params.get("toolCall", {}), params.get("options", ()))
            chosen = await self._consent(asked)
            outcome = {"outcome": "cancelled"} if chosen is None else {"outcome": "selected", "optionId": chosen}
            return {"outcome": outcome}
        if self._answering is None:
            raise AgentError(METHOD_NOT_FOUND, "Method not found")
        return await self._answering(method, params)
