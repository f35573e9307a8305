"""Whatever an adapter does, its stream ends with exactly one finish."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from acp_server.base.cancel import BY_USER, Cancelled, CancelToken
from acp_server.base.errors import ServerError
from acp_server.llm.boundary import ABORTED, EMPTY, FOREIGN, UNENDED, bounded
from acp_server.llm.failure import LlmError
from acp_server.messages.blocks import ReasoningBlock, TextBlock, ToolCallBlock
from acp_server.messages.chunks import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    LlmFailure,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
)
from acp_server.messages.request import GenerateOptions
from tests.unit.llm.fakes import FakeAdapter, asking, collect

HI = TextDelta(0, "hi")
STOP = FinishChunk("stop")
MASKED = FinishChunk("error", LlmFailure("SERVER", "key [secret]", 500))


def error(code: str, message: str) -> FinishChunk:
    return FinishChunk("error", LlmFailure(code, message))


@pytest.mark.parametrize(
    ("steps", "chunks"),
    [
        ([HI, STOP], [HI, STOP]),
        ([HI], [HI, UNENDED]),
        ([], [UNENDED]),
        ([HI, STOP, HI, FinishChunk("refusal")], [HI, STOP]),
        ([HI, LlmError("SERVER", "key sk-mock-SECRET", status=500)], [HI, MASKED]),
        ([ServerError("INVALID_JSON_VALUE", "bad")], [error("INVALID_JSON_VALUE", "bad")]),
        ([ValueError("no sk-mock-SECRET here")], [error("UNKNOWN", "no [secret] here")]),
        ([Cancelled(BY_USER)], [ABORTED]),
        ([LlmError("ABORTED", "x")], [ABORTED]),
        ([HI, FinishChunk("aborted")], [HI, ABORTED]),
        ([FinishChunk("error")], [error("UNKNOWN", "The model failed and did not say why.")]),
        ([FinishChunk("max-tokens", LlmFailure("X", ""))], [FinishChunk("max-tokens")]),
        ([STOP], [EMPTY]),
        ([FinishChunk("tool-calls")], [EMPTY]),
        ([FinishChunk("refusal")], [FinishChunk("refusal")]),
        ([FinishChunk("max-tokens")], [FinishChunk("max-tokens")]),
        (
            [BlockStart(0, "text"), TextDelta(0, ""), BlockEnd(0, TextBlock("")), UsageChunk(TokenUsage(1, 0)), STOP],
            [BlockStart(0, "text"), TextDelta(0, ""), BlockEnd(0, TextBlock("")), UsageChunk(TokenUsage(1, 0)), EMPTY],
        ),
        ([ReasoningDelta(0, "hm"), STOP], [ReasoningDelta(0, "hm"), STOP]),
        ([BlockEnd(0, ReasoningBlock("hm")), STOP], [BlockEnd(0, ReasoningBlock("hm")), STOP]),
        ([BlockEnd(0, ToolCallBlock("c", "n", "")), STOP], [BlockEnd(0, ToolCallBlock("c", "n", "")), STOP]),
        ([ToolCallDelta(0, "c", "", "n"), STOP], [ToolCallDelta(0, "c", "", "n"), STOP]),
        ([FinishChunk("stop", None, {"s": 1}), HI], [EMPTY]),
        ([HI, FinishChunk("stop", None, {"s": 1})], [HI, FinishChunk("stop", None, {"s": 1})]),
        ([HI, "no chunk"], [HI, FOREIGN]),
    ],
)
async def test_ends(steps: list[StreamChunk | Exception], chunks: list[StreamChunk]) -> None:
    adapter = FakeAdapter(steps)
    assert await collect(bounded(adapter, asking("x"), CancelToken())) == chunks
    assert adapter.closed == 1


async def test_an_adapter_that_fails_at_once_ends_too() -> None:
    def play(_options: GenerateOptions, _cancel: CancelToken) -> AsyncIterator[StreamChunk]:
        raise LlmError("MISSING_CREDENTIAL", "no key")

    assert await collect(bounded(FakeAdapter(play), asking("x"), CancelToken())) == [
        error("MISSING_CREDENTIAL", "no key")
    ]


async def test_a_cancelled_token_asks_nobody() -> None:
    adapter, cancel = FakeAdapter([HI, STOP]), CancelToken()
    cancel.cancel(BY_USER)
    assert await collect(bounded(adapter, asking("x"), cancel)) == [ABORTED]
    assert adapter.asked == []


async def test_an_error_after_the_cancellation_is_an_abort_and_a_stop_is_not() -> None:
    cancel = CancelToken()

    async def play(options: GenerateOptions, token: CancelToken) -> AsyncIterator[StreamChunk]:
        yield HI
        token.cancel(BY_USER)
        if options.system is None:
            raise OSError("socket closed")
        yield STOP

    assert await collect(bounded(FakeAdapter(play), asking("x"), cancel)) == [HI, ABORTED]
    said = GenerateOptions(asking("x").config, (), system="s")
    assert await collect(bounded(FakeAdapter(play), said, CancelToken())) == [HI, STOP]


async def test_cancellation_ends_the_wait_for_an_adapter_that_looks_away() -> None:
    ended = []

    async def play(_options: GenerateOptions, _cancel: CancelToken) -> AsyncIterator[StreamChunk]:
        try:
            yield HI
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(1)

    cancel = CancelToken()
    got: list[StreamChunk] = []
    stream = bounded(FakeAdapter(play), asking("x"), cancel)
    task = asyncio.create_task(collect(stream))
    for _ in range(5):
        await asyncio.sleep(0)
    cancel.cancel(BY_USER)
    got = await task
    assert (got, ended, len(asyncio.all_tasks())) == ([HI, ABORTED], [1], 1)


async def test_a_consumer_that_leaves_closes_the_adapter() -> None:
    adapter = FakeAdapter([HI, HI, STOP])
    cancel = CancelToken()
    stream = bounded(adapter, asking("x"), cancel)
    assert await anext(stream) == HI
    assert adapter.closed == 0
    await stream.aclose()
    assert (adapter.closed, cancel._callbacks) == (1, {})


async def test_the_adapter_is_closed_before_the_finish_is_given() -> None:
    adapter = FakeAdapter([HI, STOP, HI])
    async for chunk in bounded(adapter, asking("x"), CancelToken()):
        assert adapter.closed == (1 if chunk is STOP else 0)


async def test_an_iterator_that_cannot_be_closed_is_left_alone() -> None:
    class Plain:
        def __init__(self) -> None:
            self.chunks: list[StreamChunk] = [STOP, HI]

        def __aiter__(self) -> Plain:
            return self

        async def __anext__(self) -> StreamChunk:
            return self.chunks.pop()

    adapter = FakeAdapter(lambda _options, _cancel: Plain())
    assert await collect(bounded(adapter, asking("x"), CancelToken())) == [HI, STOP]


async def test_a_failure_of_closing_changes_nothing() -> None:
    async def play(_options: GenerateOptions, _cancel: CancelToken) -> AsyncIterator[StreamChunk]:
        try:
            yield HI
            yield STOP
        finally:
            raise ValueError("closing")

    assert await collect(bounded(FakeAdapter(play), asking("x"), CancelToken())) == [HI, STOP]


async def test_cancellation_of_the_consumers_task_passes() -> None:
    async def play(_options: GenerateOptions, _cancel: CancelToken) -> AsyncIterator[StreamChunk]:
        await asyncio.sleep(3600)
        yield HI

    task = asyncio.create_task(collect(bounded(FakeAdapter(play), asking("x"), CancelToken())))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
