"""Where in a turn a request stands, as a script sees it (docs/llm.md, clause X-6). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from acp_server.messages.blocks import Message, ToolResultBlock, UserSource, text_of
from acp_server.messages.request import GenerateOptions

MARK: Final = "@script"


@dataclass(frozen=True, slots=True)
class Scene:
    """The newest prompt's text, how many answers it has had, and the newest message's id."""

    prompt: str
    step: int
    newest: str

    @property
    def script(self) -> str | None:
        """Return the script that the prompt is, or None. What follows the mark on its line is the first line."""
        text = self.prompt.lstrip()
        if not text.startswith(MARK) or text[len(MARK) : len(MARK) + 1].strip():
            return None
        return text[len(MARK) :]


def scene_of(options: GenerateOptions) -> Scene:
    """Return the scene; the prompt is the newest message of the person, else the newest that is no tool result."""
    messages = options.messages
    place = _newest_prompt(messages)
    prompt = "" if place is None else text_of(messages[place].content, "\n")
    later = messages[(0 if place is None else place + 1) :]
    step = sum(1 for message in later if message.role == "assistant" and message.content)
    return Scene(prompt, step, messages[-1].id if messages else "")


def _newest_prompt(messages: Sequence[Message]) -> int | None:
    other: int | None = None
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.role != "user" or any(isinstance(block, ToolResultBlock) for block in message.content):
            continue
        if isinstance(message.source, UserSource):
            return place
        other = place if other is None else other
    return other
