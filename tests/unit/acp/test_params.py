from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_server.acp import params
from acp_server.jsonrpc.errors import INVALID_PARAMS, RpcError
from acp_server.tools.mcp.servers import McpServer


def refusal(read: Any, given: Any) -> str:
    with pytest.raises(RpcError) as refused:
        read(given)
    assert refused.value.rpc_code == INVALID_PARAMS
    return refused.value.message


@pytest.mark.parametrize("cwd", [None, "", "sub/dir", 5, ["/"], "/a\0b"])
def test_cwd_must_be_absolute(cwd: object) -> None:
    assert "cwd must be an absolute path" in refusal(params.new_session, {"cwd": cwd})


@pytest.mark.parametrize("servers", [{}, {"mcpServers": None}, {"mcpServers": []}])
def test_missing_servers_are_none(tmp_path: Path, servers: dict[str, Any]) -> None:
    assert params.new_session({"cwd": str(tmp_path), **servers}) == params.NewSession(str(tmp_path), ())


def test_servers_over_stdio_are_read(tmp_path: Path) -> None:
    server = {"name": "echo", "command": "/bin/echo", "args": [], "env": []}
    asked = params.new_session({"cwd": str(tmp_path), "mcpServers": [server]})
    assert asked.mcp_servers == (McpServer("echo", "/bin/echo"),)


def test_servers_are_read_with_all_that_they_are_given(tmp_path: Path) -> None:
    pair = [{"name": "A", "value": "1"}]
    servers = [
        {"name": "p", "command": "x", "args": ["-v"], "env": pair},
        {"name": "a", "type": "http", "url": "http://127.0.0.1/", "headers": pair},
    ]
    assert params.new_session({"cwd": str(tmp_path), "mcpServers": servers}).mcp_servers == (
        McpServer("p", "x", ("-v",), (("A", "1"),)),
        McpServer("a", url="http://127.0.0.1/", headers=(("A", "1"),)),
    )


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("mcpServers", "x", "mcpServers must be an array"),
        ("mcpServers", [1], "mcpServers[0] must be an object with a name"),
        ("mcpServers", [{"name": "n"}], "mcpServers[0].command must be a string"),
        ("mcpServers", [{"name": "web", "type": "sse", "url": "u"}], "'web' with the transport 'sse'"),
        ("additionalDirectories", ["/tmp", "rel"], "additionalDirectories[1] must be an absolute path"),
        ("mcpServers", [{"name": "n", "command": "x", "args": [1]}], "mcpServers[0].args[0] must be a string"),
        ("mcpServers", [{"name": "n", "command": "x", "args": "a"}], "mcpServers[0].args must be an array"),
        ("mcpServers", [{"name": "n", "command": "x", "env": [{"name": "A"}]}], "mcpServers[0].env[0] must be an"),
        ("mcpServers", [{"name": "n", "type": "http", "url": "file:///x"}], "mcpServers[0].url must be an address"),
        ("additionalDirectories", 7, "additionalDirectories must be an array"),
    ],
)
def test_wrong_fields_are_named(tmp_path: Path, field: str, value: object, words: str) -> None:
    assert words in refusal(params.new_session, {"cwd": str(tmp_path), field: value})


@pytest.mark.parametrize("given", [{}, {"sessionId": 5}, {"sessionId": None}])
def test_session_id_is_text(given: dict[str, Any]) -> None:
    assert "sessionId must be a string" in refusal(params.session_id, given)


@pytest.mark.parametrize("prompt", [None, "hi", 5, {}, ["x"], [{"text": "no type"}]])
def test_a_prompt_is_an_array_of_blocks(prompt: object) -> None:
    assert "prompt" in refusal(params.prompt_blocks, {"prompt": prompt})
