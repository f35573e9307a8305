"""The port through which a tool hands work to a sub-agent: a session of its own that reports back. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from acp_server.base.values import value

if TYPE_CHECKING:
    from acp_server.tools.tool import ToolContext

ReportKind: TypeAlias = Literal["completed", "cancelled", "failed"]


@value
class Errand:
    """What a sub-agent is to do; `inherits` is whether it begins with the conversation's turns that are over.

    `session_id` is for a caller that has to know the session before it begins; without it the id is a fresh one.
    """

    label: str
    prompt: str
    inherits: bool = False
    session_id: str | None = None


@value
class Report:
    """How a sub-agent ended: its session, its last words, and for what did not complete one sentence that says why."""

    session_id: str
    kind: ReportKind
    text: str
    steps: int
    why: str = ""


class Delegate(Protocol):
    """Runs sub-agents."""

    async def run(self, errand: Errand, context: ToolContext) -> Report:
        """Return the report once the sub-agent's turn is over and its session is closed.

        Raises:
            ToolError: SUBAGENT_LIMIT, no sub-agent can be started here; SUBAGENT_TAKEN, the id is an open session's.
            ServerError: its session cannot be made.
        """
        ...
