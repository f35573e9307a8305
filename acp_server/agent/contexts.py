"""What the model is told of a state that changes: one snapshot message, sent anew only when it differs.

Owns the message and how the last one is found again. It joins behind the messages that a step begins with, so that
the text in front of it stays as it was sent before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from acp_server.base.values import value
from acp_server.messages.blocks import Message, PluginSource, TextBlock, text_of
from acp_server.session.session import Session

PLUGIN: Final = "acp-server/contexts"
PREAMBLE: Final = "The state at this moment; it takes the place of every such message before."
NOTHING: Final = "The state that was told before no longer applies."


@value
class Context:
    """One part of the snapshot. `text` gets the session's directory and may return nothing to say."""

    name: str
    order: int
    text: Callable[[str | None], str | None]


def snapshot(session: Session, contexts: Iterable[Context], new_id: Callable[[], str]) -> Message | None:
    """Return the message that tells the state, or None when the last one on the Surface says the same."""
    told = _last(session.messages())
    parts = [
        (context.name, text)
        for context in sorted(contexts, key=lambda context: context.order)
        if (text := context.text(session.header.cwd))
    ]
    if not parts and told is None:
        return None
    text = "\n\n".join([PREAMBLE, *(f"[{name}]\n{words}" for name, words in parts)]) if parts else NOTHING
    if text == told:
        return None
    return Message(new_id(), "user", (TextBlock(text),), PluginSource(PLUGIN, {}))


def _last(messages: Sequence[Message]) -> str | None:
    for message in reversed(messages):
        if isinstance(message.source, PluginSource) and message.source.plugin == PLUGIN:
            return text_of(message.content)
    return None
