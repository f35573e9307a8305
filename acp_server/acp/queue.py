"""Prompts that wait, as the person and clients of our own kind see them. Pure.

Clauses EX-40 to EX-45 of docs/extensions.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from acp_server.acp.rendering import shown_line
from acp_server.messages.blocks import Message, text_of

KEY: Final = "acp_server"
SHOWN: Final = 60
"""Characters of a prompt that are shown in a sentence."""
LISTED: Final = 200
"""Characters of a prompt in a list."""


def steers(meta: object) -> bool:
    """Return whether `_meta` of a prompt lets it join the running turn."""
    own = meta.get(KEY) if isinstance(meta, Mapping) else None
    return isinstance(own, Mapping) and own.get("steer") is True


def queued_words(message: Message, waiting: int) -> str:
    """Return what the person is told of a prompt that waits, the last of so many."""
    plain = " ".join(text_of(message.content, " ").split())
    text = plain if len(plain) <= SHOWN else f"{plain[: SHOWN - 1]}…"
    return f"Queued until the running turn has ended ({waiting} waiting): {shown_line(text)}"


def queue_update(waiting: Sequence[Message]) -> dict[str, Any]:
    """Return the update that carries the whole queue, for clients that asked for it."""
    queue = [{"messageId": message.id, "text": text_of(message.content, " ")[:LISTED]} for message in waiting]
    return {"sessionUpdate": "session_info_update", "_meta": {KEY: {"queue": queue}}}
