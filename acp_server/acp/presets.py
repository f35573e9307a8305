"""A session's preset on the wire, as a config option (docs/protocol.md, clause M-21). Pure."""

from __future__ import annotations

from typing import Any, Final

from acp_server.acp.failures import invalid
from acp_server.agent.presets import PRESETS, Preset, may_choose, preset_of
from acp_server.session.log import EventLog

PRESET: Final = "preset"
"""The id of the config option, which clients keep: it never changes."""


def preset_option(log: EventLog) -> dict[str, Any]:
    """Return the config option; once a turn has begun it offers nothing but what holds."""
    current = preset_of(log)
    offered = PRESETS if may_choose(log) else (current,)
    return {
        "id": PRESET,
        "name": "Preset",
        "description": "What the agent of this session is made of; chosen before the first prompt.",
        "type": "select",
        "currentValue": current.id,
        "options": [{"value": one.id, "name": one.name, "description": one.description} for one in offered],
    }


def read_preset(given: object, log: EventLog) -> Preset:
    """Return the preset that a client names; raise RpcError -32602, also for a change after the first prompt."""
    named = next((preset for preset in PRESETS if preset.id == given), None)
    if named is None:
        raise invalid("value", f"is {given!r}; presets are {', '.join(preset.id for preset in PRESETS)}")
    if named != preset_of(log) and not may_choose(log):
        raise invalid("value", f"is {given!r}, but a preset is chosen before the first prompt")
    return named
