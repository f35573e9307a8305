"""The last resort: making a conversation fit without any model (docs/compaction.md, clauses D-1 and D-2). Pure.

First the oldest part goes, whole units only; then the longest texts of what stays lose their middle. The person's
newest request is never cut: when it alone is too long, nothing here helps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from acp_server.base.values import replace, value
from acp_server.compaction.estimate import message_tokens
from acp_server.compaction.prune import cut_text
from acp_server.compaction.words import is_checkpoint
from acp_server.messages.blocks import Block, Message, TextBlock, ToolResultBlock, UserSource

SHARES: Final = (4, 8, 16, 32, 64)
"""A text may take so many parts of the target each; smaller shares are tried until all fits."""
NO_POINTERS: Final[Mapping[int, str]] = {}
_CHARACTERS_A_TOKEN: Final = 2
_LEAST: Final = 400


@value
class Shortened:
    """A message with shorter texts in the place of the one at `place`."""

    place: int
    message: Message


def newest_request(messages: Sequence[Message | None]) -> int | None:
    """Return the place of the newest request of the person, or None; a checkpoint may hold it."""
    for place in range(len(messages) - 1, -1, -1):
        if request_blocks(messages[place]):
            return place
    return None


def request_blocks(message: Message | None) -> tuple[Block, ...]:
    """Return what the person asked in a message: all of their own, or what a checkpoint kept of it word for word."""
    if message is None:
        return ()
    if isinstance(message.source, UserSource):
        return message.content
    return message.content[1:] if is_checkpoint(message) else ()


def shorten(
    messages: Sequence[Message | None], target: int, pointers: Mapping[int, str] = NO_POINTERS
) -> list[Shortened]:
    """Return the messages that have to be shortened so that all fit into `target` tokens, as far as that can be.

    `pointers` has, by the place of a result, the sentence that says how it can be had again.
    """
    prices = [message_tokens(message) for message in messages]
    kept = newest_request(messages)
    best: list[Shortened] = []
    if sum(prices) <= target:
        return best
    for share in SHARES:
        longest = max(_LEAST, target * _CHARACTERS_A_TOKEN // share)
        best = []
        for place, message in enumerate(messages):
            if message is not None and place != kept and message.role == "user":
                shorter = _shorter(message, longest, pointers.get(place, ""))
                if message_tokens(shorter) < prices[place]:
                    best.append(Shortened(place, shorter))
        saved = sum(prices[one.place] - message_tokens(one.message) for one in best)
        if sum(prices) - saved <= target:
            break
    return best


def _shorter(message: Message, longest: int, pointer: str) -> Message:
    content = tuple(shorter_block(block, longest, pointer) for block in message.content)
    same = all(new is old for new, old in zip(content, message.content, strict=True))
    return message if same else replace(message, content=content)


def shorter_block(block: Block, longest: int, pointer: str = "") -> Block:
    """Return the block with texts of about `longest` characters at most."""
    match block:
        case TextBlock() if len(block.text) > longest:
            text = cut_text(block.text, longest * 3 // 4, longest // 4, pointer)
            return block if text == block.text else TextBlock(text)
        case ToolResultBlock():
            content = tuple(shorter_block(inner, longest, pointer) for inner in block.content)
            same = all(new is old for new, old in zip(content, block.content, strict=True))
            return block if same else replace(block, content=content)
        case _:
            return block


def is_result(message: Message) -> bool:
    """Return whether the message is a tool's result."""
    return len(message.content) == 1 and isinstance(message.content[0], ToolResultBlock)
