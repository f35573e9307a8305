"""Forks: where a log may be cut, and who the child is (docs/sessions.md, clauses F-1 to F-4).

Owns the rules only; copying a prefix is the work of whoever holds the log.
"""

from __future__ import annotations

from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.session.event_json import is_seq
from acp_server.session.header import SessionHeader
from acp_server.session.log import EventLog


def fork_boundary(log: EventLog, boundary: int | None = None) -> int:
    """Return how many events a child inherits: those up to `boundary`, included; all without one.

    Raises:
        ServerError: INVALID_BOUNDARY when there is no such event; OPEN_TURN when the prefix ends inside a turn.
    """
    if boundary is not None and (not is_seq(boundary) or boundary >= len(log)):
        raise ServerError("INVALID_BOUNDARY", f"The session has {len(log)} events; it cannot be forked at {boundary}.")
    length = len(log) if boundary is None else boundary + 1
    turn: object = None
    for event in log.of_types(("turn/start", "turn/end")):
        if event.seq >= length:
            break
        turn = event.data["turn"] if event.type == "turn/start" else None
    if turn is not None:
        raise ServerError("OPEN_TURN", f"Turn {turn} is still open there; fork before it began or after it ended.")
    return length


def fork_header(parent: SessionHeader, child: SessionId, now: int, length: int) -> SessionHeader:
    """Return the child's header: it inherits `length` events, the working directory and the preset."""
    return SessionHeader(
        id=child,
        created_at=now,
        cwd=parent.cwd,
        parent_session=parent.id,
        seed_length=length,
        agent_preset=parent.agent_preset,
    )
