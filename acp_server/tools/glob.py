"""The tool that finds files by their paths."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from acp_server.base.values import replace
from acp_server.messages.blocks import TextBlock
from acp_server.tools.bounds import one_line, take_lines
from acp_server.tools.files import OpenAccess
from acp_server.tools.globs import split_base
from acp_server.tools.paths import NamedPath, resolve, shown
from acp_server.tools.ripgrep import unwritable
from acp_server.tools.search import NOTHING_FOUND, Query, find_hits, stopping
from acp_server.tools.tool import Card, Effect, Location, ToolContext, ToolResult

_LOCATIONS: Final = 20


class GlobArguments(BaseModel):
    """Arguments of `glob`."""

    model_config = ConfigDict(extra="forbid")

    pattern: NamedPath = Field(
        description="Glob over paths below the directory: '*.py' at any depth, 'src/**/*.{js,ts}', '**' for everything."
    )
    path: NamedPath = Field(
        default=".", description="The directory to look in, absolute or relative to the working directory."
    )
    limit: int = Field(default=100, ge=1, le=2000, description="The most paths to show.")
    include_ignored: bool = Field(default=False, description="Find files that .gitignore names, too.")


class GlobTool:
    """See `glob` in docs/tools.md."""

    name: Final = "glob"
    description: Final = (
        "Find files by a glob over their paths, the newest first. Files that .gitignore names and version control's "
        "own are left out; links are not followed. Use grep to find files by what they hold."
    )
    arguments: Final = GlobArguments

    def __init__(self, open_access: OpenAccess, ripgrep: str | None = None) -> None:
        self._open_access = open_access
        self._ripgrep = ripgrep

    def effect(self, arguments: GlobArguments, cwd: str) -> Effect:
        """See Tool."""
        return Effect("read", (_place(arguments, cwd)[0],))

    def card(self, arguments: GlobArguments, cwd: str) -> Card:
        """See Tool."""
        where = shown(_place(arguments, cwd)[0], cwd)
        within = f" in {where}" if where != "." else ""
        return Card(one_line(f"Find {one_line(_place(arguments, cwd)[1], 70)}{within}", 120), "search")

    def parallel(self, arguments: GlobArguments) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return True

    async def run(self, arguments: GlobArguments, context: ToolContext) -> ToolResult:
        """See Tool."""
        access = self._open_access(context)
        directory, pattern = _place(arguments, context.cwd)
        query = Query(directory, glob=pattern, ignored=arguments.include_ignored)
        with stopping(context.cancel) as stop:
            program = unwritable(self._ripgrep, context.policy)
            hits = await find_hits(access.files, query, program, stop)
        context.cancel.raise_if_cancelled()
        paths = await asyncio.to_thread(_newest_first, [path for path, _ in hits.files])
        taken = take_lines([shown(path, context.cwd) for path in paths], arguments.limit)
        lines = list(taken.lines) or [NOTHING_FOUND]
        if taken.more:
            lines.append(f"[{len(taken.lines):,} of {len(paths):,} files shown; narrow the pattern or raise the limit]")
        locations = tuple(Location(path) for path in paths[:_LOCATIONS])
        card = replace(self.card(arguments, context.cwd), locations=locations)
        output = {"files": len(paths), "complete": hits.complete}
        return ToolResult((TextBlock("\n".join([*lines, *hits.notes])),), card, output)


def _place(arguments: GlobArguments, cwd: str) -> tuple[str, str]:
    """Return where to look and the glob below it; the plain beginning of an absolute pattern is a place."""
    if not arguments.pattern.startswith("/"):
        return resolve(cwd, arguments.path), arguments.pattern
    base, rest = split_base(arguments.pattern)
    return resolve(cwd, base or "/"), rest


def _newest_first(paths: Sequence[str]) -> list[str]:
    """Return the paths by when they were changed; those of one moment by name."""

    def age(path: str) -> tuple[int, str]:
        try:
            return -os.lstat(path).st_mtime_ns, path
        except OSError:
            return 0, path

    return sorted(paths, key=age)
