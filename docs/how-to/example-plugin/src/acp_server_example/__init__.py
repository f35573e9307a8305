"""An adapter, a tool, a slash command and a session observer for acp-server, in one component."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

from pydantic import BaseModel, ConfigDict

from acp_server.app.plugin import (
    Agent,
    CancelToken,
    Card,
    Command,
    Config,
    Effect,
    FinishChunk,
    GenerateOptions,
    HotSession,
    ModelInfo,
    Parts,
    ProviderEntry,
    ServerError,
    SessionAccess,
    SessionEvent,
    SessionObserver,
    StreamChunk,
    TextBlock,
    TextDelta,
    ToolContext,
    ToolResult,
    text_of,
)


def plugin(parts: Parts, config: Config) -> None:
    """Register everything. The row's config may hold `greeting`."""
    greeting = config.get("greeting", "Hello")
    if not isinstance(greeting, str) or set(config) - {"greeting"}:
        raise ServerError("INVALID_CONFIG", "the config may hold greeting, a text, and nothing else.")
    seen = Seen()
    parts.adapters.add(ProviderEntry("example", lambda _kit: Greeter(greeting), default_model="greeter"))
    parts.tools.add(SessionsTool(parts.sessions))
    parts.commands.add(Command("seen", "Shows what the example plugin has observed.", seen.show))
    parts.observers.add(SessionObserver(opened=seen.opened, event=seen.event, closed=seen.closed))


class Greeter:
    """An adapter whose only model greets whoever speaks to it."""

    def __init__(self, greeting: str) -> None:
        self._greeting = greeting

    def model(self, provider: str, model: str) -> ModelInfo:
        """Return what is known about the model."""
        return ModelInfo(provider, model, "Greeter", context_window=1000)

    async def stream(self, options: GenerateOptions, cancel: CancelToken) -> AsyncIterator[StreamChunk]:
        """Stream one sentence about the newest message."""
        cancel.raise_if_cancelled()
        yield TextDelta(0, f"{self._greeting}! ")
        yield TextDelta(0, f"You said: {text_of(options.messages[-1].content)}")
        yield FinishChunk("stop")


class Which(BaseModel):
    """The tool's arguments."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["hot", "cold"]


class SessionsTool:
    """A tool that lists the sessions of the server."""

    name = "list_sessions"
    description = "Lists the sessions that are open (hot) or stored (cold)."
    arguments = Which

    def __init__(self, sessions: SessionAccess) -> None:
        self._sessions = sessions

    def effect(self, arguments: Which, cwd: str) -> Effect:
        """Nothing is changed, run or fetched."""
        return Effect("none")

    def card(self, arguments: Which, cwd: str) -> Card:
        """Return what the editor shows."""
        return Card(f"List {arguments.kind} sessions", "read")

    def parallel(self, arguments: Which) -> bool:
        """Listing may run beside other calls."""
        return True

    async def run(self, arguments: Which, context: ToolContext) -> ToolResult:
        """Return one line a session."""
        if arguments.kind == "hot":
            lines = [f"{session.id} {session.model}" for session in self._sessions.hot()]
        else:
            page = await self._sessions.cold()
            lines = [f"{entry.id} {entry.title}" for entry in page.entries]
        return ToolResult((TextBlock("\n".join(lines) or "none"),))


class Seen:
    """Counts what it observes."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._events: dict[str, int] = {}

    def opened(self, session: HotSession) -> None:
        """Take note of a session."""
        self._open.add(session.id)

    def event(self, session_id: str, event: SessionEvent) -> None:
        """Take note of an event."""
        self._events[event.type] = self._events.get(event.type, 0) + 1

    def closed(self, session_id: str) -> None:
        """Forget a session."""
        self._open.discard(session_id)

    def show(self, agent: Agent, args: str) -> str:
        """Return what the person is told."""
        return f"{len(self._open)} session(s) open, {self._events.get('tool/call', 0)} tool call(s) so far."
