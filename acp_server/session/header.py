"""The immutable facts of a session, kept beside its events (docs/log-format.md, clauses H-1 to H-4)."""

from __future__ import annotations

from typing import Final, Literal

from acp_server.base.ids import SessionId
from acp_server.base.values import value

FORMAT_VERSION: Final = 1


@value
class SessionHeader:
    """Who a session is: `created_at` in wall-clock milliseconds, `cwd` absolute.

    `seed_length` is the number of events inherited from `parent_session` by a fork and never changes afterwards;
    `delegation_depth` counts sub-agent levels.
    """

    id: SessionId
    created_at: int
    cwd: str | None = None
    parent_session: SessionId | None = None
    seed_length: int | None = None
    origin: Literal["subagent"] | None = None
    delegation_depth: int = 0
    agent_preset: str | None = None
    version: int = FORMAT_VERSION
