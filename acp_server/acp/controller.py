"""One session on one connection: its events become updates in the outbox.

Owns the order on the wire: every update of a turn is in the outbox before the prompt's answer is (clause P-06), and
nothing is sent for a session before the answer that announces it (clause S-04).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from acp_server.acp.commands import SHIPPED, Command
from acp_server.acp.editor_state import EditorState
from acp_server.acp.frames import chunk_head, chunk_template, update_frame
from acp_server.acp.picture_updates import NO_PICTURES, Pictures, filled, named_in
from acp_server.acp.queue import queue_update, queued_words
from acp_server.acp.updates import THOUGHT, Presenter, TextUpdate, Update
from acp_server.agent.agent import Agent
from acp_server.agent.inbox import SPLICED
from acp_server.base.errors import ServerError
from acp_server.jsonrpc.outbox import Outbox
from acp_server.messages.blocks import Message
from acp_server.session.events import SessionEvent
from acp_server.session.undo import hidden_ranges

Severity: TypeAlias = Literal["info", "warning"]
TEMPLATES_KEPT: Final = 8
"""Templates of open messages; a message is rarely interleaved with more than one other."""
REPLAYED_AT_ONCE: Final = 200
"""Events that a replay presents before it lets others run and looks whether the pipe is behind."""


class Controller:
    """A session that the client has open. Until `go_live` its events are shown by `replay` alone."""

    def __init__(
        self,
        agent: Agent,
        outbox: Outbox,
        *,
        takes_notices: Callable[[], bool],
        commands: Callable[[], Sequence[Command]] = lambda: SHIPPED,
        pictures: Pictures = NO_PICTURES,
        compactions: bool = False,
        draws_terminals: Callable[[], bool] = lambda: False,
        shows_queue: Callable[[], bool] = lambda: False,
    ) -> None:
        self.agent = agent
        self._outbox = outbox
        self._takes_notices = takes_notices
        self._commands = commands
        self._pictures = pictures
        self._compactions = compactions
        self._presenter = Presenter(compactions=compactions)
        self._draws_terminals = draws_terminals
        self._session_id: str = agent.session.id
        self._heads: dict[str, bytes] = {}
        self._templates: dict[tuple[str, str, str], Callable[[str], bytes]] = {}
        self._shows_queue = shows_queue
        self._shown_queue: tuple[Message, ...] = ()
        self._untold: list[tuple[Severity, str]] = []
        self._told = 0
        self._stop: Callable[[], None] = _nothing
        self._stop_following: Callable[[], None] = _nothing
        self.roots: tuple[str, ...] = ()
        """Further directories that the client opened the session with, canonical."""
        self.editor: EditorState | None = None
        """What the client said of the person's editor with the newest prompt that said anything of it."""
        self.read_only: str | None = None
        """Why nothing can be added to the session, or None."""
        self.unanswered = False
        """Whether the session was opened when nobody could answer, and no model was chosen since."""

    @property
    def id(self) -> str:
        """Return the session's id."""
        return self._session_id

    def require_writable(self) -> None:
        """Raise ServerError SESSION_READ_ONLY when nothing can be added to the session."""
        if self.read_only is not None:
            raise ServerError("SESSION_READ_ONLY", read_only_words(self.read_only))

    async def replay(self) -> None:
        """Show the whole history, in the order in which it happened (clauses S-20 to S-25)."""
        self._presenter = Presenter(compactions=self._compactions)
        log = self.agent.session.events
        hidden = hidden_ranges(log)
        for count, event in enumerate(log.merged(), 1):
            updates = self._presenter.present(event)
            if hidden and updates and any(first <= event.seq < until for first, until in hidden):
                updates = [update for update in updates if not isinstance(update, TextUpdate) and _stays(update)]
            if updates:
                for update in updates:
                    if type(update) is dict and (images := list(named_in(update))):
                        await self._outbox.room()
                        await self._pictures.load(self.id, images)
                self._send(updates)
            if count % REPLAYED_AT_ONCE == 0:
                await asyncio.sleep(0)  # what is shown goes out meanwhile, and other sessions go on
                await self._outbox.room()

    def catch_up(self) -> None:
        """Take the history in without showing it, so that what comes later fits it (clause S-40)."""
        for event in self.agent.session.events.milestones():
            self._presenter.present(event)

    def go_live(self) -> None:
        """Show every event from here on as it happens; may be said again after a replay."""
        self._presenter.go_live(draws_terminals=self._draws_terminals())
        self._stop()
        self._stop = self.agent.session.observe(self._show_all if self._shows_queue() else self._show)

    def greet(self) -> None:
        """Send what follows the answer that announced the session."""
        self.show_commands()
        self._tell_all()

    def show_commands(self) -> None:
        """Send the slash commands that there are."""
        commands = [command.to_json() for command in self._commands()]
        self._put({"sessionUpdate": "available_commands_update", "availableCommands": commands})

    def wire_id(self, call_id: str) -> str:
        """Return the id under which the client knows an open tool call (clause R-01)."""
        return self._presenter.cards.wire_id(call_id)

    def progress(self, call_id: str, output: str) -> None:
        """Show the latest output of a tool call that runs; it is in no event (clause TC-18)."""
        for update in self._presenter.cards.progressed(call_id, output):
            self._put(update)

    def show_terminal(self, call_id: str, terminal_id: str) -> None:
        """Show a terminal of the client in the card of a call that runs; it is in no event (clause TM-09)."""
        for update in self._presenter.cards.attached(call_id, terminal_id):
            self._put(update)

    def show(self, update: Mapping[str, Any]) -> None:
        """Send an update that no event stands for."""
        self._put(update)

    def show_queued(self, ident: str) -> None:
        """Tell the person of a prompt that waits for the running turn."""
        waiting = self.agent.inbox.waiting("next-turn")
        message = next((message for message in waiting if message.id == ident), None)
        if message is not None and not self.agent.idle:
            self.tell(queued_words(message, len(waiting)), "info")

    def tell(self, sentence: str, severity: Severity = "warning") -> None:
        """Tell the person: at once where the client takes notices, else within the next turn (clause U-14)."""
        self._untold.append((severity, sentence))
        if self._takes_notices() or not self.agent.idle:
            self._tell_all()

    def begin_turn(self) -> None:
        """Say in the turn that begins what had to wait for one."""
        if self._untold:
            self._tell_all(in_turn=True)

    def replace_follower(self, stop: Callable[[], None] | None) -> None:
        """End what else follows the session, and end by `stop`, with the controller, what follows it from here on."""
        self._stop_following()
        self._stop_following = stop or _nothing

    def close(self) -> None:
        """Send nothing more for this session."""
        self._stop()
        self._stop_following()

    def _tell_all(self, *, in_turn: bool = False) -> None:
        if self._takes_notices():
            for severity, sentence in self._untold:
                self._put({"sessionUpdate": "notice", "severity": severity, "title": sentence})
        elif in_turn or not self.agent.idle:
            self._told += 1
            text = "".join(f"{sentence}\n" for _, sentence in self._untold)
            self._send([TextUpdate(THOUGHT, f"notices-{self._told}", text)])
        else:
            return
        self._untold.clear()

    def _show_all(self, event: SessionEvent) -> None:
        """Show the event, and the queue when it has changed by the time that all of this has happened."""
        self._show(event)
        if event.type == SPLICED:
            asyncio.get_running_loop().call_soon(self._show_queue)

    def _show_queue(self) -> None:
        waiting = tuple(self.agent.inbox.waiting("next-turn"))
        if waiting != self._shown_queue:
            self._shown_queue = waiting
            self._put(queue_update(waiting))

    def _show(self, event: SessionEvent) -> None:
        if updates := self._presenter.present(event):
            self._send(updates)

    def _send(self, updates: Sequence[Update]) -> None:
        for update in updates:
            if isinstance(update, TextUpdate):
                key = (self._session_id, update.kind, update.message_id)
                self._outbox.put_mergeable(key, update.text, self._templates.get(key) or self._template(key))
            else:
                self._put(update)

    def _template(self, key: tuple[str, str, str]) -> Callable[[str], bytes]:
        if len(self._templates) >= TEMPLATES_KEPT:
            self._templates.clear()
        _, kind, message_id = key
        head = self._heads.get(kind)
        if head is None:
            head = self._heads[kind] = chunk_head(self._session_id, kind)
        template = self._templates[key] = chunk_template(head, message_id)
        return template

    def _put(self, update: Mapping[str, Any]) -> None:
        if any(named_in(update)):
            update = filled(update, self._pictures.find)
        self._outbox.put(update_frame(self.id, dict(update)))


def _stays(update: Mapping[str, Any]) -> bool:
    """Return whether an update tells a choice of the person's, which no undo takes back."""
    return update["sessionUpdate"] in ("session_info_update", "current_mode_update")


def read_only_words(reason: str) -> str:
    """Return the sentence about a session that opened for reading."""
    return f"This session can be read but not continued: {reason}"


def _nothing() -> None:
    return None
