"""The tool by which a model asks the person something (docs/others.md, clauses Q-1 to Q-5)."""

from __future__ import annotations

import uuid
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from acp_server.base.cancel import Cancelled
from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import TextBlock
from acp_server.tools.client_side import Choice, Inquiry, Reply
from acp_server.tools.tool import Card, Effect, ToolContext, ToolError, ToolResult

ASKED: Final = "question/asked"
ANSWERED: Final = "question/answered"
AS_TEXT: Final = (
    "This question cannot be shown as a form here. Ask it in words, as your answer, and end the turn: the person "
    "answers with the next prompt."
)
SAID: Final = {
    "declined": "The person gave no answer. Go on with what you know, or say what you need.",
    "dismissed": "The person closed the question without an answer.",
    "as-text": AS_TEXT,
}


class AskOption(BaseModel):
    """One answer to choose."""

    model_config = ConfigDict(extra="forbid")

    label: str = Field(min_length=1, max_length=120, description="The answer, in a few words.")
    description: str = Field(default="", max_length=500, description="What it means.")


class AskArguments(BaseModel):
    """One question."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1, max_length=4_000, description="The question, in full sentences.")
    options: list[AskOption] = Field(
        default=[], max_length=8, description="Answers to choose from; the person may give another one."
    )
    multiple: bool = Field(default=False, description="Whether several of them may be chosen.")


class AskTool:
    """See Tool."""

    name = "ask"
    description = (
        "Ask the person one question and wait for the answer. Use it when you cannot go on well without knowing what "
        "they want, and not for what you can find out. Never ask for passwords or keys."
    )
    arguments = AskArguments
    seconds = None

    def effect(self, arguments: AskArguments, cwd: str) -> Effect:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return Effect("none")

    def card(self, arguments: AskArguments, cwd: str) -> Card:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return Card(arguments.question, "other")

    def parallel(self, arguments: AskArguments) -> bool:  # noqa: ARG002 - the port's signature
        """See Tool."""
        return False

    async def run(self, arguments: AskArguments, context: ToolContext) -> ToolResult:
        """See Tool; raise ToolError NOBODY_THERE. Question and answer are durable before the model reads on."""
        choices = tuple(Choice(option.label, option.description) for option in arguments.options)
        labels: list[JsonValue] = [choice.label for choice in choices]
        if len(set(labels)) < len(labels):
            raise ToolError("INVALID_ARGS", "two of the options are the same")
        ident = uuid.uuid4().hex
        asked: dict[str, JsonValue] = {"id": ident, "callId": context.call_id, "question": arguments.question}
        context.record(ASKED, asked | ({"options": labels} if labels else {}), ignorable=True)
        await context.beside.settle()
        inquiry = Inquiry(arguments.question, choices, arguments.multiple)
        try:
            reply = await context.client.ask(inquiry, context.call_id, context.cancel)
        except Cancelled:
            context.record(ANSWERED, {"id": ident, "outcome": "cancelled"}, ignorable=True)
            raise
        answer: list[JsonValue] = list(reply.answer)
        told = {"answer": answer} if answer else {}
        context.record(ANSWERED, {"id": ident, "outcome": reply.outcome, **told}, ignorable=True)
        await context.beside.settle()
        return ToolResult((TextBlock(_words(reply)),))


def _words(reply: Reply) -> str:
    if reply.outcome == "nobody":
        raise ToolError("NOBODY_THERE", "nobody is there to answer; decide yourself and say what you took for granted")
    if reply.outcome == "answered":
        return f"The person answered: {'; '.join(reply.answer)}"
    return SAID[reply.outcome]
