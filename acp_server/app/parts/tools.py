"""The component of the standard tools: files, the shell, the plan."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from acp_server.agent.hooks import Enter, StepPlace
from acp_server.agent.tools import CallPlace, ToolOutcome
from acp_server.app.registries import Parts, Toolkit
from acp_server.app.row import Config
from acp_server.app.session_access import SessionAccess, SessionObserver

if TYPE_CHECKING:
    from acp_server.app.tool_states import ToolStates
    from acp_server.tools.late_tool import LateTools
    from acp_server.tools.tool import AnyTool

LOAD_AFTER: Final = 0.5
"""Seconds from the first request to a model until the tools' code is loaded, which would hold up the first words."""
NAMING_FILES: Final = frozenset({"read", "list", "glob", "grep", "write", "edit", "multi_edit", "todo", "ask", "task"})
"""Tools that change no file, or tell which; what others change counts as changed by the model."""


def standard(parts: Parts, config: Config) -> Callable[[], Awaitable[None]]:
    """Register the standard tools; what they do is loaded once their descriptions are on the way to a model."""
    made: list[ToolStates] = []
    loading: list[LateTools] = []
    timers: list[threading.Timer] = []
    lock = threading.Lock()

    def make() -> Sequence[AnyTool]:
        from acp_server.app.tool_states import ToolStates, standard_tools  # noqa: PLC0415 - tools are not for the start path

        states = ToolStates(parts.machine)
        made.append(states)
        return standard_tools(states, in_editor=config.get("shell") == "editor")

    def late() -> LateTools:
        from acp_server.tools.late_tool import LateTools  # noqa: PLC0415 - likewise

        with lock:
            if not loading:
                loading.append(LateTools(make))
        return loading[0]

    def describe() -> Sequence[AnyTool]:
        from acp_server.tools.late_tool import standard_schemas  # noqa: PLC0415 - likewise

        return late().tools(standard_schemas())

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
    watching = Watching(parts.sessions, made, lambda: late().load())
    parts.hooks.pre_step.add(watching.tell)
    parts.hooks.post_tool.add(watching.settle)
    return close


class Watching:
    """Hooks that tell the model of files that others have changed (docs/others.md, clauses W-1 to W-4)."""

    def __init__(self, sessions: SessionAccess, made: Sequence[ToolStates], load: Callable[[], None]) -> None:
        self._sessions = sessions
        self._made = made
        self._load = load

    async def tell(self, place: StepPlace, entry: Enter) -> Enter:
        """See hooks.PreStep."""
        log = self._sessions.events(place.session_id)
        if not self._made and log is not None and place.turn > 1 and next(log.of_types(("tool/result",)), None):
            await asyncio.to_thread(self._load)  # what was read in an earlier life is known to the tools alone
        for states in self._made:
            entry = await states.tell_changes(place, entry, log)
        return entry

    async def settle(self, place: CallPlace, outcome: ToolOutcome) -> ToolOutcome:
        """See hooks.PostTool."""
        if place.call.name not in NAMING_FILES:
            for states in self._made:
                await states.settle_changes(place.session_id)
        return outcome
