"""One session's agent: takes prompts, runs turns one after another, settles each prompt when its turn is over.

Accepting a prompt is synchronous: when `followup` returns, the prompt is in the log, and an idle agent has opened its
turn. Owns the phases idle, running and maintenance. docs/protocol.md, clauses P-11, P-12 and C-1 to C-12.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from acp_server.agent.contexts import Told
from acp_server.agent.inbox import Inbox
from acp_server.agent.keeping import Usage
from acp_server.agent.services import AgentServices
from acp_server.agent.turn import Turn
from acp_server.agent.turns import TurnEnd
from acp_server.base.cancel import BY_DISPOSAL, BY_USER, CancelCause, CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.values import record
from acp_server.llm.trace_context import NO_TRACE, current
from acp_server.messages.blocks import Message
from acp_server.messages.chunks import LlmFailure
from acp_server.messages.request import CallConfig
from acp_server.session.model_choice import SELECTED, selected_data
from acp_server.session.session import Session

if TYPE_CHECKING:
    from acp_server.agent.undo import Undo


@record
class _Running:
    turn: Turn
    settles: tuple[str, ...]
    """Ids of the prompts that this turn answers."""
    trace: Mapping[str, str]


class Agent:
    """The agent of one session."""

    def __init__(
        self, session: Session, services: AgentServices, config: CallConfig, *, max_steps: int | None = None
    ) -> None:
        self.session = session
        self.config = config
        self.inbox = Inbox(session)
        self._told = Told(session)
        self._services = services
        self._max_steps = max_steps
        self._running: _Running | None = None
        self._maintenance: CancelToken | None = None
        self._driver: asyncio.Task[None] | None = None
        self._job: asyncio.Task[None] | None = None
        self._settling: dict[str, Callable[[TurnEnd], None]] = {}
        self._traces: dict[str, Mapping[str, str]] = {}
        """Of prompts that wait, the traces that they belong to."""
        self._steering: set[str] = set()
        """Messages that joined, or wait to join, the running turn."""
        self._disposed = False
        self._requested = False
        self._last_turn, self._untitled, self.undo_open = _history(session)

    @property
    def idle(self) -> bool:
        """Return whether no turn runs; maintenance counts as idle."""
        return self._running is None

    def followup(
        self, message: Message, settle: Callable[[TurnEnd], None], trace: Mapping[str, str] | None = None
    ) -> None:
        """Queue a prompt, which opens a turn of its own; `settle` is called once with the end of that turn.

        `settle` is called before anything of the next turn happens, so that an answer sent from it stands between the
        two. The turn's work carries `trace`, the one of whoever calls when it is None.

        Raises:
            ServerError: the agent is disposed, the inbox is full, or the log refused; `settle` is not called then.
        """
        if self._disposed:
            raise ServerError("AGENT_DISPOSED", "The session is closed.")
        self.inbox.insert("next-turn", message)
        self._settling[message.id] = settle
        if carried := current.get() if trace is None else trace:
            self._traces[message.id] = carried
        try:
            self._wake()
        except ServerError:
            self._forget(message.id)
            raise

    def steer(self, message: Message, settle: Callable[[TurnEnd], None] | None = None) -> None:
        """Let the message join the running turn at its next step; when idle, open a turn with it.

        One that comes too late for the running turn opens the next one. `settle` is called once with the end of the
        turn that took it; raise ServerError as `followup`.
        """
        if self._disposed:
            raise ServerError("AGENT_DISPOSED", "The session is closed.")
        self.inbox.insert("next-step", message)
        self._steering.add(message.id)
        if settle is not None:
            self._settling[message.id] = settle
        try:
            self._wake()
        except ServerError:
            self._forget(message.id)
            raise

    def withdraw(self, ident: str) -> bool:
        """Take back a prompt that waits for its turn, settled as aborted by the person; return whether it waited."""
        if not self.inbox.withdraw(ident):
            return False
        self._settle(ident, TurnEnd("aborted", cause=BY_USER))
        return True

    def rename(self, title: str, kind: str = "user") -> None:
        """Give the session a title that somebody chose, the person themself; raise ServerError when the log refuses."""
        source = {"kind": kind}
        self.session.append("session/title", {"title": title, "messageSeqs": [], "source": source})
        self._untitled = False
        if self._running is not None:
            self._running.turn.untitled = False

    def choose(self, config: CallConfig) -> None:
        """Let requests from the next step on go there.

        A session that has events keeps the choice as one; the first request of any other tells it soon enough.

        Raises:
            ServerError: the log refused; nothing has changed then.
        """
        if config == self.config:
            return
        if self.session.seq > 0:
            self.session.append(SELECTED, selected_data(config), ignorable=True)
        self.config = config

    async def flush(self) -> None:
        """Return once everything so far is durable; raise ServerError when it cannot be."""
        await self._services.journal.flush()

    async def keep(self, content: bytes) -> str:
        """Keep bytes beside the log, durably, before an event names them; return their id. See Attachments."""
        return await self._services.attachments.put(content)

    def run_parked(self) -> tuple[str, ...]:
        """Let what waits from an earlier life run, one turn a prompt; return the prompts' ids.

        Raises:
            ServerError: the agent is disposed, or the log refused.
        """
        if self._disposed:
            raise ServerError("AGENT_DISPOSED", "The session is closed.")
        parked = tuple(message.id for message in self.inbox.parked)
        self.inbox.release()
        if parked:
            self._wake()
        return parked

    def follow(self, prompts: Sequence[str], settle: Callable[[TurnEnd], None]) -> None:
        """Call `settle` once with the end of the turn that is the last to answer one of these prompts."""
        left = set(prompts)

        def ended(ident: str, end: TurnEnd) -> None:
            left.discard(ident)
            if not left:
                settle(end)

        for ident in prompts:
            self._settling[ident] = partial(ended, ident)

    def cancel(self, cause: CancelCause, *, keep_inbox: bool = False) -> None:
        """End the running turn and discard what waits; prompts that wait are settled as aborted at once.

        Harmless when idle, and then without effect on the next prompt.
        """
        if not keep_inbox:
            for message in self.inbox.clear():
                self._settle(message.id, TurnEnd("aborted", cause=cause))
        if self._running is not None:
            self._running.turn.cancel.cancel(cause)
        elif self._maintenance is not None:
            self._maintenance.cancel(cause)

    async def when_idle(self) -> None:
        """Return once no turn or job runs and no turn is about to; failed ones do not matter."""
        while busy := [task for task in (self._driver, self._job) if task is not None]:
            await asyncio.wait(busy)

    async def maintain(self, job: Callable[[CancelToken], Awaitable[None]]) -> None:
        """Run a job that must not overlap with a turn; prompts that come meanwhile wait for it.

        Raises:
            ServerError: AGENT_BUSY when a turn or another job runs.
        """
        await self._maintained(job, self._claim_maintenance())

    def begin_job(self, job: Callable[[CancelToken], Awaitable[None]]) -> None:
        """Begin a job as `maintain` runs one, and return; what it raises is reported.

        Raises:
            ServerError: AGENT_BUSY, or the agent is disposed.
        """
        if self._disposed:
            raise ServerError("AGENT_DISPOSED", "The session is closed.")
        token = self._claim_maintenance()
        self._job = asyncio.create_task(self._reported(job, token))

    async def compact(self, focus: str, command_id: str, cancel: CancelToken) -> str:
        """Make room in the conversation, as part of a job; see Keeper.compact."""
        keeper = self._services.keeper()
        if keeper is None:
            raise ServerError("NO_KEEPER", "Nothing here can compact the conversation.")
        return await keeper.compact(self.config, focus, command_id, cancel)

    def undo(self) -> Undo:
        """Return what goes back to earlier messages in this session; it is used as part of a job.

        What an earlier life left open is closed by then. Raise ServerError NO_FILES, or what the log refuses.
        """
        undo = self._services.undo(self._used)
        if undo is None:
            raise ServerError("NO_FILES", "Nothing here can reach the session's files.")
        if self.undo_open:
            undo.settle()
            self.undo_open = False
        return undo

    def _used(self) -> int | None:
        usage = self.usage(None)
        return None if usage is None else usage.used

    def usage(self, window: int | None) -> Usage | None:
        """Return how full the window is, None where nobody counts."""
        keeper = self._services.keeper()
        return None if keeper is None else keeper.reading(self.config, window)

    def _claim_maintenance(self) -> CancelToken:
        if self._running is not None or self._maintenance is not None:
            raise ServerError("AGENT_BUSY", "The session is busy; try again when the turn is over.")
        self._maintenance = CancelToken()
        return self._maintenance

    async def _maintained(self, job: Callable[[CancelToken], Awaitable[None]], token: CancelToken) -> None:
        try:
            await job(token)
        finally:
            self._maintenance = None
            if self.inbox.due or self._steering:
                self._wake()

    async def _reported(self, job: Callable[[CancelToken], Awaitable[None]], token: CancelToken) -> None:
        try:
            await self._maintained(job, token)
        except Exception as error:  # noqa: BLE001 - a job has nobody above it
            self._services.report(error)
        finally:
            self._job = None

    def stop(self) -> None:
        """Cancel everything and take nothing more; the first half of `dispose`."""
        self._disposed = True
        self.cancel(BY_DISPOSAL)

    async def dispose(self) -> None:
        """End everything and return when all is quiet; the log is closed by whoever owns it."""
        self.stop()
        await self.when_idle()

    def _wake(self) -> None:
        if self._running is None and self._maintenance is None and not self._disposed:
            self._open_turn()
            self._driver = asyncio.create_task(self._drive())

    def _open_turn(self) -> None:
        if self.undo_open:
            self.undo()
        number = self._last_turn + 1
        self.session.append("turn/start", {"turn": number})
        self._last_turn = number
        claimed = self.inbox.claim("next-turn")
        turn = Turn(
            session=self.session,
            services=self._services,
            inbox=self.inbox,
            told=self._told,
            config=lambda: self.config,
            number=number,
            entering=claimed,
            max_steps=self._services.max_steps() if self._max_steps is None else self._max_steps,
            untitled=self._untitled,
            first_request=not self._requested,
        )
        settles = tuple(message.id for message in claimed)
        traces = [self._traces.pop(ident) for ident in settles if ident in self._traces]
        self._running = _Running(turn, settles, traces[-1] if traces else NO_TRACE)

    async def _drive(self) -> None:
        try:
            while self._running is not None:
                running = self._running
                current.set(running.trace)
                end = await running.turn.run()
                self._untitled = self._untitled and running.turn.untitled
                self._requested = self._requested or running.turn.requested
                self._running = None
                joined = [ident for ident in self._steering if not self.inbox.waits(ident)]
                for ident in dict.fromkeys((*running.settles, *joined)):
                    self._settle(ident, end)
                self._next()
        finally:
            self._driver = None

    def _next(self) -> None:
        """Open the next turn when a prompt waits for one, or a message that came too late to join the last one."""
        if self._disposed or not (self.inbox.due or self._steering):
            return
        try:
            self._open_turn()
        except ServerError as error:
            self._services.report(error)
            self._settle_all(TurnEnd("error", failure=LlmFailure(error.code, error.message)))

    def _settle(self, ident: str, end: TurnEnd) -> None:
        settle = self._forget(ident)
        if settle is not None:
            settle(end)

    def _forget(self, ident: str) -> Callable[[TurnEnd], None] | None:
        """Forget about a message; return what is to be called with the end of its turn."""
        self._traces.pop(ident, None)
        self._steering.discard(ident)
        return self._settling.pop(ident, None)

    def _settle_all(self, end: TurnEnd) -> None:
        for ident in list(self._settling):
            self._settle(ident, end)


_HISTORY: Final = ("turn/start", "session/title", "undo/start", "undo/end")


def _history(session: Session) -> tuple[int, bool, bool]:
    """Return the number of the last turn in the log, whether it has no title, and whether an undo has no end."""
    last, untitled, undoing = 0, True, False
    for event in session.events.of_types(_HISTORY):
        if event.type == "turn/start":
            number = event.data["turn"]
            last = number if isinstance(number, int) else last
        elif event.type == "session/title":
            untitled = False
        else:
            undoing = event.type == "undo/start"
    return last, untitled, undoing
