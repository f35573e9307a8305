"""The traces that a session goes through, told as events: types in order, messages, and what repair adds."""

from __future__ import annotations

from itertools import islice

from acp_server.base.ids import SessionId
from acp_server.base.json_value import JsonValue
from acp_server.messages.blocks import ReasoningBlock, TextBlock, text_of
from acp_server.messages.chunks import FinishChunk, LlmFailure, ReasoningDelta, TextDelta
from acp_server.messages.codec import block_to_json
from acp_server.session.events import APPEND, Replace
from acp_server.session.fork import fork_boundary, fork_header
from acp_server.session.header import SessionHeader
from acp_server.session.invariants import check_log
from acp_server.session.log import MemoryLog
from acp_server.session.repair import closers
from acp_server.session.session import Session
from acp_server.session.surface import fold_surface
from tests.support.story import Story, events_of, session, text, user

BEGIN = [
    "agent/inbox/spliced",
    "turn/start",
    "agent/inbox/spliced",
    "step/start",
    "user/message",
    "request/header",
    "request/context",
]
FAILED = FinishChunk("error", LlmFailure("OVERLOADED", "busy"))


def holds(story: Story) -> Session:
    """Check what every finished trace has to hold, and return its session."""
    log = story.session.events
    state = check_log(log.since(0))
    assert (state.in_turn, state.in_step) == (False, False)
    assert closers(log) == []
    assert fold_surface(log.since(0))[0] == story.session.surface.nodes
    again = session(MemoryLog(events_of(story)), strict=False)
    assert again.messages() == story.session.messages()
    return story.session


def roles(told: Session) -> list[str]:
    return [f"{message.role}: {text_of(message.content)}" for message in told.messages()]


def test_a_prompt_without_tools() -> None:
    story = Story().begin()
    story.say({**user("ctx", "today is monday"), "source": {"kind": "plugin", "plugin": "context"}})
    story.stream(*text("good day"), FinishChunk("stop"))
    answer = story.answer(TextBlock("good day"), usage={"inputTokens": 3, "outputTokens": 2})
    story.close_step()
    story.close_turn()
    told = holds(story)
    assert story.types == [
        *BEGIN,
        "user/message",
        *["assistant/chunk"] * 4,
        "assistant/message",
        "step/end",
        "turn/end",
    ]
    assert answer.source_event_seqs == (8, 9, 10, 11)
    assert roles(told) == ["user: hello", "user: today is monday", "assistant: good day"]


def test_a_step_with_tools() -> None:
    story = Story().with_calls("c1", "c2")
    story.call("c1")
    story.call("c2")
    first = story.result("c1")
    story.queue(user("extra", "look out"), target="next-step")
    story.result("c2")
    story.close_step()
    story.claim(target="next-step")
    story.open_step()
    story.say(user("extra", "look out"))
    story.stream(*text("done"), FinishChunk("stop"))
    story.answer(TextBlock("done"))
    story.close_step()
    story.close_turn()
    told = holds(story)
    assert first.source_event_seqs == (story.calls["c1"],)
    assert [message.id for message in told.messages()][2:5] == ["r-c1", "r-c2", "extra"]


def test_a_failed_attempt_and_its_retry_share_a_step() -> None:
    story = Story().begin()
    story.stream(TextDelta(0, "go"), FAILED)
    place: dict[str, JsonValue] = {"retryId": "x", "turn": 1, "step": 1, "retry": 1}
    failure: dict[str, JsonValue] = {"message": "busy", "code": "OVERLOADED"}
    story.session.append(
        "llm/retry", {**place, "provider": "p", "mode": "normal", "policyKey": "k", "delayMs": 500, "failure": failure}
    )
    story.session.append("llm/retry-started", place)
    story.heard = []
    story.stream(*text("good"), FinishChunk("stop"))
    answer = story.answer(TextBlock("good"))
    story.close_step()
    story.close_turn()
    assert roles(holds(story)) == ["user: hello", "assistant: good"]
    assert answer.source_event_seqs == (11, 12, 13)


def test_a_cancelled_stream_keeps_what_was_seen() -> None:
    story = Story().begin()
    story.stream(ReasoningDelta(0, "hm"), TextDelta(1, "go"))
    story.queue(user("m2"))
    story.claim(outcome="canceled")
    story.answer(ReasoningBlock("hm"), TextBlock("go"), interrupted=True)
    story.close_step()
    story.close_turn("aborted", reason={"kind": "user"})
    assert roles(holds(story)) == ["user: hello", "assistant: go"]


def test_a_cancelled_batch_answers_every_call() -> None:
    story = Story().with_calls("c1", "c2")
    story.call("c1")
    story.result("c1")
    story.call("c2")
    story.result("c2", error={"name": "AbortError", "code": "ABORTED_BEFORE_DISPATCH"})
    story.close_step()
    story.close_turn("aborted", reason={"kind": "user"})
    assert len(holds(story).messages()) == 4


def test_compaction_in_a_turn() -> None:
    story = Story().whole("m1").whole("m2")
    story.queue(user("m3"))
    story.open_turn()
    story.claim()
    nodes = story.session.surface.nodes
    start = story.session.append("compaction/start", {"compactionId": "k", "turn": 3})
    summary = story.session.append("compaction/summary", {"compactionId": "k", "summary": []})
    checkpoint = story.replace(nodes[0], nodes[2], user("k", "so far"), start.seq, summary.seq)
    story.session.append("compaction/end", {"compactionId": "k", "turn": 3})
    story.open_step()
    story.say(user("m3"))
    story.stream(*text("yes"))
    story.answer(TextBlock("yes"))
    story.close_step()
    story.close_turn()
    assert checkpoint.source_event_seqs == tuple(sorted((*nodes[:3], start.seq, summary.seq)))
    assert roles(holds(story)) == ["user: so far", "assistant: good day", "user: hello", "assistant: yes"]


def test_compaction_after_an_overflow_in_a_step() -> None:
    story = Story().whole("m1")
    story.begin("m2", "more")
    story.stream(FinishChunk("error", LlmFailure("CONTEXT_WINDOW_EXCEEDED", "full")))
    nodes = story.session.surface.nodes
    story.session.append("compaction/start", {"compactionId": "k", "turn": 2})
    story.session.append("compaction/summary", {"compactionId": "k", "summary": []})
    story.replace(nodes[0], nodes[1], user("k", "so far"))
    story.session.append("compaction/end", {"compactionId": "k", "turn": 2})
    story.heard = []
    story.stream(*text("fits"), FinishChunk("stop"))
    story.answer(TextBlock("fits"))
    story.close_step()
    story.close_turn()
    assert roles(holds(story)) == ["user: so far", "user: more", "assistant: fits"]


def test_compaction_by_command_opens_no_turn() -> None:
    story = Story().whole("m1")
    nodes = story.session.surface.nodes
    story.session.append("command/run", {"commandId": "x", "name": "compact", "source": {"kind": "user"}})
    story.session.append("compaction/start", {"compactionId": "k", "turn": None, "sourceCommandId": "x"})
    summary = story.session.append("compaction/summary", {"compactionId": "k", "summary": [], "sourceCommandId": "x"})
    story.replace(nodes[0], nodes[1], user("k", "so far"))
    story.session.append("compaction/end", {"compactionId": "k", "turn": None, "sourceCommandId": "x"})
    story.session.append("command/done", {"commandId": "x", "kind": "success", "sourceEventSeq": summary.seq})
    assert roles(holds(story)) == ["user: so far"]


def test_a_pruned_result_keeps_its_place() -> None:
    story = Story().with_calls("c1")
    story.call("c1")
    result = story.result("c1", content="a long page")
    story.close_step()
    story.session.append("compaction/prune", {"shadowedRange": {"start": result.seq, "end": result.seq}})
    story.rewrite_last("c1", "cut")
    story.close_turn()
    assert [block_to_json(block) for block in holds(story).messages()[-1].content] == [
        {"type": "tool-result", "toolCallId": "c1", "content": [{"type": "text", "text": "cut"}]}
    ]


def test_a_resumed_session_marks_the_end_of_its_seed_once() -> None:
    log = MemoryLog(events_of(Story().whole()))
    session(log, seeded=True)
    story = Story(session(log, seeded=True))
    assert story.types[-2:] == ["turn/end", "session/end-seed"]
    story.turn = 1
    story.whole("m2")
    assert len(holds(story).messages()) == 4


def test_a_fork_shares_its_prefix() -> None:
    parent = Story().whole("m1").whole("m2")
    boundary = parent.types.index("turn/end")
    length = fork_boundary(parent.session.events, boundary)
    child = Session(
        fork_header(parent.session.header, SessionId("s-2"), 7, length),
        now=lambda: 7,
        log=MemoryLog(list(islice(parent.session.events.since(0), length))),
        seeded=True,
    )
    assert child.header == SessionHeader(SessionId("s-2"), 7, "/work", SessionId("s-1"), boundary + 1)
    assert list(child.events.since(0))[:-1] == events_of(parent)[: boundary + 1]
    assert (child.events[length].type, child.seq) == ("session/end-seed", length + 1)
    assert child.messages() == parent.session.messages()[:2]


def test_a_refused_prompt_leaves_no_step() -> None:
    story = Story()
    story.queue(user("m1"))
    story.open_turn()
    story.claim()
    story.close_turn("blocked")
    assert holds(story).messages() == ()


def test_a_refusal_of_the_model_is_taken_off_the_surface() -> None:
    story = Story().begin()
    story.stream(*text("I cannot"), FinishChunk("refusal"))
    answer = story.answer(TextBlock("I cannot"))
    gone = story.answer()
    prompt = story.session.surface.nodes[0]
    empty = {**gone.data, "message": {**gone.data["message"], "id": "gone"}}  # type: ignore[dict-item]  # an object
    story.session.append(
        "assistant/message", empty, surface_op=Replace(prompt, gone.seq), sources=[prompt, answer.seq, gone.seq]
    )
    story.close_step()
    story.close_turn()
    assert holds(story).messages() == ()
    assert story.session.append("user/message", user("m2"), surface_op=APPEND).seq in story.session.surface
