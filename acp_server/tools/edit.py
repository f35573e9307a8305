"""The tool that replaces one piece of a file's text."""

from __future__ import annotations

import asyncio
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from acp_server.tools.changes import MOST_BYTES, change_result, change_text
from acp_server.tools.files import OpenAccess
from acp_server.tools.paths import NamedPath, resolve, shown, title
from acp_server.tools.replace_text import Replacement, replace_text
from acp_server.tools.text_file import TextFile
from acp_server.tools.tool import Card, Diff, Effect, Location, ToolContext, ToolResult


class EditArguments(BaseModel):
    """Arguments of `edit`."""

    model_config = ConfigDict(extra="forbid")

    path: NamedPath = Field(description="The file, absolute or relative to the working directory.")
    old_string: str = Field(
        max_length=MOST_BYTES,
        description="The text to replace, exactly as in the file, without line numbers. It has to be there once.",
    )
    new_string: str = Field(max_length=MOST_BYTES, description="The text to put in its place, taken literally.")
    replace_all: bool = Field(default=False, description="Replace every place instead of the only one.")


class EditTool:
    """See `edit` in docs/tools.md."""

    name: Final = "edit"
    description: Final = (
        "Replace a piece of a file's text by another. The old text has to match the file exactly, blanks included, and "
        "to be there once unless replace_all is set. The file has to be read first. Everything else stays as it is, "
        "line ends and encoding too."
    )
    arguments: Final = EditArguments

    def __init__(self, open_access: OpenAccess) -> None:
        self._open_access = open_access

    def effect(self, arguments: EditArguments, cwd: str) -> Effect:
        """See Tool."""
        return Effect("edit", (resolve(cwd, arguments.path),))

    def card(self, arguments: EditArguments, cwd: str) -> Card:
        """See Tool."""
        path = resolve(cwd, arguments.path)
        diff = Diff(path, arguments.old_string, arguments.new_string)
        return Card(title("Edit", shown(path, cwd)), "edit", (Location(path),), (diff,))

    def parallel(self, arguments: EditArguments) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return False

    async def run(self, arguments: EditArguments, context: ToolContext) -> ToolResult:
        """See Tool."""
        context.cancel.raise_if_cancelled()
        access = self._open_access(context)
        path = resolve(context.cwd, arguments.path)
        name = shown(path, context.cwd)
        made = Replacement("", 0)

        def change(file: TextFile) -> str:
            nonlocal made
            every = arguments.replace_all
            made = replace_text(file.text, arguments.old_string, arguments.new_string, every=every)
            return made.text

        changed = await change_text(access, path, name, change)
        card = self.card(arguments, context.cwd)
        if changed is None:
            raise AssertionError("an edit always gives a text")
        places = "1 place" if made.count == 1 else f"{made.count:,} places"
        return await asyncio.to_thread(
            change_result, card, changed, f"Edited {name} in {places}:", {"path": path, "replaced": made.count}
        )
