"""Our requests to the client that wait for an answer.

Owns our ids (integers from 0, in a table of their own: the client counts its own from 0 too) and the four ways a wait
ends: an answer, cancellation, the deadline, the end of the connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from acp_server.base.cancel import Cancelled, CancelToken
from acp_server.base.json_value import JsonObject
from acp_server.jsonrpc.encoding import notification_bytes, request_bytes
from acp_server.jsonrpc.envelope import Answer
from acp_server.jsonrpc.errors import INTERNAL_ERROR, ConnectionClosed, RemoteError, RequestTimeout
from acp_server.jsonrpc.outbox import Outbox

CANCEL_REQUEST = "$/cancel_request"


class OutboundCalls:
    """The table of our own requests on one connection."""

    __slots__ = ("_closed", "_next", "_outbox", "_waiting")

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._next = 0
        self._closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    async def request(
        self,
        method: str,
        params: JsonObject,
        *,
        cancel: CancelToken | None,
        timeout: float | None,  # noqa: ASYNC109 - its end tells the client, which asyncio.timeout cannot
        cascade: bool,
    ) -> dict[str, Any]:
        """Return the result; see Peer.request."""
        if self._closed:
            raise ConnectionClosed
        if cancel is not None:
            cancel.raise_if_cancelled()
        number, future = self._open(request_bytes(self._next, method, params))
        give_up = _Abandon(self, number, cascade)
        undo: list[Callable[[], None]] = []
        if timeout is not None:
            late = RequestTimeout(method, timeout)
            undo.append(asyncio.get_running_loop().call_later(timeout, give_up, late).cancel)
        if cancel is not None:
            undo.append(cancel.subscribe(lambda: give_up(_cancelled(cancel))))
        try:
            return await future
        except asyncio.CancelledError:
            give_up(None)
            raise
        finally:
            for step in undo:
                step()

    def settle(self, answer: Answer) -> bool:
        """Hand an answer to who waits for it; return False when nobody does."""
        future = self._waiting.pop(answer.id, None) if type(answer.id) is int else None
        if future is None or future.done():
            return False
        if answer.error is not None:
            future.set_exception(_remote_error(answer.error))
        elif answer.result is None or isinstance(answer.result, dict):
            future.set_result(answer.result or {})
        else:
            future.set_exception(RemoteError(INTERNAL_ERROR, "The client's result is no object."))
        return True

    def close(self) -> None:
        """End every wait with ConnectionClosed and refuse further requests."""
        self._closed = True
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(ConnectionClosed())

    def abandon(self, number: int, error: Exception | None, cascade: bool) -> None:
        """End one wait that is not answered, and tell the client once."""
        future = self._waiting.pop(number, None)
        if future is None:
            return
        if cascade:
            self._outbox.put(notification_bytes(CANCEL_REQUEST, {"requestId": number}))
        if error is not None and not future.done():
            future.set_exception(error)

    def _open(self, frame: bytes) -> tuple[int, asyncio.Future[dict[str, Any]]]:
        number = self._next
        self._next += 1
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        future.add_done_callback(_seen)
        self._waiting[number] = future
        self._outbox.put(frame)
        return number, future


class _Abandon:
    """Gives one request up; the first reason wins, since the table forgets the request with it."""

    __slots__ = ("_calls", "_cascade", "_number")

    def __init__(self, calls: OutboundCalls, number: int, cascade: bool) -> None:
        self._calls = calls
        self._number = number
        self._cascade = cascade

    def __call__(self, error: Exception | None) -> None:
        self._calls.abandon(self._number, error, self._cascade)


def _cancelled(cancel: CancelToken) -> Cancelled:
    assert cancel.cause is not None  # noqa: S101 - a token that calls back has a cause
    return Cancelled(cancel.cause)


def _remote_error(error: dict[str, Any]) -> RemoteError:
    code, message = error.get("code"), error.get("message")
    return RemoteError(
        code if type(code) is int else INTERNAL_ERROR,
        message if isinstance(message, str) and message else "The client reported an error.",
        error.get("data"),
    )


def _seen(future: asyncio.Future[dict[str, Any]]) -> None:
    """Mark the failure as seen: who waited may be gone by then, and that is no defect worth a warning."""
    if not future.cancelled():
        future.exception()
