"""The client's files and terminals over `fs/*` and `terminal/*` (docs/protocol.md, clauses F-01 to TM-09).

Owns their words on the wire, the limits of time, and how far a client is trusted: it may refuse, lie, answer nonsense
or never answer, and none of that holds a tool up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final

from acp_server.acp.offered import Offered
from acp_server.acp.questions import Questions
from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.jsonrpc.errors import METHOD_NOT_FOUND, RemoteError, RequestTimeout
from acp_server.jsonrpc.peer import Peer
from acp_server.tools.client_side import (
    ClientFailedError,
    Inquiry,
    Reply,
    Terminal,
    TerminalCommand,
    TerminalExit,
    TerminalOutput,
)

READ_SECONDS: Final = 10.0
"""How long a client may take to give a text."""
IMPATIENT_SECONDS: Final = 0.5
"""How long it may take once it let that time pass, until it answers again."""
WRITE_SECONDS: Final = 30.0
"""How long it may take to write one: formatters run before."""
CREATE_SECONDS: Final = 10.0


class AcpClient:
    """See ClientSide: one session of one client.

    `spelled` gives a canonical path as the client named the session's directory, so that it finds its own buffers.
    `show` puts a terminal into the card of a call; `wire_id` gives the id under which the client knows one.
    """

    def __init__(
        self,
        peer: Peer,
        session_id: str,
        offered: Callable[[], Offered],
        *,
        spelled: Callable[[str], str],
        show: Callable[[str, str], None],
        wire_id: Callable[[str], str],
    ) -> None:
        self._peer = peer
        self._session_id = session_id
        self._offered = offered
        self._spelled = spelled
        self._show = show
        self._questions = Questions(peer, session_id, offered, wire_id)
        self._patience = READ_SECONDS
        self._lacking: set[str] = set()
        """Methods that were offered and answered with "method not found"."""
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def reads(self) -> bool:
        """See ClientSide."""
        return self._offered().reads and "fs/read_text_file" not in self._lacking

    @property
    def writes(self) -> bool:
        """See ClientSide."""
        return self._offered().writes and "fs/write_text_file" not in self._lacking

    @property
    def terminals(self) -> bool:
        """See ClientSide."""
        return self._offered().terminals and "terminal/create" not in self._lacking

    async def read_text(self, path: str, cancel: CancelToken) -> str | None:
        """See ClientSide. No `line` and no `limit` are sent: what is unsaved shows in the whole text alone."""
        if not self.reads:
            return None
        try:
            result = await self._ask("fs/read_text_file", {"path": self._spelled(path)}, self._patience, cancel)
        except RequestTimeout:
            self._patience = IMPATIENT_SECONDS
            return None
        except ServerError:
            return None
        self._patience = READ_SECONDS
        content = result.get("content")
        return content if isinstance(content, str) else None

    async def write_text(self, path: str, text: str, cancel: CancelToken) -> None:
        """See ClientSide; a result that is a text is how some clients say that it failed (clause F-05)."""
        params = {"path": self._spelled(path), "content": text}
        try:
            await self._ask("fs/write_text_file", params, WRITE_SECONDS, cancel)
        except ServerError as error:
            raise ClientFailedError(error.message) from error

    async def open_terminal(self, command: TerminalCommand, call_id: str, cancel: CancelToken) -> Terminal:
        """See ClientSide."""
        params: dict[str, JsonValue] = {
            "command": command.program,
            "args": list(command.arguments),
            "cwd": self._spelled(command.cwd),
            "env": [{"name": name, "value": text} for name, text in command.environment],
            "outputByteLimit": command.most_bytes,
        }
        creating = asyncio.ensure_future(self._ask("terminal/create", params, None, None))
        stop = asyncio.Event()
        stopping = asyncio.ensure_future(stop.wait())
        unsubscribe = cancel.subscribe(stop.set)
        taken = False
        try:
            await asyncio.wait({creating, stopping}, timeout=CREATE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            taken = creating.done() and not cancel.cancelled
        finally:
            unsubscribe()
            stopping.cancel()
            if not taken:  # its id comes later, or never; a terminal that nobody waits for is given back
                creating.add_done_callback(self._discard)
        cancel.raise_if_cancelled()
        if not taken:
            raise ClientFailedError(f"The client did not answer terminal/create within {CREATE_SECONDS:g} s.")
        terminal = self._terminal(_result_of(creating))
        self._show(call_id, terminal.id)
        return terminal

    async def ask(self, inquiry: Inquiry, call_id: str, cancel: CancelToken) -> Reply:
        """See ClientSide."""
        return await self._questions.ask(inquiry, call_id, cancel)

    def _terminal(self, result: Mapping[str, Any]) -> AcpTerminal:
        ident = result.get("terminalId")
        if not isinstance(ident, str):
            raise ClientFailedError("The client opened a terminal without an id.")
        return AcpTerminal(self, ident)

    def _discard(self, creating: asyncio.Future[dict[str, Any]]) -> None:
        with suppress(ServerError):
            terminal = self._terminal(_result_of(creating))
            terminal.kill()
            terminal.release()

    async def _ask(
        self, method: str, params: JsonObject, seconds: float | None, cancel: CancelToken | None
    ) -> dict[str, Any]:
        try:
            whole = {"sessionId": self._session_id, **params}
            return await self._peer.request(method, whole, timeout=seconds, cancel=cancel)
        except RemoteError as error:
            if error.rpc_code == METHOD_NOT_FOUND:
                self._lacking.add(method)
            raise

    def tell(self, method: str, params: JsonObject, seconds: float) -> None:
        """Send a request whose answer changes nothing."""
        task = asyncio.ensure_future(_quietly(self._ask(method, params, seconds, None)))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def ask_terminal(
        self, name: str, ident: str, seconds: float, cancel: CancelToken | None = None
    ) -> dict[str, Any]:
        """Return the answer to `terminal/<name>` for one terminal; raise as Peer.request does."""
        return await self._ask(f"terminal/{name}", {"terminalId": ident}, seconds, cancel)


class AcpTerminal:
    """See Terminal."""

    def __init__(self, client: AcpClient, ident: str) -> None:
        self._client = client
        self.id: Final = ident

    async def wait(self, seconds: float, cancel: CancelToken) -> TerminalExit | None:
        """See Terminal."""
        try:
            return _exit(await self._client.ask_terminal("wait_for_exit", self.id, seconds, cancel))
        except RequestTimeout:
            return None
        except ServerError as error:
            raise ClientFailedError(error.message) from error

    async def output(self, seconds: float) -> TerminalOutput | None:
        """See Terminal."""
        await asyncio.sleep(0)  # what was told before goes out first
        try:
            result = await self._client.ask_terminal("output", self.id, seconds)
        except ServerError:
            return None
        text, status = result.get("output"), result.get("exitStatus")
        if not isinstance(text, str):
            return None
        ended = _exit(status) if isinstance(status, Mapping) else None
        return TerminalOutput(text, result.get("truncated") is True, ended)

    def kill(self) -> None:
        """See Terminal; some clients cannot (clause TM-06)."""
        self._client.tell("terminal/kill", {"terminalId": self.id}, CREATE_SECONDS)

    def release(self) -> None:
        """See Terminal."""
        self._client.tell("terminal/release", {"terminalId": self.id}, CREATE_SECONDS)


def _exit(status: Mapping[str, Any]) -> TerminalExit:
    code, signal = status.get("exitCode"), status.get("signal")
    return TerminalExit(code if type(code) is int else None, signal if isinstance(signal, str) else None)


def _result_of(creating: asyncio.Future[dict[str, Any]]) -> dict[str, Any]:
    if creating.cancelled():
        raise ClientFailedError("The terminal was not opened.")
    error = creating.exception()
    if error is not None:
        message = error.message if isinstance(error, ServerError) else "It failed."
        raise ClientFailedError(message) from error
    return creating.result()


async def _quietly(asking: Coroutine[Any, Any, object]) -> None:
    with suppress(ServerError):
        await asking
