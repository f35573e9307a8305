"""How many images one request carries: the oldest give way to a line of text (docs/llm.md, clause A-13). Pure.

Every request carries all images of its conversation again, and every provider has a limit beyond which it refuses
requests for good. Images go by steps, so that requests in a row begin with the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from acp_server.base.values import replace
from acp_server.messages.blocks import Block, ImageBlock, Message, TextBlock, ToolResultBlock, images_of

MOST: Final = 80
STEP: Final = 20
MOST_CHARACTERS: Final = 28 * 1024 * 1024
"""Characters of base64; Messages takes requests of 32 MB, the others more."""
STEP_CHARACTERS: Final = 8 * 1024 * 1024


def within_budget(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages with as many of their oldest images as text as it takes; the same ones where none has to."""
    sizes = [encoded(image) for message in messages for image in images_of(message.content)]
    going = _going(sizes)
    if not going:
        return messages
    kept: list[Message] = []
    for message in messages:
        found = sum(1 for _ in images_of(message.content))
        kept.append(replace(message, content=_without(message.content, going)) if found and going else message)
        going = max(0, going - found)
    return tuple(kept)


def encoded(image: ImageBlock) -> int:
    """Return the characters of an image in base64."""
    return (image.size + 2) // 3 * 4


def _going(sizes: Sequence[int]) -> int:
    """Return how many of the oldest images go; the newest one never does."""
    over = _steps(len(sizes) - MOST, STEP)
    characters = _steps(sum(sizes) - MOST_CHARACTERS, STEP_CHARACTERS)
    gone = 0
    while gone < len(sizes) - 1 and (gone < over or characters > 0):
        characters -= sizes[gone]
        gone += 1
    return gone


def _steps(over: int, step: int) -> int:
    return -(-over // step) * step if over > 0 else 0


def _without(content: tuple[Block, ...], going: int) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for block in content:
        if going > 0 and isinstance(block, ImageBlock):
            going -= 1
            blocks.append(
                TextBlock(f"[the image {block.name or block.attachment_id} was shown earlier and is left out]")
            )
        elif going > 0 and isinstance(block, ToolResultBlock):
            found = sum(1 for _ in images_of(block.content))
            blocks.append(replace(block, content=_without(block.content, going)) if found else block)
            going -= found
        else:
            blocks.append(block)
    return tuple(blocks)
