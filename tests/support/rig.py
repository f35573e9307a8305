"""An agent on a bench: a real session, a real runtime, a model that plays chunk by chunk, a journal that counts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from acp_server.agent.agent import Agent
from acp_server.agent.contexts import Context
from acp_server.agent.hooks import NO_HOOKS, Asking, Guard, Hooks
from acp_server.agent.services import AgentServices
from acp_server.agent.tools import NoTools, ToolBox
from acp_server.agent.turns import TurnEnd
from acp_server.base.cancel import CancelToken
from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.llm.adapter import ModelInfo
from acp_server.llm.runtime import LlmRuntime
from acp_server.llm.waiting import until
from acp_server.messages.blocks import Message, TextBlock, UserSource
from acp_server.messages.chunks import FinishChunk, LlmFailure, StreamChunk, TextDelta
from acp_server.messages.request import CallConfig, GenerateOptions
from acp_server.session.header import SessionHeader
from acp_server.session.invariants import Invariants
from acp_server.session.session import Session
from tests.support.clock import FakeClock, settle
from tests.support.ids import FakeIds

STOP = FinishChunk("stop")
HANG = "hang"
Answer = Sequence["StreamChunk | str | Exception"]


def text(words: str, finish: FinishChunk = STOP) -> Answer:
    """An answer of one delta."""
    return (TextDelta(0, words), finish)


def failure(code: str = "SERVER", message: str = "The model failed.") -> FinishChunk:
    return FinishChunk("error", LlmFailure(code, message))


class ChunkModel:
    """An adapter that gives one answer a request: chunks, HANG (until cancelled) and exceptions, in order."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.answers = list(answers)
        self.asked: list[GenerateOptions] = []

    def model(self, provider: str, model: str) -> ModelInfo:
        return ModelInfo(provider, model, model, context_window=1000)

    async def stream(self, options: GenerateOptions, cancel: CancelToken) -> AsyncIterator[StreamChunk]:
        self.asked.append(options)
        for part in self.answers.pop(0):
            if isinstance(part, Exception):
                raise part
            if isinstance(part, str):
                await until(asyncio.get_running_loop().create_future(), cancel)
            else:
                yield part


@dataclass
class CountingJournal:
    """A journal that says where in the log each flush stood, and fails from `fail_from` on.

    The barrier that is flush number `out_from` (from 1 on) waits for ever, and `waiting` says so.
    """

    seq: Callable[[], int] = lambda: 0
    flushed: list[int] = field(default_factory=list)
    fail_from: int | None = None
    out_from: int | None = None
    behind: bool = False
    waiting: asyncio.Event = field(default_factory=asyncio.Event)

    async def room(self) -> None:
        return None

    async def flush(self) -> None:
        if self.fail_from is not None and len(self.flushed) >= self.fail_from:
            raise ServerError("DISK_FAILED", "The disk failed.")
        self.flushed.append(self.seq())

    async def barrier(self) -> None:
        await self.flush()
        if len(self.flushed) == self.out_from:
            self.waiting.set()
            await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        return None


class OpenFlow:
    behind = False

    async def room(self) -> None:
        return None


class Rig:
    """One agent and all that it is given. Every event is held against the grammar of turns."""

    def __init__(
        self,
        answers: Sequence[Answer],
        *,
        tools: ToolBox | None = None,
        max_steps: int = 200,
        hooks: Hooks = NO_HOOKS,
        contexts: Sequence[Context] = (),
        ask: Asking | None = None,
        guard: Guard | None = None,
    ) -> None:
        self.clock, self.ids, self.model = FakeClock(), FakeIds("m"), ChunkModel(answers)
        self.session = Session(SessionHeader(SessionId("s"), 0, "/p"), now=self.clock.now_ms)
        self.session.validate(Invariants().check)
        self.journal = CountingJournal(lambda: self.session.seq)
        self.reported: list[BaseException] = []
        self.ends: dict[str, TurnEnd] = {}
        runtime = LlmRuntime()
        runtime.register(["play"], self.model)
        services = AgentServices(
            runtime=lambda: _ready(runtime),
            tools=tools or NoTools(),
            journal=self.journal,
            flow=OpenFlow(),
            clock=self.clock,
            ids=self.ids,
            random=lambda: 0.5,
            report=self.reported.append,
            hooks=hooks,
            contexts=lambda: tuple(contexts),
            ask=ask,
            guard=guard,
        )
        self.agent = Agent(self.session, services, CallConfig("play", "m"), max_steps=max_steps)

    def say(self, words: str) -> None:
        """Send a prompt; its end is found under its words."""
        message = Message(f"p-{words}", "user", (TextBlock(words),), UserSource())
        self.agent.followup(message, lambda end: self.ends.__setitem__(words, end))

    async def run(self, words: str) -> TurnEnd:
        """Send a prompt and run until all is quiet."""
        self.say(words)
        await self.agent.when_idle()
        return self.ends[words]

    def types(self) -> list[str]:
        return [event.type for event in self.session.events.since(0)]

    async def settle(self) -> None:
        await settle()


async def _ready(runtime: LlmRuntime) -> LlmRuntime:
    return runtime
