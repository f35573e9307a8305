"""The plan: the model writes the whole list each time, the editor shows it (docs/protocol.md, U-02 and U-03)."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import TextBlock
from acp_server.tools.tool import Card, Effect, ToolContext, ToolError, ToolResult

EVENT: Final = "todo/write"


class TodoItem(BaseModel):
    """One item of the plan."""

    model_config = ConfigDict(extra="forbid")

    content: str = Field(min_length=1, max_length=500, description="What is to be done, in one line.")
    status: Literal["pending", "in_progress", "completed"] = Field(description="At most one item is in progress.")


class TodoArguments(BaseModel):
    """The whole plan; it replaces the one before."""

    model_config = ConfigDict(extra="forbid")

    todos: list[TodoItem] = Field(max_length=100, description="Every item in order, those that are done included.")


class TodoTool:
    """See Tool."""

    name = "todo"
    description = (
        "Write the plan of the work: the whole list of items with their states. Use it for work of several steps, "
        "keep exactly one item in progress while you work on it, and mark an item completed as soon as it is."
    )
    arguments = TodoArguments

    def effect(self, arguments: TodoArguments, cwd: str) -> Effect:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return Effect("none")

    def card(self, arguments: TodoArguments, cwd: str) -> Card:  # noqa: ARG002 - the port's signature
        """See Tool."""
        done = sum(item.status == "completed" for item in arguments.todos)
        return Card(f"Plan: {done} of {len(arguments.todos)} done", "think")

    def parallel(self, arguments: TodoArguments) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return False

    async def run(self, arguments: TodoArguments, context: ToolContext) -> ToolResult:
        """See Tool; raise ToolError INVALID_ARGS when two items are in progress."""
        if sum(item.status == "in_progress" for item in arguments.todos) > 1:
            raise ToolError("INVALID_ARGS", "at most one item may be in progress")
        todos: list[JsonValue] = [{"content": item.content, "status": item.status} for item in arguments.todos]
        context.record(EVENT, {"todos": todos})
        return ToolResult((TextBlock("The plan is written."),))
