"""The language server protocol as we speak it, through pygls: requests with time limits, and what a server may ask.

Owns the only import of pygls and lsprotocol, which takes half a second: it is loaded in a thread by who has a server.
Reading and writing are ours: pygls reads without bounds, takes any nested object with a `jsonrpc` in it for a message,
and never resolves the request whose answer it cannot read.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from pathlib import PurePosixPath
from typing import Any, Final, Optional, Union

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient
from pygls.protocol import default_converter

from acp_server import __version__
from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject
from acp_server.lsp.framing import BodySplitter, framed
from acp_server.lsp.problems import MOST_KEPT
from acp_server.lsp.servers import LanguageServer

_MOST_RESULTS: Final = 2000
"""Entries of one answer that are looked at."""
_MOST_OPEN: Final = 200
"""Requests that may wait for an answer at once."""
_REFUSAL: Final = 200
_REFRESHES: Final = (
    "workspace/diagnostic/refresh",
    "workspace/semanticTokens/refresh",
    "workspace/inlayHint/refresh",
    "workspace/codeLens/refresh",
    "workspace/inlineValue/refresh",
    "workspace/foldingRange/refresh",
)
_NOTHING_TO_SAY: Final = (
    *_REFRESHES,
    "client/registerCapability",
    "client/unregisterCapability",
    "window/workDoneProgress/create",
    "window/showMessageRequest",
)

Published = Callable[[types.PublishDiagnosticsParams], None]


class Client:
    """One dialogue. `send` takes bytes for the server, `published` gets what it publishes."""

    def __init__(
        self,
        server: LanguageServer,
        workspace: str,
        send: Callable[[bytes], None],
        published: Published,
        broken: Callable[[str], None],
    ) -> None:
        _be_quiet()
        self._server = server
        self._root = PurePosixPath(workspace).as_uri()
        self._broken = broken
        self._splitter = BodySplitter()
        self._ids = count(1)
        self._open: dict[str, Future[Any]] = {}
        self._why_lost: str | None = None
        self._pygls = LanguageClient("acp-server", __version__, converter_factory=_converter)
        self._pygls.protocol.set_writer(_Writer(send), include_headers=False)
        self._serve(published)

    async def initialize(self, seconds: float) -> types.ServerCapabilities:
        """Shake hands and return what the server can do; raise as `request`."""
        folder = types.WorkspaceFolder(self._root, PurePosixPath(self._root).name)
        params = types.InitializeParams(
            capabilities=_capabilities(),
            client_info=types.ClientInfo("acp-server", __version__),
            root_uri=self._root,
            workspace_folders=[folder],
            initialization_options=_plain(self._server.options) or None,
        )
        result = await self.request(types.INITIALIZE, params, seconds)
        self.notify(types.INITIALIZED, types.InitializedParams())
        settings = _plain(self._server.settings)
        if settings:
            params_changed = types.DidChangeConfigurationParams(settings)
            self.notify(types.WORKSPACE_DID_CHANGE_CONFIGURATION, params_changed)
        capabilities: types.ServerCapabilities = result.capabilities
        return capabilities

    def notify(self, method: str, params: Any) -> None:
        """Send a notification; one that cannot be sent is dropped, since the server is gone then."""
        with suppress(OSError, RuntimeError):
            self._pygls.protocol.notify(method, params)

    async def request(self, method: str, params: Any, seconds: float) -> Any:
        """Return the server's answer.

        Raises:
            ServerError: LSP_SILENT after so many seconds, LSP_GONE, LSP_REFUSED with the server's words.
        """
        if self._why_lost is not None:
            raise ServerError("LSP_GONE", self._why_lost)
        if len(self._open) >= _MOST_OPEN:
            raise ServerError("LSP_SILENT", "it answers nothing")
        ident = str(next(self._ids))
        self._open[ident] = future = self._pygls.protocol.send_request(method, params, msg_id=ident)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
        except TimeoutError as error:
            self.notify(types.CANCEL_REQUEST, types.CancelParams(ident))
            raise ServerError("LSP_SILENT", f"no answer within {seconds:g} s") from error
        except JsonRpcException as error:
            raise ServerError("LSP_REFUSED", str(error.message)[:_REFUSAL]) from error
        finally:
            self._open.pop(ident, None)

    def take(self, data: bytes) -> None:
        """Take what the server wrote; what is no message ends the dialogue."""
        if self._why_lost is not None:
            return
        try:
            for body in self._splitter.feed(data):
                self._message(json.loads(body))
        except ServerError as error:
            self._fail(error.message)
        except (ValueError, RecursionError):
            self._fail("it writes what is no message")

    def lost(self, why: str) -> None:
        """End the dialogue: whatever waits fails with the reason."""
        if self._why_lost is None:
            self._why_lost = why
        for future in tuple(self._open.values()):
            with suppress(Exception):
                future.set_exception(ServerError("LSP_GONE", self._why_lost))

    def _fail(self, why: str) -> None:
        self.lost(why)
        self._broken(why)

    def _message(self, message: Any) -> None:
        """Handle one message; of notifications only diagnostics are of use to us."""
        if not isinstance(message, dict):
            raise ServerError("LSP_GARBAGE", "it writes what is no message")
        if "method" in message and "id" not in message and message["method"] != types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS:
            return
        _shorten(message)
        try:
            self._pygls.protocol.handle_message(self._pygls.protocol.structure_message(message))
        except Exception as error:  # noqa: BLE001 - whatever pygls makes of an answer, its request has to end
            future = self._open.get(str(message.get("id"))) if "method" not in message else None
            if future is not None and not future.done():
                refused = ServerError("LSP_REFUSED", "its answer cannot be read")
                refused.__cause__ = error
                future.set_exception(refused)

    def _serve(self, published: Published) -> None:
        def configuration(params: types.ConfigurationParams) -> list[Any]:
            return [_section(self._server.settings, item.section) for item in params.items]

        def folders(_params: Any) -> list[types.WorkspaceFolder]:
            return [types.WorkspaceFolder(self._root, PurePosixPath(self._root).name)]

        def apply(_params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            return types.ApplyWorkspaceEditResult(applied=False, failure_reason="edits are made by tools")

        def nothing(_params: Any) -> None:
            return None

        feature = self._pygls.feature
        feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(published)
        feature(types.WORKSPACE_CONFIGURATION)(configuration)
        feature(types.WORKSPACE_WORKSPACE_FOLDERS)(folders)
        feature(types.WORKSPACE_APPLY_EDIT)(apply)
        for method in _NOTHING_TO_SAY:
            feature(method)(nothing)


class _Writer:
    """What pygls writes to, one whole message at a time; the header is ours, since its own counts characters."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send

    def write(self, data: bytes) -> None:
        self._send(framed(data))

    def close(self) -> None:
        return


def _be_quiet() -> None:
    """Keep pygls from writing messages and tracebacks to stderr, which nobody asked for."""
    log = logging.getLogger("pygls")
    log.propagate = False
    if not log.handlers:
        log.addHandler(logging.NullHandler())


def _converter() -> Any:
    """Return a converter that reads a notebookSelector of cells alone, which that of lsprotocol does not."""
    made: Callable[[], Any] = default_converter
    converter = made()
    filters = (
        types.NotebookDocumentFilterNotebookType,
        types.NotebookDocumentFilterScheme,
        types.NotebookDocumentFilterPattern,
    )
    converter.register_structure_hook(Optional[Union[str, *filters]], lambda given, _kind: given)  # noqa: UP045 - the key that lsprotocol uses
    return converter


def _capabilities() -> types.ClientCapabilities:
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf16]),
        workspace=types.WorkspaceClientCapabilities(configuration=True, workspace_folders=True),
        text_document=types.TextDocumentClientCapabilities(
            synchronization=types.TextDocumentSyncClientCapabilities(did_save=True),
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(version_support=True),
            diagnostic=types.DiagnosticClientCapabilities(),
            definition=types.DefinitionClientCapabilities(link_support=True),
            references=types.ReferenceClientCapabilities(),
            hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.PlainText, types.MarkupKind.Markdown]),
            document_symbol=types.DocumentSymbolClientCapabilities(hierarchical_document_symbol_support=True),
        ),
    )


def _shorten(message: dict[str, Any]) -> None:
    """Cut long lists before they become objects, which costs some hundred times what reading them costs."""
    params, result = message.get("params"), message.get("result")
    if isinstance(params, dict) and isinstance(params.get("diagnostics"), list):
        del params["diagnostics"][MOST_KEPT:]
    if isinstance(result, dict) and isinstance(result.get("items"), list):
        del result["items"][MOST_KEPT:]
    if isinstance(result, list):
        del result[_MOST_RESULTS:]
    if message.get("error") is None:
        message.pop("error", None)


def _section(settings: JsonObject, section: str | None) -> Any:
    """Return the settings of a section such as `python.analysis`; an empty object where there are none."""
    found: Any = settings
    for key in section.split(".") if section else ():
        found = found.get(key) if isinstance(found, dict) else None
    return _plain(found) if isinstance(found, dict) else ({} if found is None else found)


def _plain(settings: Any) -> Any:
    return json.loads(json.dumps(dict(settings)))
