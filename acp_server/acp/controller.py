"""One session on one connection: its events become updates in the outbox, its prompts become turns.

Owns the order on the wire: every update of a turn is in the outbox before the prompt's answer is (clause P-06).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from acp_server.acp.commands import COMMANDS, Command
from acp_server.acp.frames import chunk_template, update_frame
from acp_server.acp.updates import Presenter, TextUpdate
from acp_server.agent.agent import Agent
from acp_server.base.json_value import JsonValue
from acp_server.base.ports import Ids
from acp_server.jsonrpc.outbox import Outbox
from acp_server.session.events import SessionEvent

TEMPLATES_KEPT: Final = 8
"""Templates of open messages; a message is rarely interleaved with more than one other."""


class Controller:
    """A session that the client has open."""

    def __init__(self, agent: Agent, outbox: Outbox, ids: Ids) -> None:
        self.agent = agent
        self._outbox = outbox
        self._ids = ids
        self._presenter = Presenter(echo_user=False)
        self._templates: dict[tuple[str, str], Callable[[str], bytes]] = {}
        self._stop = agent.session.observe(self._show)

    @property
    def id(self) -> str:
        """Return the session's id."""
        return self.agent.session.id

    def greet(self, notices: Sequence[str], *, tell: bool) -> None:
        """Send what follows the answer that announced the session: the commands, and notices where they are taken."""
        commands = [command.to_json() for command in COMMANDS.values()]
        self._put({"sessionUpdate": "available_commands_update", "availableCommands": commands})
        for notice in notices if tell else ():
            self._put({"sessionUpdate": "notice", "severity": "warning", "title": notice})

    def run_command(self, command: Command, args: str) -> None:
        """Run the command; its run and its outcome are in the log, its text goes to the person."""
        command_id = self._ids.new()
        asked: dict[str, JsonValue] = {"commandId": command_id, "name": command.name, "source": {"kind": "user"}}
        self.agent.session.append("command/run", {**asked, **({"args": args} if args else {})})
        text = command.run(self.agent, args)
        self.agent.session.append("command/done", {"commandId": command_id, "kind": "success", "text": text})

    def close(self) -> None:
        """Send nothing more for this session."""
        self._stop()

    def _show(self, event: SessionEvent) -> None:
        for update in self._presenter.present(event):
            if isinstance(update, TextUpdate):
                key = (update.kind, update.message_id)
                self._outbox.put_mergeable((self.id, *key), update.text, self._template(key))
            else:
                self._put(update)

    def _template(self, key: tuple[str, str]) -> Callable[[str], bytes]:
        template = self._templates.get(key)
        if template is None:
            if len(self._templates) >= TEMPLATES_KEPT:
                self._templates.clear()
            template = self._templates[key] = chunk_template(self.id, *key)
        return template

    def _put(self, update: Mapping[str, Any]) -> None:
        self._outbox.put(update_frame(self.id, dict(update)))
