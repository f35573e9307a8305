"""Running the tool calls of one step: overlap where a tool allows it, results in the model's order, always in pairs.

A call is in the log before it starts, a result right when its turn in the order comes. On cancellation started calls
drain and commit, the others get a call and a result that says so. docs/protocol.md, clauses TC-1 and C-3.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

from acp_server.agent.hooks import Deny, decide_call, execute_call, revise_outcome
from acp_server.agent.services import AgentServices
from acp_server.agent.tools import CallPlace, ToolOutcome, failed
from acp_server.base.cancel import Cancelled, CancelToken
from acp_server.base.json_value import JsonValue
from acp_server.base.values import made, record, replace
from acp_server.llm.waiting import until
from acp_server.messages.blocks import Message, TextBlock, ToolCallBlock, ToolResultBlock, ToolSource
from acp_server.messages.codec import message_to_json
from acp_server.session.events import APPEND
from acp_server.session.session import Session

REVISED_SHOWN: Final = 2_000
"""Characters of arguments that a hook made, as the model reads them."""
POOL: Final = 10
"""Calls that run at the same time at most."""

NOT_STARTED: Final = failed(
    "AbortedError", "ABORTED_BEFORE_DISPATCH", "the call was not started because the turn was cancelled"
)


@record
class _Started:
    call: ToolCallBlock
    seq: int
    task: asyncio.Task[ToolOutcome]


@record
class CallRunner:
    """Runs the calls of one step; `concluded` and `contexts` tell what they asked for."""

    session: Session
    services: AgentServices
    turn: int
    step: int
    cancel: CancelToken
    concluded: bool = False
    contexts: list[Message] = made(default_factory=list)

    async def run(self, calls: Sequence[ToolCallBlock]) -> None:
        """Run all calls and commit all results; return when the last is committed."""
        window: deque[_Started] = deque()
        left = deque(calls)
        while left:
            alone = not self.services.tools.parallel(left[0])
            await self._drain(window, 0 if alone else POOL - 1)
            if self.cancel.cancelled:
                break
            window.append(await self._start(left.popleft()))
            if alone:
                await self._drain(window, 0)
        await self._drain(window, 0)
        for call in left:
            self._commit(call, self._log_call(call), NOT_STARTED)

    async def _finished(self, first: _Started) -> None:
        """Commit a call that has ended."""
        outcome = first.task.result()
        if self.services.hooks.post_tool.items:
            outcome = await revise_outcome(self.services.hooks, self._place(first.call), outcome)
        self._commit(first.call, first.seq, outcome)

    async def _drain(self, window: deque[_Started], running: int) -> None:
        """Commit what is due, in order, until at most that many calls run (0: until all are committed)."""
        while window:
            while window and window[0].task.done():
                await self._finished(window.popleft())
            busy = [started.task for started in window if not started.task.done()]
            if len(busy) <= running:
                return
            await asyncio.wait(busy, return_when=asyncio.FIRST_COMPLETED)

    async def _start(self, call: ToolCallBlock) -> _Started:
        seq = self._log_call(call)
        try:
            await until(self.services.journal.barrier(), self.cancel)  # a tool acts only once its call is durable
        except Cancelled:
            return _Started(call, seq, asyncio.create_task(_given(NOT_STARTED)))
        place = self._place(call)
        judged = self.services.guard is not None or self.services.hooks.pre_tool.items
        allowed = await self._allowed(place) if judged else place
        if isinstance(allowed, ToolOutcome):
            running = _given(allowed)
        else:
            running = self._contained(place) if allowed is place else self._revised(allowed)
        return _Started(call, seq, asyncio.create_task(running))

    def _place(self, call: ToolCallBlock) -> CallPlace:
        return CallPlace(self.session.id, self.turn, self.step, call)

    async def _allowed(self, place: CallPlace) -> ToolOutcome | CallPlace:
        """Return the call as it may run, or the outcome of one that may not; asked for one call at a time, in order."""
        try:
            decision = await decide_call(
                self.services.hooks, place, self.services.guard, self.services.ask, self.cancel
            )
            if decision is not place:
                await until(self.services.journal.barrier(), self.cancel)  # what a hook made of it is durable too
        except Cancelled:
            return NOT_STARTED
        if isinstance(decision, Deny):
            return failed("DeniedError", "DENIED", f"the call was not allowed: {decision.reason}")
        return decision

    async def _revised(self, place: CallPlace) -> ToolOutcome:
        """Run a call that is not quite the one that the model made, and tell it so."""
        outcome = await self._contained(place)
        note = TextBlock(f"[A hook of the person's changed the arguments to: {place.call.arguments[:REVISED_SHOWN]}]")
        return replace(outcome, content=(*outcome.content, note))

    async def _contained(self, place: CallPlace) -> ToolOutcome:
        tools, hooks = self.services.tools, self.services.hooks
        try:
            if hooks.execute.items:
                return await execute_call(hooks, place, self.cancel, lambda: tools.run(place, self.cancel))
            return await tools.run(place, self.cancel)
        except Exception as error:  # noqa: BLE001 - a toolbox that breaks its contract fails the call, not the turn
            return failed(type(error).__name__, "TOOL_FAILED", f"the tool {place.call.name!r} failed")

    def _log_call(self, call: ToolCallBlock) -> int:
        data: dict[str, JsonValue] = {
            "turn": self.turn,
            "step": self.step,
            "callId": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }
        view = self.services.tools.view(call)
        if view is not None:
            data["view"] = view
        if self.services.tools.asks(self._place(call)):
            data["asks"] = True
        return self.session.append("tool/call", data).seq

    def _commit(self, call: ToolCallBlock, seq: int, outcome: ToolOutcome) -> None:
        result = ToolResultBlock(call.id, outcome.content, outcome.error is not None)
        message = Message(self.services.ids.new(), "user", (result,), ToolSource(call.id))
        data: dict[str, JsonValue] = {"turn": self.turn, "step": self.step, "message": message_to_json(message)}
        if outcome.error is not None:
            data["error"] = {"name": outcome.error.name, "code": outcome.error.code}
        if outcome.meta is not None:
            data["meta"] = outcome.meta
        self.session.append("tool/result", data, surface_op=APPEND, sources=(seq,))
        self.contexts.extend(outcome.contexts)
        self.concluded = self.concluded or (outcome.concludes_turn and outcome.error is None)


async def _given(outcome: ToolOutcome) -> ToolOutcome:
    return outcome
