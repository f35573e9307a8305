"""The component of the standard tools: files, the shell, the plan."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from acp_server.agent.hooks import Enter, StepPlace
from acp_server.app.registries import Parts, Toolkit
from acp_server.app.row import Config
from acp_server.app.session_access import SessionObserver

if TYPE_CHECKING:
    from acp_server.app.tool_states import ToolStates
    from acp_server.tools.late_tool import LateTools
    from acp_server.tools.tool import AnyTool

LOAD_AFTER: Final = 0.5
"""Seconds from the first request to a model until the tools' code is loaded, which would hold up the first words."""


def standard(parts: Parts, config: Config) -> Callable[[], Awaitable[None]]:
    """Register the standard tools; what they do is loaded once their descriptions are on the way to a model."""
    made: list[ToolStates] = []
    loading: list[LateTools] = []
    timers: list[threading.Timer] = []

    def make() -> Sequence[AnyTool]:
        from acp_server.app.tool_states import ToolStates, standard_tools  # noqa: PLC0415 - tools are not for the start path

        states = ToolStates(parts.machine)
        made.append(states)
        return standard_tools(states, in_editor=config.get("shell") == "editor")

    def describe() -> Sequence[AnyTool]:
        from acp_server.tools.late_tool import LateTools, standard_schemas  # noqa: PLC0415 - likewise

        loading.append(LateTools(make))
        return loading[-1].tools(standard_schemas())

    def opened() -> None:
        for late in loading:
            timers.append(threading.Timer(LOAD_AFTER, late.load))
            timers[-1].daemon = True
            timers[-1].start()

    def closed(session_id: str) -> None:
        for states in made:
            states.closed(session_id)

    async def tell_ends(place: StepPlace, entry: Enter) -> Enter:
        for states in made:
            entry = await states.tell_ends(place, entry)
        return entry

    async def close() -> None:
        for timer in timers:
            timer.cancel()
        for states in made:
            await states.close()

    parts.toolkits.add(Toolkit(describe, opened))
    parts.observers.add(SessionObserver(closed=closed))
    parts.hooks.pre_step.add(tell_ends)
    return close
