"""A model with a window and an agent that works in it for hundreds of turns: what compaction is held to.

The model counts by a rule of its own, reports what it counted, and refuses what is too long. Every request is looked
at: its size, its pairs, whether it begins as the one before it.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

import zstandard

from acp_server.agent.agent import Agent
from acp_server.agent.request import options_from_log
from acp_server.agent.services import AgentServices
from acp_server.agent.tools import CallPlace, ToolOutcome
from acp_server.agent.turns import TurnEnd
from acp_server.base.cancel import CancelToken
from acp_server.base.ids import SessionId
from acp_server.base.json_value import FrozenObject, JsonValue
from acp_server.compaction.keeper import Keeper
from acp_server.compaction.policy import Policies
from acp_server.compaction.scene import Kit
from acp_server.compaction.selection import pairs
from acp_server.llm.adapter import ModelInfo
from acp_server.llm.runtime import LlmRuntime
from acp_server.messages.blocks import Message, TextBlock, ToolCallBlock, UserSource
from acp_server.messages.chunks import (
    BlockEnd,
    FinishChunk,
    LlmFailure,
    StreamChunk,
    TextDelta,
    TokenUsage,
    UsageChunk,
)
from acp_server.messages.codec import message_to_json
from acp_server.messages.request import CallConfig, GenerateOptions, ToolSchema
from acp_server.session.event_json import event_from_json, event_to_json
from acp_server.session.events import SessionEvent
from acp_server.session.header import SessionHeader
from acp_server.session.invariants import Invariants
from acp_server.session.log import EventLog, MemoryLog
from acp_server.session.session import Session
from tests.support.clock import FakeClock
from tests.support.ids import FakeIds
from tests.support.rig import CountingJournal, OpenFlow

TOO_LONG = FinishChunk("error", LlmFailure("CONTEXT_WINDOW_EXCEEDED", "prompt is too long for the context window"))
CHARACTERS_A_TOKEN = 3.7
MOST_GROWTH = 64 * 1024
"""Compressed bytes that one compaction may add to a log."""
SUMMARY = "## Request\nPort the parser.\n## Facts\nnone\n## State\nfiles were read.\n## Next\ngo on"
SUMMARISED = (TextDelta(0, SUMMARY), UsageChunk(TokenUsage(500, 60)), FinishChunk("stop"))
READING = "read_file"
WORDS = ("parse", "value", "token", "lexer", "import", "return", "self", "index", "buffer", "width", "state", "error")


def counted(message: Message, cache: dict[int, tuple[Message, int]]) -> int:
    """Return the tokens that the model counts for a message; the same object is counted once."""
    known = cache.get(id(message))
    if known is None:
        text = json.dumps(message_to_json(message)["content"], ensure_ascii=False)
        known = cache[id(message)] = (message, int(len(text) / CHARACTERS_A_TOKEN) + 3)
    return known[1]


@dataclass
class WindowModel:
    """Reads files for a while in each turn, then says that it is done. `refuses` may refuse any request as too long."""

    window: int
    rng: random.Random
    max_output: int
    refuses: Callable[[GenerateOptions, int], bool] = lambda _options, _number: False
    asked: list[GenerateOptions] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    refused: int = 0
    steps_left: int = 0
    cache: dict[int, tuple[Message, int]] = field(default_factory=dict)
    known: bool = True
    seq: Callable[[], int] = lambda: 0
    seqs: list[int] = field(default_factory=list)
    """How many events the log had at each request."""
    summary: Callable[[], Sequence[StreamChunk]] = lambda: SUMMARISED
    tool: str = READING

    def model(self, provider: str, model: str) -> ModelInfo:
        window = self.window if self.known else None
        return ModelInfo(provider, model, model, context_window=window, max_output_tokens=self.max_output)

    def size(self, options: GenerateOptions) -> int:
        fixed = len(options.system or "") + sum(len(tool.description) + 100 for tool in options.tools)
        return int(fixed / CHARACTERS_A_TOKEN) + sum(counted(message, self.cache) for message in options.messages)

    async def stream(self, options: GenerateOptions, cancel: CancelToken) -> AsyncIterator[StreamChunk]:
        size = self.size(options)
        self.asked.append(options)
        self.seqs.append(self.seq())
        self.sizes.append(size)
        if size > self.window or self.refuses(options, len(self.asked)):
            self.refused += 1
            yield TOO_LONG
            return
        if options.purpose == "compaction":
            for chunk in self.summary():
                yield chunk
            return
        if _is_prompt(options.messages[-1]):
            self.steps_left = self.rng.randint(1, 3)
        if self.steps_left:
            self.steps_left -= 1
            for number in range(self.rng.randint(1, 3)):
                path = f"src/file{self.rng.randint(0, 30)}.py"
                arguments = json.dumps({"path": path, "limit": self.rng.randint(1, 3)})
                ident = f"call_{len(self.asked)}_{number}"
                yield BlockEnd(number, ToolCallBlock(ident, self.tool, arguments))
            yield UsageChunk(TokenUsage(size, 40))
            yield FinishChunk("tool-calls")
            return
        yield TextDelta(0, "Done with this part.")
        yield UsageChunk(TokenUsage(size, 8))
        yield FinishChunk("stop")


def _is_prompt(message: Message) -> bool:
    return isinstance(message.source, UserSource)


@dataclass
class FileTools:
    """Tools that read files of any length."""

    rng: random.Random
    longest: int
    huge: int = 0
    description: str = "Reads a file and returns its lines."
    meta: JsonValue = None

    def schemas(self) -> Sequence[ToolSchema]:
        return (ToolSchema(READING, self.description, FrozenObject({"type": "object"})),)

    def parallel(self, call: ToolCallBlock) -> bool:
        return True

    def view(self, call: ToolCallBlock) -> JsonValue:
        return None

    def asks(self, place: CallPlace) -> bool:
        return False

    async def run(self, place: CallPlace, cancel: CancelToken) -> ToolOutcome:
        size = self.huge or self.rng.randint(1, self.longest)
        line = " ".join(self.rng.choice(WORDS) for _ in range(12))
        return ToolOutcome((TextBlock(f"{line}\n" * (size // len(line) + 1)),), meta=self.meta)


class HurriedClock(FakeClock):
    """A clock on which every wait is over at once."""

    async def sleep(self, seconds: float) -> None:
        return None


class Bench:
    """An agent with a keeper on a model with a window, at the beginning or on a log that an earlier life left."""

    def __init__(
        self, model: WindowModel, tools: FileTools, policies: Policies | None = None, log: EventLog | None = None
    ) -> None:
        self.model, self.tools = model, tools
        self.clock = HurriedClock()
        self.ids = FakeIds("m" if log is None else f"m{len(log)}")
        seeded = log is not None
        self.session = Session(SessionHeader(SessionId("s"), 0, "/p"), now=self.clock.now_ms, log=log, seeded=seeded)
        self.session.validate(Invariants(self.session.events.milestones()).check)
        model.seq = lambda: self.session.seq
        self.told: list[str] = []
        self.kept: list[str] = []
        self.reported: list[BaseException] = []
        self.ends: list[TurnEnd] = []
        self.runtime = LlmRuntime()
        self.runtime.register(["play", "other"], model)
        journal = CountingJournal(lambda: self.session.seq)
        self.kit = Kit(
            session=self.session,
            runtime=self._runtime,
            journal=journal,
            clock=self.clock,
            ids=self.ids,
            random=lambda: 0.5,
            report=self.reported.append,
            tell=self.told.append,
            policies=lambda: policies or Policies(),
            keep_text=self._keep_text,
        )
        self.keeper = Keeper(self.kit)
        services = AgentServices(
            runtime=self._runtime,
            tools=tools,
            journal=journal,
            flow=OpenFlow(),
            clock=self.clock,
            ids=self.ids,
            random=lambda: 0.5,
            report=self.reported.append,
            keeper=lambda: self.keeper,
        )
        self.agent = Agent(self.session, services, CallConfig("play", "m"), max_steps=50)
        if seeded:
            self.agent.inbox.recover()

    async def say(self, words: str) -> TurnEnd:
        message = Message(self.ids.new(), "user", (TextBlock(words),), UserSource())
        self.agent.followup(message, self.ends.append)
        await self.agent.when_idle()
        return self.ends[-1]

    def events(self, kind: str) -> list[SessionEvent]:
        return [event for event in self.session.events.milestones() if event.type == kind]

    def kept_text(self, path: str) -> str:
        """Return the text that was kept under that path."""
        return self.kept[int(path.removeprefix("/kept/"))]

    async def _keep_text(self, text: str) -> str | None:
        self.kept.append(text)
        return f"/kept/{len(self.kept) - 1}"

    async def _runtime(self) -> LlmRuntime:
        return self.runtime


def torn(messages: Sequence[Message]) -> list[str]:
    """Return what is wrong with the pairs of a request: each call has its result right behind its message."""
    wrong = []
    calls = {
        (place, block.id)
        for place, message in enumerate(messages)
        for block in message.content
        if isinstance(block, ToolCallBlock)
    }
    results = [
        place
        for place, message in enumerate(messages)
        if message.content and hasattr(message.content[0], "tool_call_id")
    ]
    bound = pairs(messages)
    if len(bound) != len(calls) or len(bound) != len(results):
        wrong.append(f"{len(calls)} calls, {len(results)} results, {len(bound)} pairs")
    return wrong


def rebuilt(bench: Bench, number: int) -> GenerateOptions:
    """Return the request that the log stood for when that one was made, from the log alone."""
    return request_at(bench.session, bench.model.seqs[number])


def request_at(session: Session, length: int) -> GenerateOptions:
    """Return the request for which so many events of the log stand, read back from their JSON."""
    lines = [
        json.dumps(event_to_json(event), ensure_ascii=False)
        for event in itertools.islice(session.events.since(0), length)
    ]
    events = [event_from_json(json.loads(line), seq) for seq, line in enumerate(lines)]
    return options_from_log(Session(session.header, now=lambda: 0, log=MemoryLog(events)))


def growth(events: Sequence[SessionEvent]) -> int:
    """Return the compressed bytes of these events."""
    lines = "\n".join(json.dumps(event_to_json(event), ensure_ascii=False) for event in events)
    return len(zstandard.ZstdCompressor(level=3).compress(lines.encode()))


def check_compactions(events: Sequence[SessionEvent]) -> None:
    """No compaction of this whole log fails, none makes it much longer, and at most two follow on one another."""
    starts = [event.seq for event in events if event.type == "compaction/start"]
    ends = [event for event in events if event.type == "compaction/end"]
    assert len(starts) == len(ends)
    assert [end for end in ends if "error" in end.data] == []
    for start, end in zip(starts, ends, strict=True):
        assert growth(events[start : end.seq + 1]) <= MOST_GROWTH
    steps = [event.seq for event in events if event.type == "step/start"]
    compacted = [sum(low < start < high for start in starts) for low, high in itertools.pairwise(steps)]
    assert max(compacted, default=0) <= 2
    assert not any(one and other for one, other in itertools.pairwise(compacted))


def held(bench: Bench) -> list[str]:
    """Return every breach of what all requests of a healthy conversation have to keep."""
    wrong: list[str] = []
    before: GenerateOptions | None = None
    for number, (asked, size) in enumerate(zip(bench.model.asked, bench.model.sizes, strict=True)):
        if size > bench.model.window:
            wrong.append(f"request {number} has {size} tokens of {bench.model.window}")
        wrong += [f"request {number}: {words}" for words in torn(asked.messages)]
        if asked.purpose == "compaction":
            before = None
            continue
        if before is not None and (before.system, before.tools) != (asked.system, asked.tools):
            wrong.append(f"request {number} has another head")
        before = asked
    return wrong


def rewritten(bench: Bench) -> tuple[int, int]:
    """Return how many requests of the conversation begin as the one before them, and how many do not."""
    asked = [one.messages for one in bench.model.asked if one.purpose == "conversation"]
    same = sum(new[: len(old)] == old for old, new in itertools.pairwise(asked))
    return same, max(0, len(asked) - 1 - same)
