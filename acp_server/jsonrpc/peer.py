"""One side of a JSON-RPC connection: serves the client's calls and makes calls of its own.

Owns the rules of answering: exactly one response a request, none to a notification, results that are objects, no text
of an exception on the wire. Knows no method but `$/cancel_request`, and no descriptor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from acp_server.base.cancel import BY_DISPOSAL, BY_USER, CancelCause, Cancelled, CancelToken
from acp_server.base.json_value import JsonObject
from acp_server.jsonrpc.encoding import error_bytes, notification_bytes, response_bytes
from acp_server.jsonrpc.envelope import Absent, Answer, Call, Ignored, Refused
from acp_server.jsonrpc.errors import (
    RpcError,
    internal_error,
    invalid_request,
    method_not_found,
    request_cancelled,
)
from acp_server.jsonrpc.inbound import PENDING, Inbound, OpenCalls, Pending, Result, Route, Routes
from acp_server.jsonrpc.outbound import CANCEL_REQUEST, OutboundCalls
from acp_server.jsonrpc.outbox import Outbox

Log: TypeAlias = Callable[[str, BaseException | None], None]
Gate: TypeAlias = Callable[[str], RpcError | None]

__all__ = ["CANCEL_REQUEST", "PENDING", "Gate", "Inbound", "Log", "Peer", "Pending", "Result", "Route", "Routes"]


def _open_gate(_method: str) -> RpcError | None:
    return None


class Peer:
    """Serves calls by `routes` and writes everything to `outbox`.

    `gate` is asked before each call: what it returns refuses a request and drops a notification. `log` is told what no
    answer may say, with the exception where there is one.
    """

    def __init__(self, routes: Routes, outbox: Outbox, log: Log, *, gate: Gate = _open_gate) -> None:
        self.outbox = outbox
        self._routes = routes
        self._log = log
        self._gate = gate
        self._calls = OpenCalls()
        self._requests = OutboundCalls(outbox)
        self._tasks: set[asyncio.Task[None]] = set()
        self._pending: dict[Inbound, asyncio.Future[None]] = {}
        self._closing = False

    @property
    def open_calls(self) -> int:
        """Return how many calls of the client are being served."""
        return len(self._calls)

    def receive(self, message: Call | Answer | Refused | Ignored) -> None:
        """Take the next message of the client; returns when its route's synchronous part has run. Never raises."""
        if isinstance(message, Call):
            self._receive_call(message)
        elif isinstance(message, Answer):
            if not self._requests.settle(message):
                self._log(f"an answer to no open request (id {message.id!r:.80})", None)
        elif isinstance(message, Refused):
            self.outbox.put(error_bytes(message.id, message.error))
        else:
            self._log(f"passed over: {message.reason}", None)

    async def request(
        self,
        method: str,
        params: JsonObject,
        *,
        cancel: CancelToken | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - its end tells the client, which asyncio.timeout cannot
        cascade: bool = True,
    ) -> dict[str, Any]:
        """Ask the client and return its result, `{}` for null.

        When the wait ends before the answer, the client is told once by `$/cancel_request`, unless `cascade` is False;
        a later answer is dropped. `timeout` is in seconds.

        Raises:
            RemoteError: the client answered with an error, or with a result that is no object.
            Cancelled: `cancel` was cancelled.
            RequestTimeout: no answer in time.
            ConnectionClosed: the connection ended.
        """
        return await self._requests.request(method, params, cancel=cancel, timeout=timeout, cascade=cascade)

    def notify(self, method: str, params: JsonObject) -> None:
        """Queue a notification."""
        self.outbox.put(notification_bytes(method, params))

    async def quiet(self) -> None:
        """Return when no call is being served but the one, if any, in whose task this is awaited."""
        while busy := self._busy():
            await asyncio.wait(busy)

    async def close(self, grace: float = 0.3) -> bool:
        """Cancel every open call and wait for its end; return whether all ended.

        Tokens are cancelled first; what is still there after `grace` seconds is answered as cancelled, tasks by being
        cancelled as tasks, which gives them `grace` once more. Our own open requests end with ConnectionClosed. Calls
        that arrive later are refused.
        """
        self._closing = True
        for inbound in self._calls.all():
            self._cancel(inbound, BY_DISPOSAL)
        self._requests.close()
        if not await self._wait(grace):
            for inbound in tuple(self._pending):
                self._fail(inbound, Cancelled(BY_DISPOSAL))
            for task in self._tasks - {asyncio.current_task()}:
                task.cancel()
        if await self._wait(grace):
            return True
        self._log(f"{len(self._tasks)} calls did not end when the connection closed", None)
        return False

    async def _wait(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.quiet()
        except TimeoutError:
            return False
        return True

    def _busy(self) -> set[asyncio.Future[None]]:
        return {*self._tasks, *self._pending.values()} - {asyncio.current_task()}

    def _receive_call(self, call: Call) -> None:
        if call.method == CANCEL_REQUEST and isinstance(call.id, Absent):
            for inbound in self._calls.with_id(call.params.get("requestId")):
                self._cancel(inbound, BY_USER)
            return
        refusal = invalid_request("The connection is closing.") if self._closing else self._gate(call.method)
        route = self._routes.get(call.method)
        if refusal is None and route is not None:
            self._serve(Inbound(call, self._succeed, self._fail), route)
        elif not isinstance(call.id, Absent):
            self.outbox.put(error_bytes(call.id, refusal or method_not_found(call.method)))

    def _serve(self, inbound: Inbound, route: Route) -> None:
        self._calls.add(inbound)
        try:
            outcome = route.call(inbound.params, inbound)
        except Exception as error:  # noqa: BLE001 - whatever a route raises is answered and logged
            self._fail(inbound, error)
            return
        if outcome is None or type(outcome) is dict:
            self._succeed(inbound, outcome)
        elif isinstance(outcome, Pending):
            if not inbound.answered:
                self._pending[inbound] = asyncio.get_running_loop().create_future()
        elif isinstance(outcome, Awaitable):
            task = asyncio.create_task(self._await(inbound, outcome))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._succeed(inbound, outcome)

    async def _await(self, inbound: Inbound, outcome: Awaitable[Result | Pending]) -> None:
        try:
            result = await outcome
        except asyncio.CancelledError as error:
            self._fail(inbound, error)
            raise
        except Exception as error:  # noqa: BLE001 - whatever a route raises is answered and logged
            self._fail(inbound, error)
        else:
            if not isinstance(result, Pending):
                self._succeed(inbound, result)

    def _succeed(self, inbound: Inbound, result: Result) -> None:
        if isinstance(inbound.id, Absent):
            self._end(inbound, None)
            return
        try:
            if result is not None and not isinstance(result, Mapping):
                raise TypeError(f"a route returned a {type(result).__name__}")  # noqa: TRY301 - one way to fail
            frame = response_bytes(inbound.id, {} if result is None else result)
        except Exception as error:  # noqa: BLE001 - a result that cannot be written is a failure of the call
            self._fail(inbound, error)
        else:
            self._end(inbound, frame)

    def _fail(self, inbound: Inbound, error: BaseException) -> None:
        answer = self._answer_to(inbound, error)
        if isinstance(inbound.id, Absent):
            self._end(inbound, None)
            return
        try:
            frame = error_bytes(inbound.id, answer)
        except Exception as broken:  # noqa: BLE001 - data that cannot be written must not lose the answer
            self._log(f"the error data of {inbound.method!r:.80} cannot be written", broken)
            frame = error_bytes(inbound.id, RpcError(answer.rpc_code, answer.message))
        self._end(inbound, frame)

    def _answer_to(self, inbound: Inbound, error: BaseException) -> RpcError:
        if isinstance(error, RpcError):
            return error
        if isinstance(error, Cancelled | asyncio.CancelledError):
            return request_cancelled()
        self._log(f"{inbound.method!r:.80} failed", error)
        return internal_error()

    def _end(self, inbound: Inbound, frame: bytes | None) -> None:
        if inbound.answered:
            self._log(f"{inbound.method!r:.80} was answered twice", None)
            return
        self._calls.remove(inbound)
        if inbound in self._pending:
            self._pending.pop(inbound).set_result(None)
        if frame is not None:
            self.outbox.put(frame)
        for callback in inbound.end():
            try:
                callback()
            except Exception as error:  # noqa: BLE001 - one follower's failure does not stop the others
                self._log(f"what follows {inbound.method!r:.80} failed", error)

    def _cancel(self, inbound: Inbound, cause: CancelCause) -> None:
        try:
            inbound.cancel.cancel(cause)
        except Exception as error:  # noqa: BLE001 - an observer's failure is contained
            self._log(f"cancelling {inbound.method!r:.80} failed", error)
