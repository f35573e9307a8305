"""Laws of a session: what incremental folds, caches, codecs and repair have to agree with."""

from __future__ import annotations

import json
from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st

from acp_server.base.json_value import freeze
from acp_server.messages.blocks import Block, TextBlock, ToolCallBlock
from acp_server.messages.chunks import FinishChunk, ReasoningDelta, TextDelta, ToolCallDelta
from acp_server.persistence.packed_log import PackedLog
from acp_server.persistence.records import decode_batch, encode_events
from acp_server.session.event_json import event_from_json, event_to_json
from acp_server.session.events import SessionEvent
from acp_server.session.history import derive_message
from acp_server.session.invariants import check_log
from acp_server.session.log import MemoryLog
from acp_server.session.pending import unentered_prompts
from acp_server.session.projections import ProjectionSet
from acp_server.session.repair import closers, closing_events
from acp_server.session.stats import StatsProjection
from acp_server.session.surface import fold_surface
from acp_server.session.title import TitleProjection, fallback_title, normalize_title
from tests.support.logs import event_lists
from tests.support.story import Story, events_of, session, user


def replace_some(story: Story, data: st.DataObject) -> None:
    nodes = story.session.surface.nodes
    first = data.draw(st.integers(0, len(nodes) - 1), "first")
    last = data.draw(st.integers(first, min(first + 6, len(nodes) - 1)), "last")
    story.replace(nodes[first], nodes[last], user(f"c{story.session.seq}"))


@given(st.data())
def test_the_surface_and_its_messages_are_a_fold_of_the_log(data: st.DataObject) -> None:
    story = Story(session(strict=False))
    story.turn = story.step = 1
    for move in data.draw(st.lists(st.sampled_from(["say", "say", "empty", "chunk", "replace", "look"]), max_size=30)):
        match move:
            case "say":
                story.say(user(f"m{story.session.seq}"))
            case "empty":
                story.answer()
            case "chunk":
                story.stream(TextDelta(0, "x"))
            case "replace" if story.session.surface.nodes:
                replace_some(story, data)
            case _:
                story.session.messages()
    events = events_of(story)
    nodes, replacements = fold_surface(events)
    derived = [derive_message(events[seq]) for seq in nodes]
    assert story.session.surface.nodes == nodes
    assert len(story.session.surface) == len(nodes)
    assert story.session.surface.replace_generation == len(replacements)
    assert story.session.messages() == tuple(message for message in derived if message is not None)
    again = session(MemoryLog(events), strict=False)
    assert (again.surface.nodes, again.messages()) == (nodes, story.session.messages())


@given(event_lists())
def test_an_event_comes_back_from_its_json(events: list[SessionEvent]) -> None:
    for event in events:
        text = json.dumps(event_to_json(event), ensure_ascii=False, allow_nan=False)
        assert event_from_json(json.loads(text), event.seq) == event
        assert json.dumps(event_to_json(event_from_json(json.loads(text))), ensure_ascii=False) == text


@st.composite
def conversations(draw: st.DrawFn) -> Story:
    """Draw a lawful conversation of whole turns with steering, calls, retries and compaction."""
    story = Story()
    for turn in range(draw(st.integers(1, 3))):
        story.begin(f"m{turn}")
        for step in range(draw(st.integers(1, 2))):
            if step:
                steer = user(f"s{turn}-{step}")
                story.queue(steer, target="next-step")
                story.claim(target="next-step")
                story.open_step()
                story.say(steer)
            _answered_step(draw, story, f"{turn}-{step}")
            story.close_step()
        if draw(st.booleans()):
            nodes = story.session.surface.nodes
            story.session.append("compaction/start", {"compactionId": "k", "turn": story.turn})
            story.replace(nodes[0], nodes[-1], user(f"k{turn}"))
        story.close_turn()
        if draw(st.booleans()):
            story.session.append("session/end-seed", {})
    return story


def _answered_step(draw: st.DrawFn, story: Story, tag: str) -> None:
    if draw(st.booleans()):
        story.stream(TextDelta(0, "lost"), FinishChunk("error"))
        place = {"retryId": tag, **story.place, "retry": 1}
        story.session.append("llm/retry", {**place, "delayMs": 1, "failure": {}})
        story.session.append("llm/retry-started", place)
        story.heard = []
    calls = [f"c{tag}-{number}" for number in range(draw(st.integers(0, 3)))]
    story.stream(ReasoningDelta(0, "hm"), TextDelta(1, "some "), TextDelta(1, "words"))
    story.stream(*(ToolCallDelta(2 + number, ident, "{}", "read") for number, ident in enumerate(calls)))
    story.stream(FinishChunk("stop"))
    blocks: list[Block] = [TextBlock("some words"), *(ToolCallBlock(ident, "read", "{}") for ident in calls)]
    story.answer(*blocks, usage={"inputTokens": 3, "outputTokens": 2})
    for ident in calls:
        story.call(ident)
    for ident in calls:
        story.result(ident)


def cut(story: Story, length: int) -> MemoryLog:
    return MemoryLog(list(islice(story.session.events.since(0), length)))


@given(conversations(), st.data())
@settings(max_examples=60)
def test_a_log_cut_anywhere_is_repaired_once(story: Story, data: st.DataObject) -> None:
    length = data.draw(st.integers(0, story.session.seq), "length")
    log = cut(story, length)
    closing = closing_events(log)
    assert closing == closing_events(cut(story, length))
    lost = unentered_prompts(log)
    for event in closing:
        log.append(event)
    assert closers(log) == []
    state = check_log(log.since(0))
    assert (state.in_turn, state.in_step) == (False, False)
    assert unentered_prompts(log) == lost
    assert list(islice(log.since(0), length)) == list(cut(story, length).since(0))
    session(log, seeded=True).messages()
    for event in closing:
        assert event_from_json(json.loads(json.dumps(event_to_json(event)))) == event


@given(conversations(), st.data())
@settings(max_examples=60)
def test_no_prompt_is_lost_wherever_the_log_is_cut(story: Story, data: st.DataObject) -> None:
    length = data.draw(st.integers(0, story.session.seq), "length")
    told = session(cut(story, length), strict=False)
    waiting, claimed, entered = set[str](), set[str](), set[str]()
    for event in told.events.milestones():
        if event.type == "agent/inbox/spliced":
            inserted = event.data["inserted"]
            assert isinstance(inserted, tuple)
            claimed |= waiting if event.data.get("removedCount") else set()
            waiting = {str(message["id"]) for message in inserted if isinstance(message, dict)}
        elif event.type == "user/message":
            entered.add(str(event.data["id"]))
    assert {one.data["id"] for one in unentered_prompts(told.events)} == claimed - entered


@given(conversations(), st.data())
@settings(max_examples=60)
def test_a_checkpoint_and_what_follows_equal_a_whole_fold(story: Story, data: st.DataObject) -> None:
    length = data.draw(st.integers(0, story.session.seq), "length")
    early, whole, restored = (
        ProjectionSet(log) for log in (cut(story, length), story.session.events, story.session.events)
    )
    for projections in (early, whole, restored):
        projections.register(StatsProjection())
        projections.register(TitleProjection())
    rows = early.checkpoint()
    assert all(freeze(json.loads(json.dumps(row.state))) == row.state for row in rows.values())
    restored.restore(rows)
    assert restored.views() == whole.views()


@given(conversations(), st.data())
@settings(max_examples=40)
def test_a_packed_log_serves_as_well_as_a_plain_one(story: Story, data: st.DataObject) -> None:
    plain = cut(story, data.draw(st.integers(0, story.session.seq), "length"))
    packed = PackedLog(decode_batch(encode_events(plain.since(0)), 0)) if len(plain) else PackedLog()
    assert closing_events(packed) == closing_events(plain)
    assert unentered_prompts(packed) == unentered_prompts(plain)
    for log in (packed, plain):
        for event in closing_events(log):
            log.append(event)
    one, other = session(packed, seeded=True), session(plain, seeded=True)
    assert (one.messages(), one.surface.nodes) == (other.messages(), other.surface.nodes)
    assert one.request_header() == other.request_header()
    assert list(packed.since(0)) == list(plain.since(0))


@given(st.text(st.characters(), max_size=200), st.integers(1, 90))
def test_a_title_is_clean_bounded_and_stable(text: str, limit: int) -> None:
    title = normalize_title(text, limit)
    assert len(title.encode()) <= limit
    assert normalize_title(title, limit) == title
    assert title == " ".join(title.split())
    assert not any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in title)
    fallback = fallback_title(text)
    assert normalize_title(fallback) == fallback
    assert len(fallback.split(" ")) <= 5
