"""Lines and envelopes: what each gets for an answer (clauses T-25, T-28, T-32, T-40 to T-58, T-80 to T-82)."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.support.client import Client
from tests.support.trace import Obj

PARSE, INVALID, METHOD, PARAMS = -32700, -32600, -32601, -32602
LIST = {"jsonrpc": "2.0", "method": "no/such", "params": {}}
NUMBERS = itertools.count(1)


def answers(client: Client, *lines: bytes) -> list[tuple[Any, Any]]:
    """Send lines and return (id, error code or "result") of all that comes back before the answer to a last request."""
    first = len(client.trace.frames)
    for line in lines:
        client.send_line(line)
    last = f"last-{next(NUMBERS)}"
    client.send_line(json.dumps({**LIST, "id": last}).encode())
    client.answer(last)
    came = [f.value for f in client.trace.frames[first:] if f.way == "got" and f.is_answer()]
    return [(a["id"], a["error"]["code"] if "error" in a else "result") for a in came if a["id"] != last]


def request(**fields: Any) -> bytes:
    return json.dumps({**LIST, **fields}).encode()


@pytest.mark.parametrize("line", [b"", b"   ", b"\t", b"\r"])
def test_blank_lines_are_taken_silently(client: Client, line: bytes) -> None:
    assert answers(client, line) == []


@pytest.mark.parametrize(
    "line",
    [
        b"{broken",
        b'{"jsonrpc":"2.0","id":1,"method":"initialize"',
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b"\xff\xfe",
        b"{'jsonrpc':'2.0'}",
        b"Content-Length: 20",
        b'{"jsonrpc":"2.0","id":1,"method":"x"} trailing',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"n":' + b"9" * 10_000 + b"}}",
    ],
    ids=lambda line: repr(line[:30]),
)
def test_what_is_no_json_is_a_parse_error_without_an_id(client: Client, line: bytes) -> None:
    assert answers(client, line) == [(None, PARSE)]


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b"[" + request(id=1) + b"]",
        b"[1,2,3]",
        b"42",
        b'"text"',
        b"null",
        b"true",
        b"{}",
        b'{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","params":{}}',
    ],
)
def test_what_is_no_message_is_an_invalid_request_without_an_id(client: Client, line: bytes) -> None:
    assert answers(client, line) == [(None, INVALID)]


@pytest.mark.parametrize("version", ["1.0", 2.0, 2, None, ""])
def test_another_version_of_json_rpc_is_an_invalid_request(client: Client, version: object) -> None:
    assert answers(client, request(id=5, jsonrpc=version)) == [(None, INVALID)]


def test_a_missing_version_of_json_rpc_is_an_invalid_request(client: Client) -> None:
    assert answers(client, b'{"id":5,"method":"session/list"}') == [(None, INVALID)]


@pytest.mark.parametrize("ident", ["abc", "", "ü", "3000", 0, -1, 3000, 2**53, 7.5, None, "x" * 5000])
def test_an_id_comes_back_with_its_type_and_value(client: Client, ident: object) -> None:
    ((back, code),) = answers(client, request(id=ident))
    assert (type(back), back, code) == (type(ident), ident, METHOD)


@pytest.mark.parametrize("ident", [{}, [], [1], {"a": 1}, True, False])
def test_an_id_of_another_kind_is_an_invalid_request(client: Client, ident: object) -> None:
    assert answers(client, request(id=ident)) == [(None, INVALID)]


@pytest.mark.parametrize(
    "line",
    [
        request(),
        request(method="session/new"),
        request(method="session/prompt", params={"sessionId": 5}),
        request(method="_own/notice"),
        request(method="totally/unknown"),
        request(method="initialize", params=5),
        b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":424242}}',
        b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"nobody"}}',
    ],
)
def test_a_notification_is_never_answered(client: Client, line: bytes) -> None:
    assert answers(client, line) == []


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":12345,"result":{}}',
        b'{"jsonrpc":"2.0","id":12345,"result":null}',
        b'{"jsonrpc":"2.0","id":"odd","error":{"code":-32603,"message":"x"}}',
        b'{"jsonrpc":"2.0","id":12345,"error":"odd"}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
    ],
)
def test_an_answer_to_nothing_is_passed_over(client: Client, line: bytes) -> None:
    assert answers(client, line) == []


@pytest.mark.parametrize("extra", [{"type": "com.example.Request"}, {"meta": {}}, {"_meta": 5}, {"x": [1]}])
def test_unknown_members_of_an_envelope_are_ignored(client: Client, extra: Obj) -> None:
    assert answers(client, request(id="extra", **extra)) == [("extra", METHOD)]


@pytest.mark.parametrize("params", [[], [1], 5, "text", True])
def test_params_that_are_no_object_are_invalid(client: Client, params: object) -> None:
    assert answers(client, request(id="p", method="session/new", params=params)) == [("p", PARAMS)]


@pytest.mark.parametrize(
    "method", ["no/such", "_own/method", "nes/start", "session/set_models", "fs/read_text_file", ""]
)
def test_an_unknown_method_is_named_in_the_error(client: Client, method: str) -> None:
    error = client.error(method)
    assert (error["code"], error["data"]["method"]) == (METHOD, method)


def test_two_requests_with_one_id_are_both_answered(client: Client) -> None:
    assert answers(client, request(id="twin"), request(id="twin")) == [("twin", METHOD)] * 2


def test_id_true_and_id_one_are_not_taken_for_each_other(client: Client) -> None:
    lines = [request(id=1), request(id=True), request(id="1")]
    assert answers(client, *lines) == [(1, METHOD), (None, INVALID), ("1", METHOD)]
