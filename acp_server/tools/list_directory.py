"""The tool that lists a directory."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from acp_server.base.json_value import JsonObject
from acp_server.messages.blocks import TextBlock
from acp_server.tools.bounds import take_lines
from acp_server.tools.files import Entry, OpenAccess
from acp_server.tools.nearby import not_found
from acp_server.tools.paths import NamedPath, resolve, shown, title
from acp_server.tools.tool import Card, Effect, Location, ToolContext, ToolError, ToolResult


class ListArguments(BaseModel):
    """Arguments of `list`."""

    model_config = ConfigDict(extra="forbid")

    path: NamedPath = Field(default=".", description="The directory, absolute or relative to the working directory.")
    limit: int = Field(default=500, ge=1, le=5000, description="The most names to list.")


class ListTool:
    """See `list` in docs/tools.md."""

    name: Final = "list"
    description: Final = (
        "List the names in one directory: directories first, with a slash at their end; files with their size in "
        "bytes; links with where they lead. Use glob to find files in a whole tree."
    )
    arguments: Final = ListArguments

    def __init__(self, open_access: OpenAccess) -> None:
        self._open_access = open_access

    def effect(self, arguments: ListArguments, cwd: str) -> Effect:
        """See Tool."""
        return Effect("read", (resolve(cwd, arguments.path),))

    def card(self, arguments: ListArguments, cwd: str) -> Card:
        """See Tool."""
        path = resolve(cwd, arguments.path)
        return Card(title("List", shown(path, cwd)), "read", (Location(path),))

    def parallel(self, arguments: ListArguments) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return True

    async def run(self, arguments: ListArguments, context: ToolContext) -> ToolResult:
        """See Tool."""
        access = self._open_access(context)
        path = resolve(context.cwd, arguments.path)
        name = shown(path, context.cwd)
        try:
            listing = await access.files.list_dir(path, arguments.limit)
        except ToolError as error:
            if error.code == "NOT_FOUND":
                raise await not_found(access.files, path, name) from error
            if error.code == "NOT_A_DIRECTORY":
                raise ToolError(error.code, f"{name} is no directory; use read for files") from error
            raise
        taken = take_lines(map(_line, listing.entries), arguments.limit)
        lines = list(taken.lines) or ["[the directory is empty]"]
        if listing.more or taken.more:
            lines.append(f"[the first {len(taken.lines):,} names; there are more]")
        output: JsonObject = {"path": path, "count": len(taken.lines), "more": listing.more or taken.more}
        return ToolResult((TextBlock("\n".join(lines)),), self.card(arguments, context.cwd), output)


def _line(entry: Entry) -> str:
    if entry.kind == "directory":
        return f"{entry.name}/"
    if entry.kind == "link":
        return f"{entry.name} -> {entry.target}"
    return f"{entry.name}  ({entry.size:,})" if entry.kind == "file" else f"{entry.name}  (no regular file)"
