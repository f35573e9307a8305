"""Running one call to its end, whatever the tool does: in time, cancellable, and bounded in what it gives back.

A tool that ignores its token is given a grace and is then ended as a task; the model is told that its effects are
unknown. A result that is too long for the model goes to a file, which the model can read on.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from acp_server.base.cancel import Cancelled
from acp_server.base.values import replace, value
from acp_server.messages.blocks import TextBlock
from acp_server.tools.beside import Beside, Whole
from acp_server.tools.tool import AnyTool, ToolContext, ToolError, ToolResult

INLINE_BYTES: Final = 50_000
"""Bytes of a result's text that the model gets; reference value of the project's design."""
HEAD_SHARE: Final = 0.6


@value
class Limits:
    """Seconds that a call may take, and that a cancelled one may go on.

    A tool that waits for somebody says so by an attribute `seconds`, None for as long as it takes.
    """

    seconds: float = 600.0
    grace: float = 2.0


async def run_tool(tool: AnyTool, arguments: Any, context: ToolContext, limits: Limits) -> ToolResult:
    """Return what the call gave; what is too long for a model, also of an error, is cut and kept whole in a file.

    Raises:
        ToolError: what the tool raised; TOOL_TIMEOUT; ABORTED when the turn was cancelled.
    """
    task = asyncio.ensure_future(tool.run(arguments, context))
    cancelled = asyncio.Event()
    unsubscribe = context.cancel.subscribe(cancelled.set)
    watching = asyncio.ensure_future(cancelled.wait())
    try:
        await asyncio.wait([task, watching], timeout=_seconds(tool, limits), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await _end(task, limits.grace if context.cancel.cancelled else 0.0)
    finally:
        unsubscribe()
        watching.cancel()
        task.cancel()
    try:
        result = _outcome(tool, task, context)
    except ToolError as error:
        text, whole = await _bounded_text(error.message, error.whole, context.beside)
        raise ToolError(error.code, text, whole) from error
    return await _bounded(result, context.beside)


def _seconds(tool: AnyTool, limits: Limits) -> float | None:
    seconds: float | None = getattr(tool, "seconds", limits.seconds)
    return seconds


async def _end(task: asyncio.Future[ToolResult], grace: float) -> None:
    """Give the task its grace, then end it and wait until it is gone, for another grace at most."""
    await asyncio.wait([task], timeout=grace)
    if not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=max(grace, 1.0))


def _outcome(tool: AnyTool, task: asyncio.Future[ToolResult], context: ToolContext) -> ToolResult:
    if task.done() and not task.cancelled():
        error = task.exception()
        if error is None:
            return task.result()  # what has happened is told, also when the turn was cancelled meanwhile
        if isinstance(error, ToolError):
            raise error
        if not isinstance(error, Cancelled):
            raise ToolError("TOOL_FAILED", f"{tool.name} failed because of a fault in the tool") from error
    if context.cancel.cancelled:
        raise ToolError("ABORTED", f"{tool.name} was stopped because the turn was cancelled; what it did is unknown")
    raise ToolError("TOOL_TIMEOUT", f"{tool.name} took too long and was stopped; what it did is unknown")


async def _bounded(result: ToolResult, beside: Beside) -> ToolResult:
    """Return the result with texts cut that are too long together; what is cut stays readable in a file."""
    content = result.content
    size = sum(len(block.text.encode()) for block in content if isinstance(block, TextBlock))
    if size <= INLINE_BYTES and result.whole is None:
        return result
    joined = "\n".join(block.text for block in content if isinstance(block, TextBlock))
    others = tuple(block for block in content if not isinstance(block, TextBlock))
    text, whole = await _bounded_text(joined, result.whole, beside)
    return replace(result, content=(TextBlock(text), *others), whole=whole)


async def _bounded_text(text: str, whole: Whole | None, beside: Beside) -> tuple[str, Whole | None]:
    """Return what a model gets of a text, and what holds all of it where that is not all."""
    size = len(text.encode())
    if size <= INLINE_BYTES:
        return text, whole
    if whole is None:
        path = await beside.keep_text(text)
        whole = None if path is None else Whole(path, size)
    return cut_text(text, whole), whole


def cut_text(text: str, whole: Whole | None) -> str:
    """Return head and tail of a text that is too long, with a line between them that says what is missing."""
    data = text.encode()
    head = data[: int(INLINE_BYTES * HEAD_SHARE)].decode("utf-8", "ignore")
    tail = data[-int(INLINE_BYTES * (1 - HEAD_SHARE)) :].decode("utf-8", "ignore")
    size = len(data) if whole is None else whole.size
    missing = max(size - len(head.encode()) - len(tail.encode()), 0)
    where = f"; the whole text is in {whole.path}, which you can read" if whole is not None else ""
    return f"{head}\n[… {missing} bytes left out here{where} …]\n{tail}"
