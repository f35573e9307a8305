"""Prompts that wait, and prompts that a crash caught on the way (docs/sessions.md, clauses I-1 to I-3).

Owns the fold of `agent/inbox/spliced`. Who claims and who wakes is the agent's matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from acp_server.base.json_value import FrozenObject, JsonValue
from acp_server.base.values import made, record, value
from acp_server.session.events import SessionEvent
from acp_server.session.log import EventLog

SPLICED: Final = "agent/inbox/spliced"
_REQUEST_MADE = frozenset({"request/header", "request/context", "assistant/message", "tool/call"})


@value
class Unentered:
    """A message that was taken from the list `target` and never became a `user/message`; `data` is its JSON form."""

    target: str
    data: FrozenObject


@record
class _Fold:
    lists: dict[str, list[FrozenObject]] = made(default_factory=lambda: {"next-turn": [], "next-step": []})
    claimed: dict[str, Unentered] = made(default_factory=dict)
    in_turn: bool = False
    last_seq: int = -1

    def apply(self, event: SessionEvent) -> None:
        """Take the log's next milestone. A gap before it holds chunks: a request was made, what entered has entered."""
        if event.seq > self.last_seq + 1 or event.type in _REQUEST_MADE:
            self.claimed.clear()
        self.last_seq = event.seq
        match event.type:
            case "agent/inbox/spliced":
                self.splice(event)
            case "turn/start":
                self.in_turn = True
                self.claimed.clear()
            case "turn/end":
                self.in_turn = False
                if not _interrupted(event):
                    self.claimed.clear()
            case "user/message":
                self.claimed.pop(str(event.data["id"]), None)

    def splice(self, event: SessionEvent) -> None:
        """Take what changed in a list; within a turn, what is taken out of one is claimed."""
        target = str(event.data["target"])
        waiting = self.lists.setdefault(target, [])
        start, count = _count(event.data["start"]), _count(event.data.get("removedCount", 0))
        inserted = _messages(event.data["inserted"])
        removed = waiting[start : start + count]
        waiting[start : start + count] = inserted
        for message in inserted:
            self.claimed.pop(str(message["id"]), None)
        if self.in_turn and event.data.get("outcome") is None:
            self.claimed |= {str(message["id"]): Unentered(target, message) for message in removed}


def unentered_prompts(log: EventLog, seed_length: int = 0) -> tuple[Unentered, ...]:
    """Return what the last turn claimed and lost, in order of the claims; nothing when that turn ended by itself.

    A turn that repair closed counts as lost, so the answer is the same before and after repair; it is empty once the
    messages were inserted again. Messages dropped on purpose before a request do not come back once it was made.
    `seed_length` is the header's: what a parent had waiting is not inherited.
    """
    begun = None
    for event in log.of_types(("turn/start",), seed_length):
        begun = event.seq
    if begun is None:
        return ()
    fold = _Fold(last_seq=begun - 1)
    for event in log.of_types((SPLICED,), seed_length):
        if event.seq > begun:
            break
        fold.splice(event)
    for event in log.milestones(begun):
        fold.apply(event)
    if len(log) > fold.last_seq + 1:
        return ()
    return tuple(fold.claimed.values())


def waiting_prompts(log: EventLog, seed_length: int = 0) -> Mapping[str, Sequence[FrozenObject]]:
    """Return the messages that wait, by list (`next-turn`, `next-step`), in order."""
    fold = _Fold(last_seq=seed_length - 1)
    for event in log.of_types((SPLICED,), seed_length):
        fold.splice(event)
    return {target: tuple(messages) for target, messages in fold.lists.items()}


def _interrupted(event: SessionEvent) -> bool:
    reason = event.data["reason"]
    return isinstance(reason, Mapping) and reason.get("kind") == "interrupted"


def _count(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def _messages(value: JsonValue) -> list[FrozenObject]:
    return [message for message in value if isinstance(message, FrozenObject)] if isinstance(value, tuple) else []
