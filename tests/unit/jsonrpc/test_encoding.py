from __future__ import annotations

from types import MappingProxyType

import pytest

from acp_server.base.json_value import freeze
from acp_server.jsonrpc.encoding import (
    error_bytes,
    json_text,
    notification_bytes,
    request_bytes,
    response_bytes,
    text_json,
    whole_text,
)
from acp_server.jsonrpc.envelope import Id
from acp_server.jsonrpc.errors import RpcError, method_not_found, request_cancelled


@pytest.mark.parametrize(
    ("ident", "written"),
    [
        (0, "0"),
        (-1, "-1"),
        (2**53, "9007199254740992"),
        (7.5, "7.5"),
        (None, "null"),
        ("", '""'),
        ("a\nb", r'"a\nb"'),
        ("1", '"1"'),
    ],
)
def test_an_id_is_echoed(ident: Id, written: str) -> None:
    assert response_bytes(ident, {}) == f'{{"jsonrpc":"2.0","id":{written},"result":{{}}}}\n'.encode()


def test_frames() -> None:
    assert request_bytes(3, "fs/read_text_file", {"path": "/ä"}) == (
        '{"jsonrpc":"2.0","id":3,"method":"fs/read_text_file","params":{"path":"/ä"}}\n'.encode()
    )
    assert notification_bytes("session/update", {}) == b'{"jsonrpc":"2.0","method":"session/update","params":{}}\n'
    assert error_bytes(None, RpcError(-32700, "Parse error")) == (
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n'
    )
    assert error_bytes(1, method_not_found("x/y")) == (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found","data":{"method":"x/y"}}}\n'
    )


def test_empty_data_is_left_out() -> None:
    assert RpcError(-32000, "m", {}).as_json() == {"code": -32000, "message": "m"}
    assert request_cancelled().as_json() == {"code": -32800, "message": "Request cancelled"}


def test_errors_have_names_for_programs() -> None:
    assert RpcError(-32002, "m").code == "RESOURCE_NOT_FOUND"
    assert RpcError(-1, "m").code == "RPC_ERROR"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"x": float("nan")}, '{"x":null}'),
        ([float("inf"), -float("inf"), 1.5], "[null,null,1.5]"),
        ("\ud800", '"\ufffd"'),
        ({"\udfff": "a\ud800b"}, '{"\ufffd":"a\ufffdb"}'),
        ("\ud83d\ude00", '"\U0001f600"'),
        ("\u2028\u2029\x85", '"\\u2028\\u2029\\u0085"'),
        ("a\r\nb\x0b\x0c\x00", r'"a\r\nb\u000b\f\u0000"'),
        ({1: True, None: 2.0}, '{"1":true,"null":2.0}'),
        ([10**5000], "[null]"),
        ([float("nan"), 10**5000, 10**20, True], "[null,null,100000000000000000000,true]"),
        (MappingProxyType({"a": (1, MappingProxyType({}))}), '{"a":[1,{}]}'),
        (freeze({"a": [1, {"b": None}]}), '{"a":[1,{"b":null}]}'),
        ([float("nan"), "\ud800\u2028"], '[null,"\ufffd\\u2028"]'),
    ],
)
def test_what_json_has_not_is_replaced(value: object, written: str) -> None:
    assert json_text(value) == written


@pytest.mark.parametrize("value", [object(), b"bytes", {"a": bytearray()}, {1, 2}])
def test_what_has_no_form_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError, match="has no JSON form"):
        json_text(value)


def test_a_value_that_holds_itself_is_a_recursion_error() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(RecursionError):
        json_text(loop)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("", '""'),
        ('a"\\\n', r'"a\"\\\n"'),
        ("é", '"é"'),
        ("\ud800", '"\ufffd"'),
        ("\u2028", '"\\u2028"'),
        ("\x7f", '"\x7f"'),
    ],
)
def test_a_text_for_a_template(text: str, written: str) -> None:
    assert text_json(text) == written


def test_whole_text() -> None:
    assert whole_text("\ufeffa\ud83db\ude00") == "\ufeffa\ufffdb\ufffd"
