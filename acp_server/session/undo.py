"""What was taken back in a log, what can be, and what can be brought back (docs/sessions.md, clauses U-1 to U-8). Pure.

Owns the events `undo/start` and `undo/end`, the fold over them, and which nodes of the Surface a step back removes. An
undo is a bracket of events like everything else: nothing is ever taken out of the log.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.base.values import replace, value
from acp_server.messages.blocks import text_of
from acp_server.session.events import APPEND, Replace, SessionEvent
from acp_server.session.history import derive_message
from acp_server.session.log import EventLog

UNDO_START: Final = "undo/start"
UNDO_END: Final = "undo/end"
RESTORES: Final = "restores"
"""The field of a message event that brings an earlier one back: the seq of that one."""
UndoKind: TypeAlias = Literal["undo", "redo"]
_TYPES: Final = (UNDO_START, UNDO_END, "turn/start", "user/message")


@value
class Bracket:
    """One undo, or the undo of one: from its `start`, with its `end` once there is one.

    It takes back the events from `first` up to `until`, that one not included. `of` is the id of the undo that a redo
    takes back. `done` says that the conversation has changed; without it files may have.
    """

    id: str
    kind: UndoKind
    start: int
    first: int
    until: int
    of: str | None = None
    end: int | None = None
    done: bool = False


@value
class Target:
    """A message of the person that opened a turn: what going back to before it takes away.

    `first` is the seq of the turn's start; `nodes` are those that leave the Surface, in order.
    """

    message_id: str
    text: str
    first: int
    nodes: tuple[int, ...]


class Past:
    """What a log says of undoing, as of the moment when this is made."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._turns: list[int] = []
        self._openers: dict[int, int] = {}
        self._opened: set[int] = set()
        self.undone: tuple[Bracket, ...] = ()
        """The undos that hold, the oldest first."""
        self.open: Bracket | None = None
        """The bracket that has no end: what it was to do was interrupted, or goes on."""
        self.failed: Bracket | None = None
        """The last bracket that ended without being done, as long as no turn and no other bracket followed."""
        for event in log.of_types(_TYPES):
            self._take(event)

    @property
    def hidden(self) -> tuple[tuple[int, int], ...]:
        """Return the ranges of seqs that hold what was taken back, each without its end."""
        return tuple((undone.first, undone.until) for undone in self.undone)

    def is_hidden(self, seq: int) -> bool:
        """Return whether the event was taken back."""
        return any(first <= seq < until for first, until in self.hidden)

    @property
    def latest(self) -> Bracket | None:
        """Return the bracket that an undo of the undo takes back, None where there is none.

        That is one that failed, else the newest undo that holds and that no turn followed.
        """
        if self.failed is not None:
            return self.failed
        newest = self.undone[-1] if self.undone else None
        if newest is None or any(not self.is_hidden(turn) for turn in self._turns[self._after(newest.start) :]):
            return None
        return newest

    def targets(self, nodes: Sequence[int]) -> tuple[Target, ...]:
        """Return the messages of the person that can be gone back to on this Surface, the newest first."""
        found: list[Target] = []
        for place, node in enumerate(nodes):
            origin = self._origin(node)
            turn = self._openers.get(origin)
            if turn is None:
                continue
            first = place
            while first and self._belongs(nodes[first - 1], turn):
                first -= 1
            message = derive_message(self._log[node])
            if message is not None:
                found.append(Target(message.id, text_of(message.content, " "), turn, tuple(nodes[first:])))
        return tuple(reversed(found))

    def visible(self, first: int, until: int | None = None) -> Iterator[SessionEvent]:
        """Iterate over the milestones from `first` to before `until` that were not taken back."""
        end = len(self._log) if until is None else until
        for event in self._log.milestones(first):
            if event.seq >= end:
                return
            if not self.is_hidden(event.seq):
                yield event

    def _after(self, seq: int) -> int:
        return bisect_left(self._turns, seq)

    def _take(self, event: SessionEvent) -> None:
        match event.type:
            case "turn/start":
                self._turns.append(event.seq)
                self.failed = None
            case "user/message" if event.surface_op == APPEND and RESTORES not in event.data and _is_person(event.data):
                turn = self._turns[-1] if self._turns else None
                if turn is not None and turn not in self._opened:
                    self._openers[event.seq] = turn
                    self._opened.add(turn)
            case "undo/start":
                self.open, self.failed = _bracket(event), None
            case "undo/end" if self.open is not None and event.data.get("undoId") == self.open.id:
                self._close(event)

    def _close(self, event: SessionEvent) -> None:
        if self.open is None:
            return
        done = event.data.get("done") is True
        bracket, self.open = replace(self.open, end=event.seq, done=done), None
        if not done:
            self.failed = bracket
        elif bracket.kind == "undo":
            self.undone = (*self.undone, bracket)
        else:
            self.undone = tuple(undone for undone in self.undone if undone.id != bracket.of)

    def _origin(self, node: int) -> int:
        """Return the seq of the event that a node is a shorter form, or a restored copy, of."""
        while True:
            event = self._log[node]
            restored = event.data.get(RESTORES)
            if isinstance(restored, int):
                node = restored
            elif isinstance(event.surface_op, Replace) and event.surface_op.start == event.surface_op.end:
                node = event.surface_op.start
            else:
                return node

    def _belongs(self, node: int, turn: int) -> bool:
        origin = self._origin(node)
        place = bisect_right(self._turns, origin)
        return place > 0 and self._turns[place - 1] == turn and self._log[origin].surface_op == APPEND


def hidden_ranges(log: EventLog) -> tuple[tuple[int, int], ...]:
    """Return what an editor is not shown of a log that is loaded (clause U-5); costs little for a log without undos."""
    if not any(True for _ in log.of_types((UNDO_END,))):
        return ()
    return Past(log).hidden


def restored_nodes(log: EventLog, bracket: Bracket) -> tuple[int, ...]:
    """Return the nodes that an undo removed and that say something, in order; empty for one that removed none."""
    removed = removal_in(log, bracket)
    sources = () if removed is None else removed.source_event_seqs or ()
    return tuple(seq for seq in sources if derive_message(log[seq]) is not None)


def removal_in(log: EventLog, bracket: Bracket) -> SessionEvent | None:
    """Return the event by which an undo removed its nodes, None where it did not come so far."""
    for event in log.milestones(bracket.start):
        if bracket.end is not None and event.seq > bracket.end:
            return None
        if event.type == "assistant/message" and isinstance(event.surface_op, Replace):
            return event
    return None


def restoring_data(event: SessionEvent) -> dict[str, JsonValue]:
    """Return the data of the event that brings this message back; costs and cards were told by the first."""
    if event.type == "user/message":
        return {**event.data, RESTORES: event.data.get(RESTORES, event.seq)}
    kept = ("turn", "step", "message", "error")
    data = {key: event.data[key] for key in kept if key in event.data}
    return {**data, RESTORES: event.data.get(RESTORES, event.seq)}


def _is_person(data: JsonObject) -> bool:
    source = data.get("source")
    return isinstance(source, Mapping) and source.get("kind") == "user"


def _bracket(event: SessionEvent) -> Bracket:
    data = event.data
    kind: UndoKind = "redo" if data.get("kind") == "redo" else "undo"
    of = data.get("of")
    return Bracket(
        str(data["undoId"]),
        kind,
        event.seq,
        _seq(data.get("first"), event.seq),
        _seq(data.get("until"), event.seq),
        of if isinstance(of, str) else None,
    )


def _seq(given: JsonValue, otherwise: int) -> int:
    return given if isinstance(given, int) and 0 <= given <= otherwise else otherwise
