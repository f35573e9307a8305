"""What waits for a turn or a step, durably: every change is an `agent/inbox/spliced` event first.

Two lists: `next-turn` holds prompts, one of which opens each turn; `next-step` holds what joins at the next boundary
of steps. Owns their order; who wakes whom is the agent's matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import Message
from acp_server.messages.codec import message_from_json, message_to_json
from acp_server.session.pending import unentered_prompts, waiting_prompts
from acp_server.session.session import Session

Target: TypeAlias = Literal["next-turn", "next-step"]
TARGETS: Final[tuple[Target, ...]] = ("next-turn", "next-step")
SPLICED: Final = "agent/inbox/spliced"
CAPACITY: Final = 256
"""Messages that may wait in one list; a client that sends more is told to wait."""


class Inbox:
    """The two lists of one agent.

    A fork does not inherit what waits at its parent. A resumed session keeps its own, parked: it stays in its place
    and nothing claims it before `release`.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        waiting = waiting_prompts(session.events, session.header.seed_length or 0)
        self._lists: dict[Target, list[Message]] = {
            target: [message_from_json(data) for data in waiting[target]] for target in TARGETS
        }
        self._parked = {message.id for messages in self._lists.values() for message in messages}

    def waiting(self, target: Target) -> Sequence[Message]:
        """Return what waits in that list, first to be taken first."""
        return tuple(self._lists[target])

    @property
    def due(self) -> bool:
        """Return whether a prompt waits that may open a turn."""
        return any(message.id not in self._parked for message in self._lists["next-turn"])

    @property
    def parked(self) -> tuple[Message, ...]:
        """Return what waits from an earlier life of the session, until the person says what becomes of it."""
        return tuple(m for target in TARGETS for m in self._lists[target] if m.id in self._parked)

    def recover(self) -> None:
        """Put back, parked and first in line, what a crash caught after its claim and before its turn had it."""
        for lost in reversed(unentered_prompts(self._session.events, self._session.header.seed_length or 0)):
            message = message_from_json(lost.data)
            self._parked.add(message.id)
            self._splice("next-step" if lost.target == "next-step" else "next-turn", 0, 0, (message,))

    def release(self) -> None:
        """Let what is parked take its turn like everything else."""
        self._parked.clear()

    def drop_parked(self) -> tuple[Message, ...]:
        """Discard what is parked; return it."""
        dropped = self.parked
        for message in dropped:
            target = next(target for target in TARGETS if message in self._lists[target])
            self._splice(target, self._lists[target].index(message), 1, (), outcome="canceled")
        self._parked.clear()
        return dropped

    def insert(self, target: Target, message: Message, *, first: bool = False) -> None:
        """Add the message at the end, or at the beginning when `first`.

        Raises:
            ServerError: INBOX_FULL, or DUPLICATE_MESSAGE when its id waits already.
        """
        waiting = self._lists[target]
        if len(waiting) >= CAPACITY:
            raise ServerError("INBOX_FULL", f"{CAPACITY} prompts are waiting already; wait for one of them to end.")
        if any(message.id == other.id for items in self._lists.values() for other in items):
            raise ServerError("DUPLICATE_MESSAGE", f"the message {message.id} is waiting already")
        self._splice(target, 0 if first else len(waiting), 0, (message,))

    def claim(self, target: Target) -> tuple[Message, ...]:
        """Take all of next-step and, for a turn, the first prompt; return them in that order. Parked ones stay."""
        taken = self._take("next-step", CAPACITY)
        return taken + (self._take("next-turn", 1) if target == "next-turn" else ())

    def withdraw(self, ident: str) -> bool:
        """Discard one prompt that waits for a turn, marked as canceled; return whether it waited."""
        waiting = self._lists["next-turn"]
        place = next((n for n, message in enumerate(waiting) if message.id == ident), None)
        if place is None:
            return False
        self._splice("next-turn", place, 1, (), outcome="canceled")
        self._parked.discard(ident)
        return True

    def waits(self, ident: str) -> bool:
        """Return whether a message of that id waits in either list."""
        return any(message.id == ident for messages in self._lists.values() for message in messages)

    def clear(self) -> tuple[Message, ...]:
        """Discard everything that is not parked, next-step first, marked as canceled; return what was discarded."""
        steps = self._take("next-step", CAPACITY, outcome="canceled")
        return steps + self._take("next-turn", CAPACITY, outcome="canceled")

    def _take(self, target: Target, count: int, outcome: str | None = None) -> tuple[Message, ...]:
        """Take the first `count` that are not parked, each run of neighbours by one event."""
        taken: list[Message] = []
        position = 0
        while len(taken) < count and position < len(self._lists[target]):
            if self._lists[target][position].id in self._parked:
                position += 1
                continue
            end = position
            while end < len(self._lists[target]) and self._lists[target][end].id not in self._parked:
                end += 1
            run = self._lists[target][position : min(end, position + count - len(taken))]
            self._splice(target, position, len(run), (), outcome)
            taken += run
        return tuple(taken)

    def _splice(
        self, target: Target, start: int, removed: int, inserted: Sequence[Message], outcome: str | None = None
    ) -> None:
        data: dict[str, JsonValue] = {"target": target, "start": start}
        if removed:
            data["removedCount"] = removed
        data["inserted"] = [message_to_json(message) for message in inserted]
        if outcome is not None:
            data["outcome"] = outcome
        self._session.append(SPLICED, data)
        self._lists[target][start : start + removed] = inserted
