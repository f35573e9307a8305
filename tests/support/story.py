"""A session told event by event: the short words in which tests write conversations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from acp_server.base.ids import SessionId
from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import Block, Message, ModelSource, TextBlock, ToolCallBlock, UserSource
from acp_server.messages.chunk_codec import chunk_to_json
from acp_server.messages.chunks import FinishChunk, StreamChunk, TextDelta
from acp_server.messages.codec import block_to_json, message_to_json
from acp_server.messages.request import CallConfig
from acp_server.session.events import APPEND, Replace, SessionEvent
from acp_server.session.header import SessionHeader
from acp_server.session.history import EpochHeader
from acp_server.session.invariants import Invariants
from acp_server.session.log import EventLog
from acp_server.session.session import Session

CONFIG = CallConfig("scripted", "demo")
SPLICED = "agent/inbox/spliced"


def header(ident: str = "s-1", **facts: int | str) -> SessionHeader:
    return SessionHeader(SessionId(ident), 1000, "/work", **facts)  # type: ignore[arg-type]  # named by their field


def ticking(start: int = 1000) -> count[int]:
    return count(start)


def session(log: EventLog | None = None, *, seeded: bool = False, strict: bool = True) -> Session:
    clock = ticking()
    made = Session(header(), now=lambda: next(clock), log=log, seeded=seeded)
    if strict:
        made.validate(Invariants(made.events.milestones()).check)
    return made


def user(ident: str, text: str = "hello") -> dict[str, JsonValue]:
    return message_to_json(Message(ident, "user", (TextBlock(text),), UserSource()))


def text(words: str) -> list[StreamChunk]:
    return [TextDelta(0, words[start : start + 3]) for start in range(0, len(words), 3)]


class Story:
    """A session, the turn and step that are open in it, and one method for each thing that may happen."""

    def __init__(self, told: Session | None = None) -> None:
        self.session = session() if told is None else told
        self.turn = 0
        self.step = 0
        self.heard: list[int] = []
        self.calls: dict[str, int] = {}

    @property
    def place(self) -> dict[str, JsonValue]:
        return {"turn": self.turn, "step": self.step}

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.session.events.since(0)]

    def queue(self, *messages: dict[str, JsonValue], target: str = "next-turn") -> SessionEvent:
        return self.session.append(SPLICED, {"target": target, "start": 0, "inserted": list(messages)})

    def claim(self, number: int = 1, target: str = "next-turn", **outcome: JsonValue) -> SessionEvent:
        data: dict[str, JsonValue] = {"target": target, "start": 0, "removedCount": number, "inserted": [], **outcome}
        return self.session.append(SPLICED, data)

    def open_turn(self) -> SessionEvent:
        self.turn, self.step = self.turn + 1, 0
        return self.session.append("turn/start", {"turn": self.turn})

    def open_step(self) -> SessionEvent:
        self.step += 1
        self.heard = []
        return self.session.append("step/start", self.place)

    def say(self, message: dict[str, JsonValue]) -> SessionEvent:
        return self.session.append("user/message", message, surface_op=APPEND)

    def ask(self, system: str = "be brief", reason: str = "initial") -> SessionEvent:
        epoch = EpochHeader(CONFIG, system).to_json()
        return self.session.append("request/header", {"header": epoch, "reason": reason})

    def context(self) -> SessionEvent:
        return self.session.append("request/context", {"provider": CONFIG.provider, "model": CONFIG.model})

    def stream(self, *chunks: StreamChunk) -> None:
        for chunk in chunks:
            event = self.session.append("assistant/chunk", {**self.place, "chunk": chunk_to_json(chunk)})
            self.heard.append(event.seq)

    def answer(self, *blocks: Block, ident: str = "", **facts: JsonValue) -> SessionEvent:
        source = ModelSource(CONFIG.provider, CONFIG.model)
        message = Message(ident or f"a-{self.session.seq}", "assistant", blocks, source)
        data: dict[str, JsonValue] = {**self.place, "message": message_to_json(message), **facts}
        return self.session.append("assistant/message", data, surface_op=APPEND, sources=self.heard)

    def call(self, ident: str, name: str = "read") -> SessionEvent:
        data: dict[str, JsonValue] = {**self.place, "callId": ident, "name": name, "arguments": "{}"}
        event = self.session.append("tool/call", data)
        self.calls[ident] = event.seq
        return event

    def result(self, ident: str, *, content: str = "done", **facts: JsonValue) -> SessionEvent:
        sources = [self.calls[ident]] if ident in self.calls else None
        return self.session.append(
            "tool/result", self.result_data(ident, content, **facts), surface_op=APPEND, sources=sources
        )

    def result_data(self, ident: str, content: str, **facts: JsonValue) -> dict[str, JsonValue]:
        block: dict[str, JsonValue] = {
            "type": "tool-result",
            "toolCallId": ident,
            "content": [block_to_json(TextBlock(content))],
        }
        source: dict[str, JsonValue] = {"kind": "tool", "callId": ident}
        message: dict[str, JsonValue] = {"id": f"r-{ident}", "role": "user", "content": [block], "source": source}
        return {**self.place, "message": message, **facts}

    def rewrite_last(self, ident: str, content: str = "cut") -> SessionEvent:
        """Put a shorter result in the place of the last node, which answers that call."""
        last = self.session.surface.nodes[-1]
        return self.session.append(
            "tool/result", self.result_data(ident, content), surface_op=Replace(last, last), sources=[last]
        )

    def replace(self, start: int, end: int, message: dict[str, JsonValue], *more: int) -> SessionEvent:
        """Put a checkpoint in the place of the nodes from start to end; further sources are named too."""
        nodes = self.session.surface.nodes
        covered = nodes[nodes.index(start) : nodes.index(end) + 1]
        return self.session.append(
            "user/message", message, surface_op=Replace(start, end), sources=sorted({*covered, *more})
        )

    def close_step(self) -> SessionEvent:
        return self.session.append("step/end", self.place)

    def close_turn(self, kind: str = "completed", **reason: JsonValue) -> SessionEvent:
        return self.session.append("turn/end", {"turn": self.turn, "reason": {"kind": kind, **reason}})

    def begin(self, ident: str = "m1", words: str = "hello") -> Story:
        """Tell a prompt up to the step that answers it, the request included."""
        self.queue(user(ident, words))
        self.open_turn()
        self.claim()
        self.open_step()
        self.say(user(ident, words))
        if self.turn == 1:
            self.ask()
            self.context()
        return self

    def whole(self, ident: str = "m1", words: str = "hello", reply: str = "good day") -> Story:
        """Tell a whole turn without tools."""
        self.begin(ident, words)
        self.stream(*text(reply), FinishChunk("stop"))
        self.answer(TextBlock(reply))
        self.close_step()
        self.close_turn()
        return self

    def with_calls(self, *idents: str) -> Story:
        """Tell a prompt up to an answer that asks for those calls."""
        self.begin()
        self.stream(*text("let me look"), FinishChunk("tool-calls"))
        self.answer(TextBlock("let me look"), *(ToolCallBlock(ident, "read", "{}") for ident in idents))
        return self


def events_of(story: Story) -> Sequence[SessionEvent]:
    return list(story.session.events.since(0))
