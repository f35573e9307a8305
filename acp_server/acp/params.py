"""Reading the parameters of requests: each reader names the field that is wrong (docs/protocol.md, clause T-60).

The params of the first requests are read by hand, because a person waits for them and pydantic costs 100 ms to load.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from acp_server.acp.failures import invalid
from acp_server.base.values import value
from acp_server.tools.mcp.servers import McpServer

Params = Mapping[str, Any]


def session_id(params: Params) -> str:
    """Return `sessionId`; raise RpcError -32602 when it is missing or no text."""
    value = params.get("sessionId")
    if not isinstance(value, str):
        raise invalid("sessionId", "must be a string")
    return value


@value
class StoredSession:
    """The params of `session/load` and `session/resume`."""

    id: str
    cwd: str
    mcp_servers: tuple[McpServer, ...]
    roots: tuple[str, ...] = ()


def stored_session(params: Params) -> StoredSession:
    """Return the params of `session/load` and `session/resume`; raise RpcError -32602 naming the field."""
    ident = session_id(params)
    return StoredSession(ident, absolute(params, "cwd"), mcp_servers(params), _roots(params))


def absolute(params: Params, field: str) -> str:
    """Return the absolute path in that field, without a slash at its end; raise RpcError -32602."""
    path = params.get(field)
    if not isinstance(path, str) or "\0" in path or not is_absolute(path):
        raise invalid(field, "must be an absolute path")
    return normal_path(path)


def is_absolute(path: str) -> bool:
    """Return whether the path says everything: POSIX, a Windows drive, or a Windows share."""
    return path.startswith(("/", "\\\\")) or (path[1:3] in (":\\", ":/") and path[:1].isalpha())


def normal_path(path: str) -> str:
    """Return the path without slashes at its end; a root stays."""
    return path.rstrip("/") or "/"


def optional_text(params: Params, field: str) -> str | None:
    """Return the text in that field, None when it is missing or null; raise RpcError -32602 for anything else."""
    value = params.get(field)
    if value is not None and not isinstance(value, str):
        raise invalid(field, "must be a string")
    return value


def title(params: Params) -> str:
    """Return `title`; raise RpcError -32602 when it is missing or no text."""
    value = optional_text(params, "title")
    if value is None:
        raise invalid("title", "must be a string")
    return value


def boundary(params: Params) -> int | None:
    """Return `seq`, the last event that a fork keeps, or None for all; raise RpcError -32602."""
    value = params.get("seq")
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise invalid("seq", "must be the number of an event")
    return value


def method_id(params: Params) -> str:
    """Return `methodId`; raise RpcError -32602 when it is missing or no text."""
    value = params.get("methodId")
    if not isinstance(value, str):
        raise invalid("methodId", "must be a string")
    return value


@value
class NewSession:
    """The params of `session/new`."""

    cwd: str
    mcp_servers: tuple[McpServer, ...]
    roots: tuple[str, ...] = ()


def new_session(params: Params) -> NewSession:
    """Return the params of `session/new`; raise RpcError -32602 naming the field. Clauses S-01, S-02, S-09, S-11.

    Whether the directory exists is for whoever may look at the disk.
    """
    cwd = absolute(params, "cwd")
    return NewSession(cwd, mcp_servers(params), _roots(params))


def real_roots(roots: tuple[str, ...]) -> tuple[str, ...]:
    """Return the directories by their canonical names, each once; raise RpcError -32602 for one that is not there."""
    for n, root in enumerate(roots):
        if not os.path.isdir(root):  # noqa: PTH112 - pathlib is not on the start path
            raise invalid(f"additionalDirectories[{n}]", "is no directory that exists")
    return tuple(dict.fromkeys(map(os.path.realpath, roots)))


def _roots(params: Params) -> tuple[str, ...]:
    found = []
    for place, directory in _entries(params, "additionalDirectories"):
        if not isinstance(directory, str) or "\0" in directory or not is_absolute(directory):
            raise invalid(place, "must be an absolute path")
        found.append(normal_path(directory))
    return tuple(found)


def mcp_servers(params: Params) -> tuple[McpServer, ...]:
    """Return the MCP servers that the client names; raise RpcError -32602 naming the field. Clauses MC-01 to MC-04."""
    return tuple(_mcp_server(place, server) for place, server in _entries(params, "mcpServers"))


def _mcp_server(place: str, server: object) -> McpServer:
    if not isinstance(server, Mapping) or not isinstance(server.get("name"), str):
        raise invalid(place, "must be an object with a name")
    transport = server.get("type", "stdio")
    name: str = server["name"]
    if transport == "http":
        url = server.get("url")
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise invalid(f"{place}.url", "must be an address of http or https")
        return McpServer(name, url=url, headers=_pairs(server, place, "headers"))
    if transport != "stdio":
        raise invalid(place, f"names the server {name!r} with the transport {transport!r}, which is not offered")
    if not isinstance(server.get("command"), str):
        raise invalid(f"{place}.command", "must be a string")
    args = _entries(server, "args", place)
    for where, arg in args:
        if not isinstance(arg, str):
            raise invalid(where, "must be a string")
    return McpServer(name, server["command"], tuple(str(arg) for _, arg in args), _pairs(server, place, "env"))


def _pairs(server: Params, place: str, field: str) -> tuple[tuple[str, str], ...]:
    """Return names and values of a list of `{name, value}`."""
    pairs = []
    for where, pair in _entries(server, field, place):
        if not isinstance(pair, Mapping) or not all(isinstance(pair.get(key), str) for key in ("name", "value")):
            raise invalid(where, "must be an object with a name and a value")
        pairs.append((pair["name"], pair["value"]))
    return tuple(pairs)


def _entries(params: Params, field: str, place: str = "") -> list[tuple[str, object]]:
    """Return the array's items with their places; a missing or null array is empty."""
    value, where = params.get(field), f"{place}.{field}" if place else field
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise invalid(where, "must be an array")
    return [(f"{where}[{n}]", item) for n, item in enumerate(value)]


def prompt_blocks(params: Params) -> Sequence[Mapping[str, Any]]:
    """Return the content blocks of `prompt`; raise RpcError -32602 when it is no array of objects."""
    value = params.get("prompt")
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise invalid("prompt", "must be an array of content blocks")
    for n, block in enumerate(value):
        if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
            raise invalid(f"prompt[{n}]", "must be a content block with a type")
    return value


def may_hold_images(params: Params) -> bool:
    """Return whether `prompt`, which may be malformed, has blocks that can become images."""
    prompt = params.get("prompt")
    if isinstance(prompt, str) or not isinstance(prompt, Sequence):
        return False
    return any(_may_be_image(block) for block in prompt if isinstance(block, Mapping))


def _may_be_image(block: Mapping[str, Any]) -> bool:
    resource = block.get("resource")
    return block.get("type") == "image" or (isinstance(resource, Mapping) and "blob" in resource)
