"""Files as an undo finds and makes them: behind the fence, whole or not at all, only while they are what was planned.

Owns what must not be touched: a path that leads elsewhere by now, one that may not be written, one with unsaved text in
the editor (docs/undo.md, clauses U-3 and U-4).
"""

from __future__ import annotations

import asyncio
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.values import value
from acp_server.sandbox.fence import Fence
from acp_server.sandbox.replacing import Version, digest_of
from acp_server.session.file_changes import FileState
from acp_server.session.file_undo import Step
from acp_server.tools.changes import MOST_BYTES
from acp_server.tools.files import Files
from acp_server.tools.tool import ToolError

ELSEWHERE: Final = "its path leads elsewhere by now"
UNSAVED: Final = "it has unsaved changes in the editor"
LARGE: Final = "it is larger than what can be changed"
_BITS: Final = 0o777


@value
class Found:
    """What a path holds; `problem` is why it must not be touched, or None."""

    state: FileState
    data: bytes = b""
    problem: str | None = None


async def look(fence: Fence, editor: Files | None, path: str) -> Found:
    """Return what a canonical path holds; `editor` has the unsaved texts, None where nobody tells them."""
    found = await asyncio.to_thread(_look, fence, path)
    if found.problem is not None or editor is None:
        return found
    try:
        text = (await editor.read(path, MOST_BYTES)).data
    except ToolError as error:
        if error.code == "NOT_FOUND" and found.state.digest is None:
            return found
        return Found(found.state, problem=error.message)
    same = found.state.digest is not None and text == found.data
    return found if same else Found(found.state, problem=UNSAVED)


async def put(fence: Fence, step: Step, data: bytes | None) -> None:
    """Make the file what the step says, `data` being its bytes; raise ServerError, with nothing changed."""
    await asyncio.to_thread(_put, fence, step, data)


def _look(fence: Fence, path: str) -> Found:
    try:
        if fence.canonical(path, "write") != path:
            return Found(FileState(None), problem=ELSEWHERE)
        facts = fence.stat(path)
        if facts is None:
            return Found(FileState(None))
        fence.check_replace(path)
        content = fence.read(path, MOST_BYTES + 1)
    except ServerError as error:
        return Found(FileState(None), problem=error.message)
    if content.size > MOST_BYTES or len(content.data) != content.size:
        return Found(FileState(None), problem=LARGE)
    state = FileState(digest_of(content.data), content.size, mode=content.mode & _BITS)
    return Found(state, content.data)


def _put(fence: Fence, step: Step, data: bytes | None) -> None:
    now = step.now
    expected = None if now.digest is None else Version(0, now.size, 0, now.digest)
    if data is None:
        fence.remove(step.path, expected_version=expected or "absent")
    else:
        mode = step.to.mode if expected is None else None
        fence.write_atomic(step.path, data, mode=mode, expected_version=expected or "absent")
