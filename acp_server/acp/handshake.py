"""The answer to `initialize`, computed from the request alone.

This module is on the start path: it is imported, and answers, before dataclasses, typing or asyncio are loaded
(docs/decisions/0002-initialize-before-imports.md). It reads no file, no variable and no network: docs/protocol.md,
clauses I-01 to I-16.
"""

from __future__ import annotations

from acp_server import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROTOCOL_VERSION = 1

AUTH_METHODS: list[dict[str, Any]] = [
    {
        "id": "provider-key",
        "name": "Provider key",
        "description": "Uses the key in DEEPSEEK_API_KEY, OPENAI_API_KEY or ANTHROPIC_API_KEY, or a stored one.",
    },
    {
        "id": "demo",
        "name": "Demo model",
        "description": "Opens the built-in scripted model for this connection: no key, no network, no intelligence.",
    },
]

LOGIN: dict[str, Any] = {
    "id": "login",
    "name": "Log in in a terminal",
    "description": "Asks for a provider's key and keeps it for this account: acp-server login.",
}
LOGIN_FLAG = "--login"
"""Behind whatever else the client starts the server with, it makes a login of it."""

CAPABILITIES: dict[str, Any] = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": False},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "additionalDirectories": {}},
    "auth": {"logout": {}},
    "_meta": {
        "acp_server": {
            "promptQueueing": True,
            "steering": True,
            "editorState": True,
            "methods": [
                "_acp_server/session/steer",
                "_acp_server/session/rename",
                "_acp_server/session/fork",
                "_acp_server/session/undo",
                "_acp_server/session/status",
                "_acp_server/session/export",
                "_acp_server/session/events/subscribe",
                "_acp_server/session/events/unsubscribe",
            ],
            "notifications": ["_acp_server/session/events"],
        }
    },
}


def auth_methods(params: dict[str, Any], python: str) -> list[dict[str, Any]]:
    """Return the ways to log in that a client with these capabilities can go (clauses A-04 to A-08).

    A login in a terminal is offered to clients that can run one: the type `terminal` where the protocol's capability
    is set, the older form in `_meta` where that one is. That one names a whole command: `python` runs it.
    """
    offered = _object(params.get("clientCapabilities"))
    login = LOGIN
    if _object(offered.get("auth")).get("terminal") is True:
        login = {**login, "type": "terminal", "args": [LOGIN_FLAG], "env": {}}
    if _object(offered.get("_meta")).get("terminal-auth") is True:
        command = {"command": python, "args": ["-m", "acp_server", "login"], "env": {}}
        login = {**login, "_meta": {"terminal-auth": {"label": "acp-server login", **command}}}
    first, *others = AUTH_METHODS
    return AUTH_METHODS if login is LOGIN else [first, login, *others]


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def initialize_result(params: dict[str, Any], python: str, *, unstable: bool = False) -> dict[str, Any] | None:
    """Return the result of `initialize`, or None when `protocolVersion` is no version number.

    Whatever whole number is asked, the answer is 1, the one version spoken here; digits as text count as a number.
    `unstable` advertises methods that no stable version of the protocol has; `python` is this interpreter's place.
    """
    asked = params.get("protocolVersion")
    if isinstance(asked, str):
        if not (asked.isascii() and asked.isdigit() and len(asked) < 6):
            return None
    elif not isinstance(asked, int) or isinstance(asked, bool):
        return None
    capabilities = CAPABILITIES
    if unstable:
        capabilities = {**CAPABILITIES, "sessionCapabilities": {**CAPABILITIES["sessionCapabilities"], "fork": {}}}
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": capabilities,
        "authMethods": auth_methods(params, python),
        "agentInfo": {"name": "acp-server", "title": "acp-server", "version": __version__},
    }
