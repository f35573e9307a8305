"""The tool that makes several replacements in one file: all of them or none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from acp_server.tools.changes import MOST_BYTES, change_result, change_text
from acp_server.tools.files import OpenAccess
from acp_server.tools.paths import NamedPath, resolve, shown, title
from acp_server.tools.replace_text import Replacement, replace_text
from acp_server.tools.text_file import TextFile
from acp_server.tools.tool import Card, Diff, Effect, Location, ToolContext, ToolError, ToolResult

_MOST_EDITS: Final = 200


class OneEdit(BaseModel):
    """One replacement of `multi_edit`."""

    model_config = ConfigDict(extra="forbid")

    old_string: str = Field(
        max_length=MOST_BYTES, description="The text to replace, exactly as it is after the edits before this one."
    )
    new_string: str = Field(max_length=MOST_BYTES, description="The text to put in its place, taken literally.")
    replace_all: bool = Field(default=False, description="Replace every place instead of the only one.")


class MultiEditArguments(BaseModel):
    """Arguments of `multi_edit`."""

    model_config = ConfigDict(extra="forbid")

    path: NamedPath = Field(description="The file, absolute or relative to the working directory.")
    edits: list[OneEdit] = Field(
        min_length=1, max_length=_MOST_EDITS, description="The edits, made one after the other; if one fails, none is."
    )


class MultiEditTool:
    """See `multi_edit` in docs/tools.md."""

    name: Final = "multi_edit"
    description: Final = (
        "Make several edits in one file, each on the result of the one before, all or none. The rules of edit hold "
        "for each. Prefer it over several calls of edit on one file."
    )
    arguments: Final = MultiEditArguments

    def __init__(self, open_access: OpenAccess) -> None:
        self._open_access = open_access

    def effect(self, arguments: MultiEditArguments, cwd: str) -> Effect:
        """See Tool."""
        return Effect("edit", (resolve(cwd, arguments.path),))

    def card(self, arguments: MultiEditArguments, cwd: str) -> Card:
        """See Tool."""
        path = resolve(cwd, arguments.path)
        diffs = tuple(Diff(path, edit.old_string, edit.new_string) for edit in arguments.edits)
        more = f" ({len(arguments.edits)} edits)" if len(arguments.edits) > 1 else ""
        return Card(title("Edit", shown(path, cwd), more), "edit", (Location(path),), diffs)

    def parallel(self, arguments: MultiEditArguments) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return False

    async def run(self, arguments: MultiEditArguments, context: ToolContext) -> ToolResult:
        """See Tool."""
        context.cancel.raise_if_cancelled()
        access = self._open_access(context)
        path = resolve(context.cwd, arguments.path)
        name = shown(path, context.cwd)
        made = Replacement("", 0)

        def change(file: TextFile) -> str:
            nonlocal made
            made = edit_in_order(file.text, arguments.edits)
            return made.text

        changed = await change_text(access, path, name, change)
        card = self.card(arguments, context.cwd)
        if changed is None:
            raise AssertionError("an edit always gives a text")
        said = f"Edited {name} in {made.count:,} places by {len(arguments.edits)} edits:"
        return await asyncio.to_thread(change_result, card, changed, said, {"path": path, "replaced": made.count})


def edit_in_order(text: str, edits: Sequence[OneEdit]) -> Replacement:
    """Return the text after all edits.

    Raises:
        ToolError: of the first edit that fails, with its number.
    """
    count = 0
    for number, edit in enumerate(edits, 1):
        try:
            made = replace_text(text, edit.old_string, edit.new_string, every=edit.replace_all)
        except ToolError as error:
            raise ToolError(
                error.code, f"edit {number} of {len(edits)}, and so none was made: {error.message}"
            ) from error
        text = made.text
        count += made.count
    return Replacement(text, count)
