"""A conversation cut into pieces that a model can read one after another (docs/compaction.md, clause Z-3). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from acp_server.compaction.estimate import text_tokens
from acp_server.compaction.prune import cut_text
from acp_server.compaction.words import paragraphs
from acp_server.messages.blocks import Message

MOST: Final = 16
"""Pieces of one summary at most; texts are shortened until that many are enough."""
_LONGEST: Final = 8192
_SHORTEST: Final = 512
_LEAST_ROOM: Final = 256


def pieces(messages: Sequence[Message | None], room: int) -> list[str]:
    """Return the conversation as texts of at most about `room` tokens each, in order.

    Long paragraphs lose their middle, shorter and shorter ones until MOST pieces are enough; then the oldest go.
    """
    room = max(room, _LEAST_ROOM)
    longest = _LONGEST
    while True:
        made = _packed([_short(text, longest) for text in paragraphs(messages)], room)
        if len(made) <= MOST or longest <= _SHORTEST:
            return made[-MOST:]
        longest //= 2


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else cut_text(text, longest // 2, longest // 4, "")


def _packed(texts: Sequence[str], room: int) -> list[str]:
    made: list[str] = []
    packed: list[str] = []
    left = room
    for text in texts:
        for part in _split(text, room):
            price = text_tokens(part) + 1
            if packed and price > left:
                made.append("\n\n".join(packed))
                packed, left = [], room
            packed.append(part)
            left -= price
    return [*made, "\n\n".join(packed)] if packed else made


def _split(text: str, room: int) -> list[str]:
    """Return the text in parts that fit the room each."""
    price = text_tokens(text)
    if price <= room:
        return [text]
    size = max(1, len(text) * room * 9 // (price * 10))
    return [text[start : start + size] for start in range(0, len(text), size)]
