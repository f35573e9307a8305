"""A compaction in the log: a bracket that is a lock, and a replacement that happens whole or not.

Owns the order of events: start, then summary or prune, then the message that replaces, then end. Until the
replacement is appended the Surface is as it was. An open bracket of another life, or of nobody who runs, is closed as
failed before another begins.
docs/compaction.md, clauses T-1 to T-4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonValue
from acp_server.compaction.estimate import message_tokens
from acp_server.messages.blocks import Message
from acp_server.messages.codec import message_to_json
from acp_server.session.events import Replace, SessionEvent
from acp_server.session.session import END_SEED, Session


class OpenBracket:
    """Which compaction is open at the end of a log; a fold that follows it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen = 0
        self._open: SessionEvent | None = None

    @property
    def start(self) -> SessionEvent | None:
        """Return the newest start without an end; what an earlier life left open counts as closed."""
        for event in self._session.events.milestones(self._seen):
            if event.type == "compaction/start":
                self._open = event
            elif event.type in ("compaction/end", END_SEED):
                self._open = None
        self._seen = self._session.seq
        return self._open


@dataclass(slots=True)
class Transaction:
    """One compaction whose start is in the log. `turn` is None outside of turns."""

    session: Session
    id: str
    turn: int | None
    start: int
    nodes: tuple[int, ...]
    """The nodes that are to go, from the first of the Surface on."""
    price: int
    """Their price."""
    done: bool = False

    @property
    def stable(self) -> bool:
        """Return whether the nodes still stand where they stood."""
        return self.session.surface.nodes[: len(self.nodes)] == self.nodes

    def commit(self, message: Message, facts: Mapping[str, JsonValue], *, kind: str = "compaction/summary") -> None:
        """Put the message in the place of the nodes.

        Raises:
            ServerError: COMPACTION_CHANGED, the nodes have changed meanwhile; or the log refused.
        """
        if not self.stable:
            raise ServerError("COMPACTION_CHANGED", "The conversation changed while it was being compacted.")
        shadow = _shadow(self.nodes, self.price)
        told = self.session.append(kind, {"compactionId": self.id, **facts, **shadow})
        self.session.append(
            "user/message",
            message_to_json(message),
            surface_op=Replace(self.nodes[0], self.nodes[-1]),
            sources=(*self.nodes, self.start, told.seq),
        )

    def end(self, facts: Mapping[str, JsonValue]) -> None:
        """Close the bracket."""
        self.done = True
        self.session.append("compaction/end", {"compactionId": self.id, "turn": self.turn, **facts})


def begin(session: Session, facts: Mapping[str, JsonValue], nodes: Sequence[int], price: int) -> Transaction:
    """Open a bracket over these nodes and return the transaction; the caller saw to it that none is open.

    `facts` are those of `compaction/start`: `compactionId`, `turn`, and whatever else is told there.
    """
    start = session.append("compaction/start", facts)
    turn = facts["turn"]
    return Transaction(
        session, str(facts["compactionId"]), turn if isinstance(turn, int) else None, start.seq, tuple(nodes), price
    )


def close_stale(session: Session, start: SessionEvent) -> None:
    """Close a bracket that nobody works on."""
    data = {"compactionId": start.data["compactionId"], "turn": start.data["turn"], "error": "It was abandoned."}
    session.append("compaction/end", data)


def rewrite_result(session: Session, seq: int, message: Message, price: int) -> None:
    """Put a shorter result in the place of one; what went is priced right before it."""
    session.append("compaction/prune", {**_shadow((seq,), price), "tokens": message_tokens(message)})
    data = {**session.events[seq].data, "message": message_to_json(message)}
    session.append("tool/result", data, surface_op=Replace(seq, seq), sources=(seq,))


def rewrite_message(session: Session, seq: int, message: Message, price: int) -> None:
    """Put a shorter message of the person or the server in the place of one."""
    session.append("compaction/prune", {**_shadow((seq,), price), "tokens": message_tokens(message)})
    session.append("user/message", message_to_json(message), surface_op=Replace(seq, seq), sources=(seq,))


def _shadow(nodes: tuple[int, ...], price: int) -> dict[str, JsonValue]:
    ends: dict[str, JsonValue] = {"start": nodes[0], "end": nodes[-1]}
    return {"shadowedRange": ends, "shadowedSeqs": list(nodes), "shadowedTokenCount": price}
