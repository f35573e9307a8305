"""One session as a compaction sees it: the nodes of its Surface with their messages and prices, and what it is given.

Owns the joint of meter, log and services; decides nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from acp_server.base.cancel import CancelToken
from acp_server.base.json_value import JsonValue
from acp_server.base.ports import Clock, Ids, Journal
from acp_server.compaction.meter import Meter
from acp_server.compaction.policy import Policies
from acp_server.llm.runtime import LlmRuntime
from acp_server.messages.blocks import Message
from acp_server.session.history import derive_message
from acp_server.session.session import Session

CLOSED: Final = ("completed", "cancelled")
Count: TypeAlias = Callable[[str, Sequence[str], CancelToken], Awaitable[Sequence[int] | None]]
"""Gets a model and texts; returns their tokens, or None when they cannot be counted."""


KeepText: TypeAlias = Callable[[str], Awaitable[str | None]]


async def keep_nothing(_text: str) -> str | None:
    """Keep nothing."""
    return None


@dataclass(slots=True)
class Kit:
    """What keeping one session needs. `tell` tells the person a sentence, `report` takes failures nobody hears of."""

    session: Session
    runtime: Callable[[], Awaitable[LlmRuntime]]
    journal: Journal
    clock: Clock
    ids: Ids
    random: Callable[[], float]
    report: Callable[[BaseException], None]
    tell: Callable[[str], None]
    policies: Callable[[], Policies]
    count: Count | None = None
    """Counts texts exactly; None where nothing can."""
    keep_text: KeepText = keep_nothing
    """Keeps a text in a file that the session's tools may read and gives its path, None where nothing is kept."""


@dataclass(slots=True)
class Nodes:
    """The Surface at one moment, node by node."""

    seqs: tuple[int, ...]
    messages: list[Message | None]
    prices: list[int]


def nodes_of(session: Session, meter: Meter) -> Nodes:
    """Return the nodes with their messages and prices."""
    seqs = session.surface.nodes
    messages = [derive_message(session.events[seq]) for seq in seqs]
    return Nodes(seqs, messages, [meter.price(seq) for seq in seqs])


class Plan:
    """The plan of work that a session's log tells last; each event is looked at once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen = 0
        self._todos: Sequence[Mapping[str, JsonValue]] = ()

    def open(self) -> Sequence[Mapping[str, JsonValue]]:
        """Return the plan when something of it is open, else nothing."""
        for event in self._session.events.milestones(self._seen):
            if event.type == "todo/write":
                todos = event.data["todos"]
                items = todos if isinstance(todos, tuple) else ()
                self._todos = tuple(item for item in items if isinstance(item, Mapping))
        self._seen = self._session.seq
        return self._todos if any(item.get("status") not in CLOSED for item in self._todos) else ()
