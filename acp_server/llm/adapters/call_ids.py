"""Ids of tool calls: never empty, never twice in what the model sees (docs/llm.md, clause W-4).

Ids of the provider's making are kept where they can be. An id that is missing, or that the conversation holds already,
is made from the id of the newest message, so that it is the same for the same request and differs between requests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from acp_server.messages.blocks import Message, ToolCallBlock

LONGEST: Final = 64
_STRICT: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class CallIds:
    """The ids for one answer to a request with these messages."""

    __slots__ = ("_messages", "_taken")

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._taken: set[str] | None = None

    def give(self, proposed: str) -> str:
        """Return the provider's id, or one made up when it is empty or taken."""
        if self._taken is None:
            blocks = (block for message in self._messages for block in message.content)
            self._taken = {block.id for block in blocks if isinstance(block, ToolCallBlock)}
        chosen = proposed if proposed and proposed not in self._taken else self._made(proposed or "call", self._taken)
        self._taken.add(chosen)
        return chosen

    def _made(self, stem: str, taken: set[str]) -> str:
        newest = self._messages[-1].id if self._messages else ""
        stem = f"{stem[:40]}_{sha256(newest.encode()).hexdigest()[:12]}"
        number = 0
        while (made := f"{stem}_{number}") in taken:
            number += 1
        return made


def short_id(ident: str) -> str:
    """Return the id as Chat Completions takes it: any text of at most 64 characters."""
    return ident if 0 < len(ident) <= LONGEST else _digest(ident)


def strict_id(ident: str) -> str:
    """Return the id as Responses and Messages take it: letters, digits, underscore and hyphen."""
    return ident if _STRICT.fullmatch(ident) else _digest(ident)


def _digest(ident: str) -> str:
    return f"call_{sha256(ident.encode()).hexdigest()[:24]}"
