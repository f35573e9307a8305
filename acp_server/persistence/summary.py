"""What a list shows of a session, as a fold over its events. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from acp_server.base.values import replace, value
from acp_server.session.events import SessionEvent

SHOWN_TYPES: Final = frozenset({"session/title", "turn/start"})
"""Types that change a summary, its count of events aside."""


@value
class Summary:
    """The latest title, the number of turns begun (None while it is not known), the number of events."""

    title: str | None = None
    turns: int | None = 0
    events: int = 0


def add_event(summary: Summary, event: SessionEvent) -> Summary:
    """Return the summary with one more event."""
    if event.type == "session/title":
        title = event.data.get("title")
        return replace(summary, title=title if isinstance(title, str) else summary.title, events=event.seq + 1)
    turns = summary.turns
    if turns is not None and event.type == "turn/start":
        turns += 1
    return Summary(summary.title, turns, event.seq + 1)


def summarize(milestones: Iterable[SessionEvent], length: int) -> Summary:
    """Return the summary of a whole log from its events of SHOWN_TYPES at least; `length` counts every event."""
    latest, turns = None, 0
    for event in milestones:
        if event.type == "turn/start":
            turns += 1
        elif event.type == "session/title":
            title = event.data.get("title")
            latest = title if isinstance(title, str) else latest
    return Summary(latest, turns, length)
