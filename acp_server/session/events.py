"""One entry of a session's log, and the vocabulary of entry types (docs/log-format.md, clauses E-1 to E-8).

Owns the envelope and the list of known types. What may follow what is `session`'s and `surface`'s matter.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from acp_server.base.json_value import FrozenObject
from acp_server.base.values import value


@value
class Replace:
    """The event stands on the Surface in place of the nodes from `start` to `end`, both included, by position."""

    start: int
    end: int


APPEND: Final = "append"
SurfaceOp: TypeAlias = Literal["append"] | Replace


@value
class SessionEvent:
    """One frozen entry. `seq` is its place in the log from 0; `time` is wall-clock milliseconds since the epoch.

    `source_event_seqs` names the events it was made from: None means not recorded, an empty tuple means none.
    `ignorable` lets a reader that does not know the type go on without it.
    """

    type: str
    seq: int
    time: int
    data: FrozenObject
    surface_op: SurfaceOp | None = None
    source_event_seqs: tuple[int, ...] | None = None
    ignorable: bool = False


SURFACE_TYPES: Final = frozenset({"user/message", "assistant/message", "tool/result"})

REQUIRED_TYPES: Final = frozenset(
    {
        *SURFACE_TYPES,
        "turn/start",
        "turn/end",
        "step/start",
        "step/end",
        "assistant/chunk",
        "tool/call",
        "todo/write",
        "request/header",
        "request/context",
        "session/end-seed",
        "agent/inbox/spliced",
        "agent-preset/selected",
        "llm/retry",
        "llm/retry-started",
        "compaction/start",
        "compaction/summary",
        "compaction/end",
        "compaction/prune",
        "session/title",
        "session/title-llm-request",
        "command/run",
        "command/done",
        "approval/asked",
        "approval/decided",
        "approval/policy",
        "permission/preset",
        "sandbox/mode",
        "plan/mode",
        "hook/invoked",
        "hook/result",
        "subagent/descriptor",
    }
)
"""Types that a reader has to know: an unknown one that is not `ignorable` refuses the whole log."""
