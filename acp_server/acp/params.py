"""Reading the parameters of requests: each reader names the field that is wrong (docs/protocol.md, clause T-60).

The params of the first requests are read by hand, because a person waits for them and pydantic costs 100 ms to load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acp_server.acp.failures import invalid

Params = Mapping[str, Any]


def session_id(params: Params) -> str:
    """Return `sessionId`; raise RpcError -32602 when it is missing or no text."""
    value = params.get("sessionId")
    if not isinstance(value, str):
        raise invalid("sessionId", "must be a string")
    return value


def method_id(params: Params) -> str:
    """Return `methodId`; raise RpcError -32602 when it is missing or no text."""
    value = params.get("methodId")
    if not isinstance(value, str):
        raise invalid("methodId", "must be a string")
    return value


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server that the editor names; `transport` is stdio, http or sse."""

    name: str
    transport: str


@dataclass(frozen=True, slots=True)
class NewSession:
    """The params of `session/new`."""

    cwd: str
    mcp_servers: tuple[McpServer, ...]


def new_session(params: Params) -> NewSession:
    """Return the params of `session/new`; raise RpcError -32602 naming the field. Clauses S-01, S-02, S-09, S-11."""
    cwd = params.get("cwd")
    if not isinstance(cwd, str) or not cwd:
        raise invalid("cwd", "must be an absolute path")
    if "\0" in cwd or not Path(cwd).is_absolute():
        raise invalid("cwd", "must be an absolute path")
    if not Path(cwd).is_dir():
        raise invalid("cwd", "is no directory that exists")
    for place, directory in _entries(params, "additionalDirectories"):
        if not isinstance(directory, str) or not Path(directory).is_absolute():
            raise invalid(place, "must be an absolute path")
    servers = tuple(_mcp_server(place, server) for place, server in _entries(params, "mcpServers"))
    return NewSession(cwd, servers)


def _mcp_server(place: str, server: object) -> McpServer:
    if not isinstance(server, Mapping) or not isinstance(server.get("name"), str):
        raise invalid(place, "must be an object with a name")
    transport = server.get("type", "stdio")
    name: str = server["name"]
    if transport != "stdio":
        raise invalid(place, f"names the server {name!r} with the transport {transport!r}, which is not offered")
    if not isinstance(server.get("command"), str):
        raise invalid(f"{place}.command", "must be a string")
    return McpServer(name, transport)


def _entries(params: Params, field: str) -> list[tuple[str, object]]:
    """Return the array's items with their places; a missing or null array is empty."""
    value = params.get(field)
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise invalid(field, "must be an array")
    return [(f"{field}[{n}]", item) for n, item in enumerate(value)]


def prompt_blocks(params: Params) -> Sequence[Mapping[str, Any]]:
    """Return the content blocks of `prompt`; raise RpcError -32602 when it is no array of objects."""
    value = params.get("prompt")
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise invalid("prompt", "must be an array of content blocks")
    for n, block in enumerate(value):
        if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
            raise invalid(f"prompt[{n}]", "must be a content block with a type")
    return value
