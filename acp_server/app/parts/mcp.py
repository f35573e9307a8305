"""The component of an MCP server that the settings name; every session has one of its own."""

from __future__ import annotations

from typing import Any, cast

from acp_server.app.components import hot
from acp_server.app.registries import Parts
from acp_server.app.row import Config
from acp_server.tools.mcp.servers import McpServer


@hot
def server(parts: Parts, config: Config) -> None:
    """Register the server; the config is a table `[mcp.NAME]` of the settings, with its name."""
    given = cast("dict[str, Any]", config)
    tools, env, headers = given.get("tools"), given.get("env", {}), given.get("headers", {})
    wanted = (text["env"] for text in (*env.values(), *headers.values()) if isinstance(text, dict))
    missing = next((name for name in wanted if name not in parts.environment), None)
    parts.mcp_servers.add(
        McpServer(
            given["name"],
            command=given.get("command"),
            args=tuple(given.get("args", ())),
            env=_values(parts, env),
            url=given.get("url"),
            headers=_values(parts, headers),
            tools=None if tools is None else tuple(tools),
            call_seconds=given.get("call_seconds", 120.0),
            missing=missing,
        )
    )


def _values(parts: Parts, given: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return names and values; a value `{ env = "NAME" }` is taken from the environment of this process."""
    return tuple((name, _value(parts, text)) for name, text in given.items())


def _value(parts: Parts, text: object) -> str:
    return parts.environment.get(text["env"], "") if isinstance(text, dict) else str(text)
