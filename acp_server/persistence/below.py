"""The sub-agents' sessions below a session (docs/others.md, clause A-10): they go with it."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from acp_server.base.ids import SessionId
from acp_server.persistence.port import SessionPersistence

PAGE: Final = 1000


async def subagents_below(store: SessionPersistence, session_id: SessionId) -> list[SessionId]:
    """Return the sessions of the sub-agents that a session started, and of theirs; a parent before its children.

    Raises:
        PersistenceError: what the list raises.
    """
    below = defaultdict[SessionId, list[SessionId]](list)
    cursor: str | None = None
    while True:
        page = await store.list(None, cursor, PAGE, origin="subagent")
        for entry in page.entries:
            if entry.parent_session is not None:
                below[entry.parent_session].append(entry.id)
        cursor = page.next_cursor
        if cursor is None:
            break
    found, waiting = list[SessionId](), below.pop(session_id, [])
    while waiting:
        found += waiting
        waiting = [child for parent in waiting for child in below.pop(parent, [])]
    return found
