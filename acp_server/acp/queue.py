"""Prompts that wait, as the person and clients of our own kind see them. Pure.

Clauses EX-40 to EX-45 of docs/extensions.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from acp_server.acp.rendering import brief
from acp_server.messages.blocks import Message, text_of

KEY: Final = "acp_server"
LISTED: Final = 200
"""Characters of a prompt in a list."""


def steers(meta: object) -> bool:
    """Return whether `_meta` of a prompt lets it join the running turn."""
    own = meta.get(KEY) if isinstance(meta, Mapping) else None
    return isinstance(own, Mapping) and own.get("steer") is True


def queued_words(message: Message, waiting: int) -> str:
    """Return what the person is told of a prompt that waits, the last of so many."""
    text = brief(text_of(message.content, " "))
    return f"Queued until the running turn has ended ({waiting} waiting): {text}"


def queue_update(waiting: Sequence[Message]) -> dict[str, Any]:
    """Return the update that carries the whole queue, for clients that asked for it."""
    return {"sessionUpdate": "session_info_update", "_meta": {KEY: {"queue": [listed(one) for one in waiting]}}}


def listed(message: Message) -> dict[str, Any]:
    """Return a prompt that waits as lists have it."""
    return {"messageId": message.id, "text": text_of(message.content, " ")[:LISTED]}
