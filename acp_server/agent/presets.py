"""What one session's agent is made of: tools, prompt, model and mode (docs/presets.md).

Owns the presets that are shipped, what a preset's choice is in the log, and how a log tells which one holds. Pure, and
on the start path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from acp_server.agent.contexts import Context
from acp_server.agent.modes import Mode
from acp_server.agent.system_prompt import Section
from acp_server.base.json_value import JsonValue
from acp_server.base.values import replace, value
from acp_server.session.log import EventLog

PRESET_EVENT: Final = "agent-preset/selected"
PROMPT_SECTION: Final = "preset"
PROMPT_ORDER: Final = 50
"""Behind the identity and the project, in front of what tools say of themselves."""
ANY: Final = "*"
"""At the end of a tool's name: whatever follows."""
WIDTH: Final[Mapping[Mode, int]] = {"plan": 0, "ask": 1, "auto": 2, "full": 3}
"""Which mode allows more than which."""


@value
class Preset:
    """A preset.

    Attributes:
        tools: the names that it has, `*` at the end for any further characters; None for all that there are.
        sections: the names of the parts of the system text that it has, None for all.
        prompt: what the system text says besides.
        model: `provider/model` of its sessions, None for what a session has anyway.
        mode: likewise, the mode.
        project: whether a workspace brought it, and not the person.
    """

    id: str
    name: str
    description: str
    tools: frozenset[str] | None = None
    sections: frozenset[str] | None = None
    prompt: str | None = None
    model: str | None = None
    mode: Mode | None = None
    project: bool = False

    def sections_of(self, sections: tuple[Section, ...]) -> tuple[Section, ...]:
        """Return those of the sections that it has, and its own."""
        had = sections if self.sections is None else tuple(one for one in sections if one.name in self.sections)
        prompt = self.prompt
        return (
            had if prompt is None else (*had, Section(PROMPT_SECTION, PROMPT_ORDER, lambda _cwd: prompt, template=True))
        )

    def contexts_of(self, contexts: tuple[Context, ...]) -> tuple[Context, ...]:
        """Return those of the contexts that it has: all, or none where it has not all sections."""
        return contexts if self.sections is None else ()

    def offers(self, tool: str) -> bool:
        """Return whether the tool of that name is one of its."""
        if self.tools is None or tool in self.tools:
            return True
        return any(name.endswith(ANY) and tool.startswith(name[:-1]) for name in self.tools)


STANDARD: Final = Preset("standard", "Standard", "All tools, and everything that the model is told of the project.")
MINIMAL: Final = Preset(
    "minimal",
    "Minimal",
    "Reads, writes and runs commands; nothing else, and the shortest instructions.",
    frozenset({"read", "write", "edit", "bash"}),
    frozenset({"identity", "project-directory"}),
)
PRESETS: Final[tuple[Preset, ...]] = (STANDARD, MINIMAL)
SHIPPED: Final[Mapping[str, Preset]] = {preset.id: preset for preset in PRESETS}


@value
class Offer:
    """The presets that sessions in a directory can have.

    `wrong` says by name what is wrong with others; `untrusted` are those that a workspace brings and nobody trusted.
    """

    presets: tuple[Preset, ...] = PRESETS
    wrong: tuple[tuple[str, str], ...] = ()
    untrusted: tuple[str, ...] = ()

    def find(self, name: object) -> Preset | None:
        """Return the preset of that name, or None."""
        return next((preset for preset in self.presets if preset.id == name), None)

    def why_not(self, name: object) -> str:
        """Return one sentence that says why there is no preset of that name."""
        found = next((sentence for ident, sentence in self.wrong if ident == name), None)
        if found is None and name in self.untrusted:
            return f"The project's preset {name} can be used once you trust what the project brings: see `/trust`."
        return found or f"There is no preset {name!r}; there are {', '.join(preset.id for preset in self.presets)}."


PresetSource: TypeAlias = Callable[[str | None], Offer]
"""Gives the presets for sessions in a directory that are not shipped."""


def offered(sources: Sequence[PresetSource], cwd: str | None) -> Offer:
    """Return the shipped presets, then those of the sources; of one name the first counts."""
    offers = [source(cwd) for source in sources]
    found = dict(SHIPPED)
    for preset in (preset for offer in offers for preset in offer.presets):
        found.setdefault(preset.id, preset)
    names = [*SHIPPED, *sorted(name for name in found if name not in SHIPPED)]
    wrong = tuple(one for offer in offers for one in offer.wrong)
    return Offer(tuple(found[name] for name in names), wrong, tuple(one for offer in offers for one in offer.untrusted))


def preset_of(log: EventLog) -> Preset:
    """Return the preset that was chosen before the first turn, the standard one when none was or it is not known."""
    chosen: Mapping[str, JsonValue] = {}
    for event in log.milestones():
        if event.type == "turn/start":
            break
        if event.type == PRESET_EVENT:
            chosen = event.data
    return _preset_in(chosen)


def may_choose(log: EventLog) -> bool:
    """Return whether the preset can still be chosen: no turn has begun."""
    return not any(event.type == "turn/start" for event in log.milestones())


def preset_data(preset: Preset) -> dict[str, JsonValue]:
    """Return what the log keeps of a choice: of a preset that is not shipped, all that its sessions are made of.

    Model and mode are events of their own, which may change again.
    """
    data: dict[str, JsonValue] = {"agentPreset": preset.id}
    if preset.id in SHIPPED:
        return data
    data |= {"name": preset.name, "description": preset.description}
    if preset.tools is not None:
        data["tools"] = sorted(preset.tools)
    if preset.sections is not None:
        data["sections"] = sorted(preset.sections)
    if preset.prompt is not None:
        data["prompt"] = preset.prompt
    return data


def wider_mode(preset: Preset, mode: Mode) -> bool:
    """Return whether a workspace's preset asks for a mode that allows more than the session's; it is not taken."""
    return preset.project and preset.mode is not None and WIDTH[preset.mode] > WIDTH[mode]


def mode_with(preset: Preset, mode: Mode) -> Mode:
    """Return the mode of a session that is in `mode` when the preset is chosen (docs/presets.md, clause K-8)."""
    return mode if preset.mode is None or wider_mode(preset, mode) else preset.mode


def not_wider(preset: Preset, mode: Mode) -> str:
    """Return the sentence for a mode that is not taken."""
    return (
        f"The project's preset {preset.id} asks for the mode {preset.mode}, which allows more than {mode};"
        f" the session stays in {mode} unless you change it."
    )


def _preset_in(data: Mapping[str, JsonValue]) -> Preset:
    ident = data.get("agentPreset")
    shipped = SHIPPED.get(ident) if isinstance(ident, str) else None
    name = data.get("name")
    if shipped is not None or not isinstance(ident, str) or not isinstance(name, str):
        return shipped or STANDARD
    description, prompt = data.get("description"), data.get("prompt")
    made = Preset(ident, name, description if isinstance(description, str) else "")
    made = replace(made, tools=_names(data.get("tools")), sections=_names(data.get("sections")))
    return replace(made, prompt=prompt if isinstance(prompt, str) else None)


def _names(given: JsonValue) -> frozenset[str] | None:
    return frozenset(name for name in given if isinstance(name, str)) if isinstance(given, (list, tuple)) else None
