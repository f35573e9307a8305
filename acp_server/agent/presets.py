"""What one session's agent is made of: which tools and parts of the prompt it gets (docs/tools.md, K-1 to K-3).

Owns the presets that are shipped and how a log tells which one holds. Pure, and on the start path.
"""

from __future__ import annotations

from typing import Final

from acp_server.agent.contexts import Context
from acp_server.agent.system_prompt import Section
from acp_server.base.values import value
from acp_server.session.log import EventLog

PRESET_EVENT: Final = "agent-preset/selected"


@value
class Preset:
    """A preset; `tools` and `sections` are the names that it has, None for all that there are."""

    id: str
    name: str
    description: str
    tools: frozenset[str] | None = None
    sections: frozenset[str] | None = None

    def sections_of(self, sections: tuple[Section, ...]) -> tuple[Section, ...]:
        """Return those of the sections that it has."""
        return sections if self.sections is None else tuple(one for one in sections if one.name in self.sections)

    def contexts_of(self, contexts: tuple[Context, ...]) -> tuple[Context, ...]:
        """Return those of the contexts that it has: all, or none where it has not all sections."""
        return contexts if self.sections is None else ()

    def offers(self, tool: str) -> bool:
        """Return whether the tool of that name is one of its."""
        return self.tools is None or tool in self.tools


STANDARD: Final = Preset("standard", "Standard", "All tools, and everything that the model is told of the project.")
MINIMAL: Final = Preset(
    "minimal",
    "Minimal",
    "Reads, writes and runs commands; nothing else, and the shortest instructions.",
    frozenset({"read", "write", "edit", "bash"}),
    frozenset({"identity", "project-directory"}),
)
PRESETS: Final[tuple[Preset, ...]] = (STANDARD, MINIMAL)


def preset_of(log: EventLog) -> Preset:
    """Return the preset that was chosen before the first turn, the standard one when none was or it is not known."""
    chosen = None
    for event in log.milestones():
        if event.type == "turn/start":
            break
        if event.type == PRESET_EVENT:
            chosen = event.data.get("agentPreset")
    return next((preset for preset in PRESETS if preset.id == chosen), STANDARD)


def may_choose(log: EventLog) -> bool:
    """Return whether the preset can still be chosen: no turn has begun."""
    return not any(event.type == "turn/start" for event in log.milestones())
