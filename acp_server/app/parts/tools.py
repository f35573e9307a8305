"""The component of the standard tools: files, the shell, the plan."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from acp_server.app.registries import Parts
from acp_server.app.row import Config
from acp_server.app.session_access import SessionObserver

if TYPE_CHECKING:
    from acp_server.app.tool_states import ToolStates
    from acp_server.tools.tool import AnyTool

LOAD_AFTER: Final = 0.3
"""Seconds from the loading of the models to that of the tools' code, which would hold up the first words."""


def standard(parts: Parts, config: Config) -> Callable[[], None]:  # noqa: ARG001 - a factory's signature
    """Register the standard tools; what they do is loaded once their descriptions are on the way to a model."""
    made: list[ToolStates] = []
    timers: list[threading.Timer] = []

    def make() -> Sequence[AnyTool]:
        from acp_server.app.tool_states import ToolStates, standard_tools  # noqa: PLC0415 - tools are not for the start path

        states = ToolStates(parts.environment)
        made.append(states)
        return standard_tools(states)

    def describe() -> Sequence[AnyTool]:
        from acp_server.tools.late_tool import LateTools, standard_schemas  # noqa: PLC0415 - likewise

        late = LateTools(make)
        timer = threading.Timer(LOAD_AFTER, late.load)
        timer.daemon = True
        timer.start()
        timers.append(timer)
        return late.tools(standard_schemas())

    def closed(session_id: str) -> None:
        for states in made:
            states.closed(session_id)

    def close() -> None:
        for timer in timers:
            timer.cancel()
        for states in made:
            states.close()

    parts.toolkits.add(describe)
    parts.observers.add(SessionObserver(closed=closed))
    return close
