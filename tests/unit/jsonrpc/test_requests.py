"""Our own requests to the client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from acp_server.base.cancel import BY_USER, Cancelled, CancelToken
from acp_server.jsonrpc.errors import ConnectionClosed, RemoteError, RequestTimeout
from acp_server.jsonrpc.peer import Inbound, Result, Route
from tests.unit.jsonrpc.rig import Rig, failed


def asked(ident: int, **params: Any) -> dict[str, Any]:
    return {"id": ident, "method": "ask", "params": params}


def told(ident: int) -> dict[str, Any]:
    return {"method": "$/cancel_request", "params": {"requestId": ident}}


async def test_ids_count_up_and_answers_find_their_request() -> None:
    rig = Rig({})
    waits = [asyncio.ensure_future(rig.peer.request("ask", {"n": n})) for n in range(3)]
    assert await rig.settle() == [asked(0, n=0), asked(1, n=1), asked(2, n=2)]
    rig.answer(2, result={"n": "two"})
    rig.answer(0, result=None)
    rig.answer(1, result={})
    assert await asyncio.gather(*waits) == [{}, {}, {"n": "two"}]
    assert rig.logged == []


async def test_the_clients_ids_are_another_table() -> None:
    async def ask(_: dict[str, Any], __: Inbound) -> Result:
        return await rig.peer.request("ask", {})

    rig = Rig({"x": Route(ask)})
    rig.call("x", id=0)
    assert await rig.settle() == [asked(0)]
    rig.answer(0, result={"a": 1})
    assert await rig.settle() == [{"id": 0, "result": {"a": 1}}]


@pytest.mark.parametrize(
    ("error", "code", "message", "data"),
    [
        ({"code": -32603, "message": "m", "data": {"d": 1}}, -32603, "m", {"d": 1}),
        ({"code": True, "message": ""}, -32603, "The client reported an error.", None),
        ({}, -32603, "The client reported an error.", None),
        ("text", -32603, "The client sent a malformed error.", None),
    ],
)
async def test_an_error_fails_the_request_alone(error: Any, code: int, message: str, data: Any) -> None:
    rig = Rig({})
    wait = asyncio.ensure_future(rig.peer.request("ask", {}))
    await rig.settle()
    rig.answer(0, error=error)
    with pytest.raises(RemoteError) as caught:
        await wait
    assert (caught.value.rpc_code, caught.value.message, caught.value.data) == (code, message, data)


@pytest.mark.parametrize("result", [[], "text", 5, True])
async def test_a_result_that_is_no_object_is_an_error(result: Any) -> None:
    rig = Rig({})
    wait = asyncio.ensure_future(rig.peer.request("ask", {}))
    await rig.settle()
    rig.answer(0, result=result)
    with pytest.raises(RemoteError, match="no object"):
        await wait


@pytest.mark.parametrize("ident", [1, True, False, 0.0, "0", None])
async def test_an_answer_with_another_id_changes_nothing(ident: object) -> None:
    rig = Rig({})
    wait = asyncio.ensure_future(rig.peer.request("ask", {}))
    await rig.settle()
    rig.answer(ident, result={"wrong": True})
    assert not wait.done()
    rig.answer(0, result={"right": True})
    assert await wait == {"right": True}
    assert await rig.settle() == []


async def test_cancelling_tells_the_client_once_and_drops_the_late_answer() -> None:
    rig, token = Rig({}), CancelToken()
    wait = asyncio.ensure_future(rig.peer.request("ask", {}, cancel=token))
    await rig.settle()
    token.cancel(BY_USER)
    assert rig.written() == [told(0)]
    with pytest.raises(Cancelled) as caught:
        await wait
    assert caught.value.cause == BY_USER
    rig.answer(0, result={})
    assert await rig.settle() == []
    assert rig.logged == [("an answer to no open request (id 0)", None)]


async def test_cancelling_is_quiet_where_the_client_would_complain() -> None:
    rig, token = Rig({}), CancelToken()
    wait = asyncio.ensure_future(rig.peer.request("ask", {}, cancel=token, cascade=False))
    assert await rig.settle() == [asked(0)]
    token.cancel(BY_USER)
    with pytest.raises(Cancelled):
        await wait
    assert rig.written() == []


async def test_a_cancelled_token_asks_nothing() -> None:
    rig, token = Rig({}), CancelToken()
    token.cancel(BY_USER)
    with pytest.raises(Cancelled):
        await rig.peer.request("ask", {}, cancel=token)
    assert rig.written() == []


async def test_an_answered_request_is_not_cancelled_any_more() -> None:
    rig, token = Rig({}), CancelToken()
    wait = asyncio.ensure_future(rig.peer.request("ask", {}, cancel=token, timeout=60))
    await rig.settle()
    rig.answer(0, result={"a": 1})
    token.cancel(BY_USER)
    assert await wait == {"a": 1}
    assert rig.written() == []
    assert token._callbacks == {}


async def test_no_answer_in_time() -> None:
    rig = Rig({})
    with pytest.raises(RequestTimeout, match=r"did not answer ask within 0.001 s"):
        await rig.peer.request("ask", {}, timeout=0.001)
    assert rig.written() == [asked(0), told(0)]


async def test_a_cancelled_task_gives_its_request_up() -> None:
    rig = Rig({})
    wait = asyncio.ensure_future(rig.peer.request("ask", {}))
    await rig.settle()
    wait.cancel()
    assert await rig.settle() == [told(0)]
    assert wait.cancelled()
    assert len(rig.peer._requests) == 0


async def test_closing_ends_every_wait_and_refuses_more() -> None:
    rig = Rig({})
    waits = [asyncio.ensure_future(rig.peer.request("ask", {})) for _ in range(2)]
    await rig.settle()
    assert await rig.peer.close()
    assert [type(end) for end in await asyncio.gather(*waits, return_exceptions=True)] == [ConnectionClosed] * 2
    with pytest.raises(ConnectionClosed):
        await rig.peer.request("ask", {})
    assert rig.written() == []


async def test_parameters_that_cannot_be_written_open_nothing() -> None:
    rig = Rig({})
    with pytest.raises(TypeError):
        await rig.peer.request("ask", {"a": object()})  # type: ignore[dict-item]  # the point of the test
    assert (len(rig.peer._requests), rig.written()) == (0, [])


async def test_cancelling_a_call_reaches_the_requests_made_for_it() -> None:
    async def ask(_: dict[str, Any], inbound: Inbound) -> Result:
        return await rig.peer.request("ask", {}, cancel=inbound.cancel)

    rig = Rig({"x": Route(ask)})
    rig.call("x", id="c")
    assert await rig.settle() == [asked(0)]
    rig.call("$/cancel_request", {"requestId": "c"})
    assert await rig.settle() == [told(0), failed("c", -32800, "Request cancelled")]
