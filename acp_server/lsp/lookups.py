"""What is asked of a server about code, and its answers as plain values (docs/lsp.md, clauses A-1 to A-5).

Owns the forms in which servers answer: locations and links, symbols in a tree or flat, marked text.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit

from lsprotocol import types

from acp_server.base.values import value
from acp_server.lsp.positions import Place
from acp_server.lsp.running import RunningServer

Lookup: TypeAlias = Callable[[RunningServer, float], Awaitable[Any]]
MOST_SYMBOLS: Final = 500
_DEEPEST: Final = 6


@value
class Spot:
    """A position in a file: line and UTF-16 unit from 0. `path` is absolute, or an address that is no file."""

    path: str
    line: int
    unit: int


@value
class Symbol:
    """A name that is defined somewhere; `depth` is that of the tree of its file, `inside` the name around it."""

    name: str
    kind: str
    spot: Spot
    depth: int = 0
    inside: str = ""


def can_define(can: types.ServerCapabilities) -> bool:
    """Return whether the server finds definitions."""
    return bool(can.definition_provider)


def can_refer(can: types.ServerCapabilities) -> bool:
    """Return whether the server finds references."""
    return bool(can.references_provider)


def can_hover(can: types.ServerCapabilities) -> bool:
    """Return whether the server describes names."""
    return bool(can.hover_provider)


def can_outline(can: types.ServerCapabilities) -> bool:
    """Return whether the server lists the symbols of a file."""
    return bool(can.document_symbol_provider)


def can_search(can: types.ServerCapabilities) -> bool:
    """Return whether the server finds symbols of the workspace."""
    return bool(can.workspace_symbol_provider)


def definition(path: str, text: str, place: Place) -> Lookup:
    """Return the question where a name is defined; it is answered by spots."""

    async def look(running: RunningServer, seconds: float) -> tuple[Spot, ...]:
        running.show(path, text)
        params = types.DefinitionParams(_name(path), _position(place))
        return _spots(await running.ask(types.TEXT_DOCUMENT_DEFINITION, params, seconds))

    return look


def references(path: str, text: str, place: Place) -> Lookup:
    """Return the question where a name is used, its definition included; it is answered by spots."""

    async def look(running: RunningServer, seconds: float) -> tuple[Spot, ...]:
        running.show(path, text)
        params = types.ReferenceParams(types.ReferenceContext(include_declaration=True), _name(path), _position(place))
        return _spots(await running.ask(types.TEXT_DOCUMENT_REFERENCES, params, seconds))

    return look


def hover(path: str, text: str, place: Place) -> Lookup:
    """Return the question what a name is; it is answered by text, which may be empty."""

    async def look(running: RunningServer, seconds: float) -> str:
        running.show(path, text)
        params = types.HoverParams(_name(path), _position(place))
        found = await running.ask(types.TEXT_DOCUMENT_HOVER, params, seconds)
        return "" if found is None else _marked(found.contents)

    return look


def outline(path: str, text: str) -> Lookup:
    """Return the question which symbols a file has; it is answered by symbols in their order."""

    async def look(running: RunningServer, seconds: float) -> tuple[Symbol, ...]:
        running.show(path, text)
        params = types.DocumentSymbolParams(_name(path))
        found = await running.ask(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, params, seconds)
        return tuple(_symbols(found or (), path, 0))[:MOST_SYMBOLS]

    return look


def search(query: str) -> Lookup:
    """Return the question which symbols of the workspace have a name like that."""

    async def look(running: RunningServer, seconds: float) -> tuple[Symbol, ...]:
        found = await running.ask(types.WORKSPACE_SYMBOL, types.WorkspaceSymbolParams(query), seconds)
        return tuple(_symbols(found or (), "", 0))[:MOST_SYMBOLS]

    return look


def _name(path: str) -> types.TextDocumentIdentifier:
    return types.TextDocumentIdentifier(PurePosixPath(path).as_uri())


def _position(place: Place) -> types.Position:
    return types.Position(place.line, place.unit)


def _spots(found: Any) -> tuple[Spot, ...]:
    entries: Sequence[Any] = () if found is None else found if isinstance(found, list | tuple) else (found,)
    return tuple(dict.fromkeys(_spot(entry) for entry in entries))


def _spot(entry: Any) -> Spot:
    if isinstance(entry, types.LocationLink):
        return _at(entry.target_uri, entry.target_selection_range)
    return _at(entry.uri, entry.range)


def _at(uri: str, place: types.Range | None) -> Spot:
    parts = urlsplit(uri)
    path = unquote(parts.path) if parts.scheme == "file" else uri
    return Spot(path, 0, 0) if place is None else Spot(path, place.start.line, place.start.character)


def _symbols(entries: Sequence[Any], path: str, depth: int) -> Iterator[Symbol]:
    for entry in entries:
        kind = entry.kind.name.lower()
        if isinstance(entry, types.DocumentSymbol):
            start = entry.selection_range.start
            yield Symbol(entry.name, kind, Spot(path, start.line, start.character), depth)
            if depth < _DEEPEST:
                yield from _symbols(entry.children or (), path, depth + 1)
        else:
            spot = _at(entry.location.uri, getattr(entry.location, "range", None))
            yield Symbol(entry.name, kind, spot, depth, entry.container_name or "")


def _marked(contents: Any) -> str:
    if isinstance(contents, list | tuple):
        return "\n\n".join(map(_marked, contents))
    return contents if isinstance(contents, str) else str(getattr(contents, "value", ""))
