"""What a run's command line chooses for its session: preset, mode, and the model that a preset names.

Owns that the command line goes before the preset, and the preset before what the session has (docs/presets.md, K-8).
"""

from __future__ import annotations

from collections.abc import Callable

from acp_server.acp.options import model_value
from acp_server.agent.agent import Agent
from acp_server.agent.modes import MODE_EVENT, mode_of
from acp_server.agent.presets import (
    PRESET_EVENT,
    Preset,
    may_choose,
    mode_with,
    not_wider,
    preset_data,
    preset_of,
    wider_mode,
)
from acp_server.app.core import Core
from acp_server.app.headless.options import RunOptions
from acp_server.base.errors import ServerError
from acp_server.base.values import replace
from acp_server.messages.request import CallConfig


def named_preset(core: Core, options: RunOptions) -> Preset | None:
    """Return the preset that the command line names, None where it names none; raise ServerError UNKNOWN_PRESET."""
    if options.preset is None:
        return None
    core.composition.require()
    offer = core.presets(options.cwd)
    found = offer.find(options.preset)
    if found is None:
        raise ServerError("UNKNOWN_PRESET", offer.why_not(options.preset))
    return found


def choose(
    core: Core, options: RunOptions, agent: Agent, preset: Preset | None, notice: Callable[[str], None]
) -> ServerError | None:
    """Let the session be what was chosen, as events; return what forbids it, or None."""
    session, mode = agent.session, mode_of(agent.session.events)
    wanted = options.mode or mode
    try:
        if preset is not None and _is_taken(agent, preset):
            wanted = options.mode or mode_with(preset, mode)
            if preset.model is not None and options.model is None:
                agent.choose(_config(core, agent.config, preset))
            if wider_mode(preset, mode) and options.mode is None:
                notice(not_wider(preset, mode))
        if wanted != mode:
            session.append(MODE_EVENT, {"preset": wanted})
    except ServerError as error:
        return error
    return None


def _is_taken(agent: Agent, preset: Preset) -> bool:
    """Let the session have the preset; return whether it has it anew, and not since earlier turns."""
    current = preset_of(agent.session.events)
    if not may_choose(agent.session.events):
        if preset.id != current.id:
            raise ServerError("PRESET_FIXED", "A preset is chosen before the first prompt of a session.")
        return False
    if preset_data(preset) != preset_data(current):
        agent.session.append(PRESET_EVENT, preset_data(preset))
    return True


def _config(core: Core, config: CallConfig, preset: Preset) -> CallConfig:
    for model in core.reachable.offered():
        if model_value(model) == preset.model:
            return replace(config, provider=model.provider, model=model.id, reasoning_effort=None)
    raise ServerError("MODEL_UNUSABLE", f"The preset {preset.id} wants {preset.model}, which cannot be used.")
