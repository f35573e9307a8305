"""What a keeper decides and what is left in the log when it fails, is cancelled, or finds another's lock."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Sequence

import pytest

from acp_server.acp.commands import Command, run_command
from acp_server.agent.agent import Agent
from acp_server.agent.turns import TurnEnd
from acp_server.base.cancel import BY_USER, CancelToken
from acp_server.compaction.policy import Policies, Policy
from acp_server.compaction.words import CLOSE, OPEN, is_checkpoint
from acp_server.messages.blocks import PluginSource, text_of
from acp_server.messages.chunks import FinishChunk, LlmFailure, StreamChunk, TextDelta, ToolCallDelta
from acp_server.session.events import Replace, SessionEvent
from tests.support.windows import SUMMARY, Bench, FileTools, WindowModel

WINDOW = 16_000


async def _compact(agent: Agent, args: str, command_id: str, cancel: CancelToken) -> str:
    return await agent.compact(args, command_id, cancel)


COMPACT = Command("compact", "", lambda _agent, _args: "", "what to keep", _compact)


def bench(policies: Policies | None = None, *, window: int = WINDOW) -> Bench:
    rng = random.Random(5)
    return Bench(WindowModel(window, rng, max_output=1000), FileTools(rng, longest=4000), policies)


async def talked(played: Bench, turns: int = 2) -> Bench:
    for turn in range(turns):
        assert (await played.say(f"Task {turn}, please.")).kind == "completed"
    return played


async def compacted(played: Bench, args: str = "") -> tuple[str, str]:
    """Run `/compact` and return the kind and the text of its outcome."""
    ends: list[TurnEnd] = []
    if run_command(played.agent, COMPACT, args, played.ids, ends.append):
        await played.agent.when_idle()
        assert len(ends) == 1
    done = played.events("command/done")[-1].data
    return str(done["kind"]), str(done["text"])


def answering(*chunks: StreamChunk) -> Sequence[StreamChunk]:
    return chunks


async def test_the_person_compacts_and_reads_what_it_did() -> None:
    played = await talked(bench())
    before = played.session.messages()
    kind, text = await compacted(played, "the name of the parser")
    assert kind == "success"
    assert text.startswith(f"Compacted {len(before) - 1} messages: about ")
    after = played.session.messages()
    assert is_checkpoint(after[0])
    assert after[1:] == before[-1:]
    words = text_of(after[0].content)
    assert f"{OPEN}\n{SUMMARY}\n{CLOSE}" in words
    asked = played.model.asked[-1]
    assert asked.messages[:-1] == before[:-1]
    assert "the name of the parser" in text_of(asked.messages[-1].content)
    assert asked.config.max_tokens == 1000
    [start], [summary], [end] = (played.events(f"compaction/{kind}") for kind in ("start", "summary", "end"))
    assert (start.data["turn"], start.data["reason"]) == (None, "manual")
    shadowed = played.session.events[summary.seq + 1].surface_op
    assert isinstance(shadowed, Replace)
    assert summary.data["shadowedRange"] == {"start": shadowed.start, "end": shadowed.end}
    assert played.session.events[end.seq - 1].seq == summary.seq + 1
    assert end.data["tokensAfter"] < end.data["tokensBefore"]  # type: ignore[operator]  # numbers
    assert (await played.say("Go on.")).kind == "completed"


async def test_there_has_to_be_something_to_compact() -> None:
    played = bench()
    assert await compacted(played) == ("success", "There is nothing to compact yet.")
    assert played.events("compaction/start") == []


async def test_a_turn_that_runs_refuses_a_compaction() -> None:
    played = await talked(bench(), 1)
    played.agent.begin_job(lambda cancel: asyncio.sleep(0))
    kind, text = await compacted(played)
    assert (kind, text) == ("error", "The session is busy; try again when the turn is over.")
    await played.agent.when_idle()


@pytest.mark.parametrize(
    ("chunks", "words"),
    [
        (answering(FinishChunk("error", LlmFailure("AUTH", "The key is refused."))), "The key is refused."),
        (answering(ToolCallDelta(0, "c1", "{}", "read_file"), FinishChunk("tool-calls")), "The model gave no summary."),
        (answering(FinishChunk("refusal")), "The model refused to summarise."),
        (answering(TextDelta(0, "cut"), FinishChunk("max-tokens")), "The summary was cut before it said enough."),
        (
            answering(TextDelta(0, "x y " * 9000), FinishChunk("stop")),
            "The summary is no shorter than what it would stand for.",
        ),
        (answering(FinishChunk("error", LlmFailure("SERVER", "It broke."))), "It broke."),
    ],
)
async def test_a_failed_compaction_leaves_the_surface_as_it_was(chunks: Sequence[StreamChunk], words: str) -> None:
    played = await talked(bench())
    nodes = played.session.surface.nodes
    played.model.summary = lambda: chunks
    assert await compacted(played) == ("error", words)
    assert played.session.surface.nodes == nodes
    [end] = played.events("compaction/end")
    assert end.data["error"] == words
    played.model.summary = lambda: answering(TextDelta(0, SUMMARY), FinishChunk("stop"))
    assert (await compacted(played))[0] == "success"


async def test_a_failure_that_may_pass_is_tried_again() -> None:
    played = await talked(bench())
    answers = [FinishChunk("error", LlmFailure("OVERLOADED", "busy"))] * 2
    played.model.summary = lambda: (
        (answers.pop(),) if answers else answering(TextDelta(0, SUMMARY), FinishChunk("stop"))
    )
    assert (await compacted(played))[0] == "success"
    assert answers == []


async def test_a_cancelled_compaction_changes_nothing() -> None:
    played = await talked(bench())
    nodes = played.session.surface.nodes

    def cancelling() -> Sequence[StreamChunk]:
        played.agent.cancel(BY_USER)
        return answering(TextDelta(0, SUMMARY), FinishChunk("stop"))

    played.model.summary = cancelling
    assert await compacted(played) == ("cancelled", "Cancelled.")
    assert played.session.surface.nodes == nodes
    assert played.events("compaction/end")[0].data["cancelled"] is True
    played.model.summary = lambda: answering(TextDelta(0, SUMMARY), FinishChunk("stop"))
    assert (await played.say("Go on.")).kind == "completed"


async def test_a_lock_that_nobody_holds_is_closed_first() -> None:
    played = await talked(bench())
    played.session.append("compaction/start", {"compactionId": "lost", "turn": None})
    assert (await compacted(played))[0] == "success"
    assert next(event.data["compactionId"] for event in played.events("compaction/end")) == "lost"
    assert len(played.events("compaction/start")) == len(played.events("compaction/end")) == 2


async def test_an_earlier_checkpoint_is_merged() -> None:
    played = await talked(bench())
    await compacted(played)
    first = played.session.messages()[0]
    await talked(played, 1)
    await compacted(played)
    assert played.model.asked[-1].messages[0] == first
    checkpoints = [message for message in played.session.messages() if is_checkpoint(message)]
    assert len(checkpoints) == 1


async def test_the_newest_request_and_the_open_plan_stay_word_for_word() -> None:
    played = await talked(bench(), 1)
    todos = [{"content": "Port the lexer", "status": "in_progress"}, {"content": "Test", "status": "pending"}]
    played.session.append("turn/start", {"turn": 2})
    played.session.append("todo/write", {"todos": todos})
    played.session.append("turn/end", {"turn": 2, "reason": {"kind": "completed"}})
    await compacted(played)
    [checkpoint] = [message for message in played.session.messages() if is_checkpoint(message)]
    words = text_of(checkpoint.content)
    assert "- [in_progress] Port the lexer\n- [pending] Test" in words
    assert words.endswith("The person's latest request, word for word:Task 0, please.")
    assert isinstance(checkpoint.source, PluginSource)
    assert checkpoint.source.extra["compactionId"] == played.events("compaction/start")[0].data["compactionId"]


async def test_a_conversation_longer_than_the_summarising_model_reads_is_told_in_pieces() -> None:
    played = await talked(bench(), 1)
    played.model.window, asked_before = 3000, len(played.model.asked)
    kind, text = await compacted(played)
    assert kind == "success", text
    [summary] = played.events("compaction/summary")
    pieces = [asked for asked in played.model.asked[asked_before:] if not asked.tools]
    assert summary.data["pieces"] == len(pieces) > 1
    assert all(len(asked.messages) == 1 and asked.tools == () for asked in pieces)
    assert SUMMARY in text_of(pieces[1].messages[0].content)


async def test_without_automatic_compaction_the_person_is_warned_once_and_the_model_decides() -> None:
    played = bench(Policies(Policy(auto=False)))
    for turn in range(30):
        if (await played.say(f"Task {turn}, please.")).kind == "error":
            break
    assert played.events("compaction/start") == []
    assert played.ends[-1].failure is not None
    assert played.ends[-1].failure.code == "CONTEXT_WINDOW_EXCEEDED"
    assert len(played.told) == 1
    assert "compaction is off" in played.told[0]
    assert (await compacted(played))[0] == "success"
    assert (await played.say("Go on.")).kind == "completed"


async def test_a_model_has_a_policy_of_its_own() -> None:
    policies = Policies(Policy(auto=False), {"play/m": Policy(threshold_ratio=0.3, retain_ratio=0.1)})
    played = await talked(bench(policies), 6)
    assert played.events("compaction/start") != []
    assert max(played.model.sizes) < 0.6 * WINDOW


async def test_where_retained_tokens_pass_the_window_nothing_is_compacted_and_the_person_is_told() -> None:
    played = bench(Policies(Policy(retain_tokens=WINDOW)))
    await talked(played, 2)
    assert "retain_tokens must be below the threshold" in played.told[0]


async def test_after_a_failure_nothing_is_tried_before_a_part_of_the_window_has_joined() -> None:
    rng = random.Random(5)
    played = Bench(WindowModel(WINDOW, rng, max_output=1000), FileTools(rng, longest=600))
    played.model.summary = lambda: answering(FinishChunk("error", LlmFailure("AUTH", "The key is refused.")))
    while not any("left out" in sentence for sentence in played.told):
        assert (await played.say("Go on, please.")).kind == "completed"
    starts = [event for event in played.events("compaction/start") if event.data["reason"] == "pressure"]
    filled = [event.data["tokensBefore"] for event in starts if "trimmed" not in _end_of(played, event).data]
    assert len(filled) == 3
    apart = [int(str(other)) - int(str(one)) for one, other in itertools.pairwise(filled)]
    assert min(apart) >= WINDOW // 16 - 100
    steps = sum(event.seq > starts[0].seq for event in played.events("step/start"))
    assert steps > 10


def _end_of(played: Bench, start: SessionEvent) -> SessionEvent:
    return next(event for event in played.events("compaction/end") if event.seq > start.seq)
