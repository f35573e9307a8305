from __future__ import annotations

import json
from typing import Any

import pytest

from acp_server.jsonrpc.envelope import ABSENT, Answer, Call, Ignored, Refused, is_id, read_message


def refusal(line: bytes) -> tuple[object, int]:
    found = read_message(line)
    assert isinstance(found, Refused), found
    return found.id, found.error.rpc_code


def message(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b"{",
        b'{"jsonrpc":"2.0","id":1,"method":"x"} trailing',
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"x"}',
        '{"jsonrpc":"2.0","id":1,"method":"x"}'.encode("utf-16"),
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":-Infinity}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1e999}}',
        b'{"jsonrpc":"2.0","id":-1e999,"method":"x"}',
        b'{"jsonrpc":"2.0","id":' + b"1" * 10_000 + b',"method":"x"}',
        b"[" * 100_000,
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
        b'{"jsonrpc":"2.0","id":1,"method":"a\tb"}',
        b'{"jsonrpc":"2.0","id":1,"method":"\\ud8"}',
        b"Content-Length: 52",
    ],
)
def test_a_line_that_is_no_json_is_a_parse_error_without_id(line: bytes) -> None:
    assert refusal(line) == (None, -32700)


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b'[{"jsonrpc":"2.0","id":1,"method":"x"}]',
        b"42",
        b'"hi"',
        b"null",
        b"true",
        b"{}",
        b'{"foo":"boo"}',
        b'{"id":1,"method":"x"}',
        b'{"jsonrpc":"1.0","id":1,"method":"x"}',
        b'{"jsonrpc":2.0,"id":1,"method":"x"}',
        b'{"jsonrpc":null,"id":1,"method":"x"}',
        message(id=True, method="x"),
        message(id=False, method="x"),
        message(id=[], method="x"),
        message(id=[1], method="x"),
        message(id={}, method="x"),
        message(id=True, method="x", params=[]),
        message(id=1, method=5),
        message(id=1, method=None, result={}),
        message(method=1, params="bar"),
        message(id=1),
    ],
)
def test_a_bad_envelope_is_an_invalid_request_without_id(line: bytes) -> None:
    assert refusal(line) == (None, -32600)


@pytest.mark.parametrize("params", [[], [1], "x", 5, 0, True, False, ""])
def test_parameters_by_position_are_refused_with_the_id(params: object) -> None:
    assert refusal(message(id="i", method="x", params=params)) == ("i", -32602)


@pytest.mark.parametrize("ident", ["abc", "", 0, -1, 2**53, 2**80, None, 7.5, -0.25, 1e300])
def test_an_id_is_kept_with_type_and_value(ident: object) -> None:
    found = read_message(message(id=ident, method="x"))
    assert isinstance(found, Call)
    assert (found.id, type(found.id)) == (ident, type(ident))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (message(method="x"), Call("x", {}, ABSENT)),
        (message(id=None, method="x"), Call("x", {}, None)),
        (message(id=1, method="x", params=None), Call("x", {}, 1)),
        (message(id=1, method="x", params={"a": [1, None]}), Call("x", {"a": [1, None]}, 1)),
        (message(id=1, method="", type="com.example.Request", meta={}), Call("", {}, 1)),
        (message(id=1, method="x", result={}), Call("x", {}, 1)),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}', Call("b", {}, 2)),
        (b' \t{"jsonrpc":"2.0","id":1,"method":"x"} \r', Call("x", {}, 1)),
    ],
)
def test_a_call(line: bytes, expected: Call) -> None:
    assert read_message(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        b'{"method":"session/new"}',
        message(method="x", params=[1]),
        message(method="x", params=7),
        b'{"method":"x","jsonrpc":2}',
    ],
)
def test_a_malformed_notification_is_passed_over(line: bytes) -> None:
    assert read_message(line) == Ignored("a malformed notification")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (message(id=0, result={"a": 1}), Answer(0, {"a": 1}, None)),
        (message(id=0, result=None), Answer(0, None, None)),
        (message(id=0, result={}, error=None), Answer(0, {}, None)),
        (message(id="s", error={"code": 1, "message": "m"}), Answer("s", None, {"code": 1, "message": "m"})),
        (message(id=0, result={}, error={"code": 1}), Answer(0, None, {"code": 1})),
        (message(id=None, error={"code": -32700}), Answer(None, None, {"code": -32700})),
        (b'{"id":0,"result":{}}', Answer(0, {}, None)),
    ],
)
def test_an_answer(line: bytes, expected: Answer) -> None:
    assert read_message(line) == expected


@pytest.mark.parametrize("error", ["broken", 5, [], None])
def test_an_answer_with_a_malformed_error_is_a_failure(error: object) -> None:
    expected = Answer(3, None, {"code": -32603, "message": "The client sent a malformed error."})
    assert read_message(message(id=3, error=error)) == expected


@pytest.mark.parametrize("members", [{"result": {}}, {"id": True, "result": {}}, {"id": [], "error": {}}])
def test_an_answer_without_a_usable_id_is_passed_over(members: dict[str, Any]) -> None:
    assert read_message(message(**members)) == Ignored("a response without a usable id")


@pytest.mark.parametrize(
    ("escaped", "expected"),
    [
        (r"\ud800", "\ufffd"),
        (r"\uDC00", "\ufffd"),
        (r"a\ud83d\ude00b", "a\U0001f600b"),
        (r"\ude00\ud83d", "\ufffd\ufffd"),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (r"\\ud800", r"\ud800"),
        (r"\\\ud800", "\\\ufffd"),
        (r"\n\ud800\"", '\n\ufffd"'),
        (r"\ud7ff\ue000", "\ud7ff\ue000"),
    ],
)
def test_half_of_a_surrogate_pair_is_replaced(escaped: str, expected: str) -> None:
    line = f'{{"jsonrpc":"2.0","id":"{escaped}","method":"x","params":{{"{escaped}":["{escaped}"]}}}}'
    assert read_message(line.encode()) == Call("x", {expected: [expected]}, expected)


@pytest.mark.parametrize(
    ("value", "expected"), [("", True), (1, True), (1.5, True), (None, True), (True, False), ([], False)]
)
def test_what_may_be_an_id(value: object, expected: bool) -> None:
    assert is_id(value) is expected


def test_values_show_their_fields() -> None:
    assert repr(Call("x", {}, ABSENT)) == "Call(id=ABSENT, method='x', params={})"
    assert Call("x", {}, 1) != Answer(1, {}, None)
