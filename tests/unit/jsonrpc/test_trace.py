from __future__ import annotations

import json
from typing import Any

import pytest

from acp_server.jsonrpc.trace import LINE, Trace, describe, mask


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        ({"apiKey": "sk-1", "a": "b"}, {"apiKey": "***", "a": "b"}),
        ({"Authorization": "Bearer x"}, {"Authorization": "***"}),
        ({"accessToken": "x", "maxTokens": 5}, {"accessToken": "***", "maxTokens": 5}),
        ({"client_secret": ["a", {"b": "c", "d": True}]}, {"client_secret": ["***", {"b": "***", "d": True}]}),
        ({"password": None, "Cookie": "c"}, {"password": None, "Cookie": "***"}),
        (
            {"mcpServers": [{"name": "m", "env": [{"name": "GITHUB", "value": "ghp"}], "args": ["a"]}]},
            {"mcpServers": [{"name": "m", "env": [{"name": "GITHUB", "value": "***"}], "args": ["a"]}]},
        ),
        (
            {"headers": [{"name": "X-Auth", "value": "v", "_meta": {"a": "b"}}]},
            {"headers": [{"name": "X-Auth", "value": "***", "_meta": {"a": "***"}}]},
        ),
        ({"env": {"A": "v", "B": 1}}, {"env": {"A": "***", "B": 1}}),
        ({"env": "A=v"}, {"env": "***"}),
        ([{"token": "t"}, 5, None], [{"token": "***"}, 5, None]),
        ("token", "token"),
    ],
)
def test_secrets_are_masked(value: Any, masked: Any) -> None:
    assert mask(value) == masked


def test_frames_are_one_line_each() -> None:
    lines: list[str] = []
    trace = Trace(lines.append)
    trace.inbound('{"jsonrpc":"2.0","params":{"apiKey":"k","t":"é\\n"}}'.encode())
    trace.outbound(b'{"result":{}}\n')
    assert lines == [r'<- {"jsonrpc":"2.0","params":{"apiKey":"***","t":"\u00e9\n"}}', '-> {"result":{}}']


@pytest.mark.parametrize("line", [b"sk-secret", b"\xff", b"[" * 100_000])
def test_a_line_that_is_no_json_is_not_shown(line: bytes) -> None:
    assert describe(line) == f"({len(line)} bytes that are no JSON)"


def test_a_long_frame_is_cut() -> None:
    line = json.dumps({"a": "x" * 10_000}).encode()
    assert describe(line) == '{"a":"' + "x" * (LINE - 6) + f"... ({len(line)} bytes)"
