"""A session that is made of another's events: its header, and the batches of its inherited part. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from acp_server.base.ids import SessionId
from acp_server.persistence.weight import weight
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader

BATCH_EVENTS: Final = 2_000
BATCH_WEIGHT: Final = 8 * 1024 * 1024
"""Events and about as many bytes of one inherited batch; a heavier event has a batch of its own."""


def child_header(header: SessionHeader, parent: SessionId, inherited: int) -> SessionHeader:
    """Return `header` with its origin: the parent, and how many of its events the child begins with."""
    return SessionHeader(
        id=header.id,
        created_at=header.created_at,
        cwd=header.cwd,
        parent_session=parent,
        seed_length=inherited,
        origin=header.origin,
        delegation_depth=header.delegation_depth,
        agent_preset=header.agent_preset,
        version=header.version,
    )


def inherited_batches(events: Iterable[SessionEvent]) -> Iterator[list[SessionEvent]]:
    """Iterate over the events in order, cut into batches that a log can hold."""
    batch, total = list[SessionEvent](), 0
    for event in events:
        size = weight(event)
        if batch and (len(batch) >= BATCH_EVENTS or total + size > BATCH_WEIGHT):
            yield batch
            batch, total = [], 0
        batch.append(event)
        total += size
    if batch:
        yield batch
