from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest

from acp_server.acp.handshake import initialize_result
from acp_server.acp.start import BOM, first_exchange


@pytest.mark.parametrize("asked", [0, 1, 2, 99, 65535, -1, "1", "12345"])
def test_every_number_is_answered_with_the_version_spoken(asked: object) -> None:
    result = initialize_result({"protocolVersion": asked}, sys.executable)
    assert result is not None
    assert result["protocolVersion"] == 1


@pytest.mark.parametrize("asked", [True, 1.5, None, "2024-11-05", "", "²", [], {}, "123456"])
def test_what_is_no_version_number_is_told(asked: object) -> None:
    assert initialize_result({"protocolVersion": asked}, sys.executable) is None
    assert initialize_result({}, sys.executable) is None


HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}


def exchange(data: bytes) -> tuple[Any, list[Any]]:
    """Give the bytes to a first exchange; return what it left and the lines that it wrote."""
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    os.write(in_write, data)
    os.close(in_write)
    start = first_exchange(in_read, out_write)
    os.close(out_write)
    written = os.read(out_read, 1 << 16)
    os.close(in_read)
    os.close(out_read)
    return start, [json.loads(line) for line in written.splitlines()]


@pytest.mark.parametrize("ident", [0, -1, 2**53, "abc", "", "日😀"])
def test_a_plain_initialize_is_answered_at_once(ident: int | str) -> None:
    line = json.dumps({**HELLO, "id": ident}).encode()
    start, answers = exchange(line + b"\r\nrest of it")
    assert answers == [
        {"jsonrpc": "2.0", "id": ident, "result": initialize_result({"protocolVersion": 1}, sys.executable)}
    ]
    assert (start.unread, start.initialized) == (b"rest of it", {"protocolVersion": 1})


def test_a_mark_at_the_beginning_and_blank_lines_do_not_hinder() -> None:
    start, answers = exchange(BOM + json.dumps(HELLO).encode() + b"\n")
    assert len(answers) == 1
    assert start.unread == b""


ODD = [
    b'{"jsonrpc":"2.0","id":null,"method":"initialize","params":{"protocolVersion":1}}\n',
    b'{"jsonrpc":"2.0","id":true,"method":"initialize","params":{"protocolVersion":1}}\n',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"initialize","params":{"protocolVersion":1}}\n',
    b'{"jsonrpc":"2.0","id":1.5,"method":"initialize","params":{"protocolVersion":1}}\n',
    b'{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":1}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"x"}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n',
    b'{"jsonrpc":"1.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}} x\n',
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":' + b"9" * 5000 + b"}}\n",
    b"[" * 60000 + b"\n",
    b"[]\n",
    b"\xff\n",
    b"{\n",
    b"no line end",
    b"",
]


@pytest.mark.parametrize("data", ODD, ids=range(len(ODD)))
def test_whatever_is_odd_is_left_to_the_full_server(data: bytes) -> None:
    start, answers = exchange(data)
    assert (start.unread, start.initialized, answers) == (data, None, [])


PLAIN: dict[str, Any] = {
    "id": "login",
    "name": "Log in in a terminal",
    "description": "Asks for a provider's key and keeps it for this account: acp-server login.",
}
TERMINAL = {**PLAIN, "type": "terminal", "args": ["--login"], "env": {}}
OLDER = {
    "terminal-auth": {
        "label": "acp-server login",
        "command": sys.executable,
        "args": ["-m", "acp_server", "login"],
        "env": {},
    }
}


@pytest.mark.parametrize(
    ("capabilities", "login"),
    [
        ({"auth": {"terminal": True}}, TERMINAL),
        ({"_meta": {"terminal-auth": True}}, {**PLAIN, "_meta": OLDER}),
        ({"auth": {"terminal": True}, "_meta": {"terminal-auth": True}}, {**TERMINAL, "_meta": OLDER}),
        *[
            (odd, None)
            for odd in (
                {},
                None,
                5,
                {"auth": True, "_meta": []},
                {"auth": {"terminal": "yes"}, "_meta": {"terminal-auth": 1}},
                {"auth": {"terminal": False}},
            )
        ],
    ],
)
def test_a_login_in_a_terminal_is_offered_to_who_can_run_one(capabilities: Any, login: Any) -> None:
    result = initialize_result({"protocolVersion": 1, "clientCapabilities": capabilities}, sys.executable)
    assert result is not None
    methods = result["authMethods"]
    first, *middle, last = methods
    assert (first["id"], middle, last["id"]) == ("provider-key", [] if login is None else [login], "demo")
    assert "type" not in first
    _, answers = exchange(json.dumps(hello(capabilities)).encode() + b"\n")
    assert answers[0]["result"] == result


def hello(capabilities: Any) -> dict[str, Any]:
    params = {"protocolVersion": 1, "clientCapabilities": capabilities}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
