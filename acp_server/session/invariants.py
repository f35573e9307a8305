"""What may follow what in a log: turns, steps, calls and results (docs/sessions.md, clauses G-1 to G-8).

Owns a check that a session may run before each commit, in tests and in debug mode. It is stricter than reading needs:
a log that breaks it can still be opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from acp_server.base.errors import ServerError
from acp_server.base.json_value import JsonObject, JsonValue
from acp_server.base.values import replace
from acp_server.session.events import Replace, SessionEvent

_IN_STEP: Final = frozenset({"assistant/chunk", "assistant/message", "tool/call", "tool/result", "step/end"})
_IN_TURN: Final = frozenset({"todo/write", "request/header", "request/context"})


@dataclass(frozen=True, slots=True)
class GrammarState:
    """Where a log stands: the last turn and step, which of them are open, and the calls of the open step."""

    turn: int = 0
    step: int = 0
    in_turn: bool = False
    in_step: bool = False
    calls: frozenset[str] = frozenset()


def advance(state: GrammarState, event: SessionEvent) -> GrammarState:
    """Return the state after the event; raise ServerError INVARIANT_VIOLATED when it may not stand there."""
    data = event.data
    match event.type:
        case "turn/start":
            _require(not state.in_turn and data["turn"] == state.turn + 1, event, "does not follow the last turn")
            return GrammarState(turn=state.turn + 1, in_turn=True)
        case "turn/end":
            _require(state.in_turn and data["turn"] == state.turn, event, "ends no open turn")
            _require(not state.in_step, event, "leaves a step open")
            return replace(state, in_turn=False)
        case "step/start":
            _require(state.in_turn and not state.in_step, event, "begins inside a step or outside of a turn")
            _require(_place(data) == (state.turn, state.step + 1), event, "does not follow the last step")
            return replace(state, step=state.step + 1, in_step=True, calls=frozenset())
        case kind if kind in _IN_TURN:
            _require(state.in_turn, event, "stands outside of a turn")
            return state
        case kind if kind in _IN_STEP:
            return _advance_in_step(state, event)
        case _:
            return state


def check_log(events: Iterable[SessionEvent]) -> GrammarState:
    """Return where the events end; raise ServerError INVARIANT_VIOLATED for the first that breaks a rule."""
    return Invariants(events).state


class Invariants:
    """The check as a validator of a session that holds `events` (its milestones are enough).

    An event that is refused after it was checked leaves no trace.
    """

    def __init__(self, events: Iterable[SessionEvent] = ()) -> None:
        self._committed = GrammarState()
        self._checked: tuple[int, GrammarState] = (-1, self._committed)
        for event in events:
            self.check(event)

    @property
    def state(self) -> GrammarState:
        """Return the state after the last event that was checked."""
        return self._checked[1]

    def check(self, event: SessionEvent) -> None:
        """Raise ServerError INVARIANT_VIOLATED when the event may not follow those before it.

        Seqs have to rise. The same seq again means that the event checked last was refused by somebody else.
        """
        seq, state = self._checked
        _require(event.seq >= max(seq, 0), event, f"comes after event {seq}")
        if event.seq > seq:
            self._committed = state
        self._checked = (event.seq, advance(self._committed, event))


def _advance_in_step(state: GrammarState, event: SessionEvent) -> GrammarState:
    data = event.data
    if event.type == "tool/result" and isinstance(event.surface_op, Replace):
        _require(state.in_turn, event, "rewrites a result outside of a turn")
        return state
    if event.type == "assistant/message" and isinstance(event.surface_op, Replace):
        return state
    if "restores" in data and event.type in ("assistant/message", "tool/result"):
        _require(not state.in_turn, event, "is brought back inside a turn")
        return state
    _require(state.in_step and _place(data) == (state.turn, state.step), event, "does not belong to the open step")
    match event.type:
        case "step/end":
            return replace(state, in_step=False, calls=frozenset())
        case "tool/call":
            return replace(state, calls=state.calls | {str(data["callId"])})
        case "tool/result":
            known = _call_id(data) in state.calls or _error_code(data) == "TOOL_NOT_STARTED"
            _require(known, event, "answers a call that was not made in this step")
    return state


def _require(holds: bool, event: SessionEvent, reason: str) -> None:
    if not holds:
        raise ServerError("INVARIANT_VIOLATED", f"event {event.seq} ({event.type}) {reason}")


def _place(data: JsonObject) -> tuple[JsonValue, JsonValue]:
    return data["turn"], data["step"]


def _call_id(data: JsonObject) -> str:
    message = data["message"]
    source = message.get("source") if isinstance(message, Mapping) else None
    return str(source.get("callId")) if isinstance(source, Mapping) else ""


def _error_code(data: JsonObject) -> JsonValue:
    error = data.get("error")
    return error.get("code") if isinstance(error, Mapping) else None
