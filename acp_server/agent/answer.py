"""Getting one answer from a model: attempts, the waits between them, and what is kept when there is none.

Owns the order of `assistant/chunk`, `llm/retry`, `llm/retry-started` and the interrupted `assistant/message`.
When to try again is `llm.retry`'s decision.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from acp_server.agent.hooks import wrap_stream
from acp_server.agent.request import options_from_log
from acp_server.agent.services import AgentServices, TurnPlace
from acp_server.base.cancel import CancelCause, Cancelled, CancelToken
from acp_server.base.json_value import JsonValue
from acp_server.base.values import made, record
from acp_server.llm.retry import plan_retry
from acp_server.llm.runtime import LlmRuntime, PreparedCall
from acp_server.llm.waiting import pause, until
from acp_server.messages.assembler import BlockAssembler
from acp_server.messages.blocks import Block, Message, ModelSource
from acp_server.messages.chunk_codec import chunk_to_json, failure_to_json, usage_to_json
from acp_server.messages.chunks import FinishChunk, LlmFailure, StreamChunk, TokenUsage
from acp_server.messages.codec import message_to_json
from acp_server.messages.request import CallConfig
from acp_server.session.events import APPEND
from acp_server.session.session import Session

UNENDED: Final = FinishChunk("error", LlmFailure("STREAM_CLOSED", "The model's answer ended without an end."))
ABORTED: Final = FinishChunk("aborted", LlmFailure("ABORTED", "The turn was cancelled."))


class ModelFailed(Exception):  # noqa: N818 - it carries a failure, which is told elsewhere
    """The model did not answer, for good; `usage` is what the last attempt used when no message tells of it."""

    def __init__(self, failure: LlmFailure, usage: TokenUsage | None = None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.usage = usage


class AnswerCancelled(Cancelled):
    """The turn was cancelled; `usage` is what the attempt reported until then when no message tells of it."""

    def __init__(self, cause: CancelCause, usage: TokenUsage | None) -> None:
        super().__init__(cause)
        self.usage = usage


@record
class Attempt:
    """One stream as it comes: its chunks' seqs, what they make, how it ended."""

    assembler: BlockAssembler
    sources: list[int] = made(default_factory=list)
    finish: FinishChunk = UNENDED


@record
class AnswerSource:
    """Asks the model of one step."""

    session: Session
    services: AgentServices
    cancel: CancelToken
    place: TurnPlace

    async def ask(self, runtime: LlmRuntime, call: PreparedCall) -> Attempt:
        """Return the first attempt that succeeds.

        Raises:
            Cancelled: the turn was cancelled; what was visible is in the log as an interrupted message.
            ModelFailed: the model failed and no further try is due; likewise.
            ServerError: the log refused.
        """
        began, retry, retry_id = self.services.clock.now_ms(), 0, self.services.ids.new()
        while True:
            attempt = await self._attempt(call)
            failure = attempt.finish.failure
            if failure is None:
                return attempt
            delay = self._delay(call, attempt, failure, retry + 1, self.services.clock.now_ms() - began)
            if delay is None:
                told = self._keep_visible(attempt, call.config)
                if self.cancel.cause is not None:
                    raise AnswerCancelled(self.cancel.cause, None if told else attempt.assembler.usage)
                raise ModelFailed(failure, None if told else attempt.assembler.usage)
            retry += 1
            usage = attempt.assembler.usage
            await self._wait(call, failure, usage, retry=retry, retry_id=retry_id, delay_ms=delay)
            call = runtime.prepare(call.config)

    def _delay(
        self, call: PreparedCall, attempt: Attempt, failure: LlmFailure, retry: int, elapsed_ms: int
    ) -> int | None:
        """Return the milliseconds to wait before that retry, or None when there is to be none."""
        if self.cancel.cancelled:
            return None
        visible = bool(attempt.assembler.interrupted_blocks())
        return plan_retry(call.retry_policy, retry, failure, elapsed_ms, self.services.random(), visible=visible)

    async def _attempt(self, call: PreparedCall) -> Attempt:
        """Stream one attempt into the log; return it however it ended."""
        attempt = Attempt(BlockAssembler(f"call-{self.place.turn}-{self.place.step}"))
        try:
            await until(self.services.journal.barrier(), self.cancel)  # no request leaves before its reasons are safe
            self.cancel.raise_if_cancelled()
            async with aclosing(self._stream(call)) as stream:
                async for chunk in stream:
                    event = self.session.append(
                        "assistant/chunk",
                        {"turn": self.place.turn, "step": self.place.step, "chunk": chunk_to_json(chunk)},
                    )
                    attempt.sources.append(event.seq)
                    attempt.assembler.push(chunk)
                    if type(chunk) is FinishChunk:
                        attempt.finish = chunk
                    elif self.services.journal.behind or self.services.flow.behind:
                        await self._room()
        except Cancelled:
            attempt.finish = ABORTED
        return attempt

    def _stream(self, call: PreparedCall) -> AsyncGenerator[StreamChunk, None]:
        options = options_from_log(self.session)
        stream = call.stream(options, self.cancel)
        if not self.services.hooks.stream.items:
            return stream
        return wrap_stream(self.services.hooks, self.place.in_session(self.session), options, stream)

    async def _room(self) -> None:
        await until(self.services.journal.room(), self.cancel)
        await until(self.services.flow.room(), self.cancel)

    async def _wait(
        self,
        call: PreparedCall,
        failure: LlmFailure,
        usage: TokenUsage | None,
        *,
        retry: int,
        retry_id: str,
        delay_ms: int,
    ) -> None:
        """Log the retry before the wait, wait, log its start. A cancelled wait has no start."""
        place: dict[str, JsonValue] = {"retryId": retry_id, "turn": self.place.turn, "step": self.place.step}
        facts: dict[str, JsonValue] = {
            **place,
            "provider": call.config.provider,
            "mode": "normal",
            "policyKey": call.retry_policy.key,
            "retry": retry,
            "maxRetries": call.retry_policy.max_retries,
            "delayMs": delay_ms,
            "failure": failure_to_json(failure),
        }
        if usage is not None:
            facts["usage"] = usage_to_json(usage)
        self.session.append("llm/retry", facts)
        await pause(delay_ms / 1000, self.cancel, self.services.clock.sleep)
        self.session.append("llm/retry-started", {**place, "retry": retry})

    def _keep_visible(self, attempt: Attempt, config: CallConfig) -> bool:
        """Keep what the person has seen of an answer that did not come to its end; return whether that was anything."""
        visible = attempt.assembler.interrupted_blocks()
        if visible:
            log_answer(self.session, self.place, self.message(config, visible), attempt, interrupted=True)
        return bool(visible)

    def message(self, config: CallConfig, blocks: tuple[Block, ...], replay_state: JsonValue = None) -> Message:
        """Return an assistant message with a fresh id."""
        return Message(
            self.services.ids.new(), "assistant", blocks, ModelSource(config.provider, config.model, replay_state)
        )


def log_answer(
    session: Session, place: TurnPlace, message: Message, attempt: Attempt, *, interrupted: bool = False
) -> int:
    """Append the `assistant/message` of an attempt; return its seq."""
    data: dict[str, JsonValue] = {"turn": place.turn, "step": place.step, "message": message_to_json(message)}
    if attempt.assembler.usage is not None:
        data["usage"] = usage_to_json(attempt.assembler.usage)
    if interrupted:
        data["interrupted"] = True
    return session.append("assistant/message", data, surface_op=APPEND, sources=tuple(attempt.sources)).seq
