"""One language server that runs: the files that it knows, and what it says of them (docs/lsp.md, clauses D-1 to D-7).

Owns versions, and which diagnostics belong to the text that was sent last. Starting it is bounded, and so is each wait.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from lsprotocol import types

from acp_server.base.errors import ServerError
from acp_server.lsp.client import Client
from acp_server.lsp.positions import lines_of, to_character
from acp_server.lsp.problems import MOST_KEPT, SEVERITIES, Problem
from acp_server.lsp.servers import LanguageServer

MOST_DOCUMENTS: Final = 64
"""Files that a server knows at once; the one that was used least lately is closed for another."""
_SETTLE_SECONDS: Final = 0.3
"""How long a server that names no version may go on publishing about one text."""
_AGAIN: Final = 3


@dataclass(slots=True)
class _Document:
    text: str
    version: int
    problems: tuple[Problem, ...] = ()
    fresh: bool = False
    """Whether the problems are those of this text."""
    exact: bool = False
    """Whether the server named the version that they belong to."""


class RunningServer:
    """A server after its handshake; `can` is what it said that it can do."""

    def __init__(self, server: LanguageServer, client: Client, can: types.ServerCapabilities) -> None:
        self.server = server
        self.can = can
        self._client = client
        self._documents: OrderedDict[str, _Document] = OrderedDict()
        self._heard = asyncio.Event()
        self._pulls = can.diagnostic_provider is not None

    async def problems(self, path: str, text: str, seconds: float, *, saved: bool = False) -> tuple[Problem, ...]:
        """Return what the server says is wrong in a file that has this text.

        Raises:
            ServerError: LSP_SILENT, LSP_GONE, LSP_REFUSED.
        """
        document = self.show(path, text, saved=saved)
        if self._pulls:
            version, items = document.version, await self._pull(path, seconds)
            if document.version == version:
                document.problems, document.fresh = _problems(items, text, self.server.name), True
        elif not document.fresh:
            await self._await_push(document, seconds)
        return document.problems

    def show(self, path: str, text: str, *, saved: bool = False) -> _Document:
        """Tell the server what is in a file, unless it knows that; return what we know of it."""
        uri = PurePosixPath(path).as_uri()
        document = self._documents.get(uri)
        if document is None:
            document = self._documents[uri] = _Document(text, 1)
            language = self.server.language(path) or "plaintext"
            item = types.TextDocumentItem(uri, language, 1, text)
            self._client.notify(types.TEXT_DOCUMENT_DID_OPEN, types.DidOpenTextDocumentParams(item))
            self._close_oldest()
        elif document.text != text:
            document.text, document.version, document.fresh = text, document.version + 1, False
            name = types.VersionedTextDocumentIdentifier(version=document.version, uri=uri)
            whole = types.TextDocumentContentChangeWholeDocument(text)
            self._client.notify(types.TEXT_DOCUMENT_DID_CHANGE, types.DidChangeTextDocumentParams(name, [whole]))
        self._documents.move_to_end(uri)
        if saved:
            self._saved(uri, text)
        return document

    def changed(self, path: str, *, made: bool) -> None:
        """Tell the server of a file that was changed or made on the disk."""
        kind = types.FileChangeType.Created if made else types.FileChangeType.Changed
        events = [types.FileEvent(PurePosixPath(path).as_uri(), kind)]
        params = types.DidChangeWatchedFilesParams(events)
        self._client.notify(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, params)

    def knows(self, path: str) -> bool:
        """Return whether the server has been told what is in the file."""
        return PurePosixPath(path).as_uri() in self._documents

    async def ask(self, method: str, params: Any, seconds: float) -> Any:
        """Return the server's answer; raise as Client.request."""
        return await self._client.request(method, params, seconds)

    def published(self, params: types.PublishDiagnosticsParams) -> None:
        """Take what the server publishes; what belongs to an older text is dropped."""
        document = self._documents.get(params.uri)
        if document is None or (params.version is not None and params.version < document.version):
            return
        document.problems = _problems(params.diagnostics, document.text, self.server.name)
        document.fresh, document.exact = True, params.version is not None
        self._heard.set()

    async def _await_push(self, document: _Document, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not document.fresh:
                    self._heard.clear()
                    await self._heard.wait()
        except TimeoutError as error:
            raise ServerError("LSP_SILENT", f"no diagnostics within {seconds:g} s") from error
        if not document.exact:
            await asyncio.sleep(_SETTLE_SECONDS)

    async def _pull(self, path: str, seconds: float) -> Sequence[types.Diagnostic]:
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(PurePosixPath(path).as_uri()))
        for last in (*(False for _ in range(_AGAIN)), True):
            try:
                report = await self.ask(types.TEXT_DOCUMENT_DIAGNOSTIC, params, seconds)
            except ServerError as error:
                if error.code != "LSP_REFUSED" or last:
                    raise  # one that is busy with a change refuses and wants to be asked again
                await asyncio.sleep(_SETTLE_SECONDS)
            else:
                return getattr(report, "items", None) or ()
        return ()

    def _saved(self, uri: str, text: str) -> None:
        wanted = getattr(self.can.text_document_sync, "save", None)
        if not wanted:
            return
        whole = text if getattr(wanted, "include_text", None) else None
        params = types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri), whole)
        self._client.notify(types.TEXT_DOCUMENT_DID_SAVE, params)

    def _close_oldest(self) -> None:
        while len(self._documents) > MOST_DOCUMENTS:
            uri, _ = self._documents.popitem(last=False)
            name = types.TextDocumentIdentifier(uri)
            self._client.notify(types.TEXT_DOCUMENT_DID_CLOSE, types.DidCloseTextDocumentParams(name))


def _problems(items: Sequence[types.Diagnostic], text: str, name: str) -> tuple[Problem, ...]:
    lines = lines_of(text)
    return tuple(_problem(item, lines, name) for item in items[:MOST_KEPT])


def _problem(item: types.Diagnostic, lines: Sequence[str], name: str) -> Problem:
    start = item.range.start
    line = lines[start.line] if start.line < len(lines) else ""
    severity = SEVERITIES[item.severity.value - 1] if item.severity is not None else "error"
    code = "" if item.code is None else str(item.code)
    return Problem(
        start.line + 1, to_character(line, start.character), severity, item.message, item.source or name, code
    )
