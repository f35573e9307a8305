"""The tool that searches the lines of files.

Owns what the model sees of the matches. ripgrep, where there is one, only tells which files match: every line that is
shown was read through the fence, and Python's own search gives the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from acp_server.base.values import replace
from acp_server.messages.blocks import TextBlock
from acp_server.tools.bounds import one_line, take_lines
from acp_server.tools.files import FileAccess, OpenAccess
from acp_server.tools.grep_lines import FileLines, render
from acp_server.tools.line_matches import searched_text
from acp_server.tools.matcher import Matcher, Stop, Stopped, open_matcher
from acp_server.tools.paths import NamedPath, resolve, shown
from acp_server.tools.ripgrep import unwritable
from acp_server.tools.search import MOST_OF_A_FILE, NOTHING_FOUND, Hits, Query, find_hits, stopping
from acp_server.tools.search_pattern import SearchPattern, parse_pattern
from acp_server.tools.tool import Card, Effect, Location, ToolContext, ToolError, ToolResult

_LOCATIONS: Final = 20
_FILES_AT_ONCE: Final = 16


class GrepArguments(BaseModel):
    """Arguments of `grep`."""

    model_config = ConfigDict(extra="forbid")

    pattern: str = Field(
        min_length=1,
        max_length=4000,
        description="Regular expression (Python's syntax), matched line by line. Set literal for plain text.",
    )
    path: NamedPath = Field(
        default=".", description="Directory or file to search, absolute or relative to the working directory."
    )
    glob: str | None = Field(
        default=None,
        max_length=1000,
        description="Only files whose path below the directory matches, e.g. '*.py', 'src/**/*.{js,ts}'.",
    )
    ignore_case: bool = Field(default=False, description="Let upper and lower case match each other.")
    literal: bool = Field(default=False, description="Take the pattern as plain text.")
    context: int = Field(default=0, ge=0, le=10, description="Lines to show before and after each match.")
    output: Literal["lines", "files", "counts"] = Field(
        default="lines",
        description="'lines' shows the matching lines, 'files' only the files' paths, 'counts' how many lines match.",
    )
    limit: int = Field(default=250, ge=1, le=2000, description="The most lines (or files) to show.")
    include_ignored: bool = Field(default=False, description="Search files that .gitignore names, too.")


class GrepTool:
    """See `grep` in docs/tools.md."""

    name: Final = "grep"
    description: Final = (
        "Search the contents of files with a regular expression. Files that .gitignore names, version control's own, "
        "and binary files are left out; links are not followed. Use this instead of running grep or rg in a shell."
    )
    arguments: Final = GrepArguments

    def __init__(self, open_access: OpenAccess, ripgrep: str | None = None) -> None:
        self._open_access = open_access
        self._ripgrep = ripgrep

    def effect(self, arguments: GrepArguments, cwd: str) -> Effect:
        """See Tool."""
        return Effect("read", (resolve(cwd, arguments.path),))

    def card(self, arguments: GrepArguments, cwd: str) -> Card:
        """See Tool."""
        where = shown(resolve(cwd, arguments.path), cwd)
        within = f" in {where}" if where != "." else ""
        only = f" ({arguments.glob})" if arguments.glob else ""
        return Card(one_line(f"Search {one_line(repr(arguments.pattern), 70)}{within}{only}", 120), "search")

    def parallel(self, arguments: GrepArguments) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return True

    async def run(self, arguments: GrepArguments, context: ToolContext) -> ToolResult:
        """See Tool."""
        access = self._open_access(context)
        pattern = parse_pattern(arguments.pattern, literal=arguments.literal, ignore_case=arguments.ignore_case)
        directory = resolve(context.cwd, arguments.path)
        query = Query(directory, pattern, arguments.glob, ignored=arguments.include_ignored)
        with stopping(context.cancel) as stop:
            program = unwritable(self._ripgrep, context.policy)
            hits = await find_hits(access.files, query, program, stop)
            lines = arguments.output == "lines"
            files = await _lines(access, pattern, hits, arguments.limit, stop) if lines else []
        context.cancel.raise_if_cancelled()
        card = self.card(arguments, context.cwd)
        if lines:
            return _lines_result(arguments, card, hits, files, context.cwd)
        return _paths_result(arguments, card, hits, context.cwd)


async def _lines(access: FileAccess, pattern: SearchPattern, hits: Hits, limit: int, stop: Stop) -> list[FileLines]:
    """Return the first matching lines, in order of their files' paths; after a stop those found until then."""
    found: list[FileLines] = []
    room = limit
    with suppress(Stopped), open_matcher(pattern, limit, stop) as match:
        for at in range(0, len(hits.files), _FILES_AT_ONCE):
            for path, data, lines in await _matched(access, match, hits.files[at : at + _FILES_AT_ONCE]):
                found.append(FileLines(path, searched_text(data) or "", tuple(lines[:room])))
                room -= len(lines)
                if room <= 0:
                    return found
    return found


async def _matched(
    access: FileAccess, match: Matcher, hits: Sequence[tuple[str, int]]
) -> list[tuple[str, bytes, list[tuple[int, int, int]]]]:
    contents: list[tuple[str, bytes]] = []
    for path, _ in hits:
        with suppress(ToolError):  # it went away, or may not be read
            contents.append((path, (await access.files.read(path, MOST_OF_A_FILE)).data))
    results = await asyncio.to_thread(match, [data for _, data in contents])
    return [(path, data, lines) for (path, data), (_, lines) in zip(contents, results, strict=True) if lines]


def _paths_result(arguments: GrepArguments, card: Card, hits: Hits, cwd: str) -> ToolResult:
    counted = arguments.output == "counts"
    lines = [f"{shown(path, cwd)}:{count}" if counted else shown(path, cwd) for path, count in hits.files]
    taken = take_lines(lines, arguments.limit)
    notes = [f"[{hits.total:,} matching lines in {len(lines):,} files]"] if counted and lines else []
    if taken.more:
        notes.append(f"[{len(taken.lines):,} of {len(lines):,} files shown; narrow the search or raise the limit]")
    locations = tuple(Location(path) for path, _ in hits.files[:_LOCATIONS])
    return _result(replace(card, locations=locations), [*taken.lines, *notes], hits)


def _lines_result(arguments: GrepArguments, card: Card, hits: Hits, files: Sequence[FileLines], cwd: str) -> ToolResult:
    rendered = render(files, arguments.context, lambda path: shown(path, cwd))
    notes = []
    if rendered.matches < hits.total:
        seen = f"{rendered.matches:,} of {hits.total:,} matching lines shown, from {rendered.files:,} of"
        notes.append(f"[{seen} {len(hits.files):,} files; narrow the search or raise the limit]")
    locations = tuple(Location(file.path, file.lines[0][0]) for file in files[:_LOCATIONS])
    return _result(replace(card, locations=locations), [*rendered.lines, *notes], hits)


def _result(card: Card, lines: Sequence[str], hits: Hits) -> ToolResult:
    said = [*lines, *hits.notes] if hits.files else [NOTHING_FOUND, *hits.notes]
    output = {"files": len(hits.files), "matches": hits.total, "complete": hits.complete}
    return ToolResult((TextBlock("\n".join(said)),), card, output)
