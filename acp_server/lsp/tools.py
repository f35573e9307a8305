"""The tools that ask language servers: problems of a file, definitions, uses, meanings, symbols (docs/tools.md)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject
from acp_server.llm.waiting import until
from acp_server.lsp import lookups
from acp_server.lsp.lookups import Spot, Symbol
from acp_server.lsp.positions import Place, find_name, lines_of, to_character
from acp_server.lsp.problems import told
from acp_server.lsp.session import ASK_SECONDS, SessionServers
from acp_server.messages.blocks import TextBlock
from acp_server.tools.bounds import cut_line, one_line, take_lines
from acp_server.tools.files import Files
from acp_server.tools.paths import NamedPath, resolve, shown, title
from acp_server.tools.tool import AnyTool, Card, Effect, Location, ToolContext, ToolError, ToolResult

T = TypeVar("T")
MOST_PLACES: Final = 100
_MOST_BYTES: Final = 16_000
_LINE: Final = 200
_SHOWN_FILES: Final = 20
_CARD_PLACES: Final = 20

OpenServers = Callable[[ToolContext], Awaitable[tuple[SessionServers, Files]]]
"""Gives a call the servers of its session, and its files under its policy; raises ToolError."""


class FileArguments(BaseModel):
    """Arguments of `diagnostics`."""

    model_config = ConfigDict(extra="forbid")

    path: NamedPath = Field(description="The file, absolute or relative to the working directory.")


class NameArguments(BaseModel):
    """Arguments of the tools that look up a name."""

    model_config = ConfigDict(extra="forbid")

    path: NamedPath = Field(description="A file in which the name stands.")
    name: str = Field(min_length=1, max_length=500, description="The name as it stands there, such as area or os.path.")
    line: int | None = Field(default=None, ge=1, description="The line where it stands; else its first place counts.")


class SymbolArguments(BaseModel):
    """Arguments of `symbols`."""

    model_config = ConfigDict(extra="forbid")

    path: NamedPath | None = Field(default=None, description="A file: give everything that it defines.")
    query: str = Field(default="", max_length=500, description="Without a path: part of a name, in the whole project.")


class _LspTool:
    """What the tools have in common: they read, run beside each other, and work on one file."""

    verb = ""

    def __init__(self, open_servers: OpenServers) -> None:
        self._open = open_servers

    def effect(self, arguments: Any, cwd: str) -> Effect:
        """See Tool."""
        return Effect("read", (resolve(cwd, arguments.path or "."),))

    def card(self, arguments: Any, cwd: str) -> Card:
        """See Tool."""
        words = getattr(arguments, "name", None) or getattr(arguments, "query", None)
        path = None if arguments.path is None else resolve(cwd, arguments.path)
        what = one_line(words, _LINE) if words else shown(path or cwd, cwd)
        return Card(title(self.verb, what), "search", () if path is None else (Location(path),))

    def parallel(self, arguments: Any) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return True


class DiagnosticsTool(_LspTool):
    """See `diagnostics` in docs/tools.md."""

    name: Final = "diagnostics"
    verb = "Check"
    description: Final = (
        "Give the errors and warnings that language servers find in one file. After a change by a tool they come with "
        "its result; use this for a file that you have not changed."
    )
    arguments: Final = FileArguments

    async def run(self, arguments: FileArguments, context: ToolContext) -> ToolResult:
        """See Tool."""
        servers, files = await self._open(context)
        path = resolve(context.cwd, arguments.path)
        name = shown(path, context.cwd)
        text = await _text(servers, files, path)
        found = await until(servers.found(path, text, ASK_SECONDS, patient=True), context.cancel)
        if not found:
            raise _none(name)
        output: JsonObject = {"path": path, "problems": sum(len(one.problems) for one in found)}
        said = told(name, found, most_lines=MOST_PLACES, most_bytes=_MOST_BYTES, hints=True)
        return ToolResult((TextBlock(said),), self.card(arguments, context.cwd), output)


class _NameTool(_LspTool):
    arguments: Final = NameArguments

    async def _asked(
        self,
        arguments: NameArguments,
        context: ToolContext,
        can: Callable[[Any], bool],
        question: Callable[[str, str, Place], lookups.Lookup],
    ) -> tuple[Any, Files]:
        servers, files = await self._open(context)
        path = resolve(context.cwd, arguments.path)
        name = shown(path, context.cwd)
        text = await _text(servers, files, path)
        place = find_name(lines_of(text), arguments.name, arguments.line)
        if place is None:
            where = "" if arguments.line is None else f" near line {arguments.line}"
            raise ToolError("NAME_NOT_FOUND", f"{arguments.name!r} does not stand in {name}{where}")
        asked = servers.ask(path, can, question(path, text, place))
        return await _answer(asked, context), files

    async def _places(
        self, spots: Sequence[Spot], files: Files, arguments: NameArguments, context: ToolContext
    ) -> ToolResult:
        lines = await _lines(spots, files, context.cwd)
        taken = take_lines(lines, MOST_PLACES, _MOST_BYTES)
        said = list(taken.lines) or [f"No {self.verb.lower()} of {arguments.name} found."]
        if taken.more:
            said.append(f"… {len(lines) - len(taken.lines):,} more")
        card = self.card(arguments, context.cwd)
        places = tuple(Location(spot.path, spot.line + 1) for spot in spots[:_CARD_PLACES] if spot.path[:1] == "/")
        return ToolResult((TextBlock("\n".join(said)),), Card(card.title, card.kind, places), {"count": len(spots)})


class DefinitionTool(_NameTool):
    """See `definition` in docs/tools.md."""

    name: Final = "definition"
    verb = "Definition"
    description: Final = "Find where a name is defined, by what it means and not by its letters."

    async def run(self, arguments: NameArguments, context: ToolContext) -> ToolResult:
        """See Tool."""
        spots, files = await self._asked(arguments, context, lookups.can_define, lookups.definition)
        return await self._places(spots, files, arguments, context)


class ReferencesTool(_NameTool):
    """See `references` in docs/tools.md."""

    name: Final = "references"
    verb = "References"
    description: Final = (
        "Find every use of a name in the project, by what it means and not by its letters. Use it before you change "
        "a signature or rename something."
    )

    async def run(self, arguments: NameArguments, context: ToolContext) -> ToolResult:
        """See Tool."""
        spots, files = await self._asked(arguments, context, lookups.can_refer, lookups.references)
        return await self._places(spots, files, arguments, context)


class HoverTool(_NameTool):
    """See `hover` in docs/tools.md."""

    name: Final = "hover"
    verb = "Meaning"
    description: Final = "Give the type, signature and documentation of a name."

    async def run(self, arguments: NameArguments, context: ToolContext) -> ToolResult:
        """See Tool."""
        text, _ = await self._asked(arguments, context, lookups.can_hover, lookups.hover)
        taken = take_lines(text.strip().split("\n"), MOST_PLACES, _MOST_BYTES)
        said = "\n".join(taken.lines) or f"Nothing is known of {arguments.name}."
        return ToolResult((TextBlock(said),), self.card(arguments, context.cwd))


class SymbolsTool(_LspTool):
    """See `symbols` in docs/tools.md."""

    name: Final = "symbols"
    verb = "Symbols"
    description: Final = (
        "List what a file defines (classes, functions, variables) with line numbers, or find definitions in the whole "
        "project by a part of their name."
    )
    arguments: Final = SymbolArguments

    async def run(self, arguments: SymbolArguments, context: ToolContext) -> ToolResult:
        """See Tool."""
        if arguments.path is None and not arguments.query:
            raise ToolError("INVALID_ARGUMENTS", "symbols needs a path or a query")
        servers, files = await self._open(context)
        path = None if arguments.path is None else resolve(context.cwd, arguments.path)
        if path is None:
            asked = servers.ask(None, lookups.can_search, lookups.search(arguments.query))
        else:
            text = await _text(servers, files, path)
            asked = servers.ask(path, lookups.can_outline, lookups.outline(path, text))
        symbols: Sequence[Symbol] = await _answer(asked, context)
        words = arguments.query.lower()
        wanted = [one for one in symbols if path is None or words in one.name.lower()]
        taken = take_lines((_symbol(one, path, context.cwd) for one in wanted), MOST_PLACES * 2, _MOST_BYTES)
        said = list(taken.lines) or ["No symbols found."]
        if taken.more:
            said.append(f"… {len(wanted) - len(taken.lines):,} more")
        return ToolResult((TextBlock("\n".join(said)),), self.card(arguments, context.cwd), {"count": len(wanted)})


def lsp_tools(open_servers: OpenServers) -> Sequence[AnyTool]:
    """Return the tools; their descriptions in `tools.json` are made from these."""
    kinds = (DiagnosticsTool, DefinitionTool, ReferencesTool, HoverTool, SymbolsTool)
    return tuple(kind(open_servers) for kind in kinds)


async def _text(servers: SessionServers, files: Files, path: str) -> str:
    if not servers.serves(path):
        raise _none(path)
    return await servers.read(path, files)


async def _answer(asked: Awaitable[T], context: ToolContext) -> T:
    try:
        return await until(asked, context.cancel)
    except ToolError:
        raise
    except ServerError as error:
        raise ToolError(error.code, error.message) from error


def _none(name: str) -> ToolError:
    return ToolError("LSP_NONE", f"there is no language server for {name}")


async def _lines(spots: Sequence[Spot], files: Files, cwd: str) -> list[str]:
    """Return the spots as lines, with the text that stands there where it may be read."""
    texts: dict[str, list[str]] = {}
    for path in _first_files(spots):
        try:
            content = await files.read(path, 1 << 20)
        except ToolError:
            continue
        texts[path] = lines_of(content.data.decode("utf-8", "replace"))
    return [_place(spot, texts.get(spot.path, ()), cwd) for spot in spots]


def _first_files(spots: Iterable[Spot]) -> list[str]:
    return [path for path in dict.fromkeys(spot.path for spot in spots) if path.startswith("/")][:_SHOWN_FILES]


def _place(spot: Spot, lines: Sequence[str], cwd: str) -> str:
    line = lines[spot.line] if spot.line < len(lines) else ""
    words = f"  {cut_line(line.strip(), _LINE)}" if line.strip() else ""
    column = to_character(line, spot.unit) if line else spot.unit + 1
    return f"{shown(one_line(spot.path, 4096), cwd)}:{spot.line + 1}:{column}{words}"


def _symbol(symbol: Symbol, path: str | None, cwd: str) -> str:
    name = one_line(symbol.name, _LINE)
    if path is not None:
        return f"{symbol.spot.line + 1:>6}\t{'  ' * symbol.depth}{symbol.kind} {name}"
    inside = f" in {one_line(symbol.inside, _LINE)}" if symbol.inside else ""
    return f"{shown(one_line(symbol.spot.path, 4096), cwd)}:{symbol.spot.line + 1}  {symbol.kind} {name}{inside}"
