"""What a log lacks when its process died in mid-turn (docs/sessions.md, clauses P-1 to P-6).

Owns the closers: the visible prefix of the answer that broke off, a result for each call without one, and the ends of
step and turn. Deterministic: the same log gives the same closers. Brackets of other parts, a compaction for instance,
are not closed; what stands before the next `session/end-seed` is known to be dead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from acp_server.base.json_value import FrozenObject, JsonObject, JsonValue, freeze
from acp_server.base.values import value
from acp_server.messages.assembler import BlockAssembler
from acp_server.messages.blocks import Message, ModelSource, TextBlock, ToolResultBlock, ToolSource
from acp_server.messages.chunk_codec import chunk_from_json, usage_to_json
from acp_server.messages.codec import MessageFormatError, message_to_json
from acp_server.session.events import APPEND, SessionEvent, SurfaceOp
from acp_server.session.log import EventLog

OUTCOME_UNKNOWN: Final = (
    "The server stopped while this call was running, so its outcome is unknown. Repeat it only if it reads or can be "
    "done twice without harm; otherwise look at the present state first, or ask the user."
)
NOT_STARTED: Final = "The server stopped before this call was started. It is safe to call again if it is still needed."


@value
class Closer:
    """One synthetic event, as `Session.append` takes it."""

    type: str
    data: FrozenObject
    surface_op: SurfaceOp | None = None
    sources: tuple[int, ...] | None = None


class _Tail:
    """What is open at the end of a log."""

    __slots__ = ("answered", "attempt_from", "calls", "route", "step", "turn")

    def __init__(self) -> None:
        self.turn = self.step = self.attempt_from = 0
        self.answered = False
        self.route: tuple[str, str] | None = None
        self.calls: dict[str, int | None] = {}
        """Calls without a result in order of the answer; the seq of the `tool/call`, None when it was not started."""

    def apply(self, event: SessionEvent) -> None:
        """Take the log's next milestone."""
        data = event.data
        match event.type:
            case "turn/start":
                self.turn, self.step = _number(data["turn"]), 0
                self.calls.clear()
            case "turn/end":
                self.turn = self.step = 0
                self.calls.clear()
            case "step/start":
                self.step, self.answered, self.attempt_from = _number(data["step"]), False, event.seq
            case "step/end":
                self.step = 0
                self.calls.clear()
            case "llm/retry-started":
                self.attempt_from = event.seq
            case "request/header":
                self.route = _route(data)
            case "assistant/message" if event.surface_op == APPEND:
                self.answered = True
                self.calls |= dict.fromkeys(_called(data))
            case "tool/call" if data["callId"] in self.calls:
                self.calls[str(data["callId"])] = event.seq
            case "tool/result":
                self.calls.pop(_answers(data), None)


def closers(log: EventLog) -> list[Closer]:
    """Return what has to be appended so that the log is balanced, in order; nothing for a log that is."""
    begun, asked = None, None
    for event in log.of_types(("turn/start", "request/header")):
        if event.type == "turn/start":
            begun = event.seq
        else:
            asked = event
    if begun is None:
        return []
    tail = _Tail()
    if asked is not None:
        tail.apply(asked)
    for event in log.milestones(begun):  # whatever was open before it, the turn's start has closed
        tail.apply(event)
    if not tail.turn:
        return []
    return list(_close(log, tail))


def closing_events(log: EventLog) -> list[SessionEvent]:
    """Return the closers as events that follow the log; their time is that of its last event."""
    start = len(log)
    time = log[start - 1].time if start else 0
    return [
        SessionEvent(closer.type, seq, time, closer.data, closer.surface_op, closer.sources)
        for seq, closer in enumerate(closers(log), start)
    ]


def _close(log: EventLog, tail: _Tail) -> Iterator[Closer]:
    seq = len(log)
    place: dict[str, JsonValue] = {"turn": tail.turn, "step": tail.step}
    if tail.step and not tail.answered and (prefix := _visible_prefix(log, tail, place)) is not None:
        yield prefix
        seq += 1
    for number, (call_id, started) in enumerate(tail.calls.items(), seq):
        yield _result(call_id, started, number, place)
    if tail.step:
        yield Closer("step/end", _object(place))
    yield Closer("turn/end", _object({"turn": tail.turn, "reason": {"kind": "interrupted"}}))


def _visible_prefix(log: EventLog, tail: _Tail, place: JsonObject) -> Closer | None:
    """Return the interrupted answer of the last attempt, None when nothing of it was visible."""
    if tail.route is None:
        return None
    assembler, sources = _last_attempt(log, tail.attempt_from)
    blocks = assembler.interrupted_blocks()
    if not blocks:
        return None
    ident = f"interrupted-message-{place['turn']}-{place['step']}-{len(log)}"
    message = Message(ident, "assistant", blocks, ModelSource(*tail.route))
    usage = {} if assembler.usage is None else {"usage": usage_to_json(assembler.usage)}
    data = {**place, "message": message_to_json(message), **usage, "interrupted": True}
    return Closer("assistant/message", _object(data), APPEND, tuple(sources))


def _last_attempt(log: EventLog, attempt_from: int) -> tuple[BlockAssembler, list[int]]:
    """Return the blocks so far and their chunks' seqs. A chunk after a finish begins another attempt."""
    assembler, sources = BlockAssembler(), list[int]()
    for event in log.since(attempt_from):
        if event.type != "assistant/chunk":
            continue
        if assembler.finished:
            assembler, sources = BlockAssembler(), []
        sources.append(event.seq)
        chunk = event.data["chunk"]
        try:
            assembler.push(chunk_from_json(chunk if isinstance(chunk, Mapping) else {}))
        except MessageFormatError:
            continue  # a chunk of a later version shows nothing that this one could keep
    return assembler, sources


def _result(call_id: str, started: int | None, seq: int, place: JsonObject) -> Closer:
    name, code, text = ("ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN", OUTCOME_UNKNOWN)
    if started is None:
        name, code, text = ("ToolNotStartedError", "TOOL_NOT_STARTED", NOT_STARTED)
    block = ToolResultBlock(call_id, (TextBlock(text),), is_error=True)
    message = Message(f"interrupted-tool-result-{call_id}-{seq}", "user", (block,), ToolSource(call_id))
    data = {**place, "message": message_to_json(message), "error": {"name": name, "code": code}}
    return Closer("tool/result", _object(data), APPEND, None if started is None else (started,))


def _object(data: Mapping[str, JsonValue]) -> FrozenObject:
    frozen = freeze(dict(data))
    if not isinstance(frozen, FrozenObject):
        raise TypeError("an object freezes to an object")
    return frozen


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0


def _route(data: JsonObject) -> tuple[str, str] | None:
    header = data["header"]
    config = header.get("config") if isinstance(header, Mapping) else None
    return (str(config["provider"]), str(config["model"])) if isinstance(config, Mapping) else None


def _content(data: JsonObject) -> Iterator[JsonObject]:
    message = data["message"]
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, tuple):
        yield from (block for block in content if isinstance(block, Mapping))


def _called(data: JsonObject) -> list[str]:
    return [str(block["id"]) for block in _content(data) if block.get("type") == "tool-call"]


def _answers(data: JsonObject) -> str:
    return next((str(block.get("toolCallId")) for block in _content(data)), "")
