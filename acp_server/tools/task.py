"""The tool by which a model hands a piece of work to a sub-agent (docs/others.md, clauses A-1 to A-9)."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from acp_server.base.json_value import JsonObject
from acp_server.messages.blocks import TextBlock
from acp_server.tools.delegate import Delegate, Errand, Report
from acp_server.tools.tool import Card, Effect, ToolContext, ToolError, ToolResult

NO_WORDS: Final = "(the sub-agent ended without a word)"


class TaskArguments(BaseModel):
    """One piece of work."""

    model_config = ConfigDict(extra="forbid")

    description: str = Field(min_length=1, max_length=120, description="What it is about, in three to six words.")
    prompt: str = Field(
        min_length=1,
        max_length=100_000,
        description="The whole task: what to do, what is known, what the report has to hold.",
    )
    inherit: bool = Field(
        default=False, description="Let it begin with this conversation's earlier turns, instead of knowing nothing."
    )


class TaskTool:
    """See Tool."""

    name = "task"
    description = (
        "Hand a piece of work to a sub-agent, which has the same tools, works by itself and reports once. Use it for "
        "searches that read much and report little, and for independent pieces: several calls in one answer run side "
        "by side. It sees nothing of this conversation unless `inherit` is true, and cannot ask anything, so the "
        "prompt has to say everything."
    )
    arguments = TaskArguments
    seconds = None

    def __init__(self, delegate: Delegate) -> None:
        self._delegate = delegate

    def effect(self, arguments: TaskArguments, cwd: str) -> Effect:  # noqa: ARG002 - the port's signature
        """See Tool; what the sub-agent does is judged call by call."""
        return Effect("none")

    def card(self, arguments: TaskArguments, cwd: str) -> Card:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return Card(arguments.description, "other")

    def parallel(self, arguments: TaskArguments) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return True

    async def run(self, arguments: TaskArguments, context: ToolContext) -> ToolResult:
        """See Tool; raise ToolError SUBAGENT_FAILED or ABORTED with what the sub-agent said last."""
        errand = Errand(arguments.description, arguments.prompt, arguments.inherit)
        report = await self._delegate.run(errand, context)
        if report.kind == "completed":
            return ToolResult((TextBlock(report.text or NO_WORDS),), raw_output=_facts(report))
        code = "ABORTED" if report.kind == "cancelled" else "SUBAGENT_FAILED"
        said = f"\nWhat it said last:\n{report.text}" if report.text else ""
        raise ToolError(code, f"{report.why}{said}")


def _facts(report: Report) -> JsonObject:
    return {"sessionId": report.session_id, "steps": report.steps}
