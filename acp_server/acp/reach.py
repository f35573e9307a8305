"""What commands may reach, as a config option (docs/protocol.md, clause M-20). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from acp_server.acp.failures import invalid
from acp_server.agent.network import Reach

NETWORK: Final = "network"
"""The id of the option, which clients keep: it never changes."""
_WORDS: Final[Mapping[Reach, tuple[str, str]]] = {
    "off": ("Off", "Commands reach nothing beyond themselves."),
    "allow-list": ("Listed hosts", "Commands reach the hosts of the settings, through a proxy."),
    "on": ("On", "Commands reach whatever this machine can."),
}


def network_option(chosen: Reach | None, default: Reach, listed: bool) -> dict[str, Any]:
    """Return the option; the list is offered where there are hosts on it."""
    current = chosen or default
    values = [reach for reach in _WORDS if reach != "allow-list" or listed or reach == current]
    return {
        "id": NETWORK,
        "name": "Network",
        "description": "What commands may reach.",
        "category": "_acp_server_network",
        "type": "select",
        "currentValue": current,
        "options": [{"value": reach, "name": _WORDS[reach][0], "description": _WORDS[reach][1]} for reach in values],
    }


def read_reach(given: object, default: Reach, listed: bool) -> Reach:
    """Return what a client chooses; raise RpcError -32602."""
    offered = {option["value"]: option["value"] for option in network_option(None, default, listed)["options"]}
    if not isinstance(given, str) or given not in offered:
        raise invalid("value", f"is {given!r}; offered are: {', '.join(offered)}")
    found: Reach = offered[given]
    return found
