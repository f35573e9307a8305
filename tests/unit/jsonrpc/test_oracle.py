"""Plain requests answered beside jsonrpcserver: the same id, and the same result or error code.

The library sees five things otherwise, and each is asserted as it is:

1. A batch is executed; here it is refused, as the Agent Client Protocol has it.
2. An unknown member of the envelope is refused; here it is passed over.
3. Parameters by position are bound; here they are invalid. `null` for parameters is refused; here it means none.
4. A notification with a broken envelope is answered; here it is passed over.
5. An exception's text is sent as error data; here it stays inside.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Callable
from typing import Any

import pytest
from jsonrpcserver import InvalidParams, JsonRpcError, Success, async_dispatch

from acp_server.jsonrpc.envelope import read_message
from acp_server.jsonrpc.errors import RpcError, invalid_params
from acp_server.jsonrpc.peer import Inbound, Result, Route
from tests.unit.jsonrpc.rig import Rig

COUNT = 2000
METHODS = ("echo", "later", "typed", "auth", "unknown", "_x/unknown", "")
IDS: tuple[Any, ...] = (0, 1, -1, 2**53, "", "a", "1", None, 7.5, 10**30)
BAD_IDS: tuple[Any, ...] = (True, False, [], [1], {})
VALUES: tuple[Any, ...] = (None, True, 0, -1, 1.5, "", "text\n\u2028", "\U0001f600é", [], [1, [2]], {"a": {"b": None}})
NAMES = ("n", "a", "_meta", "camelCase", "", "method", "id")
OTHER_PARAMS: tuple[Any, ...] = ("text", 5, True)
OTHER_VERSIONS: tuple[Any, ...] = ("1.0", 2.0, None, "")
NO_REQUESTS: tuple[Any, ...] = (
    42,
    "hi",
    None,
    True,
    {},
    {"foo": "boo"},
    {"jsonrpc": "2.0"},
    {"jsonrpc": "2.0", "id": 1, "method": 5},
)
NO_JSON = ("garbage", "", "{", '{"jsonrpc":"2.0","id":1,"method":"echo"', "[1,]", "nul", '{"a":1}}', "\ufeff{}")


@pytest.fixture(autouse=True)
def _quiet_library() -> None:
    logging.getLogger("jsonrpcserver").setLevel(logging.CRITICAL)


def routes() -> dict[str, Route]:
    async def later(params: dict[str, Any], _: Inbound) -> Result:
        await asyncio.sleep(0)
        return {"got": params}

    def echo(params: dict[str, Any], _: Inbound) -> Result:
        return {"got": params}

    def typed(params: dict[str, Any], _: Inbound) -> Result:
        if not isinstance(params.get("n"), int):
            raise invalid_params("n is no integer")
        return {"n": params["n"]}

    def auth(_: dict[str, Any], __: Inbound) -> Result:
        raise RpcError(-32000, "Authentication required", {"authMethods": []})

    def bug(_: dict[str, Any], __: Inbound) -> Result:
        raise RuntimeError("sk-secret")

    return {"echo": Route(echo), "later": Route(later), "typed": Route(typed), "auth": Route(auth), "bug": Route(bug)}


def library_methods() -> dict[str, Callable[..., Any]]:
    async def echo(*args: Any, **params: Any) -> Any:
        return Success({"got": list(args) or params})

    async def typed(*_: Any, **params: Any) -> Any:
        return Success({"n": params["n"]}) if isinstance(params.get("n"), int) else InvalidParams("n is no integer")

    async def auth(*_: Any, **__: Any) -> Any:
        raise JsonRpcError(-32000, "Authentication required", {"authMethods": []})

    async def bug(*_: Any, **__: Any) -> Any:
        raise RuntimeError("sk-secret")

    return {"echo": echo, "later": echo, "typed": typed, "auth": auth, "bug": bug}


async def here(line: str) -> list[dict[str, Any]]:
    rig = Rig(routes())
    rig.peer.receive(read_message(line.encode()))
    await rig.peer.quiet()
    return rig.written()


async def there(line: str) -> list[dict[str, Any]]:
    text = await async_dispatch(line, library_methods())
    answers = json.loads(text) if text else []
    answers = answers if isinstance(answers, list) else [answers]
    return [{key: value for key, value in answer.items() if key != "jsonrpc"} for answer in answers]


def essence(answers: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    """Reduce each answer to its id, its result or its error code, and the data of errors that a method chose."""
    return [
        (type(answer["id"]), answer["id"], answer.get("result"), *_error(answer.get("error", {}))) for answer in answers
    ]


def _error(error: dict[str, Any]) -> tuple[object, ...]:
    code = error.get("code")
    return (code, error["message"], error["data"]) if code == -32000 else (code,)


def generated(rng: random.Random) -> str:
    """Return one line: mostly a good request, at times a notification, a bad envelope or no JSON at all."""
    kind = rng.random()
    if kind < 0.03:
        return rng.choice(NO_JSON)
    if kind < 0.06:
        return json.dumps(rng.choice(NO_REQUESTS))
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": rng.choice(METHODS)}
    if rng.random() < 0.8:
        message["params"] = {rng.choice(NAMES): rng.choice(VALUES) for _ in range(rng.randrange(4))}
    if rng.random() < 0.85:
        message["id"] = rng.choice(IDS)
        if kind < 0.12:
            message["id"] = rng.choice(BAD_IDS)
        elif kind < 0.18:
            message["jsonrpc"] = rng.choice(OTHER_VERSIONS)
        elif kind < 0.2:
            del message["jsonrpc"]
    members = list(message.items())
    rng.shuffle(members)
    return json.dumps(dict(members), ensure_ascii=rng.random() < 0.5)


async def test_plain_requests_get_the_same_answers() -> None:
    rng = random.Random(20260731)
    seen: set[object] = set()
    for _ in range(COUNT):
        line = generated(rng)
        ours, theirs = essence(await here(line)), essence(await there(line))
        assert ours == theirs, line
        seen.add(ours[0][3] if ours else "silence")
    assert seen == {None, "silence", -32700, -32600, -32601, -32602, -32000}


async def test_first_difference_batches() -> None:
    line = '[{"jsonrpc":"2.0","id":1,"method":"echo"},{"jsonrpc":"2.0","id":2,"method":"echo"}]'
    assert essence(await there(line)) == [(int, 1, {"got": {}}, None), (int, 2, {"got": {}}, None)]
    assert essence(await here(line)) == [(type(None), None, None, -32600)]
    assert essence(await here("[]")) == essence(await there("[]")) == [(type(None), None, None, -32600)]


async def test_second_difference_unknown_members() -> None:
    line = '{"jsonrpc":"2.0","id":1,"method":"echo","type":"com.example.Request"}'
    assert essence(await there(line)) == [(type(None), None, None, -32600)]
    assert essence(await here(line)) == [(int, 1, {"got": {}}, None)]


@pytest.mark.parametrize("params", OTHER_PARAMS)
async def test_third_difference_other_parameters(params: object) -> None:
    by_position = '{"jsonrpc":"2.0","id":1,"method":"echo","params":[5]}'
    assert essence(await there(by_position)) == [(int, 1, {"got": [5]}, None)]
    assert essence(await here(by_position)) == [(int, 1, None, -32602)]
    scalar = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": params})
    assert essence(await there(scalar)) == [(type(None), None, None, -32600)]
    assert essence(await here(scalar)) == [(int, 1, None, -32602)]
    null = '{"jsonrpc":"2.0","id":1,"method":"echo","params":null}'
    assert essence(await there(null)) == [(type(None), None, None, -32600)]
    assert essence(await here(null)) == [(int, 1, {"got": {}}, None)]


@pytest.mark.parametrize(
    "line", ['{"method":"echo"}', '{"jsonrpc":"1.0","method":"echo"}', '{"jsonrpc":"2.0","method":"echo","params":5}']
)
async def test_fourth_difference_broken_notifications(line: str) -> None:
    assert essence(await there(line)) == [(type(None), None, None, -32600)]
    assert await here(line) == []


async def test_fifth_difference_the_text_of_an_exception() -> None:
    line = '{"jsonrpc":"2.0","id":1,"method":"bug"}'
    error = {"code": -32603, "message": "Internal error"}
    assert await there(line) == [{"id": 1, "error": {**error, "data": "sk-secret"}}]
    assert await here(line) == [{"id": 1, "error": error}]
