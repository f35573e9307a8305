"""Asking a model for a summary: the same request as the conversation's with one question more.

Owns the request, its output budget, the tries, and the way out when the conversation is longer than the model reads:
piece by piece, each with the summary of what came before. Touches no log.
docs/compaction.md, clauses Z-1 to Z-5.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.values import replace, value
from acp_server.compaction.estimate import text_tokens
from acp_server.compaction.pieces import pieces
from acp_server.compaction.words import asking, instruction, part_instruction
from acp_server.llm.adapter import ModelInfo
from acp_server.llm.retry import plan_retry
from acp_server.llm.runtime import LlmRuntime
from acp_server.llm.waiting import pause
from acp_server.messages.assembler import BlockAssembler
from acp_server.messages.blocks import Message, text_of
from acp_server.messages.chunks import FinishChunk, LlmFailure, TokenUsage
from acp_server.messages.request import CallConfig, GenerateOptions
from acp_server.session.request_header import EpochHeader

OVERFLOW: Final = "CONTEXT_WINDOW_EXCEEDED"
RETRIES: Final = 2
"""Further tries of one request that failed for a moment."""
HALVINGS: Final = 4
"""How often pieces are made smaller when they do not fit either."""
THINKING: Final = 8192
"""Tokens for hidden reasoning, beside the summary's own budget."""
_MARGIN: Final = 20
"""A request is held to be whole when it leaves one in so many tokens of the window."""


class SummaryFailed(ServerError):  # noqa: N818 - it names an outcome
    """No summary was to be had; the sentence says why."""


@value
class Summary:
    """A summary: its text, where it came from, and what it cost."""

    text: str
    config: CallConfig
    usage: TokenUsage | None
    pieces: int


@dataclass(slots=True)
class Summarizer:
    """Asks for one summary. `info` is about the model that is asked, `budget` and `estimated` are in tokens."""

    runtime: LlmRuntime
    config: CallConfig
    info: ModelInfo
    budget: int
    focus: str
    session_id: str
    cancel: CancelToken
    new_id: Callable[[], str]
    sleep: Callable[[float], Awaitable[None]]
    random: Callable[[], float]
    now_ms: Callable[[], int]
    usage: TokenUsage | None = field(default=None, init=False)

    async def summarize(self, header: EpochHeader, messages: Sequence[Message | None], price: int) -> Summary:
        """Return the summary of the messages, which cost `price` tokens, header included.

        Raises:
            SummaryFailed: every way failed.
            Cancelled: the token was cancelled.
        """
        config = self._asked()
        window = self.info.context_window
        needed = price + text_tokens(instruction(self.budget, self.focus)) + (config.max_tokens or 0)
        room = price
        if window is None or needed * _MARGIN <= window * (_MARGIN - 1):
            try:
                return Summary(await self._whole(config, header, messages), config, self.usage, 1)
            except SummaryFailed as failed:
                if failed.code != OVERFLOW:
                    raise
                room = price // 2
        return await self._by_pieces(config, messages, room)

    async def _by_pieces(self, config: CallConfig, messages: Sequence[Message | None], room: int) -> Summary:
        if self.info.context_window is not None:
            taken = 2 * self.budget + (config.max_tokens or 0) + text_tokens(instruction(self.budget, self.focus))
            room = min(room, (self.info.context_window - taken) * 3 // 4)
        for _ in range(HALVINGS):
            parts = pieces(messages, room)
            try:
                return Summary(await self._parts(config, parts), config, self.usage, len(parts))
            except SummaryFailed as failed:
                if failed.code != OVERFLOW:
                    raise
            room //= 2
        raise SummaryFailed(OVERFLOW, "The model read not even a part of the conversation.")

    async def _whole(self, config: CallConfig, header: EpochHeader, messages: Sequence[Message | None]) -> str:
        """Ask with everything that stood before the messages: a provider's prefix cache hits."""
        question = asking(self.new_id(), instruction(self.budget, self.focus))
        told = tuple(message for message in messages if message is not None)
        return await self._ask(
            GenerateOptions(
                config=config,
                messages=(*told, question),
                system=header.system,
                tools=header.tools,
                session_id=self.session_id,
                purpose="compaction",
            )
        )

    async def _parts(self, config: CallConfig, parts: Sequence[str]) -> str:
        summary = ""
        for number, part in enumerate(parts, 1):
            words = part_instruction(part, (number, len(parts)), summary, self.budget, self.focus)
            question = asking(self.new_id(), words)
            options = GenerateOptions(
                config=config, messages=(question,), session_id=self.session_id, purpose="compaction"
            )
            summary = await self._ask(options)
        return summary

    async def _ask(self, options: GenerateOptions) -> str:
        began, retry = self.now_ms(), 0
        while True:
            call = self.runtime.prepare(options.config)
            text, failure = await self._attempt(replace_config(options, call.config))
            if failure is None:
                return text
            retry += 1
            delay = plan_retry(call.retry_policy, retry, failure, self.now_ms() - began, self.random())
            if delay is None or retry > RETRIES:
                raise SummaryFailed(failure.code, failure.message)
            await pause(delay / 1000, self.cancel, self.sleep)

    async def _attempt(self, options: GenerateOptions) -> tuple[str, LlmFailure | None]:
        assembler = BlockAssembler("summary")
        finish: FinishChunk | None = None
        async with aclosing(self.runtime.prepare(options.config).stream(options, self.cancel)) as stream:
            async for chunk in stream:
                assembler.push(chunk)
                if type(chunk) is FinishChunk:
                    finish = chunk
        self.usage = _sum(self.usage, assembler.usage)
        self.cancel.raise_if_cancelled()
        text = text_of(assembler.blocks()).strip()
        if finish is None or finish.failure is not None:
            failure = None if finish is None else finish.failure
            return "", failure or LlmFailure("STREAM_CLOSED", "The summary ended without an end.")
        return text, self._unfit(finish, text)

    def _unfit(self, finish: FinishChunk, text: str) -> LlmFailure | None:
        """Return why a text is no summary. One that was cut late is one: hidden reasoning took its room."""
        if finish.kind == "refusal":
            return LlmFailure("REFUSED", "The model refused to summarise.")
        if finish.kind == "max-tokens" and text_tokens(text) < self.budget // 4:
            return LlmFailure("MAX_TOKENS", "The summary was cut before it said enough.")
        return None if text else LlmFailure("NO_SUMMARY", "The model gave no summary.")

    def _asked(self) -> CallConfig:
        """Return where and how a summary is asked for; thinking gets room of its own where the model thinks."""
        thinks = self.config.reasoning_effort or self.info.default_effort
        most = self.budget + (THINKING if thinks not in (None, "off", "none") else 0)
        if self.info.context_window is not None:
            most = max(self.budget, min(most, self.info.context_window // 4))
        if self.info.max_output_tokens is not None:
            most = min(most, self.info.max_output_tokens)
        return self.runtime.prepare(replace(self.config, max_tokens=most, stop=())).config


def replace_config(options: GenerateOptions, config: CallConfig) -> GenerateOptions:
    """Return the request for another configuration."""
    return options if options.config == config else replace(options, config=config)


def _sum(one: TokenUsage | None, other: TokenUsage | None) -> TokenUsage | None:
    if one is None or other is None:
        return one or other
    return TokenUsage(
        one.input + other.input,
        one.output + other.output,
        _both(one.cache_read, other.cache_read),
        _both(one.cache_write, other.cache_write),
        _both(one.reasoning, other.reasoning),
        None if one.cost is None or other.cost is None else one.cost + other.cost,
    )


def _both(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)
