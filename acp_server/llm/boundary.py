"""The one place where whatever an adapter does becomes a proper stream (docs/llm.md, clauses C-7 to C-9).

Owns the terminal finish: exactly one, last, whatever was raised, left out or said after it. Exceptions of the consumer
and cancellation of the consumer's task are not an adapter's failure and pass.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import Final

from acp_server.base.cancel import Cancelled, CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.values import replace
from acp_server.llm.adapter import Adapter
from acp_server.llm.failure import LlmError, error_chain, mask_secrets, plain_sentence
from acp_server.llm.waiting import Watch
from acp_server.messages.blocks import ReasoningBlock, TextBlock
from acp_server.messages.chunks import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    LlmFailure,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from acp_server.messages.request import GenerateOptions

ABORTED: Final = FinishChunk("aborted", LlmFailure("ABORTED", "The request was cancelled."))
EMPTY: Final = FinishChunk("error", LlmFailure("EMPTY_RESPONSE", "The model answered with nothing."))
UNENDED: Final = FinishChunk("error", LlmFailure("STREAM_CLOSED", "The model's answer ended without an end."))
FOREIGN: Final = FinishChunk("error", LlmFailure("INVALID_RESPONSE", "The adapter gave something that is no chunk."))
_UNTOLD: Final = LlmFailure("UNKNOWN", "The model failed and did not say why.")
_CHUNKS: Final = frozenset({BlockStart, TextDelta, ReasoningDelta, ToolCallDelta, BlockEnd, UsageChunk, FinishChunk})


async def bounded(adapter: Adapter, options: GenerateOptions, cancel: CancelToken) -> AsyncGenerator[StreamChunk, None]:
    """Iterate over the adapter's chunks; the last one is the only FinishChunk.

    The adapter's iterator is closed before the finish is given, and when the consumer leaves early. A wait for the
    adapter ends with the token even when the adapter does not look at it.
    """
    watch = Watch(cancel)
    stream: AsyncIterator[StreamChunk] | None = None
    said = False
    try:
        while True:
            try:
                with watch:
                    if stream is None:
                        stream = adapter.stream(options, cancel)
                    chunk = await anext(stream)
            except StopAsyncIteration:
                chunk = UNENDED
            except Exception as error:  # noqa: BLE001 - this is the boundary
                chunk = FinishChunk("error", failure_of(error))
            if type(chunk) not in _CHUNKS:
                chunk = FOREIGN
            if type(chunk) is FinishChunk:
                break
            said = said or _says(chunk)
            yield chunk
        await _close(stream)
        stream = None
        yield _settled(chunk, cancel, said=said)
    finally:
        watch.close()
        await _close(stream)


def failure_of(error: Exception) -> LlmFailure:
    """Return an exception as a failure without secrets; a foreign one is UNKNOWN, with its causes in words."""
    if isinstance(error, Cancelled) and ABORTED.failure is not None:
        return ABORTED.failure
    if isinstance(error, LlmError):
        return replace(error.failure, message=mask_secrets(error.failure.message))
    if isinstance(error, ServerError):
        return LlmFailure(error.code, mask_secrets(error.message))
    return LlmFailure("UNKNOWN", plain_sentence(error_chain(error)))


def _settled(finish: FinishChunk, cancel: CancelToken, *, said: bool) -> FinishChunk:
    """Return the finish as the grammar wants it."""
    if finish.kind == "aborted" or (finish.kind == "error" and _is_abort(finish, cancel)):
        return ABORTED
    if finish.kind == "error":
        return finish if finish.failure is not None else replace(finish, failure=_UNTOLD)
    if not said and finish.kind in ("stop", "pause", "tool-calls"):
        return EMPTY
    return finish if finish.failure is None else replace(finish, failure=None)


def _is_abort(finish: FinishChunk, cancel: CancelToken) -> bool:
    return cancel.cancelled or (finish.failure is not None and finish.failure.code == "ABORTED")


def _says(chunk: StreamChunk) -> bool:
    """Return whether the chunk brings something; reasoning alone is an answer, an empty block is none."""
    match chunk:
        case TextDelta() | ReasoningDelta():
            return bool(chunk.text)
        case ToolCallDelta():
            return True
        case BlockEnd(block=TextBlock() | ReasoningBlock() as block):
            return bool(block.text)
        case BlockEnd():
            return True
        case _:
            return False


async def _close(stream: object) -> None:
    """Close what can be closed; a failure of closing has nobody left to be told to."""
    close = getattr(stream, "aclose", None)
    if close is not None:
        with suppress(Exception):
            await close()
