"""A conversation as every provider wants it: each call with exactly one result, directly after its message.

Owns the pairing (docs/llm.md, clause W-5): results are drawn to their calls, a call without one is given one that says
so, a result whose call is not in the conversation is told as the user's words. Growing histories keep their beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from acp_server.messages.blocks import (
    Block,
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)

NO_OUTPUT: Final = "(no output)"
NO_RESULT: Final = ToolResultBlock("", (TextBlock("(no result: the call was interrupted)"),), is_error=True)


@dataclass(slots=True)
class Call:
    """A call as it goes on the wire: `id` is unique in the request and fit for the protocol."""

    id: str
    block: ToolCallBlock
    result: ToolResultBlock = NO_RESULT


@dataclass(frozen=True, slots=True)
class Said:
    """Words of the user or of the system; no tool results. What holds an image is the user's: systems only speak."""

    role: Literal["user", "system"]
    content: tuple[TextBlock | ImageBlock, ...]


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message of the model; `calls` stand in the order of its content."""

    message: Message
    calls: tuple[Call, ...]


Entry: TypeAlias = Said | Spoken


def exchanges(messages: Sequence[Message], wire_id: Callable[[str], str]) -> list[Entry]:
    """Return the conversation's entries in order; `wire_id` makes an id fit for the protocol."""
    entries: list[Entry] = []
    waiting: dict[str, list[Call]] = {}
    taken: set[str] = set()
    for message in messages:
        if message.role == "assistant":
            blocks = (block for block in message.content if isinstance(block, ToolCallBlock))
            calls = tuple(Call(_distinct(wire_id(block.id), taken), block) for block in blocks)
            waiting |= {call.block.id: [twin for twin in calls if twin.block.id == call.block.id] for call in calls}
            entries.append(Spoken(message, calls))
        else:
            content = tuple(_unclaimed(message.content, waiting))
            shows = any(isinstance(block, ImageBlock) for block in content)
            if content:
                entries.append(Said("user" if shows else message.role, content))
    return entries


def result_content(result: ToolResultBlock) -> tuple[TextBlock | ImageBlock, ...]:
    """Return the result's words and images; nothing but blank words counts as NO_OUTPUT."""
    content = tuple(_plain(result.content))
    if all(isinstance(block, TextBlock) and not block.text.strip() for block in content):
        return (TextBlock(NO_OUTPUT),)
    return content


def _unclaimed(content: Sequence[Block], waiting: dict[str, list[Call]]) -> Iterator[TextBlock | ImageBlock]:
    for block in content:
        if not isinstance(block, ToolResultBlock):
            yield from _plain((block,))
        elif calls := waiting.get(block.tool_call_id):
            # An id that was used again means the newest call; among calls of one message, the first without a result.
            calls.pop(0).result = block
        else:
            yield TextBlock("[result of an earlier tool call]\n")
            yield from result_content(block)


def _plain(content: Sequence[Block]) -> Iterator[TextBlock | ImageBlock]:
    for block in content:
        if isinstance(block, TextBlock):
            if block.text:
                yield block
        elif isinstance(block, ImageBlock):
            yield block
        elif isinstance(block, OpaqueBlock):
            yield TextBlock(f"[content of the type {block.type} is left out]")


def _distinct(ident: str, taken: set[str]) -> str:
    number, chosen = 2, ident
    while chosen in taken:
        chosen, number = f"{ident[:56]}-{number}", number + 1
    taken.add(chosen)
    return chosen
