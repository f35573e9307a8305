"""The header of a session that is made of another's events. Pure."""

from __future__ import annotations

from acp_server.base.ids import SessionId
from acp_server.session.header import SessionHeader


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
