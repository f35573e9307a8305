"""Serving the client's calls."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from acp_server.base.cancel import CancelCause, Cancelled
from acp_server.jsonrpc.envelope import ABSENT
from acp_server.jsonrpc.errors import RpcError, invalid_request
from acp_server.jsonrpc.peer import PENDING, Inbound, Pending, Result, Route
from tests.unit.jsonrpc.rig import Rig, failed

CANCELLED = (-32800, "Request cancelled")


def echo(params: dict[str, Any], _: Inbound) -> Result:
    return {"got": params}


async def echo_later(params: dict[str, Any], _: Inbound) -> Result:
    await asyncio.sleep(0)
    return {"got": params}


async def until_cancelled(_: dict[str, Any], inbound: Inbound) -> Result:
    asked = asyncio.Event()
    inbound.cancel.subscribe(asked.set)
    await asked.wait()
    inbound.cancel.raise_if_cancelled()
    return None


def failing(error: Exception) -> Route:
    def fail(_: dict[str, Any], __: Inbound) -> Result:
        raise error

    return Route(fail)


def failing_later(error: Exception) -> Route:
    async def fail(_: dict[str, Any], __: Inbound) -> Result:
        await asyncio.sleep(0)
        raise error

    return Route(fail)


def break_down() -> None:
    raise IndexError


ROUTES = {"echo": Route(echo), "later": Route(echo_later), "wait": Route(until_cancelled)}


@pytest.mark.parametrize("ident", [0, -1, 7.5, "", "a", None, 2**53])
async def test_a_request_is_answered_with_its_id(ident: object) -> None:
    rig = Rig(ROUTES)
    rig.call("echo", {"a": 1}, id=ident)
    assert rig.written() == [{"id": ident, "result": {"got": {"a": 1}}}]
    rig.call("later", {}, id=ident)
    assert await rig.settle() == [{"id": ident, "result": {"got": {}}}]
    assert rig.peer.open_calls == 0


async def test_no_result_is_an_empty_object() -> None:
    rig = Rig({"none": Route(lambda _, __: None)})
    rig.call("none", id=1)
    assert rig.written() == [{"id": 1, "result": {}}]


@pytest.mark.parametrize("name", ["echo", "later", "fails", "fails-later", "unknown", "_ours/unknown"])
async def test_a_notification_is_never_answered(name: str) -> None:
    error = RpcError(-32000, "m")
    rig = Rig({**ROUTES, "fails": failing(error), "fails-later": failing_later(error)})
    rig.call(name)
    assert await rig.settle() == []
    assert (rig.peer.open_calls, rig.logged) == (0, [])


@pytest.mark.parametrize("method", ["totally/unknown", "_ours/unknown", "", "$/cancel_request"])
def test_an_unknown_method_is_named(method: str) -> None:
    rig = Rig(ROUTES)
    rig.call(method, id=1)
    assert rig.written() == [failed(1, -32601, "Method not found", method=method)]


@pytest.mark.parametrize("fail", [failing, failing_later])
async def test_errors_become_answers(fail: Any) -> None:
    rig = Rig(
        {
            "rpc": fail(RpcError(-32002, "Session not found", {"sessionId": "s"})),
            "bug": fail(ValueError("sk-secret in a traceback")),
            "stop": fail(Cancelled(CancelCause("user"))),
        }
    )
    for ident, method in enumerate(("rpc", "bug", "stop")):
        rig.call(method, id=ident)
    assert await rig.settle() == [
        failed(0, -32002, "Session not found", sessionId="s"),
        failed(1, -32603, "Internal error"),
        failed(2, *CANCELLED),
    ]
    assert rig.logged == [("'bug' failed", ValueError)]


@pytest.mark.parametrize("result", [[], "text", 5, {"a": object()}])
def test_a_result_that_is_no_json_object_is_our_bug(result: Any) -> None:
    rig = Rig({"x": Route(lambda _, __: result)})
    rig.call("x", id=1)
    assert rig.written() == [failed(1, -32603, "Internal error")]
    assert rig.logged == [("'x' failed", TypeError)]


def test_error_data_that_cannot_be_written_does_not_lose_the_answer() -> None:
    loop: list[Any] = []
    loop.append(loop)
    rig = Rig({"x": failing(RpcError(-32000, "m", {"loop": loop}))})
    rig.call("x", id=1)
    assert rig.written() == [failed(1, -32000, "m")]
    assert rig.logged == [("the error data of 'x' cannot be written", RecursionError)]


async def test_routes_begin_in_the_order_of_arrival() -> None:
    begun: list[int] = []

    def begin(params: dict[str, Any], _: Inbound) -> Any:
        begun.append(params["n"])
        return echo_later(params, _) if params["n"] % 2 else {"n": params["n"]}

    rig = Rig({"x": Route(begin)})
    for n in range(6):
        rig.call("x", {"n": n}, id=n)
    assert begun == [0, 1, 2, 3, 4, 5]
    assert [answer["id"] for answer in await rig.settle()] == [0, 2, 4, 1, 3, 5]


async def test_a_slow_request_does_not_hold_up_others() -> None:
    rig = Rig(ROUTES)
    rig.call("wait", id=1)
    rig.call("later", {}, id=2)
    assert await rig.settle() == [{"id": 2, "result": {"got": {}}}]
    assert await rig.peer.close()


async def test_two_open_requests_with_one_id_are_both_answered() -> None:
    rig = Rig(ROUTES)
    rig.call("later", {"n": 1}, id=5)
    rig.call("later", {"n": 2}, id=5)
    assert await rig.settle() == [{"id": 5, "result": {"got": {"n": 1}}}, {"id": 5, "result": {"got": {"n": 2}}}]
    rig.call("wait", id=5)
    rig.call("wait", id=5)
    rig.call("$/cancel_request", {"requestId": 5})
    assert await rig.settle() == [failed(5, *CANCELLED)] * 2


@pytest.mark.parametrize("ident", [1, "1", None, 0, 7.5])
async def test_a_request_can_be_cancelled_by_its_id(ident: object) -> None:
    rig = Rig(ROUTES)
    rig.call("wait", id=ident)
    rig.call("$/cancel_request", {"requestId": ident})
    assert await rig.settle() == [failed(ident, *CANCELLED)]


@pytest.mark.parametrize(
    "params", [{}, {"requestId": 424242}, {"requestId": True}, {"requestId": 1.0}, {"requestId": "1"}]
)
async def test_cancelling_something_else_is_ignored(params: dict[str, Any]) -> None:
    rig = Rig(ROUTES)
    rig.call("wait", id=1)
    rig.call("$/cancel_request", params)
    rig.call("$/cancel_request", {"requestId": [1]})
    assert await rig.settle() == []
    assert rig.peer.open_calls == 1
    await rig.peer.close()


async def test_a_cancelled_request_may_still_answer_with_its_result() -> None:
    async def finish(_: dict[str, Any], inbound: Inbound) -> Result:
        await asyncio.sleep(0)
        return {"stopReason": "cancelled" if inbound.cancel.cancelled else "end_turn"}

    rig = Rig({"prompt": Route(finish)})
    rig.call("prompt", id=1)
    rig.call("$/cancel_request", {"requestId": 1})
    assert await rig.settle() == [{"id": 1, "result": {"stopReason": "cancelled"}}]


async def test_a_broken_subscriber_of_cancellation_is_contained() -> None:
    def subscribe(_: dict[str, Any], inbound: Inbound) -> Any:
        inbound.cancel.subscribe(break_down)
        return echo_later({}, inbound)

    rig = Rig({"x": Route(subscribe)})
    rig.call("x", id=1)
    rig.call("$/cancel_request", {"requestId": 1})
    assert await rig.settle() == [{"id": 1, "result": {"got": {}}}]
    assert rig.logged == [("cancelling 'x' failed", IndexError)]


async def test_what_follows_a_response_comes_right_after_it() -> None:
    seen: list[Inbound] = []

    def follow(params: dict[str, Any], inbound: Inbound) -> Result:
        seen.append(inbound)
        inbound.after_response(lambda: rig.peer.notify("one", {}))
        inbound.after_response(break_down)
        inbound.after_response(lambda: rig.peer.notify("two", {}))
        return params

    rig = Rig({"x": Route(follow), **ROUTES})
    rig.call("x", id=1)
    rig.call("echo", {}, id=2)
    seen[0].after_response(lambda: rig.peer.notify("late", {}))
    assert [frame.get("method", frame.get("id")) for frame in rig.written()] == [1, "one", "two", 2, "late"]
    assert rig.logged == [("what follows 'x' failed", IndexError)]


async def test_what_follows_comes_after_an_error_too() -> None:
    def follow(_: dict[str, Any], inbound: Inbound) -> Result:
        inbound.after_response(lambda: rig.peer.notify("after", {}))
        raise RpcError(-32000, "m")

    rig = Rig({"x": Route(follow)})
    rig.call("x", id=1)
    assert rig.written() == [failed(1, -32000, "m"), {"method": "after", "params": {}}]


def test_the_gate_refuses_requests_and_drops_notifications() -> None:
    served: list[object] = []

    def note(_: dict[str, Any], inbound: Inbound) -> Result:
        served.append(inbound.id)
        return None

    def gate(method: str) -> RpcError | None:
        return None if method == "initialize" else invalid_request("initialize comes first")

    rig = Rig({"initialize": Route(note), "x": Route(note)}, gate)
    rig.call("x", id=1)
    rig.call("x")
    rig.call("unknown", id=2)
    rig.call("initialize", id=3)
    rig.call("initialize")
    refused = {"details": "initialize comes first"}
    assert rig.written() == [
        failed(1, -32600, "Invalid request", **refused),
        failed(2, -32600, "Invalid request", **refused),
        {"id": 3, "result": {}},
    ]
    assert served == [3, ABSENT]


def test_refused_lines_are_answered_and_useless_ones_logged() -> None:
    rig = Rig(ROUTES)
    rig.send([])
    rig.call("echo", [], id="i")
    rig.call("echo", [])
    rig.answer(9, result={})
    rig.answer(None, error={"code": -32700, "message": "m"})
    rig.answer([], result={})
    details = "A message is one JSON object; batches are not supported."
    assert rig.written() == [
        failed(None, -32600, "Invalid request", details=details),
        failed("i", -32602, "Invalid params", details="Parameters are passed as one object."),
    ]
    assert rig.logged == [
        ("passed over: a malformed notification", None),
        ("an answer to no open request (id 9)", None),
        ("an answer to no open request (id None)", None),
        ("passed over: a response without a usable id", None),
    ]


async def test_closing_cancels_answers_and_refuses() -> None:
    rig = Rig(ROUTES)
    rig.call("wait", id=1)
    rig.call("wait")
    assert await rig.peer.close()
    rig.call("echo", id=2)
    rig.call("echo")
    assert rig.written() == [
        failed(1, *CANCELLED),
        failed(2, -32600, "Invalid request", details="The connection is closing."),
    ]


async def test_closing_cancels_tasks_that_ignore_their_token() -> None:
    async def deaf(_: dict[str, Any], __: Inbound) -> Result:
        await asyncio.Event().wait()
        return None

    rig = Rig({"deaf": Route(deaf)})
    rig.call("deaf", id=1)
    assert await rig.peer.close(0.001)
    assert rig.written() == [failed(1, *CANCELLED)]


async def test_closing_is_bounded() -> None:
    end = asyncio.Event()

    async def stubborn(_: dict[str, Any], __: Inbound) -> Result:
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                continue
        return {"done": True}

    rig = Rig({"stubborn": Route(stubborn)})
    rig.call("stubborn", id=1)
    assert not await rig.peer.close(0.001)
    assert rig.logged == [("1 calls did not end when the connection closed", None)]
    end.set()
    await rig.peer.quiet()
    assert rig.written() == [{"id": 1, "result": {"done": True}}]


async def test_a_route_may_close_the_peer_it_runs_on() -> None:
    async def leave(_: dict[str, Any], __: Inbound) -> Result:
        await rig.peer.close()
        await rig.peer.quiet()
        return {"left": True}

    rig = Rig({"leave": Route(leave)})
    rig.call("leave", id=1)
    assert await rig.settle() == [{"id": 1, "result": {"left": True}}]


async def test_a_route_may_answer_in_the_moment_it_chooses() -> None:
    waiting: list[Inbound] = []

    def wait(_: dict[str, Any], inbound: Inbound) -> Pending:
        waiting.append(inbound)
        inbound.after_response(lambda: rig.peer.notify("after", {}))
        return PENDING

    rig = Rig({"x": Route(wait)})
    for ident in range(4):
        rig.call("x", id=ident)
    rig.call("x")
    quiet = asyncio.ensure_future(rig.peer.quiet())
    assert await rig.settle() == []
    waiting[1].respond({"a": 1})
    waiting[0].fail(RpcError(-32000, "m"))
    waiting[4].respond({"dropped": True})
    after = {"method": "after", "params": {}}
    assert rig.written() == [{"id": 1, "result": {"a": 1}}, after, failed(0, -32000, "m"), after, after]
    waiting[2].respond(None)
    waiting[3].fail(Cancelled(CancelCause("hook")))
    assert rig.written() == [{"id": 2, "result": {}}, after, failed(3, *CANCELLED), after]
    await quiet
    waiting[0].respond({"again": True})
    waiting[0].fail(RpcError(-32000, "again"))
    assert rig.written() == []
    assert rig.logged == [("'x' was answered twice", None)] * 2


async def test_a_route_that_answered_before_it_returns_is_answered_once() -> None:
    def respond(params: dict[str, Any], inbound: Inbound) -> Any:
        inbound.respond({"first": True})
        return PENDING if params else {"second": True}

    rig = Rig({"x": Route(respond)})
    rig.call("x", {"pending": True}, id=1)
    rig.call("x", id=2)
    await rig.peer.quiet()
    assert rig.written() == [{"id": n, "result": {"first": True}} for n in (1, 2)]
    assert rig.logged == [("'x' was answered twice", None)]


async def test_closing_answers_what_nobody_answers() -> None:
    rig = Rig({"x": Route(lambda _, __: PENDING)})
    rig.call("x", id=1)
    rig.call("x")
    assert await rig.peer.close(0.001)
    assert rig.written() == [failed(1, *CANCELLED)]
    assert (rig.peer.open_calls, rig.logged) == (0, [])


async def test_200_updates_and_answers_at_once_are_whole_lines() -> None:
    async def update(params: dict[str, Any], inbound: Inbound) -> Result:
        for step in range(3):
            rig.peer.notify("update", {"n": params["n"], "step": step})
            await asyncio.sleep(0)
        return {"n": params["n"]}

    rig = Rig({"x": Route(update)})
    for n in range(200):
        rig.call("x", {"n": n}, id=n)
    await rig.peer.quiet()
    frames = rig.written()
    assert sorted(frame["id"] for frame in frames if "id" in frame) == list(range(200))
    for n in range(200):
        mine = [frame for frame in frames if frame.get("id") == n or frame.get("params", {}).get("n") == n]
        assert mine == [
            *({"method": "update", "params": {"n": n, "step": step}} for step in range(3)),
            {"id": n, "result": {"n": n}},
        ]
