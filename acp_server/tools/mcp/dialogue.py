"""Requests to one server and their answers, over whatever carries them (docs/mcp.md, clauses D-1 to D-6).

Owns ids, time limits, cancellation and progress. A request has one future, which the answer, the token, silence and
the loss of the server all settle: the first one wins.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from acp_server.base.cancel import BY_DISPOSAL, Cancelled, CancelToken
from acp_server.base.errors import ServerError
from acp_server.jsonrpc.envelope import ABSENT, Answer, Call, Ignored, Refused
from acp_server.llm.trace_context import current

METHOD_NOT_FOUND: Final = -32601
MOST_WAITING: Final = 64
"""Messages of a server's own that may wait to be answered."""


class McpError(ServerError):
    """A server did not do its part: MCP_GONE, MCP_SILENT, MCP_REFUSED (it answered with an error), MCP_MALFORMED."""


class Channel(Protocol):
    """What carries messages to one server; those that come from it are given to `Dialogue.take`."""

    async def send(self, message: Mapping[str, Any], cancel: CancelToken) -> None:
        """Send one message; return when it is on its way, or when all of its answer has come.

        Raises:
            McpError: MCP_GONE, MCP_MALFORMED.
            Cancelled: the token was cancelled first.
        """
        ...


@dataclass(slots=True)
class _Waiting:
    answer: asyncio.Future[Any]
    seconds: float
    progress: Callable[[str], None] | None
    timer: asyncio.TimerHandle | None = None


class Dialogue:
    """The requests that wait for one server's answers.

    `roots` are the directories that the server is told of when it asks; `changed` is called when the server says that
    its tools have changed.
    """

    def __init__(self, channel: Channel, roots: tuple[str, ...], changed: Callable[[], None]) -> None:
        self._channel = channel
        self._roots = roots
        self._changed = changed
        self._ids = itertools.count(1)
        self._waiting: dict[int, _Waiting] = {}
        self._sending: set[asyncio.Task[None]] = set()
        self._over = CancelToken()

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        seconds: float,
        cancel: CancelToken | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Mapping[str, Any]:
        """Return the result. `seconds` is how long the server may be silent about it: progress begins the time anew.

        Raises:
            McpError: MCP_SILENT, MCP_REFUSED with the server's words, MCP_GONE, MCP_MALFORMED.
            Cancelled: the token was cancelled first; the server is told.
        """
        loop = asyncio.get_running_loop()
        ident = next(self._ids)
        waiting = self._waiting[ident] = _Waiting(loop.create_future(), seconds, progress)
        meta = {**current.get(), **({} if progress is None else {"progressToken": ident})}
        if meta:
            params = {**params, "_meta": meta}
        sent = CancelToken()
        unsubscribe = self._heed(cancel, waiting.answer)
        self._begin_silence(waiting)
        message = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
        self._post(message, sent, waiting.answer)
        try:
            result = await waiting.answer
        except BaseException:
            if method != "initialize" and not self._over.cancelled:
                self.notify("notifications/cancelled", {"requestId": ident, "reason": "the caller waits no longer"})
            sent.cancel(BY_DISPOSAL)
            raise
        finally:
            unsubscribe()
            self._forget(ident)
        if not isinstance(result, Mapping):
            raise McpError("MCP_MALFORMED", f"its answer to {method} is no object")
        return result

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification; what becomes of it is not waited for."""
        self._post({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}, self._over)

    def take(self, message: Call | Answer | Refused | Ignored) -> None:
        """Take a message of the server."""
        match message:
            case Answer():
                self._answered(message)
            case Call(id=ident) if ident is ABSENT:
                self._told(message.method, message.params)
            case Call():
                self._asked(message)
            case _:
                return

    def lost(self, why: str) -> None:
        """End all requests: the server is gone."""
        self._over.cancel(BY_DISPOSAL)
        for waiting in tuple(self._waiting.values()):
            _fail(waiting.answer, McpError("MCP_GONE", why))

    async def close(self) -> None:
        """End all requests and whatever is still being sent."""
        self.lost("it was closed")
        for task in tuple(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    def _heed(self, cancel: CancelToken | None, answer: asyncio.Future[Any]) -> Callable[[], None]:
        if cancel is None:
            return lambda: None

        def heard() -> None:
            if cancel.cause is not None:
                _fail(answer, Cancelled(cancel.cause))

        return cancel.subscribe(heard)

    def _post(self, message: Mapping[str, Any], cancel: CancelToken, answer: asyncio.Future[Any] | None = None) -> None:
        """Send in the background; a request whose sending fails has failed."""

        async def post() -> None:
            try:
                await self._channel.send(message, cancel)
            except Cancelled:
                return
            except ServerError as error:
                if answer is not None:
                    _fail(answer, error)

        task = asyncio.get_running_loop().create_task(post())
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def _begin_silence(self, waiting: _Waiting) -> None:
        if waiting.timer is not None:
            waiting.timer.cancel()
        error = McpError("MCP_SILENT", f"it said nothing for {waiting.seconds:g} s")
        waiting.timer = asyncio.get_running_loop().call_later(waiting.seconds, _fail, waiting.answer, error)

    def _forget(self, ident: int) -> None:
        waiting = self._waiting.pop(ident, None)
        if waiting is not None and waiting.timer is not None:
            waiting.timer.cancel()

    def _answered(self, message: Answer) -> None:
        waiting = self._waiting.get(message.id) if isinstance(message.id, int) else None
        if waiting is None or waiting.answer.done():
            return
        if message.error is None:
            waiting.answer.set_result(message.result)
        else:
            words = message.error.get("message")
            _fail(waiting.answer, McpError("MCP_REFUSED", str(words)[:2000] if words else "it gave no reason"))

    def _told(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "notifications/tools/list_changed":
            self._changed()
        elif method == "notifications/progress":
            token = params.get("progressToken")
            waiting = self._waiting.get(token) if isinstance(token, int) and not isinstance(token, bool) else None
            if waiting is not None and waiting.progress is not None:
                self._begin_silence(waiting)
                with suppress(ServerError):
                    waiting.progress(progress_text(params))

    def _asked(self, call: Call) -> None:
        if len(self._sending) >= MOST_WAITING:
            return
        body: dict[str, Any]
        if call.method == "ping":
            body = {"result": {}}
        elif call.method == "roots/list":
            body = {"result": {"roots": [{"uri": root} for root in self._roots]}}
        else:
            body = {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
        self._post({"jsonrpc": "2.0", "id": call.id, **body}, self._over)


def progress_text(params: Mapping[str, Any]) -> str:
    """Return one line that tells how far a call is."""
    done, total, words = params.get("progress"), params.get("total"), params.get("message")
    parts = [f"{done:g}" if isinstance(done, int | float) else "", f"of {total:g}" if _is_number(total) else ""]
    told = " ".join(part for part in parts if part)
    return ": ".join(part for part in (told, words[:1000] if isinstance(words, str) else "") if part)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _fail(answer: asyncio.Future[Any], error: BaseException) -> None:
    if not answer.done():
        answer.set_exception(error)
