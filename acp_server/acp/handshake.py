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
        "description": "Uses the key in DEEPSEEK_API_KEY, OPENAI_API_KEY or ANTHROPIC_API_KEY.",
    },
    {
        "id": "demo",
        "name": "Demo model",
        "description": "Opens the built-in scripted model for this connection: no key, no network, no intelligence.",
    },
]

CAPABILITIES: dict[str, Any] = {
    "loadSession": True,
    "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
    "mcpCapabilities": {"http": False, "sse": False},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
    "auth": {},
    "_meta": {
        "acp_server": {
            "promptQueueing": True,
            "methods": ["_acp_server/session/steer", "_acp_server/session/rename", "_acp_server/session/fork"],
        }
    },
}


def initialize_result(params: dict[str, Any], *, unstable: bool = False) -> dict[str, Any] | None:
    """Return the result of `initialize`, or None when `protocolVersion` is no version number.

    Whatever whole number is asked, the answer is 1, the one version spoken here; digits as text count as a number.
    `unstable` advertises methods that no stable version of the protocol has.
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
        "authMethods": AUTH_METHODS,
        "agentInfo": {"name": "acp-server", "title": "acp-server", "version": __version__},
    }
