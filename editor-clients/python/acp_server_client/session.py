"""A session of an agent as a script has it: prompts, the updates of each turn, and the choices that can be changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from acp_server_client.wire import AgentDied, Json, Wire


@dataclass(frozen=True, slots=True)
class Update:
    """One `session/update`: its kind and all of its fields, as the protocol has them."""

    kind: str
    fields: Json

    @property
    def text(self) -> str:
        """Return the text of a chunk of the agent's answer, else nothing."""
        content = self.fields.get("content")
        if self.kind != "agent_message_chunk" or not isinstance(content, dict):
            return ""
        return str(content.get("text", ""))


class Turn:
    """One prompt under way: iterate for its updates, await `stop_reason` for its end."""

    def __init__(self, answer: asyncio.Future[Json]) -> None:
        self._answer = answer
        self._updates: asyncio.Queue[Update | None] = asyncio.Queue()
        self._parts: list[str] = []
        answer.add_done_callback(lambda _: self._updates.put_nowait(None))

    @property
    def stop_reason(self) -> asyncio.Future[str]:
        """Return what becomes the stop reason; awaiting it raises AgentError or AgentDied."""
        return asyncio.ensure_future(self._reason())

    @property
    def text(self) -> str:
        """Return the answer as far as it has come."""
        return "".join(self._parts)

    def take(self, update: Update) -> None:
        """Take an update of the turn in."""
        self._parts.append(update.text)
        self._updates.put_nowait(update)

    async def __aiter__(self) -> AsyncIterator[Update]:
        """Give each update as it comes, until the turn is over; its failure is told by `stop_reason`."""
        while (update := await self._updates.get()) is not None:
            yield update

    async def _reason(self) -> str:
        return str((await self._answer)["stopReason"])


class Session:
    """An open session. `updates` keeps what came outside of a turn: a replay, the list of commands."""

    def __init__(self, wire: Wire, ident: str, directory: str, opened: Json) -> None:
        self.id = ident
        self.directory = directory
        self.opened = opened
        """The result that opened it: modes, configOptions."""
        self.updates: list[Update] = []
        self._wire = wire
        self._turns: list[Turn] = []

    def prompt(self, content: str | Sequence[Json]) -> Turn:
        """Send a prompt, a text or content blocks; return its turn. Prompts of one session are queued by the agent."""
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        _, answer = self._wire.send("session/prompt", {"sessionId": self.id, "prompt": blocks})
        turn = Turn(answer)
        self._turns.append(turn)
        answer.add_done_callback(lambda _: self._turns.remove(turn))
        return turn

    async def ask(self, content: str | Sequence[Json]) -> str:
        """Send a prompt and return the whole answer; raise AgentError or AgentDied."""
        turn = self.prompt(content)
        await turn.stop_reason
        return turn.text

    def cancel(self) -> None:
        """End the running turn and those that wait."""
        self._wire.notify("session/cancel", {"sessionId": self.id})

    async def set_mode(self, mode: str) -> None:
        """Change the mode; raise AgentError."""
        await self._wire.request("session/set_mode", {"sessionId": self.id, "modeId": mode})

    async def set_option(self, option: str, value: object) -> Json:
        """Change a config option; return the whole list."""
        params = {"sessionId": self.id, "configId": option, "value": value}
        return await self._wire.request("session/set_config_option", params)

    async def close(self) -> None:
        """Let the agent free what it holds for the session; an agent that has ended has done so."""
        if not isinstance(self._wire.dead, AgentDied):
            await self._wire.request("session/close", {"sessionId": self.id})

    def take(self, update: Update) -> None:
        """Take an update of the session in: it belongs to the oldest turn that is not over."""
        if self._turns:
            self._turns[0].take(update)
        else:
            self.updates.append(update)
