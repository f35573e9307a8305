"""A session's preset on the wire, as a config option (docs/protocol.md, clause M-21). Pure."""

from __future__ import annotations

from typing import Any, Final

from acp_server.acp.failures import invalid
from acp_server.agent.presets import Offer, Preset, may_choose, preset_of
from acp_server.session.log import EventLog

PRESET: Final = "preset"
"""The id of the config option, which clients keep: it never changes."""


def preset_option(log: EventLog, offer: Offer) -> dict[str, Any]:
    """Return the config option; once a turn has begun it offers nothing but what holds."""
    current = preset_of(log)
    presets = _with(offer.presets, current) if may_choose(log) else (current,)
    return {
        "id": PRESET,
        "name": "Preset",
        "description": "What the agent of this session is made of; chosen before the first prompt.",
        "type": "select",
        "currentValue": current.id,
        "options": [{"value": one.id, "name": one.name, "description": one.description} for one in presets],
    }


def read_preset(given: object, log: EventLog, offer: Offer) -> Preset:
    """Return the preset that a client names; raise RpcError -32602, also for a change after the first prompt."""
    current = preset_of(log)
    if not may_choose(log):
        if given == current.id:
            return current
        raise invalid("value", f"is {given!r}, but a preset is chosen before the first prompt")
    named = offer.find(given) or (current if given == current.id else None)
    if named is None:
        raise invalid("value", f"is {given!r}, which cannot be chosen. {offer.why_not(given)}")
    return named


def _with(presets: tuple[Preset, ...], current: Preset) -> tuple[Preset, ...]:
    """Return the presets with the current one, whose file may be gone."""
    return presets if any(one.id == current.id for one in presets) else (*presets, current)
