"""From the Surface to the messages a model is sent (docs/sessions.md, clauses D-1 to D-3).

Owns which message an event stands for and the cache of those messages, and the latest `request/header` and
`request/context`. Adds no words and no framing of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.messages.blocks import Message
from acp_server.messages.codec import MessageFormatError, message_from_json
from acp_server.session.events import SessionEvent
from acp_server.session.log import EventLog
from acp_server.session.request_header import EpochHeader
from acp_server.session.surface import Surface

__all__ = ["REQUEST_TYPES", "EpochHeader", "History", "RequestFold", "derive_message"]

REQUEST_TYPES: Final = frozenset({"request/header", "request/context"})
"""Types that a RequestFold takes."""


def derive_message(event: SessionEvent) -> Message | None:
    """Return the message that the event stands for, or None.

    An assistant message without content stands for none: it hosts usage, or takes a range off the Surface.
    """
    if event.type == "user/message":
        return message_from_json(event.data)
    if event.type in ("assistant/message", "tool/result"):
        return visible(_read(event.data.get("message")))
    return None


def visible(message: Message) -> Message | None:
    """Return the message, or None for an answer without content."""
    return message if message.content or message.role != "assistant" else None


class History:
    """The messages of one log's Surface. Each event is read once for as long as it stands there."""

    def __init__(self, log: EventLog, surface: Surface) -> None:
        self._log = log
        self._surface = surface
        self._generation = 0
        self._derived: dict[int, Message | None] = {}
        self._nodes: tuple[int, ...] = ()
        self._messages: tuple[Message, ...] = ()

    def learn(self, seq: int, message: Message) -> None:
        """Take the message that the event `seq` holds, which was read for its check."""
        self._derived[seq] = visible(message)

    def messages(self) -> tuple[Message, ...]:
        """Return the messages in Surface order; the objects are the same from call to call."""
        nodes = self._surface.nodes
        if nodes is self._nodes:
            return self._messages
        generation = self._surface.replace_generation
        if generation == self._generation:
            fresh = nodes[len(self._nodes) :]
            self._messages += self._project(fresh)
        else:
            self._derived = {seq: self._derived[seq] for seq in nodes if seq in self._derived}
            self._messages = self._project(nodes)
            self._generation = generation
        self._nodes = nodes
        return self._messages

    def _project(self, nodes: tuple[int, ...]) -> tuple[Message, ...]:
        for seq in nodes:
            if seq not in self._derived:
                self._derived[seq] = derive_message(self._log[seq])
        return tuple(message for seq in nodes if (message := self._derived[seq]) is not None)


class RequestFold:
    """The latest header and context of a log's requests; each event is read when somebody asks."""

    def __init__(self) -> None:
        self._header: SessionEvent | None = None
        self._read: EpochHeader | None = None
        self._context: JsonObject | None = None

    def apply(self, event: SessionEvent) -> None:
        """Take the log's next event."""
        if event.type == "request/header":
            self._header, self._read = event, None
        elif event.type == "request/context":
            self._context = event.data

    def header(self) -> EpochHeader | None:
        """Return the latest header in canonical form, None while there is none."""
        if self._read is None and self._header is not None:
            data = self._header.data["header"]
            self._read = EpochHeader.from_json(data if isinstance(data, Mapping) else {})
        return self._read

    def context(self) -> JsonObject | None:
        """Return the latest `{provider, model, contextWindow?}`, None while there is none."""
        return self._context


def _read(value: JsonValue) -> Message:
    if not isinstance(value, Mapping):
        raise MessageFormatError("the event holds no message")
    return message_from_json(value)
