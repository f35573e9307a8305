"""One turn: from the claimed prompt until nothing is owed. Steps until the model is done, then `turn/end`.

Every way out of a turn is a TurnEnd in the log; `run` never raises for what happens inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acp_server.agent.answer import AnswerCancelled, ModelFailed
from acp_server.agent.contexts import Told
from acp_server.agent.hooks import Reject, StepPlace, before_the_end, enter_step
from acp_server.agent.inbox import Inbox
from acp_server.agent.keeping import Keeper
from acp_server.agent.services import AgentServices, TurnPlace
from acp_server.agent.step import Step
from acp_server.agent.turns import COMPLETED, TurnEnd
from acp_server.base.cancel import Cancelled, CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonValue
from acp_server.base.values import made, record
from acp_server.llm.failure import LlmError
from acp_server.llm.waiting import until
from acp_server.messages.blocks import Message
from acp_server.messages.chunk_codec import usage_to_json
from acp_server.messages.chunks import LlmFailure, TokenUsage
from acp_server.messages.codec import message_to_json
from acp_server.messages.request import CallConfig
from acp_server.session.events import APPEND
from acp_server.session.session import Session


@record
class Turn:
    """A turn whose `turn/start` and claim are in the log already."""

    session: Session
    services: AgentServices
    inbox: Inbox
    told: Told
    config: Callable[[], CallConfig]
    """Asked before each step, so that a change of model takes effect at the next one."""
    number: int
    entering: Sequence[Message]
    max_steps: int
    untitled: bool
    """Whether the session has no title yet."""
    first_request: bool
    cancel: CancelToken = made(default_factory=CancelToken)
    step: int = 0
    requested: bool = False
    untold: TokenUsage | None = None
    """What a failed or cancelled attempt used that left no message."""

    async def run(self) -> TurnEnd:
        """Run to the end, append `turn/end`, make it durable; return how it ended."""
        end = await self._contained()
        ended: dict[str, JsonValue] = {"turn": self.number, "reason": end.to_json()}
        if self.untold is not None:
            ended["usage"] = usage_to_json(self.untold)
        try:
            self.session.append("turn/end", ended)
            await self._durable()
        except Cancelled as cancelled:
            return TurnEnd("aborted", cause=cancelled.cause)
        except ServerError as error:
            self.services.report(error)
            return end if end.kind == "aborted" else _failed(error.code, error.message)
        return end

    async def _durable(self) -> None:
        """Return once all of the turn is; a cancelled one does not wait for a disk that is out."""
        if self.cancel.cancelled:
            await self.services.journal.flush()
        else:
            await until(self.services.journal.barrier(), self.cancel)

    async def _contained(self) -> TurnEnd:
        try:
            return await self._steps()
        except AnswerCancelled as cancelled:
            self.untold = cancelled.usage
            return TurnEnd("aborted", cause=cancelled.cause)
        except Cancelled as cancelled:
            return TurnEnd("aborted", cause=cancelled.cause)
        except ModelFailed as failed:
            self.untold = failed.usage
            return TurnEnd("error", failure=failed.failure)
        except LlmError as error:
            return TurnEnd("error", failure=error.failure)
        except ServerError as error:
            self.services.report(error)
            return _failed(error.code, error.message)
        except Exception as error:  # noqa: BLE001 - a turn ends in the log whatever happens in it
            self.services.report(error)
            return _failed("UNKNOWN", "The turn failed because of a fault in the server.")

    async def _steps(self) -> TurnEnd:
        entering, end = tuple(self.entering), None
        start = self.session.seq
        while True:
            if end is not None and not entering:
                entering = await self._stopping(end)
                if not entering:
                    return end
            if not entering and self.step == 0:
                return COMPLETED
            self.cancel.raise_if_cancelled()
            if self.step == self.max_steps:
                return TurnEnd("max-turn-requests")
            if self.services.hooks.pre_step.items:
                entry = await enter_step(self.services.hooks, self._place(self.step + 1), entering, self.cancel)
                if isinstance(entry, Reject):
                    return TurnEnd("blocked", words=entry.reason)
                entering = entry.messages
                if not entering and self.step == 0:
                    return COMPLETED
            if self.session.request_header() is not None and (keeper := await self._keeper()) is not None:
                await keeper.before_step(self.config(), self.number, entering, self.cancel)
                self.cancel.raise_if_cancelled()
            ended = await self._one_step(entering, start)
            if end is None or end.kind != "max-tokens":  # a cut answer is told, whatever follows
                end = ended
            if end is not None and end.kind == "refusal":
                return end
            entering = self.inbox.claim("next-step")

    async def _one_step(self, entering: Sequence[Message], start: int) -> TurnEnd | None:
        self.step += 1
        place: dict[str, JsonValue] = {"turn": self.number, "step": self.step}
        counted: dict[str, JsonValue] = {}
        self.session.append("step/start", place)
        try:
            state = self.told.update(self.services.contexts(), self.services.ids.new)
            if state is not None:
                self._enter(state)
            for message in entering:
                self._enter(message)
            step = Step(
                session=self.session,
                services=self.services,
                config=self.config(),
                cancel=self.cancel,
                place=TurnPlace(self.number, self.step),
                turn_start=start,
                stage=lambda message: self.inbox.insert("next-step", message),
                first_request=self.first_request and not self.requested,
            )
            self.requested = True
            end = await step.run()
            if not step.counted and (keeper := await self._keeper()) is not None:
                counted["contextTokens"] = keeper.reading(self.config(), None).used
            return end
        finally:
            self.session.append("step/end", {**place, **counted})

    async def _keeper(self) -> Keeper | None:
        await self.services.keeper_loaded()
        return self.services.keeper()

    def _place(self, step: int) -> StepPlace:
        return TurnPlace(self.number, step).in_session(self.session)

    async def _stopping(self, end: TurnEnd) -> tuple[Message, ...]:
        """Return what hooks let the turn go on with; nothing but an answer that is complete can go on."""
        hooks = self.services.hooks
        if not hooks.turn_stopping.items or end.kind != "completed":
            return ()
        messages = await before_the_end(hooks, self._place(self.step), end, self.cancel, self.services.report)
        for message in messages:
            self.inbox.insert("next-step", message)
        return self.inbox.claim("next-step")

    def _enter(self, message: Message) -> None:
        event = self.session.append("user/message", message_to_json(message), surface_op=APPEND)
        title = self.services.title(event) if self.untitled else None
        if title is not None:
            self.session.append("session/title", title)
            self.untitled = False


def _failed(code: str, message: str) -> TurnEnd:
    return TurnEnd("error", failure=LlmFailure(code, message))
