"""The component of the person's hook commands, and of a trusted workspace's; nothing is loaded where there are none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from acp_server.agent.hooks import Decision, Enter, Reject, Revise, StepPlace
from acp_server.agent.tools import CallPlace, ToolOutcome
from acp_server.agent.turns import TurnEnd
from acp_server.app.components import hot
from acp_server.app.parts.skills import LateBook
from acp_server.app.registries import Parts
from acp_server.app.row import Config
from acp_server.app.session_access import HotSession, SessionObserver
from acp_server.messages.blocks import Message
from acp_server.session.events import SessionEvent

if TYPE_CHECKING:
    from acp_server.app.hook_dialect import Hook
    from acp_server.app.hook_points import HookPoints


WATCHED = frozenset({"approval/asked", "question/asked", "compaction/start"})
"""Events of a log that the person's hooks may hear of."""


class LateHooks:
    """The points, loaded once a session has any hook."""

    def __init__(self, parts: Parts, own: dict[str, Any]) -> None:
        self._parts = parts
        self._own = own
        self._book = LateBook(parts)
        self._points: HookPoints | None = None
        self._fresh: set[str] = set()
        self._hearing: set[asyncio.Future[None]] = set()

    async def pre_step(self, place: StepPlace, entry: Enter) -> Enter | Reject:
        """See hooks.PreStep."""
        points = self._find(place.session_id)
        return entry if points is None else await points.pre_step(place, entry)

    async def pre_tool(self, place: CallPlace, before: Decision) -> Decision | Revise:
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
            family = parts.family
            is_child = family.is_child if family is not None else _nobody
            self._points = HookPoints(
                self._hooks,
                parts.environment,
                parts.sessions,
                parts.tell,
                is_child=is_child,
                begins=self._begins,
            )
        return self._points

    def happened(self, session_id: str, event: SessionEvent) -> None:
        """See SessionObserver: let the person's hooks hear of it, behind the back of the session."""
        if event.type in WATCHED and (points := self._find(session_id)) is not None:
            hearing = asyncio.ensure_future(points.happened(session_id, event))
            self._hearing.add(hearing)
            hearing.add_done_callback(self._heard)

    def opened(self, session: HotSession) -> None:
        """See SessionObserver."""
        self._fresh.add(session.id)

    def closed(self, session_id: str) -> None:
        """See SessionObserver."""
        self._fresh.discard(session_id)

    async def close(self) -> None:
        """End the commands that only hear of something."""
        for hearing in tuple(self._hearing):
            hearing.cancel()
        await asyncio.gather(*self._hearing, return_exceptions=True)

    def _begins(self, session_id: str) -> bool:
        """Return whether the session has taken no step since it was opened; asked once."""
        fresh = session_id in self._fresh
        self._fresh.discard(session_id)
        return fresh

    def _heard(self, hearing: asyncio.Future[None]) -> None:
        self._hearing.discard(hearing)
        if not hearing.cancelled():
            hearing.exception()  # the session has closed meanwhile

    def _hooks(self, cwd: str | None) -> Sequence[Hook]:
        """Return the person's hooks, then a trusted workspace's."""
        from acp_server.app.hook_dialect import hooks_in  # noqa: PLC0415 - for who has hooks

        return [hook for table in (self._own, *self._project(cwd)) for hook in hooks_in(table)]

    def _project(self, cwd: str | None) -> Sequence[dict[str, Any]]:
        book = self._book.find(cwd)
        return () if book is None else book.trusted(cwd).hooks


@hot
def hooks(parts: Parts, config: Config) -> Callable[[], Awaitable[None]]:
    """Register the points; the config is the table `[hooks]` of the settings."""
    late = LateHooks(parts, cast("dict[str, Any]", dict(config)))
    parts.hooks.pre_step.add(late.pre_step)
    parts.hooks.pre_tool.add(late.pre_tool)
    parts.hooks.post_tool.add(late.post_tool)
    parts.hooks.turn_stopping.add(late.turn_stopping)
    watches = any(config.get(event) for event in ("PreCompact", "Notification"))
    parts.observers.add(SessionObserver(late.opened, late.happened if watches else None, late.closed))
    return late.close


def _nobody(_session_id: str) -> bool:
    return False
