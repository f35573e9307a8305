"""The raw events of a session for a client that asked for them (docs/extensions.md, clauses EX-10 to EX-16).

The log is the buffer: a feed remembers only how far it is, so that a client that reads slowly costs no memory.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from acp_server.jsonrpc.encoding import notification_bytes
from acp_server.jsonrpc.outbox import Outbox
from acp_server.session.event_json import event_to_json
from acp_server.session.events import SessionEvent
from acp_server.session.session import Session

NOTIFICATION: Final = "_acp_server/session/events"
MOST_EVENTS: Final = 200
"""Events of one notification."""
MOST_CHARACTERS: Final = 1024 * 1024
"""Characters of one notification's events; an event above that comes without its data."""


class EventFeed:
    """Sends every event of a session from `seq` on, in order, each once, until it is stopped."""

    def __init__(self, session: Session, outbox: Outbox, seq: int) -> None:
        self._session = session
        self._outbox = outbox
        self._next = seq
        self._more = asyncio.Event()
        self._forget = session.observe(lambda _event: self._more.set())
        self._task = asyncio.create_task(self._run())

    def stop(self) -> None:
        """Send nothing more."""
        self._forget()
        self._task.cancel()

    async def _run(self) -> None:
        with suppress(asyncio.CancelledError):
            while await self._outbox.room():
                self._more.clear()
                if self._next >= self._session.seq:
                    await self._more.wait()
                    await asyncio.sleep(0)  # what is appended in one go is sent in one go
                    continue
                entries, self._next = batch(tuple(islice(self._session.events.since(self._next), MOST_EVENTS)))
                params: dict[str, Any] = {"sessionId": self._session.id, "events": entries}
                self._outbox.put(notification_bytes(NOTIFICATION, params))
                await asyncio.sleep(0)


def batch(events: Sequence[SessionEvent]) -> tuple[list[dict[str, Any]], int]:
    """Return as many of these events as one notification holds, at least one, and the seq of the next one."""
    entries: list[dict[str, Any]] = []
    size = 0
    for event in events:
        entry: dict[str, Any] = event_to_json(event)
        length = len(json.dumps(entry["data"]))
        if length > MOST_CHARACTERS:
            entry = {key: part for key, part in entry.items() if key != "data"} | {"leftOut": length}
            length = 0
        if entries and size + length > MOST_CHARACTERS:
            break
        entries.append(entry)
        size += length
    return entries, events[len(entries) - 1].seq + 1
