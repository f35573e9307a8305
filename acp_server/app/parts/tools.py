"""The component of the standard tools: files, the shell, the plan."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from acp_server.app.registries import Parts
from acp_server.app.row import Config
from acp_server.app.session_access import SessionObserver

if TYPE_CHECKING:
    from acp_server.app.tool_states import ToolStates
    from acp_server.tools.tool import AnyTool


def standard(parts: Parts, config: Config) -> Callable[[], None]:  # noqa: ARG001 - a factory's signature
    """Register the standard tools; they are loaded when the first turn is near."""
    made: list[ToolStates] = []

    def load() -> Sequence[AnyTool]:
        from acp_server.app.tool_states import ToolStates  # noqa: PLC0415 - tools are not for the start path
        from acp_server.tools.bash import BashTool  # noqa: PLC0415 - likewise
        from acp_server.tools.file_tools import file_tools  # noqa: PLC0415 - likewise
        from acp_server.tools.todo import TodoTool  # noqa: PLC0415 - likewise

        states = ToolStates(parts.environment)
        made.append(states)
        ripgrep = shutil.which("rg", path=parts.environment.get("PATH"))
        return (*file_tools(states.access, ripgrep), BashTool(states.backend), TodoTool())

    def closed(session_id: str) -> None:
        for states in made:
            states.closed(session_id)

    def close() -> None:
        for states in made:
            states.close()

    parts.toolkits.add(load)
    parts.observers.add(SessionObserver(closed=closed))
    return close
