"""The component of the person's hook commands, and of a trusted workspace's; nothing is loaded where there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from acp_server.agent.hooks import Decision, Enter, Reject, StepPlace
from acp_server.agent.tools import CallPlace, ToolOutcome
from acp_server.agent.turns import TurnEnd
from acp_server.app.components import hot
from acp_server.app.parts.skills import LateBook
from acp_server.app.registries import Parts
from acp_server.app.row import Config
from acp_server.messages.blocks import Message

if TYPE_CHECKING:
    from acp_server.app.hook_dialect import Hook
    from acp_server.app.hook_points import HookPoints


class LateHooks:
    """The points, loaded once a session has any hook."""

    def __init__(self, parts: Parts, own: dict[str, Any]) -> None:
        self._parts = parts
        self._own = own
        self._book = LateBook(parts)
        self._points: HookPoints | None = None

    async def pre_step(self, place: StepPlace, entry: Enter) -> Enter | Reject:
        """See hooks.PreStep."""
        points = self._find(place.session_id)
        return entry if points is None else await points.pre_step(place, entry)

    async def pre_tool(self, place: CallPlace, before: Decision) -> Decision:
        """See hooks.PreTool."""
        points = self._find(place.session_id)
        return before if points is None else await points.pre_tool(place, before)

    async def post_tool(self, place: CallPlace, outcome: ToolOutcome) -> ToolOutcome:
        """See hooks.PostTool."""
        points = self._find(place.session_id)
        return outcome if points is None else await points.post_tool(place, outcome)

    async def turn_stopping(self, place: StepPlace, end: TurnEnd) -> Sequence[Message]:
        """See hooks.TurnStopping."""
        points = self._find(place.session_id)
        return () if points is None else await points.turn_stopping(place, end)

    def _find(self, session_id: str) -> HookPoints | None:
        if not self._own and not self._project(self._parts.sessions.cwd(session_id)):
            return None
        if self._points is None:
            from acp_server.app.hook_points import HookPoints  # noqa: PLC0415 - for who has hooks

            parts = self._parts
            self._points = HookPoints(self._hooks, parts.environment, parts.sessions, parts.tell)
        return self._points

    def _hooks(self, cwd: str | None) -> Sequence[Hook]:
        """Return the person's hooks, then a trusted workspace's."""
        from acp_server.app.hook_dialect import hooks_in  # noqa: PLC0415 - for who has hooks

        return [hook for table in (self._own, *self._project(cwd)) for hook in hooks_in(table)]

    def _project(self, cwd: str | None) -> Sequence[dict[str, Any]]:
        book = self._book.find(cwd)
        return () if book is None else book.trusted(cwd).hooks


@hot
def hooks(parts: Parts, config: Config) -> None:
    """Register the points; the config is the table `[hooks]` of the settings."""
    late = LateHooks(parts, cast("dict[str, Any]", dict(config)))
    parts.hooks.pre_step.add(late.pre_step)
    parts.hooks.pre_tool.add(late.pre_tool)
    parts.hooks.post_tool.add(late.post_tool)
    parts.hooks.turn_stopping.add(late.turn_stopping)
