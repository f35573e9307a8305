"""What went over an agent's pipes, in order, and how it reads: answers, turns, replays, tool calls.

Owns the record of frames and every view of it. It starts no process and judges nothing.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

Obj: TypeAlias = dict[str, Any]
Way: TypeAlias = Literal["sent", "got"]
T = TypeVar("T")

CHUNK_KINDS = frozenset({"user_message_chunk", "agent_message_chunk", "agent_thought_chunk"})
TURN_KINDS = CHUNK_KINDS | {"tool_call", "tool_call_update", "plan"}
NO_TEXT_OF_A_CALL = frozenset({"sessionUpdate", "toolCallId", "status", "kind"})


def parse(raw: bytes) -> Any:
    """Return the JSON value of one line, or None when it has none or is nested too deep to read."""
    try:
        return json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def id_key(ident: object) -> str:
    """Return a text that is equal for equal ids only: 3, 3.0, "3" and true are four ids."""
    return json.dumps(ident)


@dataclass(frozen=True, slots=True)
class Update:
    """One session/update: whose it is, its kind, and its fields."""

    session: object
    kind: object
    fields: Obj

    @property
    def text(self) -> str:
        content = self.fields.get("content")
        return str(content.get("text", "")) if isinstance(content, dict) and content.get("type") == "text" else ""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One line without its LF. `at` is in seconds of the monotonic clock, `proc` counts the processes from 1.

    `odd` marks what a test sends although the protocol's schema refuses it.
    """

    at: float
    proc: int
    way: Way
    raw: bytes
    value: Any
    odd: bool = False

    def is_request(self, method: str | None = None) -> bool:
        value = self.value
        return isinstance(value, dict) and "id" in value and "method" in value and method in {None, value["method"]}

    def is_answer(self) -> bool:
        return isinstance(self.value, dict) and "id" in self.value and "method" not in self.value

    def update(self) -> Update | None:
        if self.way != "got" or not isinstance(self.value, dict) or self.value.get("method") != "session/update":
            return None
        params = self.value.get("params") or {}
        fields = params.get("update")
        if not isinstance(fields, dict):
            return None
        return Update(params.get("sessionId"), fields.get("sessionUpdate"), fields)


@dataclass(frozen=True, slots=True)
class Turn:
    """One session/prompt, sent as frame `sent`; frames[first:last] lie between its start and its answer."""

    id: object
    session: object
    proc: int
    sent: int
    first: int
    last: int
    answered: bool


@dataclass(slots=True)
class Item:
    """What a person sees as one thing: a run of chunks, or a tool call with the fields of all its updates."""

    kind: str
    text: str = ""
    id: object = None
    status: str = "pending"
    fields: Obj = field(default_factory=dict)


class Trace:
    """All frames of all processes of one run. Readers' threads add, the test's thread waits and reads."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.changed = threading.Condition(threading.RLock())
        self.open_until: dict[int, int] = {}
        """For a process that was ended or cannot be heard: the frame from which open requests are excused."""
        self._answers: dict[tuple[int, str], list[int]] = {}
        self._requests: list[int] = []

    def add(self, proc: int, way: Way, raw: bytes, *, odd: bool = False) -> Frame:
        frame = Frame(time.monotonic(), proc, way, raw, parse(raw), odd)
        with self.changed:
            self.frames.append(frame)
            if way == "sent" and frame.is_request():
                self._requests.append(len(self.frames) - 1)
            if way == "got" and frame.is_answer():
                self._answers.setdefault((proc, id_key(frame.value["id"])), []).append(len(self.frames) - 1)
            self.changed.notify_all()
        return frame

    def poke(self) -> None:
        """Let those who wait look again."""
        with self.changed:
            self.changed.notify_all()

    def wait(self, test: Callable[[], T], seconds: float) -> T | None:
        """Return the first true value of test(), or None when time is up."""
        end = time.monotonic() + seconds
        with self.changed:
            while True:
                value = test()
                if value:
                    return value
                left = end - time.monotonic()
                if left <= 0:
                    return None
                self.changed.wait(min(left, 0.05))

    def excuse(self, proc: int) -> None:
        """From here on the process may leave requests open."""
        with self.changed:
            self.open_until.setdefault(proc, len(self.frames))

    # -- answers

    def answers(self, ident: object, proc: int | None = None) -> list[Frame]:
        key = id_key(ident)
        if proc is not None:
            return [self.frames[n] for n in self._answers.get((proc, key), [])]
        return [self.frames[n] for n in sorted(n for (_, k), found in self._answers.items() if k == key for n in found)]

    def answer(self, ident: object) -> Obj | None:
        """Return the newest answer with that id, of whatever process."""
        found = self.answers(ident)
        return found[-1].value if found else None

    def sent_requests(self) -> list[tuple[int, Frame]]:
        return [(n, self.frames[n]) for n in self._requests]

    def find_answer(self, index: int) -> int | None:
        """Return where the request that is frame `index` was answered."""
        asked = self.frames[index]
        found = self._answers.get((asked.proc, id_key(asked.value["id"])), [])
        return next((n for n in found if n > index), None)

    # -- turns

    def turns(self) -> list[Turn]:
        out: list[Turn] = []
        ends: dict[tuple[int, str], int] = {}
        for n, frame in self.sent_requests():
            params = frame.value.get("params")
            if frame.value["method"] != "session/prompt" or not isinstance(params, dict):
                continue
            session, end = params.get("sessionId"), self.find_answer(n)
            key = (frame.proc, id_key(session))
            first, last = max(n, ends.get(key, 0)), len(self.frames) if end is None else end
            out.append(Turn(frame.value["id"], session, frame.proc, n, first, last, end is not None))
            if end is not None:
                ends[key] = max(end, ends.get(key, 0))
        return out

    def turn(self, ident: object) -> Turn | None:
        found = [t for t in self.turns() if id_key(t.id) == id_key(ident)]
        return found[-1] if found else None

    def prompt_text(self, ident: object) -> str:
        turn = self.turn(ident)
        blocks = self.frames[turn.sent].value["params"].get("prompt", []) if turn else []
        return "".join(b.get("text", "") for b in blocks if isinstance(b, dict) and b.get("type") == "text")

    def updates(self, first: int, last: int, session: object) -> list[Update]:
        found = (f.update() for f in self.frames[first:last])
        return [u for u in found if u is not None and u.session == session]

    def turn_updates(self, turn: Turn) -> list[Update]:
        return self.updates(turn.first, turn.last, turn.session)

    def turn_text(self, turn: Turn, kind: str = "agent_message_chunk") -> str:
        return "".join(u.text for u in self.turn_updates(turn) if u.kind == kind)

    def load_span(self, ident: object) -> tuple[int, int, object] | None:
        """Return the frames of the newest session/load with this id (first, last) and its session."""
        loads = [(n, f) for n, f in self.sent_requests() if f.value["method"] == "session/load"]
        found = [(n, f) for n, f in loads if id_key(f.value["id"]) == id_key(ident)]
        if not found:
            return None
        n, frame = found[-1]
        end = self.find_answer(n)
        return n, len(self.frames) if end is None else end, frame.value["params"]["sessionId"]


def fold(updates: Iterable[Update]) -> list[Item]:
    """Return the items of these updates: neighbouring chunks of one kind joined, each tool call once."""
    items: list[Item] = []
    calls: dict[str, Item] = {}
    for update in updates:
        kind = str(update.kind)
        if kind in CHUNK_KINDS:
            if not items or items[-1].kind != kind:
                items.append(Item(kind))
            items[-1].text += update.text
        elif kind in {"tool_call", "tool_call_update"}:
            ident = update.fields.get("toolCallId")
            if id_key(ident) not in calls:
                calls[id_key(ident)] = Item("tool_call", id=ident)
                items.append(calls[id_key(ident)])
            _merge(calls[id_key(ident)], update.fields)
    return items


def _merge(call: Item, fields: Obj) -> None:
    call.fields.update({k: v for k, v in fields.items() if v is not None})
    call.status = call.fields.get("status", "pending")
    call.text = "\n".join(strings({k: v for k, v in call.fields.items() if k not in NO_TEXT_OF_A_CALL}))


def strings(value: object) -> list[str]:
    """Return all strings inside a JSON value, in order."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [s for v in value.values() for s in strings(v)]
    if isinstance(value, list):
        return [s for v in value for s in strings(v)]
    return []
