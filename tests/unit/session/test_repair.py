"""What repair adds to a log that broke off, in every combination (C16 to C18)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acp_server.base.json_value import FrozenObject
from acp_server.messages.blocks import ReasoningBlock, TextBlock
from acp_server.messages.chunks import (
    FinishChunk,
    LlmFailure,
    ReasoningDelta,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
)
from acp_server.session.events import APPEND, SessionEvent
from acp_server.session.invariants import check_log
from acp_server.session.log import MemoryLog
from acp_server.session.repair import NOT_STARTED, OUTCOME_UNKNOWN, Closer, closers, closing_events
from tests.support.story import Story, events_of, session, text

FAILED = FinishChunk("error", LlmFailure("OVERLOADED", "busy"))
STEP_END = ("step/end", {"turn": 1, "step": 1})
TURN_END = ("turn/end", {"turn": 1, "reason": {"kind": "interrupted"}})


def plain(story: Story) -> list[tuple[str, Any]]:
    return [(closer.type, closer.data) for closer in closers(story.session.events)]


def seen(story: Story) -> list[tuple[Any, tuple[int, ...] | None]]:
    """Return the content of the answers that repair keeps, and their sources."""
    answers: list[Any] = [closer for closer in closers(story.session.events) if closer.type == "assistant/message"]
    return [(answer.data["message"]["content"], answer.sources) for answer in answers]


def retried(story: Story) -> Story:
    place: dict[str, Any] = {"retryId": "x", "turn": 1, "step": 1, "retry": 1}
    failure: dict[str, Any] = {"message": "busy", "code": "OVERLOADED"}
    story.session.append("llm/retry", {**place, "delayMs": 1, "failure": failure})
    story.session.append("llm/retry-started", place)
    return story


def opened() -> Story:
    story = Story()
    story.open_turn()
    return story


def after(story: Story, *steps: Callable[[Story], object]) -> Story:
    for step in steps:
        step(story)
    return story


BALANCED: dict[str, Callable[[], Story]] = {
    "empty": Story,
    "a whole turn": lambda: Story().whole(),
    "events after a turn": lambda: after(Story().whole(), lambda s: s.session.append("plan/mode", {"active": True})),
    "a call outside of any turn's end": lambda: after(
        Story().with_calls("c"), lambda s: s.call("c"), lambda s: s.result("c"), Story.close_step, Story.close_turn
    ),
}


@pytest.mark.parametrize("given", BALANCED.values(), ids=BALANCED.keys())
def test_a_balanced_log_needs_nothing(given: Callable[[], Story]) -> None:
    assert closers(given().session.events) == []


def test_an_open_turn_is_closed() -> None:
    assert plain(opened()) == [TURN_END]


def test_an_open_step_is_closed_first() -> None:
    assert plain(Story().begin()) == [STEP_END, TURN_END]


def test_a_closed_step_leaves_the_turn_only() -> None:
    story = Story().with_calls("c")
    story.call("c")
    story.result("c")
    story.close_step()
    assert plain(story) == [TURN_END]


def test_started_and_unstarted_calls_are_answered_in_their_order() -> None:
    story = Story().with_calls("c1", "c2", "c3", "c4")
    story.call("c1")
    story.call("c2")
    story.result("c2")
    story.call("c3")
    seq = story.session.seq
    results = closers(story.session.events)[:-2]
    assert results == [
        _result("c1", seq, "ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN", OUTCOME_UNKNOWN, story.calls["c1"]),
        _result("c3", seq + 1, "ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN", OUTCOME_UNKNOWN, story.calls["c3"]),
        _result("c4", seq + 2, "ToolNotStartedError", "TOOL_NOT_STARTED", NOT_STARTED, None),
    ]
    assert plain(story)[-2:] == [STEP_END, TURN_END]


def _result(call: str, seq: int, name: str, code: str, words: str, source: int | None) -> Closer:
    block = FrozenObject(type="tool-result", toolCallId=call, content=({"type": "text", "text": words},), isError=True)
    message = FrozenObject(
        id=f"interrupted-tool-result-{call}-{seq}",
        role="user",
        content=(block,),
        source=FrozenObject(kind="tool", callId=call),
    )
    data = FrozenObject(turn=1, step=1, message=message, error=FrozenObject(name=name, code=code))
    return Closer("tool/result", data, APPEND, None if source is None else (source,))


def test_a_call_that_no_answer_asked_for_is_left_alone() -> None:
    story = Story().begin()
    story.call("stray")
    assert plain(story) == [STEP_END, TURN_END]


class TestVisiblePrefix:
    def test_it_is_kept_before_everything_else(self) -> None:
        story = Story().begin()
        story.stream(
            ReasoningDelta(0, "hm"),
            TextDelta(1, "Hel"),
            TextDelta(1, "lo"),
            ToolCallDelta(2, "c1", "{", "read"),
            UsageChunk(TokenUsage(3, 1)),
        )
        seq = story.session.seq
        first, *rest = closers(story.session.events)
        message: Any = {
            "id": f"interrupted-message-1-1-{seq}",
            "role": "assistant",
            "content": ({"type": "reasoning", "text": "hm"}, {"type": "text", "text": "Hello"}),
            "source": {"kind": "model", "provider": "scripted", "model": "demo"},
        }
        assert first == Closer(
            "assistant/message",
            FrozenObject(
                turn=1, step=1, message=message, usage={"inputTokens": 3, "outputTokens": 1}, interrupted=True
            ),
            APPEND,
            tuple(story.heard),
        )
        assert [closer.type for closer in rest] == ["step/end", "turn/end"]

    def test_what_is_not_visible_is_not_kept(self) -> None:
        story = Story().begin()
        story.stream(TextDelta(0, " \n"), ToolCallDelta(1, "c1", "{", "read"))
        assert seen(story) == []

    def test_only_the_attempt_after_the_last_retry_counts(self) -> None:
        story = Story().begin()
        story.stream(TextDelta(0, "first"), FAILED)
        retried(story)
        assert seen(story) == []
        story.heard = []
        story.stream(TextDelta(0, "second"))
        assert seen(story) == [(({"type": "text", "text": "second"},), tuple(story.heard))]

    def test_a_failed_attempt_that_waits_for_its_retry_was_seen(self) -> None:
        story = Story().begin()
        story.stream(TextDelta(0, "first"), FAILED)
        assert seen(story) == [(({"type": "text", "text": "first"},), tuple(story.heard))]

    def test_a_chunk_after_a_finish_begins_another_attempt(self) -> None:
        story = Story().begin()
        story.stream(TextDelta(0, "first"), FAILED)
        story.heard = []
        story.stream(TextDelta(0, "second"))
        assert seen(story) == [(({"type": "text", "text": "second"},), tuple(story.heard))]

    def test_an_answer_that_is_there_is_not_doubled(self) -> None:
        story = Story().begin()
        story.stream(*text("hello"), FinishChunk("stop"))
        story.answer(TextBlock("hello"))
        assert plain(story) == [STEP_END, TURN_END]

    def test_an_earlier_step_s_chunks_do_not_count(self) -> None:
        story = Story().with_calls("c")
        story.call("c")
        story.result("c")
        story.close_step()
        story.open_step()
        assert seen(story) == []
        story.stream(ReasoningDelta(0, "now"))
        assert seen(story) == [(({"type": "reasoning", "text": "now"},), tuple(story.heard))]

    def test_without_a_route_there_is_no_answer(self) -> None:
        story = opened()
        story.open_step()
        story.stream(TextDelta(0, "x"))
        assert plain(story) == [STEP_END, TURN_END]

    def test_a_chunk_of_a_later_version_is_passed_over(self) -> None:
        story = Story().begin()
        story.stream(TextDelta(0, "a"))
        story.session.append("assistant/chunk", {**story.place, "chunk": {"type": "of-the-future"}})
        story.stream(TextDelta(0, "b"))
        assert [content for content, _ in seen(story)] == [({"type": "text", "text": "ab"},)]


def test_earlier_turns_are_untouched() -> None:
    story = Story().whole().whole("m2")
    before = events_of(story)
    story.begin("m3")
    story.stream(TextDelta(0, "x"))
    log = MemoryLog([*events_of(story), *closing_events(story.session.events)])
    assert [log[seq] for seq in range(len(before))] == list(before)
    assert [event.data["turn"] for event in list(log.since(story.session.seq))] == [3, 3, 3]


def test_closers_follow_the_log_at_the_time_of_its_last_event() -> None:
    story = Story().with_calls("c")
    last = story.session.events[story.session.seq - 1]
    events = closing_events(story.session.events)
    assert [(event.seq, event.time) for event in events] == [(last.seq + 1 + n, last.time) for n in range(3)]
    assert closing_events(MemoryLog()) == []


def test_the_same_log_gives_the_same_closers() -> None:
    one, other = (after(Story().with_calls("c"), lambda s: s.call("c")).session.events for _ in range(2))
    assert closing_events(one) == closing_events(other)
    assert closing_events(one) == closing_events(one)


def test_a_repaired_log_is_whole_and_goes_on() -> None:
    story = Story().begin()
    story.stream(ReasoningDelta(0, "hm"), TextDelta(1, "half"))
    log = MemoryLog([*events_of(story), *closing_events(story.session.events)])
    assert closers(log) == []
    assert not check_log(log.since(0)).in_turn
    story = Story(session(log, seeded=True))
    story.turn = 1
    story.whole("m2")
    *_, kept, _, _ = story.session.messages()
    assert kept.content == (ReasoningBlock("hm"), TextBlock("half"))


def test_a_log_is_read_without_its_older_chunks() -> None:
    class Guarded(MemoryLog):
        def since(self, seq: int) -> Any:
            assert seq >= self.allowed_from
            return super().since(seq)

        def milestones(self, seq: int = 0) -> Any:
            return (event for event in self._events[seq:] if event.type != "assistant/chunk")

        allowed_from = 0

    story = Story().whole().begin("m2")
    story.stream(TextDelta(0, "x"))
    log = Guarded(events_of(story))
    log.allowed_from = next(event.seq for event in reversed(events_of(story)) if event.type == "step/start")
    assert [closer.type for closer in closers(log)] == ["assistant/message", "step/end", "turn/end"]


def test_an_event_that_is_not_told_stays_open() -> None:
    story = Story().begin()
    story.session.append("compaction/start", {"compactionId": "k", "turn": 1})
    types = [event.type for event in closing_events(story.session.events)]
    assert types == ["step/end", "turn/end"]
    assert isinstance(closing_events(story.session.events)[0], SessionEvent)
