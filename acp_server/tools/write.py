"""The tool that creates a file, or replaces all that a file holds."""

from __future__ import annotations

import asyncio
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from acp_server.messages.blocks import TextBlock
from acp_server.tools.changes import MOST_BYTES, Changed, change_result, change_text, create_text
from acp_server.tools.files import FileAccess, OpenAccess
from acp_server.tools.paths import NamedPath, resolve, shown, title
from acp_server.tools.replace_text import fit_line_ends
from acp_server.tools.text_file import TextFile, split_lines
from acp_server.tools.tool import Card, Diff, Effect, Location, ToolContext, ToolError, ToolResult

_PREVIEW: Final = 64 * 1024


class WriteArguments(BaseModel):
    """Arguments of `write`."""

    model_config = ConfigDict(extra="forbid")

    path: NamedPath = Field(description="The file, absolute or relative to the working directory.")
    content: str = Field(max_length=MOST_BYTES, description="All that the file is to hold.")


class WriteTool:
    """See `write` in docs/tools.md."""

    name: Final = "write"
    description: Final = (
        "Create a file, with the directories it needs, or replace all that an existing one holds. An existing file has "
        "to be read first; its encoding and line ends are kept. To change a part of a file, use edit."
    )
    arguments: Final = WriteArguments

    def __init__(self, open_access: OpenAccess) -> None:
        self._open_access = open_access

    def effect(self, arguments: WriteArguments, cwd: str) -> Effect:
        """See Tool."""
        return Effect("edit", (resolve(cwd, arguments.path),))

    def card(self, arguments: WriteArguments, cwd: str) -> Card:
        """See Tool."""
        path = resolve(cwd, arguments.path)
        diff = Diff(path, None, arguments.content[:_PREVIEW])
        return Card(title("Write", shown(path, cwd)), "edit", (Location(path),), (diff,))

    def parallel(self, arguments: WriteArguments) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return False

    async def run(self, arguments: WriteArguments, context: ToolContext) -> ToolResult:
        """See Tool."""
        context.cancel.raise_if_cancelled()
        access = self._open_access(context)
        path = resolve(context.cwd, arguments.path)
        name = shown(path, context.cwd)
        changed = await _written(access, path, name, arguments.content)
        card = self.card(arguments, context.cwd)
        if changed is None:
            return ToolResult((TextBlock(f"{name} already holds exactly this; it was not written."),), card)
        count = len(split_lines(changed.new))
        verb = "Created" if changed.old is None else "Replaced the content of"
        raw: dict[str, int | str] = {"path": path, "lines": count}
        return await asyncio.to_thread(change_result, card, changed, f"{verb} {name} ({count} lines).", raw)


async def _written(access: FileAccess, path: str, name: str, content: str) -> Changed | None:
    try:
        await access.files.facts(path)
    except ToolError as error:
        if error.code != "NOT_FOUND":
            raise
        return await create_text(access, path, content)

    def whole(file: TextFile) -> str | None:
        text = fit_line_ends(file.text, 0, len(file.text), content)
        return None if text == file.text else text

    return await change_text(access, path, name, whole)
