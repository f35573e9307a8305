"""A session's modes on the wire: as `modes`, as a config option, as updates (clauses M-01 to M-03, M-08). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from acp_server.acp.failures import invalid
from acp_server.agent.modes import DEFAULT_MODE, DESCRIPTIONS, MODES, Mode

OPTION: Final = "mode"
"""The id of the config option, which clients keep: it never changes."""


def modes_block(mode: Mode) -> dict[str, Any]:
    """Return the `modes` of a result."""
    known = [{"id": ident, "name": name, "description": told} for ident, (name, told) in DESCRIPTIONS.items()]
    return {"currentModeId": mode, "availableModes": known}


def mode_option(mode: Mode) -> dict[str, Any]:
    """Return the config option that says the same."""
    options = [{"value": ident, "name": name, "description": told} for ident, (name, told) in DESCRIPTIONS.items()]
    return {
        "id": OPTION,
        "name": "Mode",
        "category": "mode",
        "type": "select",
        "currentValue": mode,
        "options": options,
    }


def mode_update(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the update for a `permission/preset` event; what is no mode of ours counts as the default."""
    mode = data.get("preset")
    return {"sessionUpdate": "current_mode_update", "currentModeId": mode if mode in MODES else DEFAULT_MODE}


def read_mode(given: object, field: str) -> Mode:
    """Return the mode that a client names; raise RpcError -32602."""
    for mode in MODES:
        if mode == given:
            return mode
    raise invalid(field, f"is {given!r}; modes are {', '.join(MODES)}")
