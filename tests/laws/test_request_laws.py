"""Laws of requests: whatever happens to a session, each one is a fold of its log and extends the one before it."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from acp_server.acp.updates import Presenter
from acp_server.base.cancel import BY_USER, CancelToken
from acp_server.base.errors import ServerError
from acp_server.llm.adapter import WireProtocol
from acp_server.llm.adapters.anthropic.protocol import AnthropicProtocol
from acp_server.llm.adapters.chat.protocol import ChatProtocol
from acp_server.llm.adapters.responses.protocol import ResponsesProtocol
from acp_server.messages.chunks import FinishChunk, LlmFailure, StreamChunk, TextDelta
from acp_server.messages.request import CallConfig, GenerateOptions
from acp_server.session.events import Replace, SessionEvent
from acp_server.session.fork import fork_boundary
from acp_server.session.log import MemoryLog
from acp_server.session.repair import closing_events
from acp_server.session.session import Session
from tests.support.windows import SUMMARISED, Bench, FileTools, WindowModel, request_at, torn

PROTOCOLS: Sequence[WireProtocol] = (ChatProtocol(), ResponsesProtocol(), AnthropicProtocol())
BROKEN: Sequence[StreamChunk] = (FinishChunk("error", LlmFailure("AUTH", "The key is refused.")),)
LONGER: Sequence[StreamChunk] = (TextDelta(0, "more " * 60_000), FinishChunk("stop"))
CUTS: Sequence[StreamChunk] = (TextDelta(0, "cut"), FinishChunk("max-tokens"))
NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""A story takes a while: what fails is told by its moves and its seed, and is short enough."""
MOVES = ("say", "say", "say", "compact", "fail", "switch", "fork", "crash", "crash", "overflow", "cancel", "rename")


@dataclass(frozen=True)
class Sent:
    """A request: of which session, how long its log was, and what was sent."""

    session: Session
    length: int
    options: GenerateOptions


@dataclass
class Story:
    """A session through several lives, and every request that was made in them."""

    seed: int
    sent: list[Sent] = field(default_factory=list)
    inherited: dict[Session, int] = field(default_factory=dict)
    """The lives in order: how many events each has in common with the one before it."""

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.model = WindowModel(24_000, self.rng, max_output=1000)
        self.tools = FileTools(self.rng, longest=20_000)
        self.bench = Bench(self.model, self.tools)
        self.inherited[self.bench.session] = 0

    async def play(self, moves: Sequence[str]) -> None:
        for number, move in enumerate(moves):
            match move:
                case "compact":
                    await self.compact()
                case "fail":
                    await self.fail()
                case "switch":
                    provider = self.rng.choice(["play", "other"])
                    self.bench.agent.choose(CallConfig(provider, self.rng.choice(["m", "m2"])))
                case "fork":
                    self.fork()
                case "crash":
                    self.crash()
                case "rename":
                    self.bench.agent.rename(f"Name {number}")
                case _:
                    await self.say(number, move)
            self.note()

    async def say(self, number: int, move: str) -> None:
        """Say something; the provider may find a request too long, or the person may cancel at one."""
        at = len(self.model.asked) + self.rng.randint(1, 4)

        def refuses(_options: GenerateOptions, now: int) -> bool:
            if move == "cancel" and now == at:
                self.bench.agent.cancel(BY_USER)
            return move == "overflow" and now == at

        self.model.refuses = refuses
        await self.bench.say(f"Task {number}: go on, please. " + "And more words. " * self.rng.randint(0, 30))
        self.model.refuses = lambda _options, _now: False

    async def compact(self) -> str | None:
        """Compact as the person asks for it; return why that failed."""
        failed: list[str] = []

        async def job(cancel: CancelToken) -> None:
            try:
                await self.bench.agent.compact("", "k", cancel)
            except ServerError as error:
                failed.append(error.code)

        await self.bench.agent.maintain(job)
        return failed[0] if failed else None

    async def fail(self) -> None:
        """A failed compaction leaves the Surface equal."""
        session = self.bench.session
        before = (session.surface.nodes, session.messages())
        self.model.summary = lambda: self.rng.choice([BROKEN, LONGER, CUTS])
        code = await self.compact()
        self.model.summary = lambda: SUMMARISED
        assert (session.surface.nodes, session.messages()) == before
        own = [event for event in session.events.since(session.first_live_seq) if event.type.startswith("compaction/")]
        assert code is None or (own[-2].type, own[-1].data.get("error") is None) == ("compaction/start", False)

    def fork(self) -> None:
        """Go on in a child that begins at the end of some turn."""
        log = self.bench.session.events
        ends = [event.seq for event in log.of_types(("turn/end",))]
        self.live_on(fork_boundary(log, self.rng.choice(ends)) if ends else 0)

    def crash(self) -> None:
        """Lose any number of events at the end, most often few, and go on with what is repaired."""
        length = self.bench.session.seq
        lost = self.rng.choice([self.rng.randint(0, min(length, 8)), self.rng.randint(0, length)])
        self.live_on(length - lost)

    def live_on(self, length: int) -> None:
        config = self.bench.agent.config
        log = MemoryLog(list(itertools.islice(self.bench.session.events.since(0), length)))
        for event in closing_events(log):
            log.append(event)
        self.bench = Bench(self.model, self.tools, log=log)
        self.bench.agent.choose(config)
        self.inherited[self.bench.session] = length

    def note(self) -> None:
        new = len(self.sent)
        asked, seqs = self.model.asked[new:], self.model.seqs[new:]
        self.sent += [Sent(self.bench.session, seq, one) for seq, one in zip(seqs, asked, strict=True)]


def replayed(events: Sequence[SessionEvent]) -> list[object]:
    """Return what a person sees of a log, but for what tells of compactions and sizes."""
    presenter = Presenter()
    shown = [update for event in events for update in presenter.present(event)]
    kinds = ("usage_update", "compaction_update")
    return [
        update
        for update in shown
        if not (isinstance(update, dict) and update["sessionUpdate"] in kinds)
        and not getattr(update, "message_id", "").startswith("k")
    ]


def common(story: Story, one: Sent, other: Sent) -> bool:
    """Return whether the log of the later request goes on from that of the earlier one, and rewrites nothing of it."""
    lives = list(story.inherited)
    between = lives[lives.index(one.session) + 1 : lives.index(other.session) + 1]
    if any(one.length > story.inherited[life] for life in between):
        return False
    events = itertools.islice(other.session.events.since(one.length), other.length - one.length)
    return not any(isinstance(event.surface_op, Replace) for event in events)


def check(story: Story) -> None:
    for one in story.sent:
        again = request_at(one.session, one.length)
        assert torn(one.options.messages) == []
        if one.options.purpose == "conversation":
            assert again.messages == one.options.messages
            assert (again.config, again.system, again.tools) == (
                one.options.config,
                one.options.system,
                one.options.tools,
            )
            for protocol in PROTOCOLS:
                assert json.dumps(protocol.encode(again)) == json.dumps(protocol.encode(one.options))
        elif one.options.tools:
            told = one.options.messages[:-1]
            assert (again.messages[: len(told)], again.system, again.tools) == (
                told,
                one.options.system,
                one.options.tools,
            )
    asked = [one for one in story.sent if one.options.purpose == "conversation"]
    for before, after in itertools.pairwise(asked):
        if common(story, before, after):
            assert after.options.messages[: len(before.options.messages)] == before.options.messages
            begins, goes_on = (bytes_of(one.options) for one in (before, after))
            assert goes_on.startswith(begins)


def bytes_of(options: GenerateOptions) -> str:
    """Return the conversation as Chat Completions has it, open at its end."""
    return json.dumps(ChatProtocol().encode(options)["messages"]).removesuffix("]")


@given(st.lists(st.sampled_from(MOVES), min_size=1, max_size=14), st.integers(0, 2**32))
@settings(max_examples=40, deadline=None, phases=NO_SHRINKING)
def test_every_request_is_a_fold_of_the_log_and_extends_the_one_before(moves: list[str], seed: int) -> None:
    story = Story(seed)
    asyncio.run(story.play([*moves, "say"]))
    check(story)


@given(st.integers(2, 9), st.integers(0, 2**32))
@settings(max_examples=20, deadline=None, phases=NO_SHRINKING)
def test_a_compaction_changes_nothing_that_the_person_reads(turns: int, seed: int) -> None:
    story = Story(seed)
    asyncio.run(story.play(["say"] * turns))
    before = list(story.bench.session.events.since(0))
    asyncio.run(story.play(["compact", "say"]))
    session = story.bench.session
    events = list(session.events.since(0))
    assert replayed(events)[: len(replayed(before))] == replayed(before)
    plain = [event for event in events if not event.type.startswith("compaction/") and not _rewrites(event)]
    assert replayed(events) == replayed(plain)
    again = Session(session.header, now=lambda: 0, log=MemoryLog(events))
    assert (again.surface.nodes, again.messages()) == (session.surface.nodes, session.messages())


def _rewrites(event: SessionEvent) -> bool:
    return isinstance(event.surface_op, Replace)


@pytest.mark.parametrize("seed", range(3))
def test_what_the_laws_are_about_does_happen(seed: int) -> None:
    story = Story(seed)
    asyncio.run(story.play([*["say"] * 8, "compact", "fail", "crash", "switch", "say", "overflow", "fork", "say"]))
    check(story)
    kinds = {event.type for one in story.sent for event in one.session.events.since(0)}
    assert {"compaction/prune", "compaction/summary", "session/end-seed", "request/header"} <= kinds
    asked = [one for one in story.sent if one.options.purpose == "conversation"]
    extended = sum(common(story, one, other) for one, other in itertools.pairwise(asked))
    assert len(asked) // 2 < extended < len(asked) - 1
